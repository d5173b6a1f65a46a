"""What every operator offers; solvers and certificates see nothing else."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np

from gramian.arrays import as_float64
from gramian.records import BoundKind


def digest(*arrays: Any) -> bytes:
    """Return a hash of the float64 bytes of arrays; None counts as nothing."""
    found = hashlib.blake2b(digest_size=32)
    for array in arrays:
        if array is not None:
            found.update(np.ascontiguousarray(as_float64(array)).tobytes())
    return found.digest()


class Operator(Protocol):
    """A symmetric ``(m, m)`` matrix in float64 arithmetic at its surface.

    Attributes
    ----------
    size : int
        m.
    like : array
        Empty float64 array of the kind that products are returned in.
    psd : bool
        Whether the exact matrix is proven positive semi-definite.
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
