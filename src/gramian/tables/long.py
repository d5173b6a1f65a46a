"""Long tables: which columns of a table are ids, names of variables, and their values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FEWEST = (3, 2)  # ids and variables
MOST = 1000  # variables
FULL = 0.9  # of the wide table, at least: so an id stands in several rows


def find_long(names: Sequence[str], arrays: Sequence[Any]) -> tuple[str, str, str] | None:
    """Return the columns of ids, of names of variables and of values, if a table is long.

    It has one column of values, which are no row numbers. Its ids and its variables repeat, each pair of them
    stands once, and nearly all pairs are there.

    Parameters
    ----------
    names : sequence of str
    arrays : sequence of pyarrow.Array

    Examples
    --------
    >>> ids, tests = pa.array([1, 1, 2, 2, 3, 3]), pa.array(["a", "b"] * 3)
    >>> find_long(("id", "test", "score"), [ids, tests, pa.array([1.5, 2.0, 1.0, 7.0, 3.0, 4.0])])
    ('id', 'test', 'score')
    """
    rows = len(arrays[0]) if arrays else 0
    numbers = [place for place, one in enumerate(arrays) if _is_number(one.type)]
    if not 1 <= len(numbers) <= 2 or rows < FEWEST[0] * FEWEST[1]:
        return None
    counters = [place for place in numbers if _counts_rows(arrays[place])]
    counts = {place: _repeats(one, rows) for place, one in enumerate(arrays)}
    best: tuple[int, tuple[int, int, int]] | None = None
    for id, variable in permutations([place for place, count in counts.items() if count], 2):
        ids, variables = counts[id], counts[variable]
        values = [place for place in numbers if place != id]
        if len(values) != 1 or not pa.types.is_string(arrays[variable].type) or values[0] in counters:
            continue
        fits = FEWEST[0] <= ids and FEWEST[1] <= variables <= min(MOST, ids)
        if not fits or not ids * variables * FULL <= rows <= ids * variables:
            continue
        if (best is None or ids * variables < best[0]) and _pairs_differ(arrays[id], arrays[variable]):
            best = ids * variables, (id, variable, values[0])
    if best is None:
        return None
    id, variable, value = best[1]
    return names[id], names[variable], names[value]


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _counts_rows(column: Any) -> bool:
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return bool((np.diff(values) == 1).all())


def _repeats(column: Any, rows: int) -> int:
    """Return how many values a column has in all rows, if they repeat and may name something; else 0."""
    kind = column.type
    if column.null_count or pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return 0
    distinct = int(pc.count_distinct(column).as_py())
    return distinct if distinct < rows else 0


def _pairs_differ(ids: Any, variables: Any) -> bool:
    pairs = (codes(ids)[0] << 32) + codes(variables)[0]
    return len(np.unique(pairs)) == len(pairs)


def codes(column: Any) -> tuple[Any, Any]:
    """Return the number of each entry in the order in which they occur, and the entries.

    Examples
    --------
    >>> numbers, entries = codes(pa.array(["b", "a", "b"]))
    >>> numbers.tolist(), entries.to_pylist()
    ([0, 1, 0], ['b', 'a'])
    """
    encoded = pc.dictionary_encode(column)
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary
