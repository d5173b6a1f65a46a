"""Sheets of faces."""

import numpy as np
import pytest

from gramian.plots.faces import face_sheet, grey_range, strip

pytest.importorskip("PIL")


def test_what_is_black_and_white():
    assert grey_range(np.array([[0.0, 255.0]])) == (0.0, 255.0)
    assert grey_range(np.array([[0.0, 1.0]])) == (0.0, 1.0)
    assert grey_range(np.array([[-2.0, 300.0]])) == (-2.0, 300.0)


def test_a_sheet_of_mean_and_components():
    mean = np.full((100, 100), 77.0)
    components = np.stack([np.full((100, 100), value) for value in (0.0, 0.5, -0.5)])
    sheet = face_sheet(mean, components, ["PC1", "PC2", "PC3"]).pixels
    for tone in (77, 128, 255, 1):
        assert np.sum(sheet == tone) >= 9900


def test_a_strip_has_a_row_for_each_picture():
    originals = [np.full((100, 100), 50.0), np.full((100, 100), 90.0)]
    rebuilt = [np.full((2, 100, 100), 60.0), np.full((2, 100, 100), 300.0)]
    sheet = strip(originals, rebuilt, [["a", "b", "c"]] * 2).pixels
    assert sheet.shape[1] > sheet.shape[0]
    assert np.sum(sheet == 60) >= 2 * 9900
    # Beyond white is white, as a screen would show it.
    assert np.sum(sheet == 255) >= 2 * 9900
