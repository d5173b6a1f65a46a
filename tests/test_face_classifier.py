"""benchmarks/face_classifier.py: nobody is on both sides, and the shares are those of the definition."""

import numpy as np
import pytest

from drawn import drawn_faces, drawn_others
from gramian.errors import DataError
from helpers import script

benchmark = script("benchmarks/face_classifier.py")


@pytest.mark.walk
def test_faces_are_told_from_others_and_random_labels_are_not():
    faces, others = drawn_faces(10, 6, size=(20, 24), seed=2), drawn_others(30, size=(20, 24))
    ((count, face, other, separated),) = benchmark.face_or_not(
        faces.pictures, faces.people, others.pictures, [10]
    )
    assert count == 10
    assert face > 0.9
    assert other > 0.8
    assert 0 <= separated <= 1
    # Others that are faces of other people cannot be told from them: both are right half of the time.
    more = drawn_faces(10, 3, size=(20, 24), seed=3).pictures
    ((_, face, other, _),) = benchmark.face_or_not(faces.pictures, faces.people, more, [10])
    assert face + other < 1.4


@pytest.mark.walk
def test_no_person_is_on_both_sides(monkeypatch):
    people = np.repeat(np.arange(7), 3)
    faces = np.random.default_rng(0).integers(0, 255, (21, 12, 10)).astype(np.uint8)
    faces[:, 0, 0] = people  # who it is can be read from the picture
    seen = []
    fit = benchmark.FaceSpace.fit
    monkeypatch.setattr(
        benchmark.FaceSpace, "fit", lambda self, X: (seen.append(set(X[:, 0, 0])), fit(self, X))[1]
    )
    benchmark.face_or_not(faces, people, faces[:10], [2])
    left_out = [set(range(7)) - one for one in seen]
    assert sorted(person for some in left_out for person in some) == list(range(7))
    with pytest.raises(DataError, match="5 parts need as many people"):
        benchmark.face_or_not(faces, people % 4, faces[:10], [2])
