"""Chooses landmarks: above all by randomly pivoted Cholesky.

There, rows are drawn by what the ones before leave unexplained.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import solve_triangular

from gramian.arrays import alike, as_float64, numpy_dtype, parallel_map
from gramian.checks import slices
from gramian.kernels import Evaluator
from gramian.operators.features import KernelValues, numpy_rows, rows_at
from gramian.records import FloatArray
from gramian.rows import Rows

Indices = npt.NDArray[np.intp]
BLOCK = 1024  # rows updated at a time by one worker
SAMPLE = 300
PER_CENTRE = 50  # rows drawn for k-means, for each of its centres
CANDIDATES = 16, 200  # fewest and most that are drawn between two passes over the rows
ROUNDS = 8  # at least, as long as there are enough landmarks: fewer candidates are drawn in vain


def chosen(
    evaluator: Evaluator,
    rows: Rows,
    count: int,
    rule: str,
    *,
    tol: float,
    center: bool,
    rng: np.random.Generator,
    dtype: Any,
) -> tuple[Any, Indices | None]:
    """Choose landmarks.

    Parameters
    ----------
    evaluator, rows, count, tol, center, rng, dtype
        As in :func:`random_pivots`.
    rule : {"rpcholesky", "uniform", "kmeans"}

    Returns
    -------
    landmarks, indices : tuple
        An array or sparse matrix, and which rows they are, where they are rows.
    """
    if rule == "kmeans":
        return _centres(rows, count, rng), None
    if rule == "uniform":
        indices = np.sort(rng.choice(rows.shape[0], size=count, replace=False))
    else:
        indices = random_pivots(evaluator, rows, count, tol=tol, center=center, rng=rng, dtype=dtype)
    # Where k(x, x) is 0 everywhere, any row will do.
    indices = indices if len(indices) else np.zeros(1, dtype=np.intp)
    return rows_at(rows, indices), indices


def _centres(rows: Rows, count: int, rng: np.random.Generator) -> Any:
    """Centres of k-means on rows drawn at random."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    n = rows.shape[0]
    some = rows_at(rows, np.sort(rng.choice(n, size=min(n, PER_CENTRE * count), replace=False)))
    with warnings.catch_warnings():
        # Fewer different rows than centres: the centres that are left over are copies.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MiniBatchKMeans(count, n_init=1, random_state=int(rng.integers(2**31)))
        found = model.fit(some).cluster_centers_
    return alike(np.asarray(found, dtype=numpy_dtype(rows.like)), some)


def random_pivots(
    evaluator: Evaluator,
    rows: Rows,
    count: int,
    *,
    tol: float,
    center: bool,
    rng: np.random.Generator,
    dtype: Any,
) -> Indices:
    """Choose landmarks one after the other, each with the probability of what is unexplained of it.

    Candidates are drawn in blocks and rejected as far as those accepted before them explain them, which gives
    the same distribution as drawing one by one, with few passes over the rows.

    Parameters
    ----------
    evaluator : Evaluator
        A kernel that is positive semi-definite, bound to the rows.
    rows : Rows
    count : int
        Most landmarks.
    tol : float
        Share of the trace at or below which what is unexplained is left so.
    center : bool
        Whether the trace is that of the centred matrix, which may be far smaller; it is estimated.
    rng : Generator
    dtype : dtype
        Of the factor, which takes (n, count) numbers.

    Returns
    -------
    ndarray of int
        Different rows, in the order they were drawn.

    References
    ----------
    Epperly, Tropp, Webber (2024), Embrace rejection: kernel matrix approximation by accelerated randomly
    pivoted Cholesky, algorithm 2.1. Chen, Epperly, Tropp, Webber (2023), Randomly pivoted Cholesky.
    """
    # Elsewhere the factor grows by copies, so that what was lost there is made again.
    columns = 0 if rows.is_spread else count
    parts = rows.kept(lambda part: _first(evaluator, part, columns, dtype))
    traces, tops = np.array(parts.ask(_sum_and_largest)).T
    trace = _centred_trace(evaluator, rows, rng) if center else float(traces.sum())
    # What is left of a diagonal is a difference, and rounding at this size.
    floor = max(100.0 * float(np.finfo(dtype).eps), 10 * evaluator.relative) * tops.max() + evaluator.absolute
    chosen = np.empty(0, dtype=np.intp)
    size = int(np.clip(count // ROUNDS, *CANDIDATES))
    while len(chosen) < count:
        totals = np.array(parts.ask(lambda _, part: part.sums(floor)[-1]))
        ends = np.cumsum(totals)
        if not ends[-1] > tol * trace:
            break
        at = rng.random(size) * ends[-1]
        which = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
        own = [at[which == i] - (ends[i] - totals[i]) for i in range(len(ends))]
        found = parts.ask(lambda rows, part, at: part.drawn(rows, at, floor), own)
        # In the order in which they were drawn.
        order = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        drawn = np.concatenate([start + f[0] for start, f in zip(parts.starts, found, strict=True)])[order]
        known, chances = (np.concatenate([f[i] for f in found])[order] for i in (2, 3))
        stack = sparse.vstack if rows.is_sparse else np.concatenate
        candidates: Any = stack([f[1] for f in found if f[1] is not None])
        candidates = (candidates.tocsr() if rows.is_sparse else candidates)[order]
        H = np.empty((size, size))
        KernelValues(evaluator, candidates)(candidates, H)
        accepted, lower = _accepted(H - known @ known.T, chances, floor, rng)
        accepted = accepted[: count - len(chosen)]
        # Where nothing but rounding is left, nothing is drawn again.
        spent = np.diag(H) - np.sum(known * known, axis=1) <= floor
        chosen = np.concatenate([chosen, drawn[accepted]])
        done = np.unique(np.concatenate([drawn[spent], chosen]))
        cuts = np.split(done, np.searchsorted(done, parts.starts[1:]))
        own = [cut - start for cut, start in zip(cuts, parts.starts, strict=True)]
        pivots = KernelValues(evaluator, candidates[accepted], rough=dtype == np.float32)
        lower = lower[: len(accepted), : len(accepted)]
        extended = _Extension(pivots, known[accepted], lower)
        parts.update(extended, own)
    return chosen


def _centred_trace(evaluator: Evaluator, rows: Rows, rng: np.random.Generator) -> float:
    """Estimate the trace of the centred matrix from the distances, in feature space, of some rows."""
    n = rows.shape[0]
    some = rows_at(rows, np.sort(rng.choice(n, size=min(n, SAMPLE), replace=False)))
    K = np.empty((some.shape[0],) * 2)
    KernelValues(evaluator, some)(some, K)
    s = len(K)
    return max(float(np.trace(K) - K.sum() / s), 0.0) * n / max(s - 1, 1)


def _accepted(
    H: FloatArray, drawn_by: FloatArray, floor: float, rng: np.random.Generator
) -> tuple[list[int], FloatArray]:
    """Accept candidates by what is left of their diagonal; the Cholesky factor of those accepted."""
    chosen: list[int] = []
    columns: list[FloatArray] = []
    for i, chance in enumerate(rng.random(len(H))):
        if H[i, i] > floor and chance * drawn_by[i] < H[i, i]:
            column = np.where(np.arange(len(H)) >= i, H[:, i], 0.0) / np.sqrt(H[i, i])
            H = H - np.outer(column, column)
            chosen.append(i)
            columns.append(column)
    return chosen, np.array(columns).T[chosen] if chosen else np.empty((0, 0))


class _Part(NamedTuple):
    """What is left of the diagonal of each row of a part, and the factor that explains the rest.

    Attributes
    ----------
    left : ndarray of shape (n,)
    factor : ndarray of shape (n, at least done)
        Its first columns are known.
    done : int
    """

    left: FloatArray
    factor: Any
    done: int = 0

    def sums(self, floor: float) -> FloatArray:
        """Return cumulative sums of what is left and more than rounding."""
        return np.cumsum(np.where(self.left <= floor, 0.0, self.left))

    def drawn(self, rows: Rows, at: FloatArray, floor: float) -> tuple[Any, Any, FloatArray, FloatArray]:
        """Return the places at which sums reach some numbers, these rows, their factor and what is left."""
        places = np.minimum(np.searchsorted(self.sums(floor), at, side="right"), len(self.left) - 1)
        known = as_float64(self.factor[places, : self.done])
        return places, rows_at(rows, places) if len(places) else None, known, self.left[places]


def _first(evaluator: Evaluator, rows: Rows, columns: int, dtype: Any) -> _Part:
    diagonals = [as_float64(evaluator.diagonal(numpy_rows(block.values))) for block in rows.blocks()]
    left = np.concatenate(diagonals)
    return _Part(left, np.empty((len(left), columns), dtype))


def _sum_and_largest(rows: Rows, part: _Part) -> tuple[float, float]:
    return float(part.left.sum()), float(part.left.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Extension:
    """Adds columns to the factor of a part, and takes off what they explain of the diagonal.

    Attributes
    ----------
    values : KernelValues
        With the new pivots.
    known : ndarray of shape (k, done)
        The pivots' own factor.
    lower : ndarray of shape (k, k)
        Cholesky factor of what is left of their kernel matrix.
    """

    values: KernelValues
    known: FloatArray
    lower: FloatArray

    def __call__(self, rows: Rows, part: _Part, spent: Indices) -> _Part:
        """Return the part with these columns, and nothing left of the rows that are spent."""
        n, dtype = len(part.left), part.factor.dtype
        (count, done), left = self.known.shape, part.left.copy()
        before = self.known.T.astype(dtype)
        inverse = solve_triangular(self.lower, np.eye(count), lower=True).T.astype(dtype) if count else None
        room = part.factor.shape[1] >= done + count
        added = part.factor[:, done : done + count] if room else np.empty((n, count), dtype)

        def work(some: slice) -> None:
            G = np.empty((some.stop - some.start, count), dtype)
            self.values(numpy_rows(rows.block(some).values), G)
            G -= part.factor[some, :done] @ before
            new = G @ inverse
            added[some] = new
            left[some] = np.maximum(left[some] - np.einsum("ij,ij->i", new, new, dtype=np.float64), 0.0)

        if count:
            parallel_map(work, slices(n, BLOCK))
        left[spent] = 0.0
        factor = part.factor if room else np.concatenate([part.factor, added], axis=1)
        return _Part(left, factor, done + count)
