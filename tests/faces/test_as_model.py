"""What every model can do, of a space of faces: be saved, drawn, shown in a notebook and on a page."""

import numpy as np
import pytest

from damaged import refusals_of_damaged
from drawn import drawn_faces
from gramian import figures
from gramian.errors import DataError
from gramian.faces import FaceSpace
from gramian.faces.face_images import relight
from gramian.report.facts import Fitted
from gramian.report.page import report_page


def test_wrong_contents_of_a_file_are_refused_or_harmless(tmp_path, monkeypatch):
    space = FaceSpace(4).fit(drawn_faces(6, 3, size=(20, 24), seed=0))
    data = np.full((2, *space.picture_shape_), 0.5)
    assert refusals_of_damaged(space, data, tmp_path) > 50


def test_notebooks_thresholds_and_how_to_repeat_the_report():
    space = FaceSpace(3).fit(drawn_faces(3, 3, size=(16, 20)))
    assert "Certificate: holds" in space._repr_mimebundle_()["text/html"]
    space = FaceSpace(2).fit(drawn_faces(3, 2, size=(16, 20)))
    with pytest.raises(DataError, match=r"Pictures of faces have three axes \(n, height, width\), not"):
        figures.reconstructions(space, np.zeros((2, 320)))
    pytest.importorskip("matplotlib")
    space = FaceSpace(5).fit(drawn_faces(6, 3, size=(20, 24), seed=0))
    page = report_page(Fitted(FaceSpace(4).fit(drawn_faces(5, 3, size=(24, 28))), None))
    assert "Turk" in page
    assert "gramian.faces.FaceSpace(n_components=4).fit(X)" in page


def test_a_space_of_faces_is_that_of_its_corrected_pictures():
    rng = np.random.default_rng(0)
    pictures = (rng.random((30, 12, 9)) * 200 + 20).astype(np.uint8)
    for light in ("none", "equalise"):
        space = FaceSpace(6, light=light).fit(pictures)
        relit = space.relight(pictures)
        np.testing.assert_array_equal(relit, relight(pictures, light))
        inner = space.decomposition_
        drawn, same = (
            figures.reconstructions_data(model, X, [1, 6]) for model, X in ((space, pictures), (inner, relit))
        )
        np.testing.assert_array_equal(drawn.pictures, same.pictures)
