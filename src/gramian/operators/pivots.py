"""Chooses landmarks: above all by randomly pivoted Cholesky.

There, rows are drawn by what the ones before leave unexplained.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
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
    left = np.concatenate(
        [as_float64(evaluator.diagonal(numpy_rows(block.values))) for block in rows.blocks()]
    )
    n, trace, largest = len(left), float(left.sum()), float(left.max(initial=0.0))
    trace = _centred_trace(evaluator, rows, rng) if center else trace
    # What is left of a diagonal is a difference, and rounding at this size.
    floor = max(100.0 * float(np.finfo(dtype).eps), 10 * evaluator.relative) * largest + evaluator.absolute
    factor = np.empty((n, count), dtype)
    chosen = np.empty(0, dtype=np.intp)
    size = int(np.clip(count // ROUNDS, *CANDIDATES))
    while len(chosen) < count:
        left[left <= floor] = 0.0
        total = np.cumsum(left)
        if not total[-1] > tol * trace:
            break
        drawn = np.searchsorted(total, rng.random(size) * total[-1], side="right")
        drawn = np.minimum(drawn, n - 1)
        known = as_float64(factor[drawn, : len(chosen)])
        candidates = rows_at(rows, drawn)
        H = np.empty((size, size))
        KernelValues(evaluator, candidates)(candidates, H)
        accepted, lower = _accepted(H - known @ known.T, left[drawn], floor, rng)
        accepted = accepted[: count - len(chosen)]
        # Where nothing but rounding is left, nothing is drawn again.
        left[drawn[np.diag(H) - np.sum(known * known, axis=1) <= floor]] = 0.0
        if accepted:
            lower = lower[: len(accepted), : len(accepted)]
            _extend(factor, len(chosen), evaluator, rows, candidates[accepted], known[accepted], lower, left)
            chosen = np.concatenate([chosen, drawn[accepted]])
            left[chosen] = 0.0
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


def _extend(
    factor: Any,
    done: int,
    evaluator: Evaluator,
    rows: Rows,
    pivots: Any,
    known: FloatArray,
    lower: FloatArray,
    left: FloatArray,
) -> None:
    """Add columns to the factor of all rows, and take off what they explain of the diagonal."""
    values = KernelValues(evaluator, pivots, rough=factor.dtype == np.float32)
    count = len(known)
    before = known.T.astype(factor.dtype)
    inverse = solve_triangular(lower, np.eye(count), lower=True).T.astype(factor.dtype)

    def work(part: slice) -> None:
        G = np.empty((part.stop - part.start, count), factor.dtype)
        values(numpy_rows(rows.block(part).values), G)
        G -= factor[part, :done] @ before
        new = G @ inverse
        factor[part, done : done + count] = new
        left[part] = np.maximum(left[part] - np.einsum("ij,ij->i", new, new, dtype=np.float64), 0.0)

    parallel_map(work, slices(rows.shape[0], BLOCK))
