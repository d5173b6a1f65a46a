"""Arrays in .npy and .npz files, whole and damaged."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import DataError, FileError, GramianError
from gramian.tables.formats.arrays import open_npy, open_npz
from gramian.tables.source import Opened, damage


def saved(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def archived(compressed=False, **arrays):
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def npy(data):
    with Opened("x.npy", data=data) as opened, damage("x.npy"):
        return open_npy(opened, None).read()


def npz(data, key=None):
    with Opened("x.npz", data=data) as opened, damage("x.npz"):
        source = open_npz(opened, key)
        return source.read(), source.notes


def test_what_was_saved_is_read():
    for order in ["C", "F"]:
        for dtype in ("u1", "i2", "<f4", ">f8", "f2", "?"):
            array = np.arange(12).reshape(3, 4).astype(dtype, order=order)
            for read in (npy(saved(array)), npz(archived(X=array))[0], npz(archived(True, X=array))[0]):
                np.testing.assert_array_equal(read, array)
                assert read.dtype == array.dtype
    array, notes = npz(archived(y=np.zeros(2), X=np.eye(2), name=np.array(["a", "b"])))
    assert array.shape == (2, 2)
    assert notes == ("array 'X' was read, the only table in the archive",)
    with pytest.raises(DataError, match=r"x\.npz holds A \(2 x 2 float64\), B \(1 x 2 x 3 uint8\)\."):
        npz(archived(A=np.eye(2), B=np.zeros((1, 2, 3), np.uint8)))
    with pytest.raises(DataError, match=r"x\.npz holds a0 \(2 x 2 float64\), a1 \(2 x 2 float64\), a2 \(2"):
        npz(archived(**{f"a{index}": np.eye(2) for index in range(15)}))
    with pytest.raises(DataError, match=r"\. It holds A \(2 x 2 float64\)\."):
        npz(archived(A=np.eye(2)), "C")
    with pytest.raises(DataError, match=r"x\.npz holds no arrays of numbers or text\. Is it the right"):
        npz(archived())
    data = bytearray(archived(big=np.arange(10_000.0).reshape(100, 100), X=np.eye(2)))
    data[5000] ^= 0xFF
    assert npz(bytes(data), "X")[0].shape == (2, 2)
    with pytest.raises(FileError, match=r"x\.npz cannot be read"):
        npz(bytes(data), "big")


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1, None]], dtype=object),
        np.array([(1, None)], dtype=[("a", int), ("b", object)]),
        np.eye(2) * 1j,
        np.array([["a"]]),
        np.zeros((2, 2), dtype="M8[s]"),
        np.zeros(2, dtype=[("a", int)]),
        np.zeros(3),
        np.zeros((1, 1, 1, 1)),
        np.float64(3),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(array):
    with pytest.raises(DataError, match=r"x\.npy holds"):
        npy(saved(array, allow_pickle=True))
    with pytest.raises(DataError, match=r"x\.npz::X holds"):
        npz(archived(X=array))
    with pytest.raises(DataError, match=r"x\.npz::X holds"):
        npz(archived(X=array, other=np.eye(2)), "X")


def header(text, size=None):
    body = text.encode("latin1")
    return b"\x93NUMPY\x01\x00" + (size or len(body)).to_bytes(2, "little") + body


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': 'zzz', 'fortran_order': False, 'shape': (1, 3)}",
        "__import__('os').system('true')",
        "[]",
        "[" * 9000,
        "(" + "-" * 9000 + "1)",
        "x" * 20_000,
    ],
)
def test_hostile_headers(text):
    with pytest.raises(FileError, match="truncated"):
        npy(header(text) + b"\0" * 24)


@given(st.integers(0, 400), st.integers(1, 255))
def test_no_damage_raises_anything_foreign(place, flip):
    for data, read in (
        (saved(np.eye(4)), npy),
        (archived(X=np.eye(4)), npz),
        (archived(True, X=np.eye(4)), npz),
    ):
        damaged = bytearray(data)
        damaged[place % len(data)] ^= flip
        with contextlib.suppress(GramianError):
            assert isinstance(read(bytes(damaged)), np.ndarray | tuple)
