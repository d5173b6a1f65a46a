"""Tables in the form that a fitted model expects: its columns by name, and the alleles that it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import counted, first_few, listed
from gramian.data.table import Expected, Table
from gramian.errors import DataError, MissingValuesWarning, option
from gramian.io.spool import columns_taken
from gramian.io.stored import DerivedRows, StoredRows


def leaves_out(unmatched: str | None, expected: Expected) -> bool:
    """Return whether variants that are absent or unclear become missing values, as an option says."""
    return unmatched == "leave-out" or (unmatched is None and expected.holes)


def as_expected(table: Table, expected: Expected, unmatched: str | None = None) -> Table:
    """Return a table with the expected columns in their order, and notes on the changes.

    A table without names stays as it is. Where ``unmatched`` allows it, genotypes may lack variants, or have
    some of unclear allele: they become missing values.

    Warns
    -----
    MissingValuesWarning
        For such variants, unless it was asked for.

    Raises
    ------
    DataError
        If a column is not there, or it is unclear which allele it counts.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(np.array([[1.0, 2.0, 3.0]]), ("z", "y", "x"))
    >>> ordered = as_expected(table, Expected(("x", "y")))
    >>> ordered.values.tolist(), ordered.notes[0]
    ([[3.0, 2.0]], "1 column that the model was not fitted on was left out: 'z'")
    """
    if expected.names is not None and table.alleles is not None:
        leave_out = leaves_out(unmatched, expected)
        table = in_fitted_alleles(
            table, expected.names, expected.alleles, leave_out=leave_out, warn=unmatched is None
        )
    names = table.feature_names
    if expected.names is None or names is None or names == expected.names:
        return table
    places, notes = expected.places(names, table.source)
    values = columns_taken(table.values, places)
    return replace(table, values=values, feature_names=expected.names, notes=(*table.notes, *notes))


# ---- Genotypes of another cohort, counted by the alleles of the fitted one

# An A on one strand is a T on the other, so that a swapped pair may also be one that was read from there.
AMBIGUOUS = ({"A", "T"}, {"C", "G"})


def recoded(
    places: npt.NDArray[np.intp], swapped: npt.NDArray[np.bool_], values: npt.NDArray[Any], *_: slice
) -> npt.NDArray[Any]:
    """Return columns at places, 2 - x where swapped, NaN where missing.

    Examples
    --------
    >>> recoded(np.array([1, 0, -1]), np.array([False, True, False]), np.array([[0.0, 2.0]]))
    array([[ 2.,  2., nan]])
    """
    result = np.full((len(values), len(places)), np.nan, dtype=values.dtype)
    there = places >= 0
    result[:, there] = values[:, places[there]]
    result[:, swapped] = 2 - result[:, swapped]
    return result


def in_fitted_alleles(
    table: Table,
    names: Sequence[str],
    alleles: Mapping[str, str],
    *,
    leave_out: bool,
    warn: bool = False,
) -> Table:
    """Return genotypes with the columns of a model, each counting the allele that the model counts.

    Parameters
    ----------
    table : Table
        With known alleles.
    names : sequence of str
        The columns of the model.
    alleles : mapping of str to str
        The allele that each of them counts, where that is known.
    leave_out : bool
        Whether columns become missing values if they are absent or nobody can tell what they count.
    warn : bool
        Whether a warning says so, or else a note.

    Raises
    ------
    DataError
        For such columns, unless they are left out; always if no other is there.
    """
    counted_here = {name: one for name, (one, _) in (table.alleles or {}).items()}
    if table.feature_names == names and counted_here == alleles:
        return table  # as most are, and those that were looked at before
    where = {name: place for place, name in enumerate(table.feature_names or ())}
    swapped, unclear, absent = [], {}, []
    for name in names:
        fitted, (one, other) = alleles.get(name), (table.alleles or {}).get(name, ("", ""))
        if name not in where:
            absent.append(name)
        elif fitted is None or one == fitted or (not one and other != fitted):
            continue
        elif other == fitted and {one, other} not in AMBIGUOUS:
            swapped.append(name)
        else:
            unclear[name] = f"{name!r} ({one or '0'}/{other or '0'}, fitted {fitted})"
    if unclear and not leave_out:
        shown = first_few(list(unclear.values()))
        many = counted(len(unclear), "variant")
        raise DataError(
            f"{table.source} and the fitted data count different alleles of {many}, and it is unclear how to "
            f"exchange them: {shown}. (A/T and C/G read the same on both strands.) Write both files with the "
            "same A1 and strand (plink --a1-allele, --flip), or leave such variants out with "
            f"{option('unmatched', 'leave-out')}."
        )
    if (absent and not leave_out) or len(absent) == len(names):
        return table  # whose columns are compared by name
    if not (swapped or unclear or absent):
        return table
    places = np.array([-1 if name in unclear else where.get(name, -1) for name in names], dtype=np.intp)
    flips = np.isin(np.array(names, dtype=object), swapped)
    f, values, shape = partial(recoded, places, flips), table.values, (len(table.values), len(names))
    if isinstance(values, StoredRows):
        values = values.derived(DerivedRows, f=f, shape=shape, cuts_columns=False, finite=None)
    else:
        values = f(values)
    notes = []
    if swapped:
        many = counted(len(swapped), "variant counts", "variants count")
        notes.append(f"{many} the other allele and became 2 - x: {listed(swapped)}")
    missing = [
        f"{counted(len(some), one, many)} as missing, of {len(names):,}: {listed(some)}"
        for one, many, some in (
            ("variant of unclear allele counts", "variants of unclear allele count", list(unclear)),
            ("absent variant counts", "absent variants count", absent),
        )
        if some
    ]
    if missing and warn:
        MissingValuesWarning(
            f"{table.source}: {'; '.join(missing)}. Scores follow from the others; pass "
            f"{option('unmatched', 'leave-out')} if that is expected."
        ).warn()
    else:
        notes += missing
    return replace(
        table,
        values=values,
        feature_names=tuple(names),
        alleles={name: (allele, "") for name, allele in alleles.items()},
        notes=(*table.notes, *notes),
    )
