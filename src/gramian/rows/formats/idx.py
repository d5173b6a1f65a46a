"""IDX files, the format of MNIST: one array behind a short header."""

import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.rows.archives import Header, damage, require
from gramian.rows.opened import Opened
from gramian.rows.source import ArraySource

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def open(opened: Opened, key: str | None) -> ArraySource:
    """Return the array of an IDX file.

    Raises
    ------
    FileError
        If the file is truncated, or has more than its header says, or is of another kind.
    DataError
        If the array does not fit its use.

    Examples
    --------
    >>> file = b"\\0\\0\\x08\\x02\\0\\0\\0\\x01\\0\\0\\0\\x03\\x07\\x08\\x09"
    >>> open(Opened("memory", data=file), None).read()
    array([[7, 8, 9]], dtype=uint8)
    """
    data, source = opened.content(), opened.name
    with damage(source):
        zeros, kind, axes = struct.unpack_from(">HBB", data)
        if zeros or kind not in _TYPES:
            raise ValueError("its first bytes are not those of an IDX file")
        shape, dtype = struct.unpack_from(f">{axes}I", data, 4), np.dtype(_TYPES[kind])
        start, count = 4 + 4 * axes, math.prod(shape)
        if len(data) - start != count * dtype.itemsize:
            raise ValueError(f"its header promises {shape} {dtype}, but {len(data) - start} bytes follow")

    def read() -> npt.NDArray[Any]:
        return np.frombuffer(data, dtype, count, start).reshape(shape)

    header = Header(shape, dtype, read)
    require(header, source, opened.use)
    return ArraySource.of(header, source)
