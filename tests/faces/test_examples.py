"""Example files: those that the script draws, and faces neither trivial nor impossible to tell apart."""

import numpy as np
import pytest

import drawn
from gramian import PCA
from gramian.errors import ParameterError
from gramian.faces import example_faces


def test_the_files_are_those_that_the_script_writes(tmp_path, monkeypatch):
    files = {path.name: path.read_bytes() for path in drawn.module.EXAMPLES.glob("*.csv")}
    monkeypatch.setattr(drawn.module, "EXAMPLES", tmp_path)
    drawn.module.main()
    for kind in ("faces", "things", "visitors"):
        with np.load(tmp_path / f"{kind}.npz") as arrays:
            faces = example_faces(kind)
            np.testing.assert_array_equal(arrays["X"], faces.pictures)
            assert tuple(arrays["name"]) == faces.names
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")} | {
        "penguins.csv": files["penguins.csv"]
    } == files


def test_people_differ_and_another_kind_is_refused():
    faces = example_faces()
    pictures, people = faces.pictures.reshape(320, -1).astype(float), np.array(faces.people)
    enrolled = np.arange(320) % 8 < 4
    # Nearest neighbours by grey values are often wrong, whitened components mostly right.
    distance = ((pictures[~enrolled][:, None] - pictures[enrolled][None]) ** 2).sum(axis=2)
    plain = np.mean(people[enrolled][distance.argmin(axis=1)] == people[~enrolled])
    pca = PCA(40, whiten=True).fit(pictures[enrolled])
    a, b = (
        z / np.linalg.norm(z, axis=1, keepdims=True)
        for z in map(pca.transform, (pictures[enrolled], pictures[~enrolled]))
    )
    whitened = np.mean(people[enrolled][(b @ a.T).argmax(axis=1)] == people[~enrolled])
    assert 0.4 < plain < 0.9 < whitened
    with pytest.raises(ParameterError, match="is not known"):
        example_faces("animals")
