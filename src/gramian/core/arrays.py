"""Array namespaces, dtypes, exact scaling and the one guard over BLAS threads.

Operators and solvers call the array-API namespace of the data that came in; the few places where NumPy can
save a copy ask :func:`is_numpy`.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ContextDecorator, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, lru_cache, reduce
from itertools import repeat
from numbers import Real
from operator import attrgetter, matmul
from typing import Any, TypeVar

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy
from scipy import sparse

from gramian.core.checks import amount, slices
from gramian.core.progress import track
from gramian.core.records import FloatArray
from gramian.errors import DataError, MemoryLimitError, ParameterError

T = TypeVar("T")
R = TypeVar("R")
DEFAULT_MEMORY_SHARE = 0.8
UNIT = re.compile(r"\s*(?:([KMGT])(I)?)?B?\s*$", re.IGNORECASE)  # of bytes
ORTHONORMAL = 1e-12  # below which a norm of V.T V - I needs no digits
# OpenBLAS multiplies matrices of at most 10^6 multiply-adds without packing them first, at nearly full
# speed: 240 x 240 times 240 x 16. Larger pieces times few columns reach 60 % of that.
THIN = 240
# Tall factors are shared out in so many rows where their product has so many multiply-adds, about 1 ms:
# threads cost as much as fewer.
SHARED_ROWS, SHARED_PRODUCT = 2048, 32_000_000
DEVICE_TILE = 2048  # the same for arrays that are not NumPy's, in whose libraries every call takes a while
DEVICE_PRODUCTS = 256 << 20  # bytes of products of float32 that wait to be added up
# Order above which a matrix on a device is decomposed on the host: eigh of a device is slow, and fails from
# about 25,000.
MOST_ON_DEVICE = 5000
THIN_COLUMNS = 16
# float32 has a 24-bit significand: every 8- and 16-bit integer and every float16 is exact in it.
EXACT_IN_FLOAT32 = tuple(np.dtype(t) for t in ("i1", "u1", "i2", "u2", "f2"))


# ---------------------------------------------------------------- array kinds


def namespace(*arrays: Any) -> Any:
    """Return the array-API namespace shared by ``arrays``; that of sparse rows is NumPy."""
    for array in arrays:
        if not (isinstance(array, np.ndarray) or sparse.issparse(array)):
            return array_api_compat.array_namespace(*arrays)
    return np


def is_numpy(array: Any) -> bool:
    """Return whether ``array`` is a NumPy array, for which work can be done in place."""
    return isinstance(array, np.ndarray)


def is_dask(X: Any) -> bool:
    """Return whether X is one of Dask's collections, without importing it."""
    return hasattr(X, "__dask_graph__")


def as_pictures(rows: Any, shape: tuple[int, int]) -> Any:
    """Return rows (n, height * width) of any kind as pictures (n, height, width)."""
    if not is_dask(rows):
        return namespace(rows).reshape(rows, (rows.shape[0], *shape))
    chunks = (rows.chunks[0], *shape)
    return rows.map_blocks(lambda some: some.reshape(-1, *shape), new_axis=2, chunks=chunks, dtype=rows.dtype)


def on_accelerator(array: Any) -> bool:
    """Return whether ``array`` lies on a device that is not the processor."""
    return "cpu" not in str(array_api_compat.device(array)).lower()


def to_numpy(array: Any) -> npt.NDArray[Any]:
    """Copy ``array`` to NumPy, from whatever device it lives on."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):
        return np.asarray(array.detach().cpu())
    if array_api_compat.is_cupy_array(array):
        return np.asarray(array.get())
    if hasattr(array, "__array_namespace__"):
        # NumPy reads memory of the host, where a library puts arrays unless it is told otherwise.
        host = array.__array_namespace__().__array_namespace_info__().default_device()
        array = array if host is None else array.to_device(host)
    return np.asarray(array)


def real_numbers(values: Any) -> FloatArray:
    """Copy numbers to float64; complex numbers and times, which NumPy would convert, raise a TypeError."""
    array = to_numpy(values)
    array = np.asarray(array.tolist()) if array.dtype == object else array
    if array.dtype.kind in "cmM":
        raise TypeError(f"{array.dtype} is no type of real numbers")
    return np.array(array, dtype=np.float64)


def from_numpy(array: npt.NDArray[Any], like: Any) -> Any:
    """Move a NumPy array to the kind and device of ``like``, keeping its own dtype."""
    if isinstance(like, np.ndarray) or sparse.issparse(like):
        return array
    array = np.ascontiguousarray(array)
    # PyTorch takes neither read-only memory nor a negative stride, which an axis of length 1 can have.
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    return namespace(like).asarray(array, device=array_api_compat.device(like))


def moved(array: Any, like: Any) -> Any:
    """Move an array of any kind to the kind and device of ``like``; one that is there stays as it is."""
    device = array_api_compat.device
    if is_numpy(array) or sparse.issparse(array):
        return from_numpy(array, like)
    if type(array) is type(like) and device(array) == device(like):
        return array
    return from_numpy(to_numpy(array), like)


def numpy_dtype(array: Any) -> np.dtype[Any]:
    """Return the NumPy dtype that corresponds to the dtype of ``array``."""
    if isinstance(array, np.ndarray):
        return np.dtype(array.dtype)
    return np.dtype(str(array.dtype).rsplit(".", 1)[-1])


def as_csr(X: Any) -> Any:
    """Return a sparse matrix as CSR with every entry stored once, in order; X stays as it is."""
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def dense(X: Any) -> Any:
    """Return a sparse matrix as a NumPy array, and any other array as it is."""
    return X.toarray() if sparse.issparse(X) else X


def alike(rows: Any, like: Any) -> Any:
    """Return rows as sparse, or as dense, as others are."""
    if sparse.issparse(rows) == sparse.issparse(like):
        return rows
    return sparse.csr_array(to_numpy(rows)) if sparse.issparse(like) else dense(rows)


def as_float64(array: Any) -> FloatArray:
    """Copy ``array`` to a float64 NumPy array, where small problems and sums are worked out."""
    return np.asarray(array if isinstance(array, np.ndarray) else to_numpy(array), dtype=np.float64)


def are_whole(values: Any) -> Any:
    """Return of each column whether its numbers are integers; beyond those of int64 every float is one."""
    with np.errstate(invalid="ignore"):
        return ((np.floor(values) == values) & (np.abs(values) < np.float64(2**63))).all(axis=0)


def to_float64(array: Any) -> Any:
    """Return ``array`` as float64 of the same kind."""
    return to_dtype(array, np.dtype(np.float64))


def to_dtype(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return ``array`` as float32 or float64 of the same kind."""
    if isinstance(array, np.ndarray) or sparse.issparse(array):
        return array.astype(dtype, copy=False)
    xp = namespace(array)
    return xp.astype(array, xp.float32 if dtype == np.float32 else xp.float64)


def require_range(values: Any, what: str) -> Any:
    """Return results of finite data.

    Raises
    ------
    DataError
        If one is beyond the range of their dtype.
    """
    xp, dtype = namespace(values), numpy_dtype(values)
    if not bool(xp.all(xp.isfinite(values))):
        wider = ", or pass the data of the fit and these as float64" if dtype == np.float32 else ""
        raise DataError(
            f"{what} exceed what {dtype} can hold ({float(np.finfo(dtype).max):.2g}). Divide the data by a "
            f"constant before the fit{wider}."
        )
    return values


def random_normal(rng: np.random.Generator, shape: tuple[int, int], like: Any) -> Any:
    """Draw standard normal numbers in the kind and dtype of ``like``; the same on every device."""
    return from_numpy(rng.standard_normal(shape).astype(numpy_dtype(like), copy=False), like)


def rows_of(array: Any, numbers: Any) -> Any:
    """Return the rows of these numbers, of any array or sparse matrix, as ``array[numbers]``."""
    numbers = np.asarray(numbers, dtype=np.intp)
    if is_numpy(array) or sparse.issparse(array):
        return array[numbers]
    return namespace(array).take(array, from_numpy(numbers, array), axis=0)


def stacked(tables: list[Any]) -> Any:
    """Return tables of one kind, dense or sparse, one below the other."""
    if sparse.issparse(tables[0]):
        return sparse.vstack(tables, format="csr")
    return namespace(*tables).concat(tables, axis=0)


def with_rows(array: Any, numbers: npt.NDArray[Any], new: Any) -> Any:
    """Return the array with new rows at these numbers; those of NumPy are written over."""
    if is_numpy(array):
        array[numbers] = new
        return array
    order = np.arange(array.shape[0])
    order[numbers] = len(order) + np.arange(len(numbers))
    return rows_of(namespace(array).concat([array, new], axis=0), order)


def row_products(a: Any, b: Any) -> Any:
    """Return the inner product of every row of ``a`` with that of ``b``."""
    return np.einsum("ij,ij->i", a, b) if is_numpy(a) else namespace(a).sum(a * b, axis=1)


def column_norms(array: Any) -> FloatArray:
    """Return the Euclidean norm of every column, float64."""
    xp = namespace(array)
    return np.sqrt(as_float64(xp.sum(array * array, axis=0)))


def thin_groups(V: npt.NDArray[Any], pieces: int, rows: int, length: int = THIN) -> list[npt.NDArray[Any]]:
    """Cut V into groups of columns that multiply at full speed with ``THIN`` by ``length``.

    Each has shape (pieces, rows, columns); what is missing in the last piece is zero.
    """
    padded = np.zeros((pieces * rows, V.shape[1]), dtype=V.dtype)
    padded[: len(V)] = V
    width = 2 * THIN_COLUMNS if 2 * length <= THIN else THIN_COLUMNS
    groups = (np.ascontiguousarray(padded[:, columns]) for columns in slices(V.shape[1], width))
    return [group.reshape(pieces, rows, -1) for group in groups]


def joined_groups(results: Sequence[Sequence[Any]], size: int) -> npt.NDArray[Any]:
    """Add up the groups that workers return, and return them as one array of ``size`` rows."""
    totals = [sum(groups) for groups in zip(*results, strict=True)]
    return np.concatenate([total.reshape(-1, total.shape[2])[:size] for total in totals], axis=1)


def zeros(shape: tuple[int, ...], like: Any) -> Any:
    """Return zeros of float64 of the kind of ``like``, where that is."""
    if is_numpy(like):
        return np.zeros(shape)
    xp = namespace(like)
    return xp.zeros(shape, dtype=xp.float64, device=like.device)


def orthonormal(V: Any) -> tuple[Any, FloatArray]:
    """Return ``Q, R`` with ``V = Q R``, Q orthonormal float64 of V's kind and R upper triangular in NumPy.

    Two rounds of Cholesky QR, which run at the speed of a product; where V is too ill-conditioned for them,
    Householder's method (Yamamoto et al. 2015, Roundoff error analysis of the CholeskyQR2 algorithm).
    """
    try:
        R = np.eye(V.shape[1])
        Q = V
        for _ in range(2):
            factor = np.linalg.cholesky(to_numpy(Q.T @ Q)).T
            spread = np.abs(np.diag(factor))
            if not spread.min(initial=1.0) > 1e-6 * spread.max(initial=1.0):
                break
            Q = Q @ from_numpy(np.linalg.inv(factor), V)
            R = factor @ R
        else:
            return Q, R
    except np.linalg.LinAlgError:
        pass
    Q, R = namespace(V).linalg.qr(V)
    return Q, as_float64(R)


def decomposed(matrix: Any, on_device: Callable[[Any, Any], T], on_host: Callable[[Any], T]) -> T:
    """Decompose a float64 matrix where it is, or on the host: the one place where that is decided.

    Parameters
    ----------
    matrix : array of shape (m, n)
    on_device : callable
        Takes the ``linalg`` of the matrix's namespace and the matrix; for up to ``MOST_ON_DEVICE`` rows or
        columns.
    on_host : callable
        Takes the matrix in NumPy, where it is there, is larger, or the device's solver fails.
    """
    if not is_numpy(matrix) and min(matrix.shape) <= MOST_ON_DEVICE:
        with suppress(np.linalg.LinAlgError, RuntimeError):
            return on_device(namespace(matrix).linalg, matrix)
    return on_host(to_numpy(matrix))


def eigh(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return all eigenvalues of a symmetric matrix of NumPy, rising, and its eigenvectors."""
    # Several BLAS threads that wait for each other actively take many times as long on busy cores.
    with blas_threads():
        try:
            values, vectors = np.linalg.eigh(A)
        except np.linalg.LinAlgError:  # where QR iteration succeeds
            values, vectors = scipy.linalg.eigh(A, driver="ev", check_finite=False)
    return values, vectors


def backward_error(values: FloatArray) -> float:
    """Bound the backward error of a decomposition in float64 with all these eigenvalues."""
    eps = float(np.finfo(np.float64).eps)
    return 10 * math.sqrt(values.size) * eps * float(np.abs(values).max(initial=0.0))


def leading_pairs(A: FloatArray, count: int | Callable[[FloatArray], int]) -> tuple[FloatArray, FloatArray]:
    """Return all eigenvalues of a symmetric matrix of NumPy, descending, and the vectors of leading ones.

    ``count`` is how many vectors, or a function of all eigenvalues that says so.
    """
    m = len(A)
    if m > 256 if callable(count) else 4 * count <= m > 32:
        with blas_threads():
            pairs = _few_pairs(A, count)
        if pairs is not None:
            return pairs
    values, vectors = eigh(A)
    k = count(values[::-1]) if callable(count) else count
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1][:, :k])


def _few_pairs(
    A: FloatArray, count: int | Callable[[FloatArray], int]
) -> tuple[FloatArray, FloatArray] | None:
    """Find all eigenvalues and few vectors by one tridiagonal form; None where that is not the way.

    LAPACK's routines for few pairs search for their eigenvalues too, and find wrong ones in clusters.
    """
    m, lapack = len(A), scipy.linalg.lapack
    reflectors, diagonal, beside, scales, failed = lapack.dsytrd(A, lower=1, lwork=32 * m)
    rising, unfinished = lapack.dsterf(diagonal, beside)
    k = count(rising[::-1]) if callable(count) else count
    if failed or unfinished or 4 * k > m:
        return None
    few = rising[m - k :]
    # Inverse iteration makes vectors of close values orthogonal within a block: the whole is one.
    V, missed = lapack.dstein(diagonal, beside, few, np.ones(m, np.int32), np.full(m, m, np.int32))
    off = (diagonal[:, None] - few) * V
    off[1:] += beside[:, None] * V[:-1]
    off[:-1] += beside[:, None] * V[1:]
    loss = np.abs(V.T @ V - np.eye(k)).max()
    if missed or not (column_norms(off).max() <= backward_error(rising) and loss <= ORTHONORMAL):
        return None
    V[1:] = lapack.dormqr("L", "N", reflectors[1:, :-1], scales, V[1:], lwork=64 * k)[0]
    return rising[::-1], np.ascontiguousarray(V[:, ::-1])


def multiplied(like: Any, *factors: FloatArray) -> FloatArray:
    """Return the product of matrices of NumPy, in NumPy, made where ``like`` is."""
    return to_numpy(reduce(matmul, [moved(factor, like) for factor in factors]))


def inner(Q: Any, W: Any) -> Any:
    """Return ``Q.T @ W`` for tall factors, their rows shared out among the threads."""
    if not is_numpy(Q) or Q.shape[0] * Q.shape[1] * W.shape[1] < SHARED_PRODUCT:
        return Q.T @ W
    products = parallel_map(lambda rows: Q[rows].T @ W[rows], slices(len(Q), SHARED_ROWS))
    return sum(products[1:], start=products[0])


def without(W: Any, Q: Any, coefficients: Any) -> Any:
    """Return ``W - Q @ coefficients`` for tall factors, their rows shared out among the threads."""
    if not is_numpy(Q) or Q.shape[0] * Q.shape[1] * W.shape[1] < SHARED_PRODUCT:
        return W - Q @ coefficients
    out = np.empty(W.shape)

    def work(rows: slice) -> None:
        np.subtract(W[rows], Q[rows] @ coefficients, out=out[rows])

    parallel_map(work, slices(len(Q), SHARED_ROWS))
    return out


def long_product(P: Any, Q: Any, terms: int) -> Any:
    """Return ``P.T @ Q`` of arrays on a device in float64; in float32 only sums of so many rows are made."""
    xp = namespace(P)
    if numpy_dtype(P) == np.float64:
        return P.T @ Q
    (n, m), k = P.shape, Q.shape[1]
    whole = n - n % terms
    total = to_float64(P[whole:, :].T @ Q[whole:, :])
    step = terms * max(1, DEVICE_PRODUCTS // (4 * m * k))
    for start in range(0, whole, step):
        some = slice(start, min(whole, start + step))
        left, right = (xp.reshape(A[some, :], (-1, terms, A.shape[1])) for A in (P, Q))
        total = total + xp.sum(xp.matrix_transpose(left) @ right, axis=0, dtype=xp.float64)
    return total


def power_of_two(value: float) -> int:
    """Return the exponent e for which ``value / 2**e`` lies in [1, 2); 0 for zero."""
    return int(np.frexp(value)[1]) - 1 if value > 0 and np.isfinite(value) else 0


# -------------------------------------------------------------------- threads


_lock = threading.RLock()
_inside, _workers = 0, 1  # how many hold BLAS at one thread, and what it had before
_limited: list[tuple[Any, int]] = []


@lru_cache(maxsize=1)
def _libraries(_: int) -> tuple[list[Any], list[Any]]:
    """Return the libraries with threads, and those of BLAS; to look takes milliseconds.

    New libraries come with new modules, whose number is the argument.
    """
    from threadpoolctl import ThreadpoolController

    controller = ThreadpoolController()
    return controller.lib_controllers, controller.select(user_api="blas").lib_controllers


def _set_threads(counts: Iterable[tuple[Any, int]]) -> None:
    """Set the number of threads of libraries, whichever thread did so before."""
    openblas = sys.modules["threadpoolctl"].OpenBLASController
    # Newer versions ignore all threads but the first that set a limit, which need not be the last to leave.
    clear = getattr(openblas, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    for library, count in counts:
        library.set_num_threads(count)
    clear(force=True)


_alone = ContextVar("_alone", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit what runs inside to its own thread, because others like it run in parallel."""
    before = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(before)


class blas_threads(ContextDecorator):
    """Hold BLAS at one thread and yield how many workers may run in its place.

    threadpoolctl's limits are process-wide: the first one in sets them, and the last one out restores them.
    The number is what BLAS was allowed before, so joblib's workers, ``OMP_NUM_THREADS`` and threadpoolctl's
    own limits are respected.
    """

    def __enter__(self) -> int:
        global _inside, _workers
        with _lock:
            if _inside == 0:
                _, blas = _libraries(len(sys.modules))
                counts = list(map(attrgetter("num_threads"), blas))
                _workers = max(counts, default=1)
                _limited[:] = zip(blas, counts, strict=True) if _workers > 1 else ()
                if _limited:
                    _set_threads(zip(blas, repeat(1), strict=False))
            _inside += 1
            return 1 if _alone.get() else _workers

    def __exit__(self, *raised: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0 and _limited:
                _set_threads(_limited)


def parallel_map(
    work: Callable[[T], R], items: Iterable[T], *, most: int | None = None, like: Any = None, part: str = ""
) -> list[R]:
    """Apply ``work`` to every item on as many threads as BLAS may use, one BLAS thread each.

    Results come in the order of ``items``. The first exception stops what has not started yet.
    ``most`` is the largest number of threads. ``like`` is an array of the kind that ``work`` computes with:
    only NumPy's have threads here, since a device has its own. ``part``, if given, is what progress counts.
    """

    def counted(items: list[Any]) -> Iterable[Any]:
        return track(items, part) if part else items

    todo = list(items)
    if len(todo) <= 1 or not (like is None or is_numpy(like)):
        return [work(item) for item in todo]
    with blas_threads() as workers:
        workers = min(workers, most or workers)
        if workers == 1:
            return [work(item) for item in counted(todo)]
        pool = ThreadPoolExecutor(min(workers, len(todo)))
        try:
            futures = [pool.submit(copy_context().run, work, item) for item in todo]
            return [future.result() for future in counted(futures)]
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def each_thread(share: Callable[[Iterator[T]], R], items: Iterable[T], *, most: int | None = None) -> list[R]:
    """Run ``share`` once on each worker, of which there are ``most``; they draw items from one common queue.

    For work that needs its own scratch memory or its own sums: each call makes them once. Which items a sum
    is of depends on the number of workers and on their speed.
    """
    todo = list(items)
    if len(todo) <= 1:
        return [share(iter(todo))]
    queue = iter(todo)
    lock = threading.Lock()

    def draw() -> Iterator[T]:
        while True:
            with lock:
                item = next(queue, stop)
            if item is stop:
                return
            yield item  # type: ignore[misc]

    stop = object()
    with blas_threads() as workers:
        count = min(workers, len(todo), most or workers)
        if count == 1:
            return [share(draw())]
        # A copy of the context each, so that the caller's np.errstate holds in the workers.
        others = [_pool().submit(copy_context().run, share, draw()) for _ in range(count - 1)]
        try:
            result = share(draw())
        finally:  # workers that were busy elsewhere until nothing was left have nothing to do
            others = [future for future in others if not future.cancel()]
            wait(others)
        return [result, *(future.result() for future in others)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that are there for good: to start one takes as long as a small product."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="gramian")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has none of the threads


# --------------------------------------------------------------------- memory


def memory_limit_bytes(memory_limit: int | float | str | None, like: Any = None) -> int:
    """Return the working memory that may be used, in bytes.

    Parameters
    ----------
    memory_limit : int, float, str or None
        Bytes, or text such as ``"4GB"`` or ``"512 MiB"``. None reads ``GRAMIAN_MEMORY_LIMIT``
        and otherwise takes 80 % of what the machine, or the control group, has in total.
    like : array, optional
        Of the kind that is computed with: the default is 80 % of what is free of a GPU where it lies on one.
    """
    if memory_limit is None:
        memory_limit = os.environ.get("GRAMIAN_MEMORY_LIMIT") or None
    if memory_limit is None:
        return int(DEFAULT_MEMORY_SHARE * (device_memory(like) or _total_memory()))
    size: Any = memory_limit
    if isinstance(memory_limit, str):
        number, prefix, binary, _ = UNIT.split(memory_limit, maxsplit=1)
        with suppress(ValueError):
            size = float(number) * (1024 if binary else 1000) ** "_KMGT".index((prefix or "_").upper())
    is_number = isinstance(size, Real) and not isinstance(size, bool)
    if not is_number or not 0 < size < math.inf:
        hint = "Give bytes or text such as '4GB' or '512MiB'."
        raise ParameterError("memory_limit", memory_limit, "is not an amount of memory", hint)
    return int(size)


def require_memory(need: int, what: str, advice: str, most: int = 0) -> None:
    """Check that so many bytes are within the memory limit, or within ``most`` where that is more.

    Raises
    ------
    MemoryLimitError
    """
    limit = max(most, memory_limit_bytes(None))
    if need > limit:
        why = f"{what} takes {amount(need)}, and {amount(limit)} of memory may be used."
        raise MemoryLimitError(why, f"{advice}, or raise GRAMIAN_MEMORY_LIMIT.")


def device_memory(like: Any) -> int | None:
    """Return the bytes that are free on the GPU that an array lies on; None where it lies on none."""
    if like is None or is_numpy(like):
        return None
    if array_api_compat.is_cupy_array(like):
        return int(like.device.mem_info[0])
    if array_api_compat.is_torch_array(like) and like.device.type == "cuda":
        cuda = sys.modules["torch"].cuda
        stats = cuda.memory_stats(like.device)  # once, as it takes long
        # What PyTorch keeps for later is free for it.
        kept = stats.get("reserved_bytes.all.current", 0) - stats.get("allocated_bytes.all.current", 0)
        return int(cuda.mem_get_info(like.device)[0] + kept)
    return None


@cache
def _total_memory() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 << 30
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total
