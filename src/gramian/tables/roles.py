"""What each column of a table is: a measure, an identifier, a time, a place, a code, a weight or a total."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from gramian.core.checks import percent
from gramian.core.records import FloatArray, Members
from gramian.tables.as_rows import to_rows
from gramian.tables.cells import is_moment, units_of
from gramian.tables.column_features import FEATURES, chance, features, grams, telling, tokens
from gramian.tables.preview import MOST_GROUPS, Column, Preview, of_array, of_columns
from gramian.tables.scan import Scan
from gramian.tables.stored import StoredRows
from gramian.tables.table import RowsRequest, Table

Kind = Literal[
    "measure",
    "identifier",
    "counter",
    "time",
    "place",
    "code",
    "weight",
    "total",
    "lag",
    "constant",
    "text",
    "label",
]
# What the trained trees tell apart; the other kinds follow from exact evidence.
LEARNED: tuple[Kind, ...] = ("measure", "identifier", "time", "place", "code", "weight")
# Words of names that say which of these a column is that is no measure.
NAMED: dict[str, Kind] = {
    **dict.fromkeys(["year", "quarter", "month", "week", "day", "date", "time", "hour", "minute"], "time"),
    **dict.fromkeys(["season", "period", "round", "wave"], "time"),
    **dict.fromkeys(["lat", "latitude", "long", "longitude"], "place"),
    **dict.fromkeys(["freq", "frequency", "weight", "wt", "wght"], "weight"),
    **dict.fromkeys(["id", "patient", "subject"], "identifier"),
    "lag": "lag",
}
OUT, DOUBTFUL = 0.58, 0.13  # probability of being no measure from which a column leaves, or is named
SURE = 0.9  # the same of a column with a unit
MOST_JUDGED = 300  # columns of numbers that are judged, the first and the last
IN_MANY = "is one of many columns"
FREELY = 0.5  # distinct share of numbers with decimals that name nothing
MOST_DOUBTFUL = 8  # columns that are named, of those of which most are doubtful
FEWEST = 10  # rows from which numbers are judged
NAMING, RUN = 20, 0.95  # rows from which a run of numbers names them; its confidence
LAGGED = 0.9  # share of rows in which a lag is another column, one row earlier
LOOK = 32 << 20  # bytes of a large file that are looked at


@dataclass(frozen=True)
class Role:
    """What one column is.

    Attributes
    ----------
    name : str
        Of the column.
    role : str
        "measure", "identifier", "counter", "time", "place", "code", "weight", "total" (a sum or difference of
        other columns), "lag" (another column, shifted by rows), "constant", "text" or "label" (text with few
        values).
    confidence : float
        Estimated probability that it is right to analyse a measure, and to leave out another column.
    why : str
        A clause with the evidence.
    otherwise : str
        Of a measure that may be none, what it may be; else "".
    """

    name: str
    role: Kind
    confidence: float
    why: str
    otherwise: str = ""

    def __str__(self) -> str:
        doubt = f" ({self.otherwise}?)" if self.otherwise else ""
        return f"{self.name}: {self.role}{doubt} ({percent(self.confidence)}), {self.why}"


@dataclass(frozen=True)
class Roles(Members[Role]):
    """What each column of a table is.

    Attributes
    ----------
    items : tuple of Role
        In the order of the columns.
    """

    items: tuple[Role, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the columns that are analysed."""
        return tuple(role.name for role in self if role.role == "measure")

    @property
    def doubtful(self) -> tuple[Role, ...]:
        """The measures that may be none."""
        return tuple(role for role in self if role.otherwise)

    def __str__(self) -> str:
        return "\n".join(map(str, self.items))


def roles(data: Any) -> Roles:
    """Return what each column of a table is, by its name, its values and the other columns.

    Parameters
    ----------
    data : path, Scan, data frame, Table or array of shape (n_samples, n_features)
        Of a file of more than 32 MB the first rows are looked at.

    Returns
    -------
    Roles
        A sequence of :class:`Role`, one a column; empty for pictures and genotypes.

    Notes
    -----
    Numbers are judged by a forest of decision trees, trained on public tables; ``make roles`` trains it, and
    measures it on tables that were left out. Below 10 rows all numbers are measures.

    Examples
    --------
    >>> from importlib.resources import files
    >>> found = roles(files("gramian") / "examples" / "penguins.csv")
    >>> found.measures
    ('bill_length_mm', 'bill_depth_mm', 'flipper_length_mm', 'body_mass_g')
    >>> [one.name for one in found if one.role == "time"]
    ['year']
    """
    seen = preview_of(data)
    return Roles() if seen is None or seen.genotypes else roles_of(seen)


def preview_of(data: Any) -> Preview | None:
    """Look at a file or at a table in memory; of one that is stored, at its first rows; None for pictures."""
    if isinstance(data, str | os.PathLike):
        data = Scan(data)
    if isinstance(data, Scan):
        return data.preview(LOOK)
    if isinstance(data, Table):
        if data.picture_shape is not None:
            return None
        names, values = data.feature_names, data.values
        stored = isinstance(values, StoredRows)
        values = values[: max(1, LOOK // (8 * values.shape[1]))] if stored else values
        preview = of_array(np.asarray(values) if stored else values, names, not stored)
        return replace(preview, genotypes=data.alleles is not None)
    if not hasattr(data, "collect") and hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__"):
        from gramian.tables.columns import frame_columns

        return of_columns(frame_columns(data), True)
    rows = to_rows(data, RowsRequest())
    return None if rows.picture_shape is not None else of_array(rows.in_memory(), rows.feature_names)


def roles_of(seen: Preview) -> Roles:
    """Return what each column of a table that was looked at is."""
    numbers = [one for one in seen.columns if one.sample is not None and one.name != seen.row_names]
    texts = sum(column.sample is None for column in seen.columns)
    found = {column.name: _of_text(column, seen.rows) for column in seen.columns if column.sample is None}
    few, half = seen.rows < FEWEST, MOST_JUDGED // 2
    judged = [] if few else numbers[:half] + numbers[max(half, len(numbers) - half) :]
    sure, why = (0.5, "is a number") if few else (1.0, IN_MANY)
    rest = numbers if few else numbers[half:-half]
    found |= {column.name: _constant(column) or Role(column.name, "measure", sure, why) for column in rest}
    if judged:
        found |= {role.name: role for role in _judged(judged, features(judged, seen.rows, texts), seen.named)}
    doubtful = [role for role in found.values() if role.otherwise]
    if len(doubtful) > max(MOST_DOUBTFUL, len(numbers) // 2):  # they are of one kind, and no exceptions
        found |= {role.name: replace(role, why="varies freely", otherwise="") for role in doubtful}
    if seen.row_names is not None and seen.row_names not in found:
        found[seen.row_names] = Role(seen.row_names, "identifier", 1.0, "has another value in every row")
    return Roles(tuple(found[column.name] for column in seen.columns))


def is_date(column: Column) -> bool:
    """Return whether a column of text holds dates or times."""
    shown = [text for text in column.first if text]
    return column.kind == "date" or (column.kind == "text" and bool(shown) and all(map(is_moment, shown)))


def _of_text(column: Column, rows: int) -> Role:
    if is_date(column):
        return Role(column.name, "time", 1.0, "holds dates or times")
    if column.distinct == rows > 1:
        return Role(column.name, "identifier", 1.0, "has another text in every row")
    if 2 <= column.distinct <= min(MOST_GROUPS, rows // 2):
        return Role(column.name, "label", 1.0, f"names {column.distinct} groups of rows")
    return Role(column.name, "text", 1.0, f"has {column.distinct:,} texts")


def _constant(column: Column) -> Role | None:
    why = "is the same in all rows" if column.distinct else "holds no value"
    return None if column.distinct > 1 else Role(column.name, "constant", 1.0, why)


# ---------------------------------------------------------------- judgement

# What features say where they speak against a measure, and the values from which that is so.
EVIDENCE: dict[str, tuple[Callable[[float], bool], Callable[[Column, Mapping[str, float]], str]]] = {
    "year": (bool, lambda c, f: f"lies within {c.low:.0f} to {c.high:.0f}, as years do"),
    "restarts": (lambda x: x >= 0.02, lambda c, f: "starts again at its lowest value"),
    "steps": (lambda x: x >= 0.5, lambda c, f: f"rises by one in {percent(f['steps'])} of the rows"),
    "monotone": (bool, lambda c, f: "never turns"),
    "with rows": (
        lambda x: x >= 0.9,
        lambda c, f: f"follows the order of the rows (rank correlation {f['with rows']:.2f})",
    ),
    "rising in": (lambda x: x >= 0.9, lambda c, f: "rises within the groups of another column"),
    "exact": (lambda x: x > 0.3, lambda c, f: "is an exact sum or difference of other columns"),
}


@cache
def _model() -> dict[str, Any]:
    with np.load(str(files("gramian") / "tables" / "roles.npz")) as stored:
        return dict(stored)


def _judged(columns: Sequence[Column], facts: FloatArray, named: bool) -> list[Role]:
    """Return the roles of columns of numbers: the mean over the trees, and what decided it."""
    trees = _model()
    weights, intercept = trees["names"], float(trees["intercept"])
    named_so = [named and says for says in telling(column.name for column in columns)]
    scores = [
        intercept + float(weights[grams(column.name)].sum()) if has_name else 0.0
        for column, has_name in zip(columns, named_so, strict=True)
    ]
    X = np.column_stack([facts, scores]).astype(np.float32)
    feature, threshold, right, shares = (trees[name] for name in ("feature", "threshold", "right", "shares"))
    out, width, count = 1.0 - shares[:, LEARNED.index("measure")] / 255.0, X.shape[1], len(trees["roots"])
    node, row = np.tile(trees["roots"].astype(np.intp), len(X)), np.repeat(np.arange(len(X)), count)
    leaf, moved, place = node.copy(), np.zeros(X.size), np.arange(len(node))
    while node.size:
        split = feature[node]
        if not (inner := split < width).all():
            leaf[place[~inner]] = node[~inner]
            node, row, place, split = node[inner], row[inner], place[inner], split[inner]
        entry = row * width + split
        after = np.where(X.ravel()[entry] <= threshold[node], node + 1, right[node])
        moved += np.bincount(entry, out[after] - out[node], X.size)
        node = after
    probabilities = (shares[leaf.reshape(len(X), count)] / 255.0).mean(axis=1)
    of_each = zip(columns, X, probabilities, moved.reshape(X.shape), named_so, strict=True)
    found = [_role(*facts_of_one) for facts_of_one in of_each]
    runs = [j for j, column in enumerate(columns) if _is_unrelated_run(column, facts[j], len(columns))]
    if len(runs) == 1:  # several are measurements without signal
        found[runs[0]] = Role(columns[runs[0]].name, "identifier", RUN, "counts the rows in another order")
    return found


def _is_unrelated_run(column: Column, facts: FloatArray, columns: int) -> bool:
    """Return whether a column has all whole numbers of a range, each once, and correlates by chance only."""
    if not column.whole or column.counts or columns < 3 or _has_unit(column):
        return False
    f: dict[str, float] = dict(zip(FEATURES, facts.tolist(), strict=False))
    rows, each_once = math.expm1(f["rows"]), f["consecutive"] == f["distinct share"] == 1
    there = each_once and not f["monotone"] and rows >= NAMING
    return there and f["correlation"] < chance(rows, columns - 1)


def _role(
    column: Column, facts: FloatArray, probabilities: FloatArray, moved: FloatArray, named: bool
) -> Role:
    """Return the role of a column by its probabilities, and by what moved them through the trees."""
    if (constant := _constant(column)) is not None:
        return constant
    doubt = 1.0 - float(probabilities[0])
    if facts[FEATURES.index("lag")] > LAGGED:
        return Role(column.name, "lag", max(doubt, LAGGED), "is another column, one row later")
    if date := _date_in(column):
        return Role(column.name, "time", max(doubt, LAGGED), f"holds {date}")
    if column.counts:
        return Role(column.name, "counter", max(doubt, LAGGED), "counts the rows")
    if doubt <= (DOUBTFUL if named else OUT) or (doubt <= SURE and _has_unit(column)):
        return Role(column.name, "measure", 1 - doubt, "varies freely")
    f = dict(zip(FEATURES, facts.tolist(), strict=True))
    kinds = [NAMED[word] for word in tokens(column.name) if word in NAMED] if named else []
    kind = kinds[-1] if kinds else _kind(f, LEARNED[1 + int(np.argmax(probabilities[1:]))])
    against = [FEATURES[j] for j in np.argsort(-moved) if moved[j] > 0]
    leading = [name for name in against[:8] if name in EVIDENCE]
    texts = [text(column, f) for name in leading for holds, text in [EVIDENCE[name]] if holds(f[name])]
    is_called_so = named and f["name"] > 0 and ("name" in against[:2] or not texts)
    called = ["its name says so"] if is_called_so else []
    clauses = [*called, *(f"it {text}" for text in dict.fromkeys(texts))][:2]
    values = f"it has {column.distinct:,} different {'whole numbers' if f['whole'] else 'values'}"
    evidence = " and ".join(clauses) or values
    names_nothing = kind in ("identifier", "code") and not f["whole"]  # numbers with decimals hardly do
    if names_nothing and not texts and not called and f["distinct share"] > FREELY:  # and these never
        return Role(column.name, "measure", 1 - doubt, "varies freely")
    if doubt <= OUT or names_nothing:
        return Role(column.name, "measure", 1 - doubt, f"may be {_a(kind)}: {evidence}", otherwise=kind)
    if kind == "total":
        return Role(column.name, kind, doubt, EVIDENCE["exact"][1](column, f))
    return Role(column.name, kind, doubt, f"looks like {_a(kind)}: {evidence}")


def _kind(f: Mapping[str, float], learned: Kind) -> Kind:
    """Return what a column is that is no measure: by exact evidence, else as learned from others."""
    if EVIDENCE["exact"][0](f["exact"]) and (learned in ("code", "weight", "identifier") or not f["whole"]):
        return "total"
    if f["year"] and learned in ("code", "time"):
        return "time"
    if max(f["steps"], f["steps in"]) > LAGGED:
        return "counter"
    ordered = f["monotone"] or f["rising in"] > LAGGED
    if f["distinct share"] == 1 and f["whole"] and not (learned == "time" and f["monotone"]):
        return "identifier"
    return "code" if learned == "time" and not ordered else learned


def _date_in(column: Column) -> str:
    """Return what dates or times the numbers of a column are; "" if they are none."""
    assert column.sample is not None
    low, high = column.low or 0.0, column.high or 0.0
    if column.distinct < FEWEST or low <= 1700:
        return ""
    x = column.sample[np.isfinite(column.sample)]
    called = {*re.findall("date|datum|time|stamp|epoch|year|jahr", column.name.casefold())}
    rising, hundreds, rest = bool((np.diff(x) > 0).all()), x // 100 % 100, x % 100
    days = ((hundreds >= 1) & (hundreds <= 12) & (rest >= 1) & (rest <= 31)).all()
    if column.whole and low > 18e6 and high < 22e6 and days:
        return f"days, the first one written as {x[0]:.0f}"
    if column.whole and low > 18e4 and high < 22e4 and ((rest >= 1) & (rest <= 12)).all():
        return f"months, the first one written as {x[0]:.0f}"
    if column.whole and low > 9e8 and high < 22e8 and (called or rising):
        return "seconds since 1970"
    if low > 2e4 and high < 6e4 and called & {"date", "datum"}:
        return "days since 1900, as in Excel"
    if not column.whole and low > 1700 and high < 2200 and (called - {"time"} or (called and rising)):
        return "years with fractions"
    return ""


def _has_unit(column: Column) -> bool:
    return bool(column.unit or units_of([column.name])[0])


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "identifier" else f"a {kind}"
