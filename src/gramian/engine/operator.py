"""What a matrix offers, what every operator does, and what forming and multiplying it is predicted to take.

Rates are those of two ordinary cores; they rank routes and are not exact.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gramian.core.arrays import THIN as THIN_ROWS
from gramian.core.arrays import as_float64, each_thread, is_numpy, namespace, to_float64
from gramian.core.checks import slices
from gramian.core.records import BoundKind, Plan, Spread

ALONE = 1000  # order up to which starting threads takes longer than what they save of a thin product
# Multiply-adds a second: large products, products with few vectors, of float64 and of float32.
LARGE = {"float64": 38e9, "float32": 70e9}
THIN = {"float64": 17e9, "float32": 34e9}
# The same with blocks of a table in float32 that are kept, and bytes a second of such blocks.
THIN_KEPT, KEPT = 60e9, 18e9
BANDWIDTH = 10e9  # bytes a second
SIZES = {"float64": 8, "float32": 4}
CENTRE = 5e-10  # seconds to centre one entry of a block in the cache
CENTRE_COLUMNS = 1.5e-9  # the same for blocks of columns, which lie apart in memory
MEASURE = 6e-10  # seconds an entry for means and sums of squares
KERNEL_VALUE = {"float64": 1.1e-9, "float32": 0.5e-9}  # for one kernel value, its inner product not counted
# Fixed seconds of a fit by a direct route, and of a pass with its eigenproblem.
DIRECT, PASS = 1.7e-3, 8e-4
# Seconds for one m^3 of an eigendecomposition on one thread: all pairs, or few of them.
EIGH_ALL, EIGH_FEW = 1.6e-10, 6e-11
NARROW = 100  # columns that a product of tall blocks takes longer for, whatever its width
SCRATCH = 16 << 20
MEASURED_ROWS = 150  # of float64 that are held while a file is measured: blocks of workers, means of blocks
COLUMNS_READ = 24 << 20  # bytes of the blocks of columns of a file that workers read at a time
PRODUCTS = 48 << 20  # bytes of the products that workers have at the same time before they are added up
WORKERS = 8
CORES, TASK = 2, 1e-3  # of chunks: cores that these rates are of, seconds to send a task
ROUNDING_SHOWS = 2e-6  # relative to the trace, where the largest eigenvalue is a fifth of it
# A value of sparse rows takes as long as one of dense rows of so many columns, and of more an entry.
SPARSE_WIDTH, SPARSE_ENTRY = 800, 40
SPARSE = 0.05  # share of the entries that a sparse table is taken to have
SPARSE_BYTES = 12  # of an entry in a file
# Multiply-adds a second of a sparse table with itself, and with many dense columns.
SPARSE_PAIRS, SPARSE_LONG = 1.5e8, 1.4e9
# Columns up to which workers, and how many, have a matrix each; the part of dense products that sparse rows
# take, over their share: most entries are in few columns.
SPARSE_COLUMNS, SPARSE_WORKERS, SPARSE_PART = 2500, 2, 7.0
SPARSE_THIN = 4.5e9  # multiply-adds a second of products of a sparse table with 16 vectors


@dataclass(frozen=True)
class Form:
    """How a symmetric matrix is held and multiplied.

    Attributes
    ----------
    matrix : {"covariance", "gram", "centered kernel", "given", "data (SVD)"}
    storage : {"whole", "kept", "again", "copied"}
        The matrix itself in float64; blocks of the centred data, or half of the kernel matrix in tiles;
        nothing, so that blocks or tiles are made again in every pass; or all of the centred data.
    arithmetic : {"float64", "float32"}
        What products are made in; sums over blocks are float64 always.
    share : float
        Of the parts that are made again, those that memory has room to keep.
    """

    matrix: str
    storage: str
    arithmetic: str = "float64"
    share: float = 0.0

    @cached_property
    def whole(self) -> bool:
        """Whether the matrix itself is formed."""
        return self.storage == "whole"

    @cached_property
    def of_table(self) -> bool:
        """Whether it is one of a table's two matrices, which name a solver."""
        return self.matrix in ("covariance", "gram")

    @cached_property
    def double(self) -> bool:
        """Whether products are made in float64."""
        return self.arithmetic == "float64"

    def promoted(self) -> Form:
        """Return the same matrix multiplied in float64, without memory of its own."""
        return replace(self, storage="again", arithmetic="float64", share=0.0)


COVARIANCE, GRAM = Form("covariance", "whole"), Form("gram", "whole")
# The one matrix of sparse rows that is made in float32: of the columns that are made dense for it.
SINGLE_SPARSE = Form("covariance", "whole", "float32")


class Costs(ABC):
    """Seconds and bytes of one problem's matrices, by their form.

    Attributes
    ----------
    substitute : Plan or None
        How an approximate matrix is made that the user chose instead of the exact one.
    too_large : tuple of str or None
        What it is called where it does not fit into memory, and what does.
    flat : bool
        Whether eigenvalues after the first few are likely to lie near each other.
    """

    substitute: Plan | None = None
    too_large: tuple[str, str] | None = None
    flat: bool = False

    @abstractmethod
    def forms(self) -> tuple[Form, ...]:
        """Return the forms that the problem's matrix can take."""

    @abstractmethod
    def order(self, form: Form) -> int:
        """Return the order of the matrix."""

    @abstractmethod
    def build(self, form: Form) -> tuple[float, int]:
        """Return seconds and bytes of making the form, before any product."""

    @abstractmethod
    def product(self, form: Form, columns: int) -> float:
        """Return seconds of one product with so many vectors."""

    def spare(self, form: Form, left: int) -> Form:
        """Return the form with so many bytes more at its disposal."""
        return form

    def lift(self, form: Form, count: int) -> float:
        """Return seconds from so many eigenvectors to what the user gets."""
        return 0.0

    def improves(self, form: Form) -> bool:
        """Return whether products in this form round so much that a step in float64 has to follow."""
        return False

    def linear(self, form: Form) -> bool:
        """Return whether a product takes as long for each vector, however few there are."""
        return False

    def note(self, form: Form, columns: int = 0) -> str:
        """Return what is unusual about making the form, or about a product with so many vectors.

        It follows a description of that.
        """
        return ""


def workers_of(product: int) -> int:
    """Return how many workers may each have a product of so many bytes; one of them has every BLAS thread."""
    return max(1, min(WORKERS, PRODUCTS // max(product, 1)))


def rows_of_sparse(columns: int) -> int:
    """Return how many sparse rows are multiplied at once, so that adding the products up takes little."""
    return max(1024, 2 * columns)


def sparse_workers(columns: int) -> int:
    """Return how many workers may each have the products of sparse rows of so many columns."""
    return SPARSE_WORKERS if columns <= SPARSE_COLUMNS else 1


def whole_product(order: int, columns: int) -> float:
    """Return seconds of a product with a matrix that is in memory."""
    return order * order * max(columns / THIN["float64"], 8 / BANDWIDTH)


@dataclass(frozen=True)
class TableCosts(Costs):
    """Covariance and dual Gram matrix of an (n, d) table.

    Attributes
    ----------
    shape : (n, d)
    dtype : numpy.dtype
        Of the data.
    sparse : bool
    speed : float
        Bytes a second at which every pass reads a file; 0 for a table in memory.
    columns : bool
        Whether that file gives some columns without the others.
    share : float
        Of the entries of a sparse table, those that are there.
    spread : Spread or None
        Where its parts are worked on; None for a table in one place.
    quick : bool
        Whether float64 products take no longer than float32: the whole matrix is then made in float64.
    flat : bool
        As in :class:`Costs`.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    sparse: bool = False
    speed: float = 0.0
    columns: bool = True
    share: float = SPARSE
    spread: Spread | None = None
    quick: bool = False
    flat: bool = False

    def forms(self) -> tuple[Form, ...]:
        """Return the forms of both sides, the smaller one first."""
        return self._forms

    @cached_property
    def _forms(self) -> tuple[Form, ...]:
        n, d = self.shape
        sides = ("covariance", "gram") if d <= n else ("gram", "covariance")
        kinds = ("float64",) if self.dtype == np.float64 else ("float64", "float32")
        storages = ("whole", "again") if self.sparse or self.spread else ("whole", "kept", "again")
        result = (Form(side, how, kind) for side in sides for how in storages for kind in kinds)
        # Blocks of columns of a file are slow to read: once, for the whole matrix, in float64.
        return tuple(
            form
            for form in result
            if not self.stored or form.matrix == "covariance" or (form.whole and form.double and self.columns)
            if form.double or not (form.whole and self.quick)
            if form.double or not self.sparse or (form == SINGLE_SPARSE and self._densifies)
        )

    @cached_property
    def stored(self) -> bool:
        """Whether every pass reads a file."""
        return self.speed > 0

    @cached_property
    def _densifies(self) -> bool:
        """Whether sparse rows, which are float64, have a matrix that float32 products of columns save."""
        return not self.stored and self.spread is None and min(self.shape) > NARROW

    @property
    def sides(self) -> tuple[str, ...]:
        """The matrices worth while: the smaller one, and of a file that with which a pass goes along rows."""
        smaller = self.forms()[0].matrix
        return (smaller, "covariance") if self.stored else (smaller,)

    def order(self, form: Form) -> int:
        """Return d for the covariance, n for the Gram matrix."""
        return self.shape[1 if form.matrix == "covariance" else 0]

    def build(self, form: Form) -> tuple[float, int]:
        """Return seconds and bytes: the moments, and the matrix or the kept blocks."""
        n, d = self.shape
        m = self.order(form)
        measure = n * d * (MEASURE if form.matrix == "gram" or not form.whole else CENTRE)
        measure = self._pass(measure + self._read)
        if form.whole:
            inner = n * d // m
            seconds = self._pass(
                inner * m * (m + NARROW) / 2 / LARGE[form.arithmetic] + inner * m * CENTRE, False
            )
            product = m * m * SIZES[form.arithmetic]
            results = 0 if self.spread is None else self.spread.results
            held = 8 * m * m * (1 + results) + workers_of(product) * product + SCRATCH
            if self.sparse and form.matrix == "covariance":
                # Each worker has a matrix, a product, and a block of rows of the densest columns.
                block = SIZES[form.arithmetic] * (m + rows_of_sparse(m))
                held = 8 * m * m + sparse_workers(m) * m * (8 * m + block) + SCRATCH
                seconds *= min(1.0, SPARSE_PART * self.share)
            if self.stored and form.matrix == "gram":
                held += 4 * max(COLUMNS_READ, 8 * 1024 * n) + (self.spread.columns if self.spread else 0)
                return measure + 2 * self._read + seconds, held
            return measure + seconds, held
        kept = n * d * SIZES[form.arithmetic] if form.storage == "kept" else 0
        measuring = MEASURED_ROWS * 8 * d if self.stored else 0
        return measure + kept * 2e-10 + (self._read if kept else 0.0), kept + measuring + SCRATCH

    def product(self, form: Form, columns: int) -> float:
        """Return seconds of ``C.T (C V)`` or ``C (C.T V)``, or of a product with the whole matrix."""
        if form.whole:
            return whole_product(self.order(form), columns)
        n, d = self.shape
        entries = n * d * (self.share if self.sparse else 1.0)
        again = CENTRE_COLUMNS if form.matrix == "gram" else CENTRE
        kept = form.storage == "kept"
        read = SIZES[form.arithmetic] / KEPT if kept else again
        file = 0.0 if kept else self._read
        rate = THIN_KEPT if kept and not form.double else THIN[form.arithmetic]
        rate = SPARSE_THIN if self.sparse else rate
        return self._pass(entries * (2 * columns / rate + read) + file)

    def linear(self, form: Form) -> bool:
        """Return whether the entries of sparse rows in memory are multiplied, of which few are read."""
        return self.sparse and not (form.whole or self.stored or self.spread)

    def lift(self, form: Form, count: int) -> float:
        """Return seconds of lifting dual vectors to directions."""
        n, d = self.shape
        return n * d * count / LARGE[form.arithmetic] + self._read if form.matrix == "gram" else 0.0

    def _pass(self, seconds: float, tasks: bool = True) -> float:
        """Seconds of a pass where the parts are, and until their results are one."""
        if self.spread is None:
            return seconds
        return seconds * CORES / self.spread.threads + (self.spread.tasks * TASK if tasks else 0.0)

    @cached_property
    def _read(self) -> float:
        """Seconds of reading all of a file."""
        n, d = self.shape
        size = n * d * (self.share * SPARSE_BYTES if self.sparse else self.dtype.itemsize)
        return size / self.speed if self.stored else 0.0

    def improves(self, form: Form) -> bool:
        """Return whether the rounding of float32 sums is likely to show in the largest eigenvalue.

        A probe bounds that of a whole covariance far below.
        """
        if form.double or (form.whole and form.matrix == "covariance"):
            return False
        inner = max(self.shape) * min(self.shape) // self.order(form)
        block = min(inner, max(64, min(self.order(form), 1024)) if form.whole else 240)
        return bool(4e-7 * (block / math.sqrt(inner) + 1.0) > ROUNDING_SHOWS)

    def note(self, form: Form, columns: int = 0) -> str:
        """Return where the parts of a pass are worked on."""
        return "" if self.spread is None else f"; {self.spread}"


@dataclass(frozen=True)
class SymmetricCosts(Costs):
    """A symmetric matrix of order ``size`` that is in memory.

    Attributes
    ----------
    size : int
    matrix : str
        What it is, as in :class:`Form`.
    beside : int
        Matrices as large that making it needed, which the memory has to hold.
    seconds : float
        What making it takes.
    said : str
        How it was made, to follow a description of it.
    substitute, too_large
        As in :class:`Costs`.
    """

    size: int
    matrix: str = "given"
    beside: int = 0
    seconds: float = 0.0
    said: str = ""
    substitute: Plan | None = None
    too_large: tuple[str, str] | None = None

    def forms(self) -> tuple[Form, ...]:
        """Return the one form."""
        return (Form(self.matrix, "whole"),)

    def order(self, form: Form) -> int:
        """Return the order."""
        return self.size

    def build(self, form: Form) -> tuple[float, int]:
        """Return seconds and bytes of what came before."""
        return self.seconds, 8 * self.beside * self.size**2

    def product(self, form: Form, columns: int) -> float:
        """Return seconds of one product."""
        return whole_product(self.size, columns)

    def note(self, form: Form, columns: int = 0) -> str:
        """Return how the matrix was made."""
        return "" if columns else self.said


# ---- Operators


def digest(*arrays: Any) -> bytes:
    """Return a hash of the float64 bytes of arrays; None counts as nothing."""
    result = hashlib.blake2b(digest_size=32)
    for array in arrays:
        if array is not None:
            result.update(np.ascontiguousarray(as_float64(array)).tobytes())
    return result.digest()


class Operator(Protocol):
    """A symmetric ``(m, m)`` matrix in float64 arithmetic at its surface.

    Attributes
    ----------
    size : int
        m.
    like : array
        Empty float64 array of the kind that products are returned in.
    psd : bool
        Whether the exact matrix is proven positive semidefinite.
    error_bound : float
        Bound on the spectral norm of (what ``matmat`` multiplies by - exact matrix).
    dense_error : float
        The same for what ``dense`` returns.
    error_kind : str
        ``"deterministic"``, or ``"probabilistic"`` where rounding errors are taken as independent.
    relative_tolerance : float
        Eigenvalues at or below this multiple of the largest one are rounding of the route.
    noise : float
        Eigenvalues at or below this absolute size are rounding of the data.
    """

    size: int
    like: Any
    psd: bool
    error_bound: float
    dense_error: float
    error_kind: BoundKind
    relative_tolerance: float
    noise: float

    def matmat(self, V: Any) -> Any:
        """Return the product with a float64 block of vectors of shape (m, b), as float64."""

    def dense(self) -> Any:
        """Return the whole matrix, float64, in memory."""

    def trace(self) -> float | None:
        """Return the sum of the eigenvalues, or None where it is not known cheaply."""

    def promoted(self) -> Operator | None:
        """Return the same matrix in float64 arithmetic; None where this is already that."""

    def release(self) -> None:
        """Give back the memory of what is kept from product to product."""

    def frobenius(self) -> float | None:
        """Return the Frobenius norm, or None where it is not known cheaply."""

    def fingerprint(self) -> bytes:
        """Return a hash of what is multiplied, so that a probe can be drawn that it was not built against."""


# ---------------------------------------------------- a matrix in memory


class SymmetricMatrix:
    """An operator for a matrix that somebody else has made, as exact as it is given.

    Parameters
    ----------
    A : array of shape (m, m)
        Symmetric.
    psd : bool
        Whether it is known to be positive semidefinite.
    error : float
        Bound on the spectral norm of its difference from the exact matrix.
    noise : float
        Size of eigenvalues that the rounding of the data alone can make.
    terms : int
        Number of terms whose rounding is in an entry.
    """

    error_kind: BoundKind = "deterministic"

    def __init__(
        self, A: Any, *, psd: bool = False, error: float = 0.0, noise: float = 0.0, terms: int = 1
    ) -> None:
        self.A = to_float64(A)
        self.size = int(A.shape[0])
        self.like = self.A[:0, 0]
        self.psd = psd
        eps = float(np.finfo(np.float64).eps)
        norm = self.frobenius()
        self.dense_error = error
        self.error_bound = error + self.size * eps * norm
        self.relative_tolerance = max(self.size, terms) * eps
        self.noise = noise

    def matmat(self, V: Any) -> Any:
        """Return the product with V of shape (m, b)."""
        return symmetric_times(self.A, V)

    def dense(self) -> Any:
        """Return the matrix."""
        return self.A

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        return float(namespace(self.A).linalg.trace(self.A))

    def frobenius(self) -> float:
        """Return the Frobenius norm."""
        return float(namespace(self.A).linalg.matrix_norm(self.A))

    def fingerprint(self) -> bytes:
        """Return a hash of the matrix."""
        return digest(self.A)

    def release(self) -> None:
        """Do nothing: the memory is somebody else's."""

    def promoted(self) -> None:
        """Return None: there is nothing more accurate."""
        return


def symmetric_times(A: Any, V: Any) -> Any:
    """Return ``A V`` for a matrix in memory, the rows of a large one shared out among the threads."""
    if not is_numpy(A) or len(A) <= ALONE:
        return A @ V
    out = np.empty((A.shape[0], V.shape[1]))
    V = np.ascontiguousarray(V)

    def share(draw: Any) -> None:
        for rows in draw:
            np.matmul(A[rows], V, out=out[rows])

    each_thread(share, slices(A.shape[0], THIN_ROWS))
    return out
