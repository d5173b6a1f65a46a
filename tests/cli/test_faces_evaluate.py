import numpy as np
import pytest

from gramian.faces import drawn_faces

FACES = drawn_faces(6, 4, size=(20, 24), seed=0)


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("faces.npz", X=FACES.pictures, y=np.array(FACES.people))
    np.savez("others.npz", X=np.random.default_rng(0).integers(0, 255, (10, 24, 20)).astype(np.uint8))
    return tmp_path


def test_tables(people, gramian):
    ran = gramian(
        "faces", "evaluate", "faces.npz", "-r", "3,8", "--splits", "2", "--enrolled", "2", "--far", "0.2"
    )
    assert ran.code == 0, ran.err
    assert "24 pictures of 6 people; 2 splits, 2 of each enrolled" in ran.out
    assert "rank-1 %" in ran.out


def test_json(people, gramian):
    ran = gramian(
        *("faces", "evaluate", "faces.npz", "-r", "3", "--splits", "1", "--far", "0.2", "--leave-out", "1"),
        *(
            "--others",
            "others.npz",
            "--light",
            "none",
            "--distance",
            "euclidean",
            "--no-discriminant",
            "--json",
        ),
    )
    assert ran.code == 0, ran.err
    facts = ran.json
    assert facts["protocol"]["distance"] == "euclidean"
    assert facts["protocol"]["discriminant"] is False
    assert facts["protocol"]["leave_out"] == 1
    assert facts["at"][0]["n_components"] == 3
    assert facts["at"][0]["false_accepts"] is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--light", "neon"), "--light='neon' is not known"),
        (("--distance", "far"), "--distance='far' is not known"),
        (("--far", "2"), "far=2"),
        (("-r", "ten"), "ten"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_options_that_cannot_be(people, gramian, given, message):
    ran = gramian("faces", "evaluate", "faces.npz", *given)
    assert ran.code == 2
    assert message in ran.err
