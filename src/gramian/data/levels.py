"""The order of categories: that of their column, else of numbers, else of letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gramian.data.labels import as_array, label_texts


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
    places = {level: place for place, level in enumerate(levels)}
    return sorted(kinds, key=lambda kind: (places.get(kind, len(places)), *_number(kind), kind))


def _number(text: str) -> tuple[bool, float]:
    try:
        value = float(text)
    except ValueError:
        return True, 0.0
    return value != value, value if value == value else 0.0
