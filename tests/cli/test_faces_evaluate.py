"""``gramian faces evaluate`` from the shell, on drawn faces."""

import numpy as np
import pytest

from gramian.faces import drawn_faces
from gramian.faces.drawing import drawn_others
from gramian.faces.evaluation import evaluate_faces

SIZE = (20, 24)
QUICK = ("--splits", 2, "-r", "5,15", "--far", 0.1)


@pytest.fixture
def people(folder):
    """Pictures of people, and of what is no face, as arrays in files."""
    faces = drawn_faces(11, 4, size=SIZE, seed=1)
    np.savez(folder / "people.npz", X=faces.pictures, y=np.array(faces.people))
    np.savez(folder / "others.npz", X=drawn_others(10, size=(30, 30)).pictures)
    return faces


@pytest.fixture
def evaluate(gramian, people):
    return lambda *arguments: gramian("faces", "evaluate", "people.npz", *arguments)


def test_tables(evaluate):
    ran = evaluate(*QUICK)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "44 pictures of 11 people, none a copy of another; 2 splits, 2 of each enrolled. light"
    )
    for head in ("Who it is", "One to one", "A face or not"):
        assert f"\n{head}" in ran.out


def test_json_holds_what_python_says(evaluate, people):
    facts = evaluate(*QUICK, "--leave-out", 1, "--json").json
    expected = evaluate_faces(people, n_components=[5, 15], splits=2, far=0.1, leave_out=1).to_dict()
    for row, other in zip(facts["at"], expected["at"], strict=True):
        assert row["rank1"] == pytest.approx(other["rank1"])
        assert row["false_accepts"] == pytest.approx(other["false_accepts"])
    assert facts["protocol"]["leave_out"] == 1


def test_every_option_is_heard(evaluate):
    options = ("--light", "none", "--distance", "euclidean", "--no-discriminant", "--match", "mean")
    facts = evaluate(*QUICK, *options, "--enrolled", 3, "--others", "others.npz", "--seed", 5, "--json").json
    told = facts["protocol"]
    assert (told["light"], told["distance"], told["match"]) == ("none", "euclidean", "mean")
    assert (told["discriminant"], told["enrolled"], told["far"]) == (False, 3, 0.1)
    assert told["others"] == "10 pictures of others.npz"
    assert facts["at"] != evaluate(*QUICK, *options, "--enrolled", 3, "--json").json["at"]


def test_pictures_are_resized(evaluate):
    facts = evaluate(*QUICK, "--size", "16x16", "--others", "others.npz", "--json").json
    assert facts["protocol"]["size"] == "16x16"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--light", "bright"), 2, "light='bright' is not known"),
        (("--distance", "long"), 2, "distance='long' is not known"),
        (("--match", "best"), 2, "match='best' is not known"),
        (("--far", "0"), 2, "far=0.0 must be a number above 0"),
        (("--splits", "0"), 2, "splits=0 must be"),
        (("--seed", "-1"), 2, "-1"),
        (("-r", "many"), 2, "-r many is not understood"),
        (("--leave-out", "10"), 2, "leave_out=10 must be a whole number from 0 to 9. There are 11 people"),
        (("--enrolled", "4"), 1, "0 of 11 people have more than 4 pictures"),
        (("--others", "nothing.npz"), 1, "nothing.npz"),
    ],
)
def test_what_cannot_be_done(evaluate, arguments, code, message):
    ran = evaluate(*arguments)
    assert ran.code == code
    assert message in ran.err
    assert ran.out == ""


def test_pictures_of_nobody(gramian, people):
    ran = gramian("faces", "evaluate", "others.npz")
    assert ran.code == 1
    assert "does not say who is on its pictures" in ran.err
