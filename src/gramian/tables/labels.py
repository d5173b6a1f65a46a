"""Labels of rows: in any form that people have them, which rows have none, and the order of categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.core.arrays import to_numpy
from gramian.errors import DataError, InputTypeError
from gramian.tables.cells import MISSING_TOKENS

NO_LABEL = frozenset({*MISSING_TOKENS, "None", "NaT"})  # as pandas and NumPy write what is missing


def as_array(labels: Any) -> npt.NDArray[Any]:
    """Return labels in any form as an array: a list, an array, or a column of a frame.

    Raises
    ------
    DataError
        If entries are lists of different lengths.
    """
    if hasattr(labels, "combine_chunks"):  # in chunks Arrow puts a category where one is missing
        labels = labels.combine_chunks()
    try:
        return np.asarray(labels) if isinstance(labels, Sequence) else to_numpy(labels)
    except ValueError as error:
        raise DataError(
            "The labels are lists of different lengths.", "Give one label for each row."
        ) from error


def has_label(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which rows have a label: not None, NaN, NaT, NA of pandas, blank text, or text for these.

    Examples
    --------
    >>> has_label(np.array(["u", "", None, np.nan, "NA"], dtype=object)).tolist()
    [True, False, False, False, False]
    >>> has_label(np.array([1.0, np.nan])).tolist()
    [True, False]
    """
    if values.dtype.kind in "fmM":
        return np.asarray(values == values)
    if values.dtype.kind not in "OUST":
        return np.ones(values.shape, dtype=bool)
    entries = values.tolist()
    if {*map(type, entries)} <= {str}:  # of a few texts, most often
        missing = {text for text in {*entries} if text.strip() in NO_LABEL}
        return np.array([text not in missing for text in entries]) if missing else np.ones(len(values), bool)
    return np.array(
        [
            entry.strip() not in NO_LABEL if isinstance(entry, str) else not _is_missing(entry)
            for entry in entries
        ],
        dtype=bool,
    )


def _is_missing(value: Any) -> bool:
    # NA of pandas has no truth value.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def label_texts(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as text, "" where there is none: each number in its fewest digits, a whole one as such.

    Examples
    --------
    >>> label_texts(np.array([1017.0, 0.5, np.nan])).tolist(), label_texts(np.array([True])).tolist()
    (['1017', '0.5', ''], ['True'])
    """
    array = values.astype(str) if values.dtype.kind == "f" else values  # of float32 no more digits
    entries, there = array.tolist(), has_label(values)
    if there.all() and (values.dtype.kind in "UT" or {*map(type, values.tolist())} == {str}):
        return array.astype(object)
    texts = [str(value) if known else "" for value, known in zip(entries, there, strict=True)]
    if values.dtype.kind not in "UST":
        numbers = [not isinstance(value, str) for value in values.tolist()]
        texts = [
            text.removesuffix(".0") if is_number else text
            for text, is_number in zip(texts, numbers, strict=True)
        ]
    return np.array(texts, dtype=object)


def as_variable(name: str, labels: Any) -> npt.NDArray[Any]:
    """Return a column as float64 if it holds numbers, else as text; what is missing is NaN or "".

    Examples
    --------
    >>> as_variable("dose", [1, None, 3]).tolist(), as_variable("sex", ["f", None, "m"]).tolist()
    ([1.0, nan, 3.0], ['f', '', 'm'])
    """
    array = as_array(labels)
    if array.ndim != 1:
        raise InputTypeError(
            f"The metadata {name!r} has shape {array.shape}. Give a path, a frame, a mapping of names to "
            "columns, or one label for each row."
        )
    chosen = str(getattr(labels, "dtype", "")) == "category"
    if array.dtype.kind in "iuf" and not chosen:
        return array.astype(np.float64)
    there = has_label(array)
    numbers = (isinstance(value, Real) and not isinstance(value, bool) for value in array[there].tolist())
    if array.dtype.kind == "O" and not chosen and there.any() and all(numbers):
        result = np.full(len(array), np.nan)
        result[there] = array[there].astype(np.float64)
        return result
    return label_texts(array)


# ---- The order of categories: that of their column, else of numbers, else of letters


def declared_levels(column: Any) -> tuple[str, ...]:
    """Return the ordered categories of a column of pandas, Polars or Arrow; none of other columns.

    Examples
    --------
    >>> import polars as pl
    >>> declared_levels(pl.Series(["low"], dtype=pl.Enum(["low", "high"])))
    ('low', 'high')
    """
    kind = getattr(column, "dtype", getattr(column, "type", None))
    if not (getattr(kind, "ordered", False) or type(kind).__name__ == "Enum"):
        return ()
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    levels: Any = getattr(kind, "categories", None)
    levels = column.dictionary if levels is None else levels
    return tuple(label_texts(as_array(levels)))


def in_order(kinds: Iterable[str], levels: Sequence[str] = ()) -> list[str]:
    """Return categories in the order of declared levels; numbers as text by their values, before other text.

    Examples
    --------
    >>> in_order({"10", "2", "1", "b", "a"}), in_order({"high", "low"}, ("low", "mid", "high"))
    (['1', '2', '10', 'a', 'b'], ['low', 'high'])
    """
    ranks = {level: rank for rank, level in enumerate(levels)}
    return sorted(kinds, key=lambda kind: (ranks.get(kind, len(ranks)), *_number(kind), kind))


def _number(text: str) -> tuple[bool, float]:
    try:
        value = float(text)
    except ValueError:
        return True, 0.0
    return value != value, value if value == value else 0.0
