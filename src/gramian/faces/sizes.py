"""Sizes of pictures of faces: which are allowed, which one several have in common, and what fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.arrays import memory_limit_bytes
from gramian.errors import DataError, MemoryLimitError, ParameterError
from gramian.rows.decoding import PictureForm
from gramian.rows.scan import check_size

__all__ = ["LARGEST", "SMALLEST", "common_size", "require_memory", "require_side", "wanted_size"]

SMALLEST = 8  # pixels of a side below which nothing of a face is left
LARGEST = 30_000  # pixels of a side above which no picture is resized


def wanted_size(size: Any) -> tuple[int, int] | None:
    """Return (width, height) that pictures of faces are to be resized to; None stays None.

    Raises
    ------
    InputTypeError, ParameterError
        For what is no size, and for one in which no face can be seen.

    Examples
    --------
    >>> wanted_size("92x112")
    (92, 112)
    """
    wanted = check_size(size)
    if wanted is None:
        return None
    if min(wanted) < SMALLEST:
        raise ParameterError(
            f"size={wanted[0]}x{wanted[1]}: nothing of a face is left below {SMALLEST} pixels a side. "
            f'Ask for more, such as size="92x112" (--size 92x112).'
        )
    if max(wanted) > LARGEST:
        raise ParameterError(
            f"size={wanted[0]}x{wanted[1]}: a side may have at most {LARGEST:,} pixels. "
            f'Ask for fewer, such as size="92x112" (--size 92x112).'
        )
    return wanted


def require_side(name: str, width: int, height: int) -> None:
    """Refuse a picture that is too small to show a face.

    Raises
    ------
    DataError
        Below 8 pixels a side.
    """
    if min(width, height) < SMALLEST:
        raise DataError(
            f"{name} is {width}x{height} pixels: nothing of a face is left below {SMALLEST} pixels a side. "
            "Leave it out."
        )


def require_memory(count: int, width: int, height: int, dtype: np.dtype[Any]) -> None:
    """Refuse more pixels than fit into memory.

    Raises
    ------
    MemoryLimitError
        As it says.
    """
    # As they are read, and once more as the float32 numbers that are computed with.
    needed, limit = count * width * height * (dtype.itemsize + 4), memory_limit_bytes(None)
    if needed > limit:
        counted = "1 picture" if count == 1 else f"{count:,} pictures"
        raise MemoryLimitError(
            f"{counted} of {width}x{height} pixels need{'s' if count == 1 else ''} {needed / 1e9:,.1f} GB, "
            f"and {limit / 1e9:,.1f} GB may be used. Make them smaller while reading, for instance with "
            'size="92x112" (--size 92x112).'
        )


def common_size(names: Sequence[str], forms: Sequence[PictureForm]) -> tuple[int, int]:
    """Return the one size (width, height) that all pictures have.

    Raises
    ------
    DataError
        When there are several; the most frequent one is proposed.
    """
    sizes = Counter((form.width, form.height) for form in forms)
    first: dict[tuple[int, int], str] = {}
    for name, form in zip(names, forms, strict=True):
        first.setdefault((form.width, form.height), name)
    ranked = sizes.most_common()
    if len(ranked) == 1:
        return ranked[0][0]
    parts = [
        f"{count} {'is' if count == 1 else 'are'} {w}x{h} ({first[w, h]})" for (w, h), count in ranked[:3]
    ]
    most = "{}x{}".format(*ranked[0][0])
    raise DataError(
        f"pictures of {len(ranked)} different sizes (width x height): {', '.join(parts)}"
        f"{', ...' if len(ranked) > 3 else ''}. Leave out what does not belong, or resize all, for instance "
        f'with size="{most}" (--size {most}); faces must then still be aligned.'
    )
