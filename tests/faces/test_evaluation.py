"""Evaluations of drawn faces, and of the AT&T pictures where they are."""

import dataclasses

import numpy as np
import pytest

from gramian.errors import DataError, ParameterError
from gramian.faces import FaceSpace, drawn_faces, read_faces
from gramian.faces import evaluation as module
from gramian.faces.evaluation import evaluate_faces

FACES = drawn_faces(12, 6, size=(24, 28), seed=0)


@pytest.fixture(scope="module")
def found():
    return evaluate_faces(FACES, n_components=[5, 20], enrolled=3, splits=2, far=0.1, leave_out=2)


def test_the_figures_are_rates_and_follow_the_protocol(found):
    assert [row.n_components for row in found.at] == [5, 20]
    assert found.protocol["enrolled"] == 3
    for row in found.at:
        for rate in (row.rank1, row.equal_error, row.identified, row.false_accepts, row.told_apart):
            assert 0 <= rate <= 1
        assert row.identified + row.misnamed <= 1
        assert row.identified <= row.rank1 + 1e-12
    assert found.at[1].face_error < found.at[0].face_error
    assert found.best in (5, 20)


def test_people_are_recognised_better_than_by_chance_and_noise_is_no_face(found):
    assert found.at[1].rank1 > 0.5
    assert found.others_refused > 0.9


def test_no_test_picture_is_seen_in_fitting(monkeypatch):
    seen, asked = [], []

    class Watched(FaceSpace):
        def fit(self, faces, people=None):
            seen.append({picture.tobytes() for picture in faces})
            return super().fit(faces, people)

        def errors(self, faces, n_components):
            asked.append({picture.tobytes() for picture in getattr(faces, "pictures", faces)})
            return super().errors(faces, n_components)

    monkeypatch.setattr(module, "FaceSpace", Watched)
    evaluate_faces(FACES, n_components=[4], enrolled=3, splits=2, far=0.2)
    assert len(seen) == 2
    for fitted, tested in zip(seen, asked[::2], strict=True):
        assert not fitted & tested


def test_the_same_seed_gives_the_same_figures(found):
    again = evaluate_faces(FACES, n_components=[5, 20], enrolled=3, splits=2, far=0.1, leave_out=2)
    assert again.to_dict() == found.to_dict()


def test_what_cannot_be_evaluated_is_refused():
    with pytest.raises(DataError, match="does not say who is on its pictures"):
        evaluate_faces(dataclasses.replace(FACES, people=None))
    with pytest.raises(ParameterError, match="leave_out=11 of 12 people leaves fewer than 2"):
        evaluate_faces(FACES, leave_out=11)
    with pytest.raises(ParameterError, match="splits=0 must be a whole number"):
        evaluate_faces(FACES, splits=0)
    with pytest.raises(ParameterError, match="light='neon' is not known"):
        evaluate_faces(FACES, light="neon")
    with pytest.raises(DataError, match="pictures that are no faces, 10x10"):
        evaluate_faces(FACES, others=drawn_faces(2, 2, size=(10, 10)))


def test_orl_reaches_the_published_rate(data_dir):
    folder = data_dir / "faces" / "orl"
    if not folder.exists():
        pytest.skip("no faces/orl")
    pytest.importorskip("PIL")
    found = evaluate_faces(read_faces(folder), n_components=[100], enrolled=5, splits=2)
    assert found.at[0].rank1 >= 0.94
    assert np.isfinite(found.at[0].equal_error)
