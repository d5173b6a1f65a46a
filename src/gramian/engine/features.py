"""Functions of a row, summed over all rows: their means and products, block by block and never stored.

Kernel values with landmarks are such functions; what is found out about them is a matrix of their number,
however many rows there are. Landmarks are chosen here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from gramian.core import arrays
from gramian.core.checks import amount, evenly, slices
from gramian.core.records import POSITIVE, AnyArray, FloatArray, IndexArray, Moments, Plan, Step
from gramian.engine.centered import merge_moments
from gramian.engine.operator import EIGH_ALL, KERNEL_VALUE, LARGE, SymmetricCosts, workers_of
from gramian.engine.scatter import CONFIDENCE
from gramian.kernels import Evaluator
from gramian.tables.device import device_blocks
from gramian.tables.rows import Rows

BLOCK = 1024  # rows whose products are made in the data's own precision before they are added in float64
COLUMNS = 4 * arrays.THIN
NEAR_MEAN = 64  # rows whose values are subtracted, on average, before products are summed
MERGED = 8  # bounds the roundings of an entry when two parts become one
# From rows and memory for what comes, (b, m), to kernel values or features of the rows.
Functions = Callable[[Any, Any], None]
# From an array on a device to what finds, of rows there, the same values and k(x, x).
OnDevice = Callable[[Any], Callable[[Any], tuple[Any, Any]]]


@dataclass(frozen=True, eq=False)
class KernelValues:
    """k(x, l) for some nodes l, as functions of x.

    Parameters
    ----------
    evaluator : Evaluator
        The kernel, bound to the nodes.
    nodes : array or sparse matrix of shape (m, d)
    factor : float
        Multiplies the values: a power of two.
    rough : bool
        Whether float32 will do, where the kernel has it.
    """

    evaluator: Evaluator
    nodes: Any
    factor: float = 1.0
    rough: bool = False

    @cached_property
    def _right(self) -> Any:
        right = self.evaluator.encode(self.nodes)[1]
        return self._rounded(right)

    def _rounded(self, factor: Any) -> Any:
        single = self.rough and self.evaluator.single is not None
        return arrays.to_dtype(factor, np.dtype(np.float32)) if single else factor

    def __call__(self, X: Any, out: AnyArray) -> None:
        """Write the values of rows (b, d), of the nodes' kind, into ``out`` of shape (b, m)."""
        left, right = self._rounded(self.evaluator.encode(arrays.alike(X, self.nodes))[0]), self._right
        if not (arrays.is_numpy(left) or sparse.issparse(left)):
            out[...] = arrays.to_numpy(self.evaluator.tile(left, right)) * self.factor
            return
        scratch = np.empty((arrays.THIN, COLUMNS), left.dtype)
        for rows in slices(left.shape[0], arrays.THIN):
            for columns in slices(right.shape[0], COLUMNS):
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                tile = scratch if shape == scratch.shape else None
                result = self.evaluator.tile(left[rows], right[columns], tile)
                out[rows, columns] = result if self.factor == 1.0 else result * self.factor


@dataclass(frozen=True, eq=False)
class FeatureSums:
    """What is kept of rows: moments of functions f of a row, and the sum of k(x, x).

    Attributes
    ----------
    moments : Moments
        Of f; ``squares`` has shape (m, m).
    diagonal : float
        Sum of k(x, x).
    rounding : float
        Bound, in float32 an estimate, on the spectral norm of the error of the sums of products.
    single : bool
        Whether products were made in float32.
    """

    moments: Moments
    diagonal: Annotated[float, "", POSITIVE]
    rounding: Annotated[float, "", POSITIVE]
    single: bool

    def merged(self, other: FeatureSums) -> FeatureSums:
        """Return the sums over the rows of both."""
        moments = merge_moments(self.moments, other.moments)
        errors = self.rounding, other.rounding
        # Errors of float32 are taken as independent.
        rounding = math.hypot(*errors) if self.single else sum(errors)
        rounding += MERGED * float(np.finfo(np.float64).eps) * float(np.trace(moments.squares))
        return FeatureSums(moments, self.diagonal + other.diagonal, rounding, self.single)

    @property
    def count(self) -> int:
        """Number of rows, or the sum of their weights."""
        return math.ceil(self.moments.count)

    @property
    def weight(self) -> float:
        """Sum of the weights of the rows."""
        return self.moments.count

    @property
    def mean(self) -> FloatArray:
        """Mean of f."""
        return self.moments.mean + self.moments.rest

    @property
    def squares(self) -> FloatArray:
        """Sum of ``f(x) f(x).T``, shape (m, m)."""
        return self.moments.squares + self.weight * np.outer(self.mean, self.mean)


def rounding_of_single(count: int, total: float) -> float:
    """Estimate the error of a sum of products in float32 over blocks, as in ``operators.scatter``."""
    block = min(BLOCK, count)
    return CONFIDENCE * float(np.finfo(np.float32).eps) / 2 * block / math.sqrt(count) * total


def feature_sums(
    rows: Rows,
    functions: Functions,
    m: int,
    diagonal: Callable[[Any], Any],
    on_device: OnDevice,
    *,
    single: bool,
) -> FeatureSums:
    """Sum m functions and their products over all rows, in one pass.

    Parameters
    ----------
    rows : Rows
    functions : callable
        Writes the values of a block into memory that it is given.
    m : int
    diagonal : callable
        From rows to k(x, x).
    on_device : callable
        Returns the same for rows like an array on a device.
    single : bool
        Whether values are rounded to float32 and multiplied so; those of weighted rows never are.
    """
    single = single and rows.weights is None
    dtype = np.dtype(np.float32 if single else np.float64)
    # Near the mean of all rows, so that little cancels; what is subtracted is a number of the arithmetic.
    some = numpy_rows(rows.at(evenly(rows.shape[0], NEAR_MEAN)))
    near = np.empty((some.shape[0], m))
    functions(some, near)
    shift = near.mean(axis=0).astype(dtype)
    return rows.map_reduce(
        lambda block: _sums(block, functions, diagonal, on_device, shift), FeatureSums.merged
    )


def _sums(
    rows: Rows, functions: Functions, diagonal: Callable[[Any], Any], on_device: OnDevice, shift: Any
) -> FeatureSums:
    """Return the sums over rows in one place, of functions less their shift in its arithmetic."""
    n, m, dtype = rows.shape[0], len(shift), shift.dtype
    single = bool(dtype == np.float32)

    def share(draw: Iterator[slice]) -> tuple[FloatArray, FloatArray, list[tuple[int, float]]]:
        first, second, traces = np.zeros(m), np.zeros((m, m)), []
        values, product = np.empty((min(BLOCK, n), m), dtype), np.empty((m, m), dtype)
        for chunk in draw:
            X = numpy_rows(rows.block(chunk).values)
            block = values[: chunk.stop - chunk.start]
            functions(X, block)
            block -= shift
            weights = rows.weights_of(chunk)
            first += (np.ones(len(block), dtype) if weights is None else weights) @ block
            if weights is not None:
                block *= np.sqrt(weights)[:, None]
            np.matmul(block.T, block, out=product)  # NumPy computes one triangle only
            second += product
            lengths = arrays.as_float64(diagonal(X))
            traces.append((chunk.start, float(np.sum(lengths if weights is None else weights * lengths))))
        return first, second, traces

    block = min(BLOCK, n)
    if arrays.is_numpy(rows.like):
        chunks, workers = slices(n, BLOCK), workers_of(m * m * dtype.itemsize)
        result = arrays.each_thread(share, chunks, most=workers) if workers > 1 else [share(iter(chunks))]
        first, second, _ = result[0]
        for other in result[1:]:
            first += other[0]
            second += other[1]
        trace = sum(value for _, value in sorted(trace for batch in result for trace in batch[2]))
    else:
        first, second, trace = _sums_on_device(rows, on_device(rows.like), shift)
        block = block if single else n
    total = float(np.trace(second))
    rounding = (block + n / block + 6) * float(np.finfo(np.float64).eps) / 2 * total
    mean = first / (rows.weight or 1.0)
    second -= np.outer(first, mean)
    np.fill_diagonal(second, np.maximum(np.diag(second), 0.0))
    moments = Moments(rows.weight, arrays.as_float64(shift), second, mean)
    return FeatureSums(moments, trace, rounding_of_single(n, total) if single else rounding, single)


def _sums_on_device(
    rows: Rows, functions: Callable[[Any], tuple[Any, Any]], shift: Any
) -> tuple[FloatArray, FloatArray, float]:
    xp, origin, totals = rows.xp, arrays.from_numpy(shift, rows.like), None

    def work(chunk: slice, X: Any) -> list[Any]:
        values, trace = functions(X)
        values, weights = arrays.to_dtype(values, shift.dtype) - origin, rows.weights_of(chunk)
        if weights is not None:
            weights_here = arrays.from_numpy(weights, values)
            sums, trace = weights_here @ values, weights_here * trace
            values = values * xp.sqrt(weights_here)[:, None]
        else:
            sums = xp.sum(values, axis=0, dtype=xp.float64)
        return [sums, arrays.long_product(values, values, BLOCK), xp.sum(trace, dtype=xp.float64)]

    for result in device_blocks(rows, work, width=4 * len(shift)):
        totals = result if totals is None else [a + b for a, b in zip(totals, result, strict=True)]
    assert totals is not None
    return arrays.as_float64(totals[0]), arrays.as_float64(totals[1]), float(totals[2])


def numpy_rows(values: Any) -> Any:
    """Return rows as NumPy's, or sparse."""
    return values if hasattr(values, "tocsr") else arrays.to_numpy(values)


# ------------- Chooses landmarks: above all by randomly pivoted Cholesky

Indices = IndexArray
SAMPLE = 300
CANDIDATES = 16, 200  # fewest and most that are drawn at a time
ROUNDS = 8  # at least, as long as there are enough landmarks: fewer candidates are drawn in vain
LEAST_ACCEPTED = 0.25  # of the candidates, for going through all rows to cost more than drawing in vain
STEP = 128  # columns of the factor made at a time


def chosen(
    evaluator: Evaluator, rows: Rows, count: int, rule: str, rng: np.random.Generator, **options: Any
) -> tuple[Any, Indices]:
    """Choose landmarks.

    Parameters
    ----------
    evaluator, rows, count, rng
        As in :func:`random_pivots`.
    rule : {"rpcholesky", "uniform"}
    **options
        The other parameters of :func:`random_pivots`, for the first rule.

    Returns
    -------
    landmarks, indices : tuple
        An array or sparse matrix, and which rows they are.
    """
    if rule == "uniform":
        indices = np.sort(rng.choice(rows.shape[0], size=count, replace=False))
    else:
        indices = random_pivots(evaluator, rows, count, rng=rng, **options)
    # Where k(x, x) is 0 everywhere, any row will do.
    indices = indices if len(indices) else np.zeros(1, dtype=np.intp)
    return rows.at(indices), indices


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
    state = rows.map_parts(lambda block: _first(evaluator, block, columns, dtype))
    sizes = state.ask(lambda _, block: (float(block.left.sum()), float(block.left.max(initial=0.0))))
    traces, tops = np.array(sizes).T
    trace = _centred_trace(evaluator, rows, rng) if center else float(traces.sum())
    # What is left of a diagonal is a difference, and rounding at this size.
    floor = max(100.0 * float(np.finfo(dtype).eps), 10 * evaluator.relative) * tops.max() + evaluator.absolute
    chosen, L, seen = np.empty(0, dtype=np.intp), np.zeros((count, count)), 0
    nodes: Any = None
    size = int(np.clip(count // ROUNDS, *CANDIDATES))
    while (done := len(chosen)) < count:
        totals = np.array(state.ask(lambda _, block: block.sums(floor)[-1]))
        ends = np.cumsum(totals)
        if not ends[-1] > tol * trace:
            break
        at = rng.random(size) * ends[-1]
        which = np.minimum(np.searchsorted(ends, at, side="right"), len(ends) - 1)
        positions = [at[which == i] - (ends[i] - totals[i]) for i in range(len(ends))]
        result = state.ask(lambda rows, block, at: block.drawn(rows, at, floor), positions)
        # In the order in which they were drawn.
        order = np.argsort(np.argsort(which, kind="stable"), kind="stable")
        drawn = np.concatenate([start + f[0] for start, f in zip(state.starts, result, strict=True)])[order]
        candidates = arrays.rows_of(arrays.stacked([f[1] for f in result if f[1] is not None]), order)
        factor = np.empty((size, done))
        if done:
            KernelValues(evaluator, nodes)(candidates, factor)
            factor = solve_triangular(L[:done, :done], factor.T, lower=True).T
        H = np.empty((size, size))
        KernelValues(evaluator, candidates)(candidates, H)
        accepted, lower = _accepted(
            H - factor @ factor.T, np.concatenate([f[2] for f in result])[order], floor, rng
        )
        accepted = accepted[: count - done]
        new, last = arrays.rows_of(candidates, accepted), done + len(accepted)
        chosen = np.concatenate([chosen, drawn[accepted]])
        nodes = new if nodes is None else arrays.stacked([nodes, new])
        L[done:last, :done] = factor[accepted]
        L[done:last, done:last] = lower[: len(accepted), : len(accepted)]
        # Where nothing but rounding is left, nothing is drawn again.
        spent = np.unique(drawn[np.diag(H) - np.sum(factor * factor, axis=1) <= floor])
        few = len(accepted) < LEAST_ACCEPTED * size
        if last < count and last > seen and (few or ends[-1] * len(accepted) <= tol * trace * size):
            pivots = KernelValues(evaluator, nodes[seen:, :], rough=dtype == np.float32)
            extended, seen = _Extension(pivots, L[seen:last, :last]), last
            spent = np.unique(np.concatenate([spent, chosen]))
        elif len(spent):
            extended = _Extension()
        else:
            continue
        cuts = np.split(spent, np.searchsorted(spent, state.starts[1:]))
        state.update(extended, [cut - start for cut, start in zip(cuts, state.starts, strict=True)])
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
        indices = np.minimum(np.searchsorted(self.sums(floor), at, side="right"), len(self.left) - 1)
        return indices, rows.at(indices) if len(indices) else None, self.left[indices]


def _first(evaluator: Evaluator, rows: Rows, columns: int, dtype: Any) -> _Part:
    diagonals = [arrays.as_float64(evaluator.diagonal(block.values)) for block in rows.blocks()]
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

    def __call__(self, rows: Rows, block: _Part, spent: Indices) -> _Part:
        """Return the part with these columns, and nothing left of the rows that are spent."""
        left, factor, done = block.left.copy(), block.factor, block.done
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

            arrays.parallel_map(work, slices(n, BLOCK))
            done += count
        left[spent] = 0.0
        return _Part(np.maximum(left, 0.0), factor, done)

    def _step(self, cols: slice, done: int, dtype: Any) -> tuple[slice, Any, Any]:
        """Some of the columns, what those before are multiplied by, and the inverse of their own factor."""
        assert self.lower is not None
        corner = self.lower[cols, done + cols.start : done + cols.stop]
        inverse = solve_triangular(corner, np.eye(len(corner)), lower=True).T
        return cols, self.lower[cols, : done + cols.start].T.astype(dtype), inverse.astype(dtype)


# ------------------------------------------------------------------ what they take

# Seconds of a step of any size; of choosing pivots: for each row, each row with each landmark, each landmark.
STARTED, PIVOT_ROW, PIVOT_VALUE, PIVOT = 1e-3, 8e-7, 1.2e-9, 7e-5


def feature_costs(
    shape: tuple[int, int],
    m: int,
    rule: str,
    *,
    single: bool,
    rank: int | None = None,
    elsewhere: bool = False,
) -> SymmetricCosts:
    """Return the costs of computing, multiplying and decomposing m features of n rows.

    Parameters
    ----------
    shape : (n, d)
    m : int
    rule : {"rpcholesky", "uniform", "given"}
        How landmarks are chosen.
    single : bool
        Whether products are made in float32.
    rank : int, optional
        Order of their matrix, where it is known not to be m.
    elsewhere : bool
        Whether what is kept of every row is where rows are spread.
    """
    n, d = shape
    kind = "float32" if single else "float64"
    values = n * m * (KERNEL_VALUE["float64"] / 2 + d / LARGE["float64"])
    cholesky = n * m * m / 4 / LARGE[kind] + 1.2 * values + n * (PIVOT_ROW + m * PIVOT_VALUE) + m * PIVOT
    # Columns of the factor are made when few candidates are accepted: from none of them to nearly all.
    factor = n * m * (4 if single else 8) if rule == "rpcholesky" else 0
    drawn = f"{m} rows by randomly pivoted Cholesky, whose factor takes up to {amount(factor)}"
    details = {
        "rpcholesky": (drawn, cholesky),
        "uniform": (f"{m} rows drawn uniformly", 0.0),
        "given": (f"{m} rows from the parameter landmarks", 0.0),
    }
    size = (16 + 4) * m * m + 1024 * 8 * m + (0 if elsewhere else factor)
    steps = [
        Step("choose", *details[rule]),
        Step("orthonormalise", f"{m} x {m} kernel values", EIGH_ALL * m**3),
        Step("evaluate", f"{n:,} rows x {m} kernel values", values),
        Step("multiply", f"their {m} x {m} products, {kind}", n * m * m / 2 / LARGE[kind]),
    ]
    steps = [replace(step, seconds=step.seconds + STARTED) for step in steps]
    other = ' or landmarks="uniform",' if rule == "rpcholesky" else ""
    why = "You set solver='nystroem'; time grows linearly with the number of rows, not quadratically."
    made = Plan(f"covariance of {m} landmarks", "nystroem", tuple(steps), size, why, kind)
    too_large = (
        f"solver='nystroem' with n_landmarks={m!r} for {n:,} rows",
        f"Use a smaller n_landmarks,{other} or raise memory_limit.",
    )
    return SymmetricCosts(rank or m, substitute=made, too_large=too_large)
