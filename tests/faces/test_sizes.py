"""Sizes that pictures of faces may have."""

import numpy as np
import pytest

from gramian.errors import DataError, InputTypeError, MemoryLimitError, ParameterError
from gramian.faces.reading import common_size, require_memory, require_side, wanted_size
from gramian.rows.decoding import PictureForm


@pytest.mark.parametrize(("size", "expected"), [(None, None), ("8x30000", (8, 30_000)), ((9, 8), (9, 8))])
def test_sizes_that_are_allowed(size, expected):
    assert wanted_size(size) == expected


@pytest.mark.parametrize(
    ("size", "kind", "message"),
    [
        ("1x1", ParameterError, r"size=1x1: nothing of a face is left below 8 pixels a side. Ask for more"),
        ((7, 100), ParameterError, "size=7x100: nothing of a face"),
        ("30001x8", ParameterError, "size=30001x8: a side may have at most 30,000 pixels. Ask for fewer"),
        ((True, True), InputTypeError, r"size=\(True, True\) is not two integers"),
        ("24×28", ParameterError, "Give width and height in pixels: size=.92x112"),
    ],
)
def test_sizes_that_are_not(size, kind, message):
    with pytest.raises(kind, match=message):
        wanted_size(size)


def test_the_least_side():
    require_side("a.png", 8, 8)
    with pytest.raises(DataError, match=r"^a\.png is 8x7 pixels: nothing of a face is left below 8 pixels"):
        require_side("a.png", 8, 7)


def test_memory(monkeypatch):
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1GB")
    require_memory(10, 1000, 1000, np.dtype(np.uint8))
    with pytest.raises(
        MemoryLimitError, match=r"1,000 pictures of 1000x1000 pixels need 5\.0 GB, and 1\.0 GB"
    ):
        require_memory(1000, 1000, 1000, np.dtype(np.uint8))


def test_the_common_size():
    def form(width, height):
        return PictureForm(height, width, np.dtype(np.uint8))

    assert common_size("ab", [form(9, 8), form(9, 8)]) == (9, 8)
    with pytest.raises(DataError, match=r"2 are 9x8 \(a\), 1 is 8x9 \(b\)\..*--size 9x8"):
        common_size("abc", [form(9, 8), form(8, 9), form(9, 8)])
