"""The command ``plot`` of a space of faces."""

import os

import pytest

from drawn import drawn_faces
from gramian.faces import FaceSpace

pytest.importorskip("matplotlib")


def test_a_model_of_faces(folder, gramian):
    pytest.importorskip("PIL")
    FaceSpace(3).fit(drawn_faces(4, 3, size=(16, 20))).save("f.gramian")
    ran = gramian("plot f.gramian components,scree -o f")
    assert (ran.code, sorted(os.listdir("f"))) == (0, ["components.svg", "scree.svg"])
    gramian.refuses("plot f.gramian faces.npz::X", 2, "take no DATA")
    gramian.refuses("plot f.gramian scores", 2, "needs another model or DATA. Available: scree, components")
