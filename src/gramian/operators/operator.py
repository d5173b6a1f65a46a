"""What every operator offers; solvers and certificates see nothing else. And a matrix that is in memory."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np

from gramian.arrays import THIN, as_float64, each_thread, is_numpy, namespace, to_float64
from gramian.checks import slices
from gramian.records import BoundKind

ALONE = 1000  # order up to which starting threads takes longer than what they save of a thin product


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
        for part in draw:
            np.matmul(A[part], V, out=out[part])

    each_thread(share, slices(A.shape[0], THIN))
    return out
