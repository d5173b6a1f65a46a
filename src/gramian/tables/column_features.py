"""What tells a column of measures from one that names, counts, dates or codes rows: numbers about columns."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from gramian.core.records import FloatArray
from gramian.tables.preview import Column

GRAMS = 4096  # hashed pieces of names
ROWS = 500  # that are looked at
MANY_ALIKE = 8  # columns whose names differ in a number only, and so say nothing
GROUPINGS = 8  # columns within whose groups the others are looked at
FEW_RELATIONS = 4  # columns of each exact relation, at least
EXACT = 1e-11  # of a linear relation: its variance relative to those of the columns
WIDEST = 60  # columns among which such relations are sought
FEATURES = tuple(
    """missing|whole|distinct|distinct share|binary|few|low|high|range|starts|consecutive|year|rising|falling
    |flat|steps|equal steps|restarts|monotone|runs|even|entropy|top|skew|kurtosis|auto|with rows|digits
    |same digits|gap|tens|decimals|positive|hundred|one|degrees|rows|columns|texts|place|last|correlation
    |rank|mean rank|related|exact|stems|ranges|wholes|fixed in|key|rising in|steps in|lag|any unique
    |name""".replace("\n    ", "").split("|")
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
    return "".join(word for word in tokens(name) if not word.isdigit())


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
    p = X.shape[1]
    F = {name: np.zeros(p) for name in FEATURES[:-1]}
    for j, column in enumerate(columns):
        for name, value in _of_values(column, X[:, j], rows).items():
            F[name][j] = value
    with np.errstate(invalid="ignore"):
        D = np.diff(X, axis=0)
        pairs = np.maximum(np.isfinite(D).sum(axis=0), 1)
        F["rising"], F["falling"] = (D > 0).sum(axis=0) / pairs, (D < 0).sum(axis=0) / pairs
        F["flat"], F["steps"] = (D == 0).sum(axis=0) / pairs, (D == 1).sum(axis=0) / pairs
        F["monotone"] = ((F["rising"] == 0) | (F["falling"] == 0)) & (F["flat"] < 1)
        lowest = np.array([math.nan if column.low is None else column.low for column in columns])
        F["restarts"] = ((X[1:] == lowest) & (D < 0)).sum(axis=0) / pairs
    _of_table(F, columns, X, rows, texts)
    return np.column_stack([F[name] for name in FEATURES[:-1]]).astype(np.float64)


def _signed_log(value: float | None) -> float:
    return 0.0 if value is None else math.copysign(math.log1p(abs(value)), value)


def _of_values(column: Column, x: FloatArray, rows: int) -> dict[str, float]:
    """Return what the values of one column say, without their neighbours."""
    v = x[np.isfinite(x)]
    if not len(v):
        return {"missing": 1.0}
    values, counts = np.unique(v, return_counts=True)
    low, high = column.low or 0.0, column.high or 0.0
    there = max(rows - column.missing, 1)
    distinct = max(column.distinct, 1)
    whole, share = column.whole, counts / len(v)
    changes = np.diff(v)
    steps = changes[changes != 0]
    scaled = v / (np.abs(v).max() or 1.0)
    deviation = scaled.std()
    z = (scaled - scaled.mean()) / deviation if deviation > 0 else np.zeros_like(v)
    squares = z * z
    f: dict[str, float] = {
        "missing": column.missing / max(rows, 1),
        "whole": whole,
        "distinct": math.log1p(distinct),
        "distinct share": distinct / there,
        "binary": distinct == 2,
        "few": distinct <= 10,
        "low": _signed_log(low),
        "high": _signed_log(high),
        "range": math.log1p((high - low + 1) / distinct) if whole else -1.0,
        "starts": low in (0, 1),
        "consecutive": whole and distinct > 1 and high - low + 1 == distinct,
        "year": whole and low >= 1800 and high <= 2100,
        "runs": math.log((1 + np.count_nonzero(changes)) / len(values)),
        "even": counts.std() / counts.mean() if len(values) > 1 else 0.0,
        "entropy": -(share * np.log(share)).sum() / math.log(len(values)) if len(values) > 1 else 0.0,
        "top": share.max(),
        "skew": float(np.clip((squares * z).mean(), -10, 10)),
        "kurtosis": float(np.clip((squares * squares).mean(), 0, 50)),
        "auto": float((z[1:] * z[:-1]).mean()) if len(z) > 2 else 0.0,
        "positive": low > 0,
        "hundred": low >= 0 and high <= 100,
        "one": low >= 0 and high <= 1,
    }
    if len(steps):
        _, repeats = np.unique(np.round(steps / np.abs(steps).max(), 9), return_counts=True)
        f["equal steps"] = repeats.max() / len(steps)
    if whole:
        digits = np.floor(np.log10(np.maximum(np.abs(v), 1)))
        f |= {
            "digits": digits.max(),
            "same digits": (digits == digits[0]).mean(),
            "tens": (v % 10 == 0).mean(),
        }
        f["gap"] = math.log1p(np.median(np.diff(values))) if len(values) > 1 else 0.0
        f["decimals"] = 0.0
    else:
        f |= dict.fromkeys(("digits", "same digits", "tens", "gap"), -1.0)
        texts = [repr(value) for value in v[:: max(1, len(v) // 50)].tolist()]
        f["decimals"] = float(np.mean([0 if "e" in t else min(len(t.partition(".")[2]), 12) for t in texts]))
        f["degrees"] = low >= -180 and high <= 180 and distinct > 5 and f["decimals"] >= 3
    return {name: float(value) for name, value in f.items()}


def _of_table(
    F: dict[str, FloatArray], columns: Sequence[Column], X: FloatArray, rows: int, texts: int
) -> None:
    """Add what the other columns say."""
    n, p = X.shape
    held = np.isfinite(X)
    means = np.where(held, X, 0.0).sum(axis=0) / np.maximum(held.sum(axis=0), 1)
    Y = np.where(held, X, means)
    size = np.abs(Y).max(axis=0)
    Y = Y / np.where(size > 0, size, 1.0)
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
    stems = [_stem(column.name) for column in columns]
    alike = Counter(stems)
    F["stems"] = np.log1p([alike[stem] - 1 if stem else 0 for stem in stems])
    near = (np.abs(F["low"][:, None] - F["low"]) < 0.2) & (np.abs(F["high"][:, None] - F["high"]) < 0.2)
    F["ranges"] = np.log1p(near.sum(axis=0) - 1)
    F["wholes"][:] = F["whole"].mean()
    F["rows"][:], F["columns"][:], F["texts"][:] = math.log1p(rows), math.log1p(p), math.log1p(texts)
    F["place"] = np.arange(p) / others
    F["last"][-1] = 1.0
    F["any unique"][:] = float(any(c.whole and c.distinct == rows for c in columns))
    _of_groups(F, columns, X)
    _of_lags(F, X)


def _standardised(X: FloatArray) -> FloatArray:
    X = X - X.mean(axis=0)
    deviation = X.std(axis=0)
    return np.asarray(X / np.where(deviation > 1e-12, deviation, np.inf))


def _of_groups(F: dict[str, FloatArray], columns: Sequence[Column], X: FloatArray) -> None:
    """Add how columns behave within the groups of another: fixed, rising, in steps of one, a key with it."""
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
        for i in grouping:
            if i != j and numbers[i] * numbers[j] >= n:
                pairs = X[:, i] + 1j * X[:, j]
                F["key"][[i, j]] = np.maximum(F["key"][[i, j]], float(len(np.unique(pairs)) == n))


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
