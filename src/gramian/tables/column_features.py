"""What tells a column of measures from one that names, counts, dates or codes rows: numbers about columns."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import filterfalse
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from gramian.core.records import FloatArray, IntArray
from gramian.tables.preview import Column

GRAMS = 4096  # hashed pieces of names
ROWS = 500  # that are looked at
MANY_ALIKE = 8  # columns whose names differ in a number only, and so say nothing
GROUPINGS = 8  # columns within whose groups the others are looked at
FEW_RELATIONS = 4  # columns of each exact relation, at least
EXACT = 1e-11  # of a linear relation: its variance relative to those of the columns
WIDEST = 60  # columns among which such relations are sought
FEATURES = tuple(
    """missing|whole|distinct|distinct share|low|high|range|starts|consecutive|year|rising|falling|flat|steps
    |equal steps|restarts|monotone|runs|even|entropy|top|skew|kurtosis|auto|with rows|digits|same digits|tens
    |rows|columns|texts|place|correlation|rank|mean rank|related|exact|ranges|wholes|fixed in|rising in
    |steps in|lag|name""".replace("\n    ", "").split("|")
)  # fmt: skip


def tokens(name: str) -> list[str]:
    """Return the words and numbers of a name, in lower case.

    Examples
    --------
    >>> tokens("patientID.2")
    ['patient', 'id', '2']
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", name)
    return [word.casefold() for word in re.findall(r"[^\W_]+", text)]


def _stem(name: str) -> str:
    return "".join(filterfalse(str.isdigit, tokens(name)))


def telling(names: Iterable[str]) -> list[bool]:
    """Return of each name whether it says something: no number, and none of many that differ in a number.

    Examples
    --------
    >>> telling(["id", "3", *(f"district{j}" for j in range(8))])[:3]
    [True, False, False]
    """
    stems = [_stem(name) for name in names]
    alike = Counter(stems)
    return [bool(stem) and alike[stem] < MANY_ALIKE for stem in stems]


@lru_cache(1 << 14)
def grams(name: str) -> list[int]:
    """Return hashed pieces of a name: its words, pieces of three and four letters, the first and last."""
    words = tokens(name)
    pieces = {f"len:{min(len(''.join(words)), 12)}", "all:" + "".join(words)}
    for word in words:
        marked = f"^{word}$"
        pieces |= {"w:" + word} | {marked[i : i + k] for k in (3, 4) for i in range(len(marked) - k + 1)}
    if words:
        pieces |= {"first:" + words[0], "last:" + words[-1]}
    return sorted({zlib.crc32(piece.encode()) % GRAMS for piece in pieces})


def features(columns: Sequence[Column], rows: int, texts: int) -> FloatArray:
    """Return the features of columns of numbers, those of ``FEATURES`` but the last.

    Parameters
    ----------
    columns : sequence of Column
        All with a sample.
    rows, texts : int
        Rows of the table, and its columns of text.
    """
    X = np.column_stack([column.sample[:ROWS] for column in columns if column.sample is not None])
    with np.errstate(all="ignore"):
        computed, there = _of_values(columns, X, rows), np.isfinite(X).any(axis=0)
    F = {name: np.where(there, computed.get(name, 0.0), name == "missing") for name in FEATURES[:-1]}
    _of_table(F, columns, X, rows, texts)
    return np.column_stack([F[name] for name in FEATURES[:-1]])


def _of_values(columns: Sequence[Column], X: FloatArray, rows: int) -> dict[str, Any]:
    """Return what the values of each column say, without its neighbours."""
    missing, distinct, low, high, whole = (
        np.array([getattr(column, fact) or 0 for column in columns], dtype=np.float64)
        for fact in ("missing", "distinct", "low", "high", "whole")
    )
    several = np.maximum(distinct, 1)
    holes = ~np.isfinite(X)  # they go to the end
    V = np.take_along_axis(X, np.argsort(holes, axis=0, kind="stable"), axis=0) if holes.any() else X
    digits, m = np.floor(np.log10(np.maximum(np.abs(V), 1))), np.maximum(len(X) - holes.sum(axis=0), 1)
    of_whole = {
        "range": np.log1p((high - low + 1) / several),
        "digits": np.fmax.reduce(digits, axis=0),
        "same digits": (digits == digits[0]).sum(axis=0) / m,
        "tens": (np.rint(V / 10) * 10 == V).sum(axis=0) / m,
    }
    return {name: np.where(whole, value, -1.0) for name, value in of_whole.items()} | {
        "missing": missing / max(rows, 1),
        "whole": whole,
        "distinct": np.log1p(several),
        "distinct share": several / np.maximum(rows - missing, 1),
        "low": np.copysign(np.log1p(np.abs(low)), low),
        "high": np.copysign(np.log1p(np.abs(high)), high),
        "starts": (low == 0) | (low == 1),
        "consecutive": whole * (several > 1) * (high - low + 1 == several),
        "year": whole * (low >= 1800) * (high <= 2100),
        **_of_order(X, low),
        **_of_distribution(V, m),
    }


def _of_order(X: FloatArray, low: FloatArray) -> dict[str, Any]:
    """Return how columns change from row to row."""
    D = np.diff(X, axis=0)
    pairs = np.maximum(np.isfinite(D).sum(axis=0), 1)
    rising, falling, flat = (hits.sum(axis=0) / pairs for hits in (D > 0, D < 0, D == 0))
    return {
        "rising": rising,
        "falling": falling,
        "flat": flat,
        "steps": (D == 1).sum(axis=0) / pairs,
        "restarts": ((X[1:] == low) & (D < 0)).sum(axis=0) / pairs,
        "monotone": ((rising == 0) | (falling == 0)) & (flat < 1),
    }


def _of_distribution(V: FloatArray, m: IntArray) -> dict[str, Any]:
    """Return how often values and steps repeat, and the shape of the distribution, of m values a column."""
    counts, at, most = _repeats(np.sort(V, axis=0))
    k = np.maximum(np.bincount(at, minlength=len(m)), 1)
    share, usual = counts / m[at], m / k
    steps = np.diff(V, axis=0)
    steps[steps == 0] = math.nan
    moved = np.isfinite(steps).sum(axis=0)
    _, _, equal = _repeats(np.sort(np.round(steps / _size(steps), 9), axis=0))
    Z = _standardised(V / _size(V), m)
    squares = Z * Z
    return {
        "runs": np.log((1 + moved) / k),
        "even": np.sqrt(np.bincount(at, (counts - usual[at]) ** 2, len(m)) / k) / usual,
        "entropy": -np.bincount(at, share * np.log(share), len(m)) / np.log(np.maximum(k, 2)),
        "top": most / m,
        "skew": np.clip((squares * Z).sum(axis=0) / m, -10, 10),
        "kurtosis": np.clip((squares * squares).sum(axis=0) / m, 0, 50),
        "auto": np.where(m > 2, (Z[1:] * Z[:-1]).sum(axis=0) / (m - 1), 0.0),
        "equal steps": equal / np.maximum(moved, 1),
    }


def _repeats(ordered: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return how often each value of sorted columns occurs, of which column it is, and the most of each."""
    begins, most = np.isfinite(ordered), np.zeros(ordered.shape[1], dtype=np.int64)
    ends = np.cumsum(begins.sum(axis=0))
    begins[1:] &= ordered[1:] != ordered[:-1]
    at, row = np.nonzero(begins.T)
    counts = np.diff(row + np.append(0, ends)[at], append=ends[-1])
    np.maximum.at(most, at, counts)
    return counts, at, most


def _size(X: FloatArray) -> FloatArray:
    """Return the largest amount in each column, 1 where that is 0 or absent."""
    size = np.fmax.reduce(np.abs(X), axis=0)
    return np.where(size > 0, size, 1.0)


def _of_table(
    F: dict[str, FloatArray], columns: Sequence[Column], X: FloatArray, rows: int, texts: int
) -> None:
    """Add what the other columns say."""
    n, p = X.shape
    held = np.isfinite(X)
    Y = np.where(held, X, np.nansum(X, axis=0) / np.maximum(held.sum(axis=0), 1))
    Y = Y / _size(Y)
    Z, R = _standardised(Y), _standardised(rankdata(Y, axis=0))
    C, S = np.abs(Z.T @ Z / n), np.abs(R.T @ R / n)
    order = _standardised(np.arange(n, dtype=np.float64)[:, None])
    F["with rows"] = np.abs(R.T @ order / n)[:, 0]
    np.fill_diagonal(C, 0.0)
    np.fill_diagonal(S, 0.0)
    others = max(p - 1, 1)
    F["correlation"], F["rank"], F["mean rank"] = C.max(axis=0), S.max(axis=0), S.sum(axis=0) / others
    F["related"] = (2.6 / math.sqrt(n) < S).sum(axis=0) / others
    if 2 < p <= WIDEST and n > p + 3:
        values, vectors = np.linalg.eigh(Z.T @ Z / n)
        null = values < EXACT
        if null.sum() <= max(1, p // FEW_RELATIONS):  # else the table has few dimensions
            F["exact"] = (vectors[:, null] ** 2).sum(axis=1) * (Z.std(axis=0) > 0)
    near = (np.abs(F["low"][:, None] - F["low"]) < 0.2) & (np.abs(F["high"][:, None] - F["high"]) < 0.2)
    F["ranges"] = np.log1p(near.sum(axis=0) - 1)
    F["wholes"][:] = F["whole"].mean()
    F["rows"][:], F["columns"][:], F["texts"][:] = math.log1p(rows), math.log1p(p), math.log1p(texts)
    F["place"] = np.arange(p) / others
    _of_groups(F, columns, X)
    _of_lags(F, X)


def _standardised(X: FloatArray, count: Any = None) -> FloatArray:
    """Return columns with mean 0 and deviation 1 over so many rows, and 0 where a value is missing."""
    count = len(X) if count is None else count
    C = np.nan_to_num(X - np.nansum(X, axis=0) / count)
    deviation = np.sqrt((C * C).sum(axis=0) / count)
    return np.asarray(C / np.where(deviation > 1e-12, deviation, np.inf))


def _of_groups(F: dict[str, FloatArray], columns: Sequence[Column], X: FloatArray) -> None:
    """Add how columns behave within the groups of another: fixed, rising, in steps of one."""
    n, p = X.shape
    numbers = np.array([column.distinct for column in columns])
    grouping = [j for j in range(p) if columns[j].whole and 2 <= numbers[j] <= n / 2]
    for j in sorted(grouping, key=lambda j: -numbers[j])[:GROUPINGS]:
        order = np.argsort(X[:, j], kind="stable")
        group, Y = X[order, j], X[order]
        same = group[1:] == group[:-1]
        if same.sum() < 4:
            continue
        with np.errstate(invalid="ignore"):
            D = np.diff(Y, axis=0)[same]
            fixed = (D == 0).all(axis=0) & (numbers > 1) & (numbers <= numbers[j])
            rising, steps = (D > 0).mean(axis=0), (D == 1).mean(axis=0)
        others = np.arange(p) != j
        F["fixed in"] = np.where(others & fixed, np.maximum(F["fixed in"], numbers[j] / n), F["fixed in"])
        F["rising in"] = np.where(others, np.maximum(F["rising in"], rising), F["rising in"])
        F["steps in"] = np.where(others, np.maximum(F["steps in"], steps), F["steps in"])


def _of_lags(F: dict[str, FloatArray], X: FloatArray) -> None:
    """Add the share of changes after which a column is what another one was in the row before."""
    if len(X) < 6:
        return
    later, earlier = X[1:], X[:-1]
    probes = np.linspace(0, len(later) - 1, 16).astype(np.intp)
    alike = (later[probes][:, :, None] == earlier[probes][:, None, :]).sum(axis=0) > 8
    for j, i in np.argwhere(alike):
        changes = later[:, j] != earlier[:, j]
        if i != j and F["distinct"][j] > 1.8 and changes.sum() > 4:
            share = float((later[changes, j] == earlier[changes, i]).mean())
            F["lag"][j] = max(F["lag"][j], share if share > 0.5 else 0.0)


def chance(rows: float, tests: int) -> float:
    """Return a correlation that so many independent columns exceed in 1 of 100 tables (Fisher's z)."""
    return math.tanh(-float(ndtri(0.01 / (2 * tests))) / math.sqrt(max(rows - 3, 1)))
