"""Chooses landmarks: above all by randomly pivoted Cholesky.

There, rows are drawn by what the ones before leave unexplained.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from gramian.arrays import (
    alike,
    as_float64,
    fix_threads,
    numpy_dtype,
    parallel_map,
    rows_of,
    stacked,
)
from gramian.checks import slices
from gramian.kernels import Evaluator
from gramian.operators.features import KernelValues, numpy_rows
from gramian.records import FloatArray
from gramian.rows import Rows

Indices = npt.NDArray[np.intp]
BLOCK = 1024  # rows updated at a time by one worker
SAMPLE = 300
PER_CENTRE = 50  # rows drawn for k-means, for each of its centres
CANDIDATES = 16, 200  # fewest and most that are drawn at a time
ROUNDS = 8  # at least, as long as there are enough landmarks: fewer candidates are drawn in vain
LEAST_ACCEPTED = 0.25  # of the candidates, for going through all rows to cost more than drawing in vain
STEP = 128  # columns of the factor made at a time


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
    return rows.at(indices), indices


def _centres(rows: Rows, count: int, rng: np.random.Generator) -> Any:
    """Centres of k-means on rows drawn at random."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    fix_threads()  # those of libraries that this import has loaded
    n = rows.shape[0]
    some = rows.at(np.sort(rng.choice(n, size=min(n, PER_CENTRE * count), replace=False)))
    some = numpy_rows(some)
    with warnings.catch_warnings():
        # Fewer different rows than centres: the centres that are left over are copies.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MiniBatchKMeans(count, n_init=1, random_state=int(rng.integers(2**31)))
        result = model.fit(some).cluster_centers_
    return alike(np.asarray(result, dtype=numpy_dtype(rows.like)), some)


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

    Candidates are drawn by what was unexplained when the rows were last looked at, and accepted as far as
    it still is, which gives the same distribution as drawing from what is left after every one. The rows are
    gone through again only when few candidates are accepted.

    Parameters
    ----------
    evaluator : Evaluator
        A kernel that is positive semidefinite, bound to the rows.
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
    pivoted Cholesky, algorithm 2.1, whose candidates need not be drawn anew for its rejections to be right.
    Chen, Epperly, Tropp, Webber (2023), Randomly pivoted Cholesky.
    """
    # Elsewhere the factor grows by copies, so that what was lost there is made again.
    columns = count if rows.in_one_place else 0
    parts = rows.map_parts(lambda part: _first(evaluator, part, columns, dtype))
    sizes = parts.ask(lambda _, part: (float(part.left.sum()), float(part.left.max(initial=0.0))))
    traces, tops = np.array(sizes).T
    trace = _centred_trace(evaluator, rows, rng) if center else float(traces.sum())
    # What is left of a diagonal is a difference, and rounding at this size.
    floor = max(100.0 * float(np.finfo(dtype).eps), 10 * evaluator.relative) * tops.max() + evaluator.absolute
    chosen, L, seen = np.empty(0, dtype=np.intp), np.zeros((count, count)), 0
    nodes: Any = None
    size = int(np.clip(count // ROUNDS, *CANDIDATES))
    while (done := len(chosen)) < count:
        totals = np.array(parts.ask(lambda _, part: part.sums(floor)[-1]))
        ends = np.cumsum(totals)
        if not ends[-1] > tol * trace:
            break
        at = rng.random(size) * ends[-1]
        which = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
        own = [at[which == i] - (ends[i] - totals[i]) for i in range(len(ends))]
        result = parts.ask(lambda rows, part, at: part.drawn(rows, at, floor), own)
        # In the order in which they were drawn.
        order = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        drawn = np.concatenate([start + f[0] for start, f in zip(parts.starts, result, strict=True)])[order]
        candidates = rows_of(stacked([f[1] for f in result if f[1] is not None]), order)
        known = np.empty((size, done))
        if done:
            KernelValues(evaluator, nodes)(candidates, known)
            known = solve_triangular(L[:done, :done], known.T, lower=True).T
        H = np.empty((size, size))
        KernelValues(evaluator, candidates)(candidates, H)
        accepted, lower = _accepted(
            H - known @ known.T, np.concatenate([f[2] for f in result])[order], floor, rng
        )
        accepted = accepted[: count - done]
        new, last = rows_of(candidates, accepted), done + len(accepted)
        chosen = np.concatenate([chosen, drawn[accepted]])
        nodes = new if nodes is None else stacked([nodes, new])
        L[done:last, :done] = known[accepted]
        L[done:last, done:last] = lower[: len(accepted), : len(accepted)]
        # Where nothing but rounding is left, nothing is drawn again.
        spent = np.unique(drawn[np.diag(H) - np.sum(known * known, axis=1) <= floor])
        few = len(accepted) < LEAST_ACCEPTED * size
        if last < count and last > seen and (few or ends[-1] * len(accepted) <= tol * trace * size):
            pivots = KernelValues(evaluator, nodes[seen:, :], rough=dtype == np.float32)
            extended, seen = _Extension(pivots, L[seen:last, :last]), last
            spent = np.unique(np.concatenate([spent, chosen]))
        elif len(spent):
            extended = _Extension()
        else:
            continue
        cuts = np.split(spent, np.searchsorted(spent, parts.starts[1:]))
        parts.update(extended, [cut - start for cut, start in zip(cuts, parts.starts, strict=True)])
    return chosen


def _centred_trace(evaluator: Evaluator, rows: Rows, rng: np.random.Generator) -> float:
    """Estimate the trace of the centred matrix from the distances, in feature space, of some rows."""
    n = rows.shape[0]
    some = rows.at(np.sort(rng.choice(n, size=min(n, SAMPLE), replace=False)))
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

    def drawn(self, rows: Rows, at: FloatArray, floor: float) -> tuple[Any, Any, FloatArray]:
        """Return the places at which sums reach some numbers, these rows, and what was left of them."""
        places = np.minimum(np.searchsorted(self.sums(floor), at, side="right"), len(self.left) - 1)
        return places, rows.at(places) if len(places) else None, self.left[places]


def _first(evaluator: Evaluator, rows: Rows, columns: int, dtype: Any) -> _Part:
    diagonals = [as_float64(evaluator.diagonal(block.values)) for block in rows.blocks()]
    left = np.concatenate(diagonals)
    return _Part(left, np.empty((len(left), columns), dtype))


@dataclass(frozen=True, eq=False)
class _Extension:
    """Adds columns to the factor of a part, and takes off what they explain of the diagonal.

    Attributes
    ----------
    values : KernelValues or None
        With the new pivots, if there are some.
    lower : ndarray of shape (k, done + k)
        Their rows of the Cholesky factor of all pivots' kernel matrix.
    """

    values: KernelValues | None = None
    lower: FloatArray | None = None

    def __call__(self, rows: Rows, part: _Part, spent: Indices) -> _Part:
        """Return the part with these columns, and nothing left of the rows that are spent."""
        left, factor, done = part.left.copy(), part.factor, part.done
        if self.values is not None and self.lower is not None:
            (n, room), count = factor.shape, len(self.lower)
            if room < done + count:
                factor = np.concatenate([factor[:, :done], np.empty((n, count), factor.dtype)], axis=1)
            steps = [self._step(cols, done, factor.dtype) for cols in slices(count, STEP)]

            def work(some: slice) -> None:
                G = np.empty((some.stop - some.start, count), factor.dtype)
                self.values(rows.block(some).values, G)  # type: ignore[misc]
                for cols, before, inverse in steps:
                    first, last = done + cols.start, done + cols.stop
                    new = (G[:, cols] - factor[some, :first] @ before) @ inverse
                    factor[some, first:last] = new
                    left[some] -= np.einsum("ij,ij->i", new, new, dtype=np.float64)

            parallel_map(work, slices(n, BLOCK))
            done += count
        left[spent] = 0.0
        return _Part(np.maximum(left, 0.0), factor, done)

    def _step(self, cols: slice, done: int, dtype: Any) -> tuple[slice, Any, Any]:
        """Some of the columns, what those before are multiplied by, and the inverse of their own factor."""
        assert self.lower is not None
        own = self.lower[cols, done + cols.start : done + cols.stop]
        inverse = solve_triangular(own, np.eye(len(own)), lower=True).T
        return cols, self.lower[cols, : done + cols.start].T.astype(dtype), inverse.astype(dtype)
