"""The definitions in float64, which every contender's answer is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness.rows import FloatArray, Outcome
from scipy.sparse.linalg import LinearOperator, eigsh

BLOCK = 1 << 24  # entries of float64 worked on at a time
FLOOR = 1e-3  # share of the largest eigenvalue below which errors are relative to that share


def eigenvalue_error(values: Any, exact: FloatArray) -> float:
    """Largest error, relative above 1e-3 of the largest eigenvalue and to 1e-3 of it below."""
    count = min(len(values), len(exact))
    scale = np.maximum(exact[:count], FLOOR * exact[0])
    return float(np.max(np.abs(np.asarray(values, dtype=np.float64)[:count] - exact[:count]) / scale))


def relative_error(values: Any, exact: FloatArray) -> float:
    """Largest error of an eigenvalue, each relative to itself."""
    count = min(len(values), len(exact))
    given = np.asarray(values, dtype=np.float64)[:count]
    return float(np.max(np.abs(given - exact[:count]) / exact[:count]))


def slices(n: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // width)
    yield from (slice(start, min(start + step, n)) for start in range(0, n, step))


# ------------------------------------------------------------------------ PCA


@dataclass(frozen=True)
class PcaReference:
    """All variances of X by two passes in float64: the means, then products of centred blocks."""

    X: Any
    mean: FloatArray
    values: FloatArray

    def count_for(self, fraction: float) -> int:
        shares = np.cumsum(self.values) / np.sum(self.values)
        return int(np.searchsorted(shares, fraction)) + 1

    def residual(self, values: Any, components: Any) -> float:
        """Largest ``||S v - value v||`` over the largest variance, S the covariance of X."""
        V = np.asarray(components, dtype=np.float64).T
        n, d = self.X.shape
        product = np.zeros_like(V)
        for part in slices(n, d):
            C = self.X[part].astype(np.float64) - self.mean
            product += C.T @ (C @ V)
        gaps = np.linalg.norm(product / (n - 1) - V * np.asarray(values, dtype=np.float64), axis=0)
        return float(gaps.max() / self.values[0])


def pca_reference(X: Any) -> PcaReference:
    """Decompose the smaller of the two product matrices in float64."""
    n, d = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    least = min(n, d)
    product = np.zeros((least, least))
    if d <= n:
        for part in slices(n, d):
            C = X[part].astype(np.float64) - mean
            product += C.T @ C
    else:
        for part in slices(d, n):
            C = X[:, part].astype(np.float64) - mean[part]
            product += C @ C.T
    values = np.maximum(np.linalg.eigvalsh(product)[::-1], 0.0) / (n - 1)
    return PcaReference(X, mean, values)


def standardized(X: Any) -> FloatArray:
    """Columns of variance 1, float64."""
    C = X - X.mean(axis=0, dtype=np.float64)
    scaled: FloatArray = C / C.std(axis=0, ddof=1)
    return scaled


def pca_errors(reference: PcaReference, outcome: Outcome) -> dict[str, float]:
    return {
        "eigenvalue": eigenvalue_error(outcome.values, reference.values),
        "each relative": relative_error(outcome.values, reference.values),
        "residual": reference.residual(outcome.values, outcome.vectors),
    }


# ----------------------------------------------------------------- kernel PCA


def rbf(A: FloatArray, B: FloatArray, gamma: float) -> FloatArray:
    """``exp(-gamma ||a - b||^2)`` in float64."""
    squares = A @ B.T
    squares *= -2.0
    squares += np.einsum("ij,ij->i", A, A)[:, None]
    squares += np.einsum("ij,ij->i", B, B)
    np.maximum(squares, 0.0, out=squares)
    squares *= -gamma
    return np.exp(squares, out=squares)


@dataclass(frozen=True)
class KernelReference:
    """``Kc = H K H`` of an RBF kernel in float64, stored or evaluated again for every product."""

    X: FloatArray
    gamma: float
    stored: FloatArray | None = None
    values: FloatArray = field(default_factory=lambda: np.empty(0))

    def times(self, V: FloatArray) -> FloatArray:
        V = V - V.mean(axis=0)
        if self.stored is not None:
            product = self.stored @ V
        else:
            blocks = (self.X[part] for part in slices(len(self.X), len(self.X)))
            product = np.concatenate([rbf(block, self.X, self.gamma) @ V for block in blocks])
        centred: FloatArray = product - product.mean(axis=0)
        return centred

    def residual(self, values: Any, vectors: Any) -> float:
        """Largest ``||Kc v - value v||`` for unit v, over the largest eigenvalue."""
        V = np.asarray(vectors, dtype=np.float64)
        V = V / np.linalg.norm(V, axis=0)
        values = np.asarray(values, dtype=np.float64)
        return float(np.linalg.norm(self.times(V) - V * values, axis=0).max() / values.max())


def kernel_reference(X: Any, gamma: float, k: int) -> KernelReference:
    """Store K and find the leading eigenvalues to 1e-10 by ARPACK with room to spare."""
    X = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    K = rbf(X, X, gamma)
    np.fill_diagonal(K, 1.0)
    stored = KernelReference(X, gamma, K)
    n = len(X)
    operator = LinearOperator((n, n), matvec=lambda v: stored.times(v.reshape(-1, 1))[:, 0], dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n)
    # More than are judged, so that a cluster at the edge cannot hide one.
    values = eigsh(operator, k=k + 5, ncv=4 * k + 20, tol=1e-10, v0=start, return_eigenvectors=False)
    return KernelReference(X, gamma, K, np.sort(values)[::-1][:k])


def kernel_errors(reference: KernelReference, outcome: Outcome) -> dict[str, float]:
    errors = {"residual": reference.residual(outcome.values, outcome.vectors)}
    if reference.values.size:
        errors["eigenvalue"] = eigenvalue_error(outcome.values, reference.values)
    return errors


# ------------------------------------------------------- transforming new rows


@dataclass(frozen=True)
class ScoresReference:
    """Scores of new rows by the definition, from a contender's own eigenpairs."""

    X: FloatArray
    new: FloatArray
    gamma: float

    def scores(self, values: Any, vectors: Any) -> FloatArray:
        V = np.asarray(vectors, dtype=np.float64)
        coefficients = V / np.sqrt(np.asarray(values, dtype=np.float64))
        n = len(self.X)
        blocks = [self.X[part] for part in slices(n, n)]
        means = np.concatenate([rbf(block, self.X, self.gamma).mean(axis=1) for block in blocks])
        results = []
        for part in slices(len(self.new), n):
            K = rbf(self.new[part], self.X, self.gamma)
            K += means.mean() - K.mean(axis=1, keepdims=True) - means
            results.append(K @ coefficients)
        return np.concatenate(results)


def scores_errors(reference: ScoresReference, outcome: Outcome) -> dict[str, float]:
    exact = reference.scores(outcome.values, outcome.vectors)
    gap = np.abs(np.asarray(outcome.scores, dtype=np.float64) - exact).max()
    return {"scores": float(gap / np.abs(exact).max())}
