import io
import sys

import numpy as np
import pytest

from gramian.errors import MissingExtraError
from gramian.figures.images import Picture, contact_sheet, grey, require_pillow, signed


def test_grey_clips_signed_is_symmetric_and_a_png_holds_them(tmp_path):
    assert grey([-5.0, 0.0, 255.0, 300.0], 0, 255).tolist() == [0, 0, 255, 255]
    assert grey([3.0, 3.0], 3, 3).tolist() == [128, 128]  # neither black nor white
    assert signed([-1.0, 0.0, 1.0]).tolist() == [0, 128, 255]
    assert signed(np.zeros(3)).tolist() == [128, 128, 128]
    Image = pytest.importorskip("PIL.Image")
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    picture = Picture(pixels)
    picture.save(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "a.png")), pixels)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(picture.png()))), pixels)


def test_small_pictures_are_enlarged_by_whole_numbers_and_large_ones_made_smaller():
    pytest.importorskip("PIL")
    sheet = contact_sheet(
        [np.full((8, 8), 77, dtype=np.uint8)] * 3, ["PC1", "PC2", "a very long caption " * 9]
    )
    assert np.sum(sheet.pixels == 77) >= 3 * 168 * 168
    assert sheet.pixels.shape[1] < 600
    sheet = contact_sheet([np.zeros((1000, 500), dtype=np.uint8)], ["PC1"])
    assert sheet.pixels.shape[0] < 220


def test_a_missing_pillow_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"Writing pictures needs pillow, which is not installed\."):
        require_pillow()
