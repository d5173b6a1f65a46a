"""``python benchmarks/attack.py``: tries to catch a certificate in a false statement.

Thousands of small adversarial fits, each compared with eigenvalues in extended precision. The data are
exactly the numbers given. A statement is false where the truth lies beyond the stated number by more than the
error of the truth itself, which is proven and about 1e-17 of the largest eigenvalue; every statement
counts, whether the certificate is ok or not. Exits with 1 where one is false. A bound that calls itself an
estimate may be exceeded: these are counted apart.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

import gramian.engine.centered
from gramian import PCA, KernelPCA
from gramian.core.arrays import to_numpy
from gramian.engine import linear
from gramian.engine.centered import center_rows, from_moments, scatter
from gramian.engine.scatter import CovarianceOperator, GramOperator, ScatterOperator
from gramian.engine.tiles import CenteredKernelOperator
from gramian.errors import DataError, MemoryLimitError, ParameterError
from gramian.tables.as_rows import as_rows

LONG = np.longdouble
UNIT = float(np.finfo(LONG).eps) / 2
CLUSTER = 1e-7  # eigenvalues closer than this, relatively, are told apart together
WIDEST = 40  # columns up to which directions are compared: products in extended precision are slow
NUMBER = r"([\d.e+-]*\d)"
OFFSETS = (0.0, 1.0, 1e3, 1e6, 1e8, 1e10, 1e12, 1e14, 1e15)
MAGNITUDES = (1e-95, 1e-80, 1e-30, 1e30, 1e80, 1e95)


# ------------------------------------------------------------------ the truth


@dataclass(frozen=True)
class Truth:
    """Eigenvalues in extended precision, falling, with a bound on their own error, and their sum."""

    values: Any
    error: Any
    total: Any

    def of_order(self, size: int) -> Truth:
        """The same matrix from its larger side, where what is added is zero."""
        more = np.zeros(max(0, size - len(self.values)), dtype=LONG)
        return replace(self, values=np.sort(np.concatenate([self.values, more]))[::-1])


def eigenvalues(A: Any) -> Truth:
    """Eigenvalues of a symmetric matrix in extended precision.

    LAPACK's vectors in float64, made orthonormal by two steps of Newton and Schulz and turned to first order,
    leave a matrix that is diagonal but for clusters; those are decomposed about their mean. What is left off
    the diagonal bounds the error (Weyl), together with the roundings on the way.
    """
    n = len(A)
    size = LONG(np.abs(A).max(initial=0))
    if size == 0:
        return Truth(np.zeros(n, dtype=LONG), LONG(0), LONG(0))
    exponent = int(np.frexp(size)[1])
    A = np.ldexp(A, -exponent)
    Q = np.linalg.eigh(A.astype(np.float64))[1][:, ::-1].astype(LONG)
    Q = _orthonormal(Q)
    T = Q.T @ (A @ Q)
    gaps = np.diag(T)[None, :] - np.diag(T)[:, None]
    apart = np.abs(gaps) > CLUSTER * np.abs(np.diag(T)).max()
    turn = np.where(apart, T / np.where(apart, gaps, 1), 0)
    Q = _orthonormal(Q + Q @ turn)
    T = Q.T @ (A @ Q)
    T = (T + T.T) / 2
    left = 0 * size
    values = np.empty(n, dtype=LONG)
    order = np.argsort(-np.diag(T))
    T = T[np.ix_(order, order)]
    steps = -np.diff(np.diag(T)) > CLUSTER * np.abs(np.diag(T)).max()
    off = T.copy()
    for part in np.split(np.arange(n), np.flatnonzero(steps) + 1):
        block = T[np.ix_(part, part)]
        center = np.trace(block) / len(part)
        inner = block - center * np.eye(len(part))
        values[part] = center + np.linalg.eigvalsh(inner.astype(np.float64))[::-1]
        left = max(left, LONG(1e-14) * np.linalg.norm(inner.astype(np.float64)))
        off[np.ix_(part, part)] = 0
    loss = np.abs(Q.T @ Q - np.eye(n)).sum(axis=0).max()
    norm = np.sqrt((A * A).sum())
    error = np.sqrt((off * off).sum()) + left + (loss + 4 * n * UNIT) * norm
    values, total = np.sort(values)[::-1], np.trace(A)
    return Truth(np.ldexp(values, exponent), np.ldexp(error, exponent), np.ldexp(total, exponent))


def eigenvalues_in_float64(A: Any) -> Truth:
    """Eigenvalues of a larger matrix, best known where it is near a multiple of the identity."""
    n = len(A)
    center = np.trace(A) / n
    inner = (A - center * np.eye(n)).astype(np.float64)
    values = center + np.linalg.eigvalsh(inner)[::-1].astype(LONG)
    return Truth(values, LONG(1e-14) * np.abs(values - center).max(), np.trace(A))


def eigenvectors(A: Any) -> tuple[Any, Any, Any]:
    """Eigenvalues, falling, eigenvectors and a bound on their residuals, in extended precision."""
    size = LONG(np.abs(A).max(initial=0)) or LONG(1)
    Q = np.linalg.eigh((A / size).astype(np.float64))[1][:, ::-1].astype(LONG)
    Q = _orthonormal(Q)
    for _ in range(3):
        T = Q.T @ (A / size) @ Q
        values = np.diag(T)
        gaps = values[None, :] - values[:, None]
        apart = np.abs(gaps) > 1e3 * np.abs(T - np.diag(values)).max(initial=0)
        Q = _orthonormal(Q + Q @ np.where(apart, T / np.where(apart, gaps, 1), 0))
    T = Q.T @ (A / size) @ Q
    off = np.linalg.norm((T - np.diag(np.diag(T))).astype(np.float64)) + 8 * len(A) * UNIT
    order = np.argsort(-np.diag(T))
    return np.diag(T)[order] * size, Q[:, order], LONG(off) * size


def _orthonormal(Q: Any) -> Any:
    for _ in range(2):
        Q = Q @ (3 * np.eye(Q.shape[1]) - Q.T @ Q) / 2
    return Q


def centered(
    X: Any, *, center: bool, scale: Any, ddof: int, constant: Any = None, weights: Any = None
) -> Any:
    """C as the documentation defines it; ``constant`` are the columns that the model calls constant.

    Rows are multiplied by the roots of their weights.
    """
    eps = float(np.finfo(np.float64).eps)
    X = (X.toarray() if sp.issparse(X) else X).astype(LONG)
    w = np.ones(len(X), dtype=LONG) if weights is None else weights.astype(LONG)
    n = w.sum()
    C, mean = X, np.zeros(X.shape[1], dtype=LONG)
    if center:
        for _ in range(3):
            shift = w @ C / n
            C, mean = C - shift, mean + shift
        C[:, np.ptp(X[w > 0], axis=0) == 0] = 0  # not the rounding of a weighted mean
    C = np.sqrt(w)[:, None] * C
    squares = (C * C).sum(axis=0)
    if scale is None:
        return C
    known = squares <= n * (eps * np.abs(mean)) ** 2
    border = np.abs(np.sqrt(squares / n) - eps * np.abs(mean)) < 1e-3 * eps * np.abs(mean)
    if constant is not None:
        known = np.where(border, np.isin(np.arange(len(mean)), constant), known)
    deviation = np.sqrt(np.where(known, 1, squares) / (n - ddof))
    if isinstance(scale, str):
        divisor = deviation if scale == "unit" else np.sqrt(deviation)
        return np.where(known, 0, C / divisor)
    return C / np.asarray(scale, dtype=LONG)


def centered_by(model: PCA, X: Any) -> tuple[Any, Any]:
    """C of a model, and what its sums of squares are divided by."""
    weights = vars(model).get("weights_of_attack")
    options = {"center": model.center, "scale": model.scale, "ddof": model.ddof}
    C = centered(X, **options, constant=model.constant_features_, weights=weights)
    return C, (len(C) if weights is None else weights.astype(LONG).sum()) - model.ddof


def linear_truth(X: Any, model: PCA) -> Truth:
    """Variances of C."""
    C, degrees = centered_by(model, X)
    n, d = C.shape
    # Integer weights stand for more rows than there are.
    wide = d > n and "weights_of_attack" not in vars(model)
    A = (C @ C.T if wide else C.T @ C) / degrees
    return eigenvalues(A).of_order({"covariance": d, "gram": n}.get(model.plan_.operator, 0))


def kernel_matrix(X: Any, settings: dict[str, Any]) -> Any:
    """K entry by entry."""
    X = X.astype(LONG)
    kind = settings["kernel"]
    if kind == "precomputed":
        return (X + X.T) / 2
    if kind == "rbf":
        squares = sum((x[:, None] - x[None, :]) ** 2 for x in X.T)
        return np.exp(-LONG(settings["gamma"]) * squares)
    if kind == "linear" and settings["center"]:
        X = centered(X, center=True, scale=None, ddof=0)
    dots = X @ X.T
    if kind == "linear":
        return dots
    if kind == "poly":
        return (LONG(settings["gamma"]) * dots + LONG(settings["coef0"])) ** settings["degree"]
    lengths = np.sqrt(np.diag(dots))
    return dots / lengths[:, None] / lengths[None, :]


def kernel_truth(
    X: Any, model: KernelPCA, settings: dict[str, Any], decomposed: Callable[[Any], Truth] = eigenvalues
) -> Truth:
    """Eigenvalues of the centred kernel matrix."""
    K = kernel_matrix(X, {**settings, "center": model.center})
    size = np.abs(K).max()
    if model.center:
        for _ in range(2):
            K = K - K.mean(axis=0)
            K = K - K.mean(axis=1)[:, None]
        K = (K + K.T) / 2
    truth, own = decomposed(K), (X.shape[1] + 10) * len(X) * UNIT * size
    return replace(truth, error=truth.error + own)


# ----------------------------------------------------------------- the checks


def false_statements(certificate: Any, truth: Truth) -> Iterator[tuple[str, float]]:
    """What a certificate says that is not so, and by how many times the stated number it is off."""
    about, kind = certificate.approximation, certificate.widening_kind
    exact, error, k = truth.values, truth.error, len(certificate.values)
    complete = certificate.completeness
    known = "nothing" if complete is None else f"{complete.method} [{complete.kind}]"
    if about is None:
        for value, radius in zip(certificate.values, certificate.radii, strict=True):
            off = np.abs(exact - LONG(value)).min()
            if not off <= LONG(radius) + error:
                yield f"radius [{kind}]", _times(off, radius)
                break
        missed = _unpaired(certificate.values, exact, LONG(certificate.set_radius) + error)
        if missed is None:
            yield f"set radius [{kind}]", np.nan
        elif complete is not None and missed.size and not missed[0] <= LONG(complete.bound) + error:
            yield f"missed eigenvalues by {known}", _times(missed[0], complete.bound)
        if complete is not None and k < len(exact) and not exact[k] <= LONG(complete.bound) + error:
            yield f"completeness by {known}", _times(exact[k], complete.bound)
        if certificate.ok and k and missed is not None:
            yield from _false_sentences(certificate, truth, missed.max(initial=LONG(-np.inf)), known)
    kinds = f"[{kind}]" if about is None else f"of an approximation [{about.kind}]"
    low, high = exact[:k] - certificate.lower + error, certificate.upper - exact[:k] + error
    if not (low >= 0).all():
        yield f"lower {kinds}", float(-low.min() / exact[0]) if exact[0] > 0 else np.inf
    if not (high >= 0).all():
        kinds = f"by {known}" if about is None else f"{kinds} by {known}"
        yield f"upper {kinds}", float(-high.min() / exact[0]) if exact[0] > 0 else np.inf


def _false_sentences(certificate: Any, truth: Truth, missed: Any, known: str) -> Iterator[tuple[str, float]]:
    """What the short and the long text say that is not so, as their words and printed digits have it."""
    top, last = LONG(certificate.values[0]), LONG(certificate.values[-1])
    for name, text in (("short", certificate.brief), ("long", str(certificate))):
        within = re.search(rf"(?:within|accurate to) {NUMBER} (?:\(relative to|of) the largest", text)
        assert within is not None
        # Two digits of the long text are rounded to nearest.
        radius = LONG(within[1]) * top * (1 if name == "short" else LONG(1.05))
        off = max(np.abs(truth.values - LONG(value)).min() for value in certificate.values)
        if not off <= radius + truth.error:
            yield f"{name} text on errors [{certificate.widening_kind}]", _times(off, radius)
        bound = re.search(rf"(?:missed above|did not find is) {NUMBER}(?: = \(1 (.) {NUMBER}\) times)?", text)
        limit = last + radius
        if bound is not None:
            limit = LONG(bound[1]) * (1 + LONG(5e-6))
            limit = min(limit, last * (1 + LONG(bound[2] + bound[3]))) if bound[2] else limit
        elif not re.search("none was missed|no larger one was missed|No larger eigenvalue was missed", text):
            continue
        if not missed <= limit + truth.error:
            yield f"{name} text on missed eigenvalues by {known}", _times(missed, limit)


def false_ratios(ratio: Any, certificate: Any, truth: Truth) -> Iterator[tuple[str, float]]:
    """Which shares of the variance are not those of the eigenvalues, beyond what the certificate leaves open.

    With landmarks no share is larger than the exact one, but for the rounding that the certificate states.
    """
    if ratio is None or not truth.total > 0:
        return
    about, k = certificate.approximation, len(certificate.values)
    if float(ratio.sum()) > 1 + 1e-12:
        yield "ratios above 1", float(ratio.sum())
    exact = truth.values[:k] / truth.total
    order = LONG(len(truth.values))
    # An error of the matrix changes its trace by up to its order times as much.
    own = 1e-13 + (truth.error + certificate.widening * (1 + np.sqrt(order))) / truth.total
    if about is None:
        k = min(k, len(ratio))
        high, low = (np.abs(bound[:k]) / truth.total for bound in (certificate.upper, certificate.lower))
        high = np.where(np.isfinite(high), high, 1)
        low = np.where(certificate.lower[:k] > 0, low, 0)
        off = np.maximum(ratio[:k] - high, np.where(ratio[:k] > 0, low - ratio[:k], 0)) - own
    elif about.unexplained is None:
        return
    else:
        rounding = (about.below + about.above - about.unexplained + certificate.set_radius) / truth.total
        off = ratio[:k] - exact - rounding - own
    if (off > 0).any():
        yield f"ratio [{certificate.widening_kind if about is None else about.kind}]", float(off.max())


def _times(result: Any, stated: float) -> float:
    return float(result / LONG(stated)) if stated > 0 else np.inf


def _unpaired(values: Any, exact: Any, radius: Any) -> Any:
    """The eigenvalues that are left when each value has one of its own within the radius, the largest first.

    Each value in turn takes the largest one that it may, so that those left are as small as they can be; None
    where a value finds none.
    """
    left = sorted(exact, reverse=True)
    for value in sorted((LONG(v) for v in values), reverse=True):
        place = next((i for i, one in enumerate(left) if one <= value + radius), len(left))
        if place == len(left) or left[place] < value - radius:
            return None
        left.pop(place)
    return np.array(left, dtype=LONG)


def _not_orthonormal(vectors: Any, certificate: Any) -> Iterator[tuple[str, float]]:
    V = vectors.astype(LONG)
    loss = float(np.abs(np.linalg.eigvalsh((V.T @ V - np.eye(V.shape[1])).astype(np.float64))).max())
    if loss > certificate.orthogonality + 4e-16 * (len(V) + V.shape[1]):
        yield f"orthogonality of {vectors.dtype}", _times(loss, certificate.orthogonality)


def _check_pca(model: PCA, X: Any) -> Iterator[tuple[str, float]]:
    truth = linear_truth(X, model)
    certificate = model.certificate_
    variances, ratio = np.asarray(model.explained_variance_), np.asarray(model.explained_variance_ratio_)
    components = to_numpy(model.components_)
    numbers = (variances, ratio, np.asarray(model.singular_values_), components)
    numbers = (*numbers, certificate.values, certificate.radii, model.total_variance_)
    if not all(np.isfinite(number).all() for number in numbers):
        yield "not finite", np.inf
        return
    yield from false_statements(certificate, truth)
    # Components that only repeated rows would have are beyond the rank.
    yield from false_ratios(ratio[: len(certificate.values)], certificate, truth)
    yield from _not_orthonormal(components.T, certificate)
    yield from _false_directions(model, X)
    if (variances < 0).any():
        yield "negative variance", float(variances.min())
    allowed = certificate.widening * (1 + len(truth.values) ** 0.5) + 1e-13 * model.total_variance_
    off = np.abs(LONG(model.total_variance_) - truth.total)
    if not off <= allowed + truth.error:
        yield "total variance", _times(off, allowed)


def _false_directions(model: PCA, X: Any) -> Iterator[tuple[str, float]]:
    """Which directions are further from the exact ones than is stated."""
    bounds = model.certificate_.directions
    if X.shape[1] > WIDEST:
        return
    C, degrees = centered_by(model, X)
    A = C.T @ C / degrees
    exact, Q, left = eigenvectors(A)
    values, reach = model.certificate_.values.astype(LONG), LONG(model.certificate_.set_radius)
    for part in bounds.clusters:
        stated = float(bounds.sines[part.start])
        if stated >= 1.0:
            continue
        high, low = values[part.start] + reach + left, values[part.stop - 1] - reach - left
        inside = (exact >= low) & (exact <= high)
        if model.plan_.operator == "gram":
            # Directions lifted from n pairs lie in the span of the rows: other directions are no members.
            inside[X.shape[0] :] = False
        if inside.sum() != len(part):
            yield "members of a cluster", np.inf
            continue
        gap = np.abs(exact[inside][:, None] - exact[~inside]).min(initial=np.inf)
        V = _orthonormal(to_numpy(model.components_)[part.start : part.stop].T.astype(LONG))
        sine = LONG(np.linalg.norm((Q[:, ~inside].T @ V).astype(np.float64), 2))
        if sine > stated + 2 * left / gap + 1e-17:
            yield f"direction [{bounds.kind}]", _times(sine, stated)


def _check_kernel(
    model: KernelPCA, X: Any, settings: dict[str, Any], decomposed: Callable[[Any], Truth] = eigenvalues
) -> Iterator[tuple[str, float]]:
    certificate = model.certificate_
    if not np.isfinite(model.eigenvalues_).all() or not np.isfinite(certificate.radii).all():
        yield "not finite", np.inf
        return
    truth = kernel_truth(X, model, settings, decomposed)
    yield from false_statements(certificate, truth)
    yield from false_ratios(model.explained_variance_ratio_, certificate, truth)
    if certificate.approximation is None and model.eigenvectors_.shape[1]:
        yield from _not_orthonormal(to_numpy(model.eigenvectors_), certificate)


# ----------------------------------------------------------------- the attacks


@contextmanager
def small_blocks(wanted: bool) -> Iterator[None]:
    """Cut small data into as many blocks as large data is cut into."""
    before = gramian.engine.centered.CACHE_BYTES
    try:
        gramian.engine.centered.CACHE_BYTES = 1 << 10 if wanted else before
        yield
    finally:
        gramian.engine.centered.CACHE_BYTES = before


Path = Callable[[np.random.Generator, Any, dict[str, Any]], PCA]


def in_memory(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """As it is."""
    return PCA(**asked).fit(X)


@dataclass
class SolverResult:
    """What came of one fit: what was false, and how it can be seen again."""

    false: list[tuple[str, float]]
    outcome: str
    about: str = ""


def table(rng: np.random.Generator, n: int, d: int) -> Any:
    """Numbers with some spectrum: flat, clustered, steep, of low rank, random."""
    least = min(n, d)
    values = {
        "flat": lambda: np.ones(least),
        "cluster": lambda: np.repeat(rng.random(least) + 0.1, rng.integers(1, 5, least))[:least],
        "near": lambda: 1 + 10.0 ** rng.integers(-15, -3) * rng.random(least),
        "steep": lambda: 10.0 ** (-rng.uniform(0.1, 1.5) * np.arange(least)),
        "low": lambda: np.where(np.arange(least) < max(1, least // 3), rng.random(least) + 0.1, 0.0),
        "random": lambda: rng.random(least) ** 2,
        "tail": lambda: np.where(np.arange(least) < 2, rng.random(least) + 1, 0.3),
    }[str(rng.choice(["flat", "cluster", "near", "steep", "low", "random", "tail"]))]()
    left = np.linalg.qr(rng.standard_normal((n, least)))[0]
    right = np.linalg.qr(rng.standard_normal((d, least)))[0]
    return (left * np.sqrt(values)) @ right.T * np.sqrt(n)


def size(rng: np.random.Generator) -> tuple[int, int]:
    """Tall, wide and square; mostly small."""
    most = 61 if rng.random() < 0.93 else 300
    n, d = int(rng.integers(2, most)), int(rng.integers(1, 61))
    return (n, d) if rng.random() < 0.6 or d < 2 else (d, n)


def settings(rng: np.random.Generator, n: int, d: int) -> dict[str, Any]:
    """Parameters of a PCA."""
    least = min(n, d)
    tol = rng.choice([np.nan, 1e-4, 1e-9, 1e-12, 0.3])
    scale = [None, None, None, "unit", "pareto", "array"][rng.integers(6)]
    few = int(rng.integers(1, min(4, least) + 1))
    return {
        "n_components": [None, few, few, least, float(rng.uniform(0.2, 0.99))][rng.integers(5)],
        "solver": str(rng.choice(["auto", "full", "covariance", "gram", "krylov", "krylov"])),
        "center": bool(rng.random() < 0.85),
        "scale": 10.0 ** (rng.uniform(-3, 3, d) + rng.choice([0, 0, -90, 90])) if scale == "array" else scale,
        "ddof": int(rng.integers(2)),
        "tol": None if np.isnan(tol) else float(tol),
        "random_state": int(rng.integers(3)),
    }


def offset(rng: np.random.Generator, X: Any) -> Any:
    """Far from the origin: one offset for all columns, or one each."""
    some = rng.choice(OFFSETS, X.shape[1]) if rng.random() < 0.4 else rng.choice(OFFSETS)
    return X + some * rng.choice([-1, 1, np.pi / 3], X.shape[1])


def with_constants(rng: np.random.Generator, X: Any) -> Any:
    """Columns, often most of them, that are one number."""
    X = X.copy()
    chosen = rng.random(X.shape[1]) < rng.uniform(0, 0.8)
    X[:, chosen] = rng.choice([0.0, 28.46, 0.1, -7.3, 1e6 + 0.1, 1e15, 1e-9], int(chosen.sum()))
    return X


def plain(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X = table(rng, *size(rng))
    return X, settings(rng, *X.shape)


def offsets(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X, asked = plain(rng)
    return offset(rng, X), asked


def units(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X, asked = plain(rng)
    X = with_constants(rng, X * 10.0 ** rng.uniform(-6, 6, X.shape[1]))
    asked["scale"] = str(rng.choice(["unit", "pareto"]))
    return offset(rng, X) if rng.random() < 0.5 else X, asked


def sparse(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X, asked = [plain, offsets, units, float32, magnitudes, repeated][rng.integers(6)](rng)
    X = sp.csr_matrix(X * (rng.random(X.shape) < rng.choice([0.1, 0.5, 1.0])).astype(X.dtype))
    if rng.random() < 0.2 and X.nnz:
        # Entries stored in two parts that are added.
        half = X.data * X.data.dtype.type(0.5)
        data, indices = np.repeat(half, 2), np.repeat(X.indices, 2)
        X = sp.csr_matrix((data, indices, 2 * X.indptr), shape=X.shape)
    return X, asked


def float32(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X, asked = [plain, offsets, units, repeated][rng.integers(4)](rng)
    with np.errstate(over="ignore"):
        return X.astype(np.float32), asked


def magnitudes(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    X, asked = [plain, offsets, units][rng.integers(3)](rng)
    X = X / max(1.0, np.abs(X).max() if rng.random() < 0.5 else 1.0)
    if isinstance(asked["scale"], str):
        # Variances of one, whatever the data.
        far = rng.choice([*MAGNITUDES, 1e-150, 1e150], X.shape[1] if rng.random() < 0.3 else 1)
        return X / max(1.0, np.abs(X).max()) * far, asked
    if rng.random() < 0.2:
        return (X / max(1.0, np.abs(X).max()) * rng.choice([1e-30, 1e-20, 1e15, 1e35])).astype(
            np.float32
        ), asked
    return X * (rng.choice(MAGNITUDES) if rng.random() < 0.8 else 10.0 ** rng.uniform(95, 102)), asked


def repeated(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Rows and columns again and again: rank far below the size, eigenvalues of high multiplicity."""
    X, asked = plain(rng)
    n, d = X.shape
    X = X[rng.integers(0, max(1, n // int(rng.integers(1, 6))), n)]
    X = X[:, rng.integers(0, max(1, d // int(rng.integers(1, 4))), d)] if rng.random() < 0.5 else X
    X = np.round(X * 2) if rng.random() < 0.3 else X
    return (offset(rng, X) if rng.random() < 0.5 else X), asked


def blocks(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Many rows that drift, in blocks that differ."""
    n, d = int(rng.integers(200, 500)), int(rng.integers(1, 12))
    X = table(rng, n, d) + np.linspace(0, 10.0 ** rng.uniform(-3, 6), n)[:, None] * rng.random(d)
    X = X if rng.random() < 0.5 else X * 10.0 ** rng.uniform(-4, 4, (n, 1))
    X = offset(rng, with_constants(rng, X)) if rng.random() < 0.7 else X
    X = X.astype(np.float32) if rng.random() < 0.3 else X
    return X, settings(rng, n, d)


def iterations(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Early stops and tight tolerances where the iteration really runs."""
    X = table(rng, int(rng.integers(40, 120)), int(rng.integers(40, 80)))
    X = X if rng.random() < 0.5 else X.T
    X = offset(rng, X) if rng.random() < 0.3 else X
    asked = settings(rng, *X.shape)
    asked |= {"solver": "krylov", "n_components": int(rng.integers(1, 6)), "scale": None}
    asked["tol"] = float(10.0 ** rng.uniform(-13, -0.05))
    if rng.random() < 0.3:
        # Too little for a direct route to take over.
        asked["memory_limit"] = int(rng.uniform(8.4e6, 8.9e6))
    return sp.csr_matrix(X) if rng.random() < 0.2 else X, asked


def clusters(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Many eigenvalues that all but agree, of which an iteration stops at some: larger ones may be missed."""
    d = int(rng.integers(40, 100))
    n, many = d + int(rng.integers(2, 60)), int(rng.integers(2, d - 5))
    values = np.concatenate([1 + clustered(rng, many), 0.1 * rng.random(d - many)])
    left = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, d))]))[0][:, 1:]
    X = (left * np.sqrt(n * values)) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = X if rng.random() < 0.5 else X.T
    asked = settings(rng, *X.shape)
    asked |= {"solver": "krylov", "n_components": int(rng.integers(1, 4)), "scale": None}
    asked["tol"] = [None, 10.0 ** rng.uniform(-8, -0.5)][rng.integers(2)]
    return (X.astype(np.float32) if rng.random() < 0.2 else X), asked


def clustered(rng: np.random.Generator, many: int) -> Any:
    """Small numbers by which eigenvalues differ."""
    return 10.0 ** rng.uniform(-12, -1) * rng.random(many)


def ranges(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Columns of float32 whose ranges lie up to 1e40 apart, and are scaled."""
    X = table(rng, int(rng.integers(200, 2000)), int(rng.integers(2, 20)))
    size = 10.0 ** rng.choice([0, -22, 22, rng.uniform(-30, 30)], X.shape[1])
    X = offset(rng, X) if rng.random() < 0.2 else X
    asked = settings(rng, *X.shape)
    asked["scale"] = [None, "unit", "unit", "pareto", size * rng.uniform(0.5, 2, len(size))][rng.integers(5)]
    return (X * size).astype(np.float32), asked


def stagnating(rng: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Squares of float32 that are lost one by one beside a few large ones, or that all round alike."""
    n, d = int(rng.integers(2000, 30_000)), int(rng.integers(1, 9))
    every = int(rng.choice([64, 240, 384, 1310, rng.integers(20, n)]))
    v = np.full(n, np.sqrt(rng.uniform(0.4, 9) * 2.0**-24) if rng.random() < 0.8 else rng.uniform(0.5, 1))
    v[::every] = rng.uniform(0.5, 1.5)
    v *= np.where(np.arange(n) // every % 2 == 0, 1, -1)
    X = np.outer(v, rng.choice([1.0, 1.0, rng.uniform(0.1, 9)], d))
    X = X + 1e-9 * rng.standard_normal(X.shape) if rng.random() < 0.3 else X
    asked = settings(rng, n, d) | {"scale": [None, None, "unit"][rng.integers(3)]}
    wide = rng.random() < 0.2
    other = "covariance" if wide else "gram"  # a matrix of the long side
    asked["solver"] = "krylov" if asked["solver"] == other else asked["solver"]
    return np.ascontiguousarray(X.T if wide else X).astype(np.float32), asked


TABLES: dict[str, Callable[[np.random.Generator], tuple[Any, dict[str, Any]]]] = {
    "plain": plain,
    "offsets": offsets,
    "units": units,
    "sparse": sparse,
    "float32": float32,
    "magnitudes": magnitudes,
    "repeated": repeated,
    "iterations": iterations,
    "blocks": blocks,
    "clusters": clusters,
    "ranges": ranges,
    "stagnating": stagnating,
}


def fit_pca(rng: np.random.Generator, kind: str, path: Path = in_memory) -> SolverResult:
    """One fit of a PCA, compared with the truth."""
    X, asked = TABLES[kind](rng)
    X = X if path is in_memory or not sp.issparse(X) else X.toarray()
    shown = {**asked, "scale": asked["scale"] if isinstance(asked["scale"], (str, type(None))) else "array"}
    about = f"{kind} {type(X).__name__} {X.shape} {X.dtype} {shown}"
    try:
        with small_blocks(kind == "blocks"):
            model = path(rng, X, asked)
            false = list(_check_pca(model, X))
    except (DataError, MemoryLimitError):
        return SolverResult([], "refused", about)
    except ParameterError as error:
        # Divisors that float32 cannot hold, and nothing else.
        if X.dtype != np.float32 or "of at most" not in str(error):
            raise
        return SolverResult([], "refused", about)
    return _found(model.certificate_, false, about)


# How data reaches a fit. Small blocks, so that there are several of them.

SINGLE = ("ranges", "stagnating")
DENSE = [kind for kind in TABLES if kind not in ("sparse", *SINGLE)]


def by_file(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """From a file that is read in blocks, however small it is."""
    asked = asked | {"solver": "auto"} if asked["solver"] == "full" else asked
    left_on_disk = mock.patch.dict(as_rows.__globals__, whole_within=lambda limit: 0)
    with tempfile.TemporaryDirectory() as folder, small_blocks(True), left_on_disk:
        place = pathlib.Path(folder) / "table.npy"
        np.save(place, X)
        return PCA(**asked).fit(np.load(place, mmap_mode="r"))


def by_stream(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """In batches."""
    asked = {name: value for name, value in asked.items() if name != "memory_limit"}
    asked["solver"] = str(rng.choice(["auto", "covariance", "krylov"]))
    model, n = PCA(**asked), len(X)
    cuts = np.unique(np.r_[0, rng.integers(1, n + 1, int(rng.integers(0, 6))), n])
    for a, b in pairwise(cuts.tolist()):
        model.partial_fit(X[a:b])
    return model


def in_single(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """In float32, however small the table is, in NumPy or PyTorch."""
    if rng.random() < 0.5 and find_spec("torch"):
        return by_torch(rng, X, asked)
    with mock.patch.object(linear, "FEW_ENTRIES", 0):
        return PCA(**asked).fit(X)


def by_torch(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """As a tensor of PyTorch."""
    return PCA(**asked).fit(import_module("torch").from_numpy(np.ascontiguousarray(X)))


def by_dask(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """As chunks of Dask."""
    asked = asked | {"solver": "auto"} if asked["solver"] == "full" else asked
    chunk = int(rng.integers(max(1, len(X) // 4), len(X) + 1))
    array = import_module("dask.array").from_array(X, chunks=(chunk, X.shape[1]))
    with import_module("dask").config.set(scheduler="synchronous"):
        return PCA(**asked).fit(array)


def by_weights(rng: np.random.Generator, X: Any, asked: dict[str, Any]) -> PCA:
    """With weights of the rows: in memory, dense or sparse, in batches, or in small blocks."""
    n = len(X)
    weights = [
        lambda: rng.integers(0, 4, n).astype(float),
        lambda: rng.random(n) * n,
        lambda: 10.0 ** rng.uniform(-8, 4, n),
        lambda: np.where(rng.random(n) < 0.7, 0.0, rng.random(n) * 9),
        lambda: rng.random(n) * 10.0 ** rng.choice([-140, -45, 45, 140]),
    ][rng.integers(5)]()
    model, way = PCA(**asked), rng.integers(4)
    if way == 0:
        model.set_params(solver="auto", n_components=None)
        for rows in np.array_split(np.arange(n), int(rng.integers(1, 4))):
            model.partial_fit(X[rows], sample_weight=weights[rows])
    elif way == 1 and X.dtype == np.float64 and asked["solver"] != "full":
        model.fit(sp.csr_matrix(X), sample_weight=weights)
    else:
        with small_blocks(way == 2):
            model.fit(X, sample_weight=weights)
    model.weights_of_attack = weights
    return model


def fit_by(path: Path, needs: str = "") -> Callable[[np.random.Generator], SolverResult]:
    """One fit of dense data that goes another way."""

    def fit(rng: np.random.Generator) -> SolverResult:
        if needs and not find_spec(needs):
            return SolverResult([], f"no {needs}")
        return fit_pca(rng, str(rng.choice(DENSE)), path)

    return fit


def fit_kernel(
    rng: np.random.Generator, solvers: tuple[str, ...] = ("auto", "dense", "krylov")
) -> SolverResult:
    """One fit of a kernel PCA, compared with the truth."""
    exact = "nystroem" not in solvers
    kind = str(rng.choice(["rbf", "linear", "poly", "cosine", *(["precomputed"] if exact else [])]))
    n, d = int(rng.integers(3, 70)), int(rng.integers(1, 30))
    X = (
        [plain, offsets, repeated, float32][rng.integers(4)](rng)[0]
        if rng.random() < 0.5
        else table(rng, n, d)
    )
    n = len(X)
    asked: dict[str, Any] = {"kernel": kind}
    if kind == "rbf":
        asked["gamma"] = float(10.0 ** rng.uniform(-4, 2))
    if kind == "poly":
        asked |= {"gamma": float(10.0 ** rng.uniform(-2, 1)), "coef0": 1.0, "degree": int(rng.integers(2, 5))}
    if kind == "linear" and rng.random() < 0.3:
        X = X * X.dtype.type(rng.choice(MAGNITUDES) if X.dtype == np.float64 else 1e-8)
    if kind == "cosine":
        X[~X.any(axis=1)] = 1
    if kind == "precomputed":
        values = 10.0 ** rng.uniform(-8, 0, n) * (rng.choice([-1, 1], n) if rng.random() < 0.3 else 1)
        if rng.random() < 0.3:
            values[: 1 + n // 2] = 1 + clustered(rng, 1 + n // 2)
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        X = (Q * values) @ Q.T + (rng.choice(OFFSETS) if rng.random() < 0.5 else 0)
        X = (X + X.T) / 2
        X = X.astype(np.float32) if rng.random() < 0.3 else X
    more = {
        "n_components": [None, 1, int(rng.integers(1, min(n, 6)))][rng.integers(3)],
        "solver": str(rng.choice(solvers)),
        "center": bool(rng.random() < 0.8),
        "tol": [None, 1e-9, 1e-12, 0.2][rng.integers(4)],
        "random_state": int(rng.integers(3)),
    }
    if not exact:
        X = np.repeat(X[: 1 + n // 9], 9, axis=0)[:n] if rng.random() < 0.1 else X
        X = X[:1] + 1e-13 * X if rng.random() < 0.05 else X
        more["n_landmarks"] = int(rng.integers(1, n + 1))
        if more["solver"] == "nystroem":
            more["landmarks"] = str(rng.choice(["rpcholesky", "uniform"]))
        elif kind != "rbf":
            more["solver"] = "nystroem"
    about = f"KernelPCA {X.shape} {X.dtype} {asked | more}"
    try:
        model = KernelPCA(**asked, **more).fit(X)
    except ValueError as error:
        if "GramianError" not in str(type(error).__mro__):
            raise
        return SolverResult([], "refused", about)
    return _found(model.certificate_, list(_check_kernel(model, X, asked)), about)


def fit_landmarks(rng: np.random.Generator) -> SolverResult:
    """One fit of an approximate kernel PCA, compared with the exact matrix."""
    return fit_kernel(rng, ("nystroem",))


def fit_identity(rng: np.random.Generator) -> SolverResult:
    """A kernel so narrow that its matrix is near the identity: all eigenvalues are one cluster."""
    n, d = int(33 * (512 / 33) ** rng.random()), int(rng.integers(1, 7))
    X = rng.standard_normal((n, d)) if rng.random() < 0.7 else rng.random((n, d))
    X = np.repeat(X[: 1 + n // 2], 2, axis=0)[:n] if rng.random() < 0.1 else X
    spread = float(X.var(axis=0).sum())
    asked = {"kernel": "rbf", "gamma": float(10.0 ** rng.uniform(0.5, 5) / spread)}
    more = {
        "n_components": int(rng.integers(1, n // 4 + 1)),
        "solver": str(rng.choice(["auto", "dense"])),
        "center": bool(rng.random() < 0.7),
    }
    model = KernelPCA(**asked, **more).fit(X)  # type: ignore[arg-type]
    false = list(_check_kernel(model, X, asked, eigenvalues_in_float64))
    return _found(model.certificate_, false, f"identity {X.shape} {asked | more}")


def fit_one_hot(rng: np.random.Generator) -> SolverResult:
    """A sparse table with a one in each row: variances are counts, of which many are equal."""
    n, d = int(rng.integers(2000, 16000)), int(rng.integers(300, 1100))
    asked = {"n_components": int(rng.choice([10, 20, 30, 50])), "solver": str(rng.choice(["auto", "krylov"]))}
    columns = rng.integers(0, d, n)
    X = sp.csr_matrix((np.ones(n, np.float32), (np.arange(n), columns)), shape=(n, d))
    model = PCA(**asked).fit(X)  # type: ignore[arg-type]
    certificate, counts = model.certificate_, np.bincount(columns, minlength=d).astype(LONG)
    truth = eigenvalues_in_float64((np.diag(counts) - np.outer(counts, counts) / n) / (n - 1))
    false = list(false_statements(certificate, truth))
    off = (truth.values[: len(certificate.values)] - certificate.values).max() / truth.values[0]
    if certificate.ok and off > certificate.tol:
        false.append(("the largest ones found", float(off)))
    return _found(certificate, false, f"one-hot {X.shape} {asked}")


def _found(certificate: Any, false: list[tuple[str, float]], about: str) -> SolverResult:
    return SolverResult(false, "ok" if certificate.ok else "not ok", about)


# A planted miss. What a fit multiplies is recorded; a direction orthogonal to all of it is given the largest
# eigenvalue, and nothing that the fit sees of the matrix has changed.


@contextmanager
def recorded() -> Iterator[list[Any]]:
    """Collect every block of vectors that an operator multiplies."""
    seen: list[Any] = []

    def spy(kind: Any) -> Any:
        original = kind.matmat

        def matmat(self: Any, V: Any) -> Any:
            seen.append(np.array(V))
            return original(self, V)

        kind.matmat = matmat
        return original

    kinds = (ScatterOperator, CenteredKernelOperator)
    originals = [spy(kind) for kind in kinds]
    try:
        yield seen
    finally:
        for kind, original in zip(kinds, originals, strict=True):
            kind.matmat = original


def fit_planted(rng: np.random.Generator) -> SolverResult:
    """The largest eigenvalue, 2, hidden from a fit with a known seed, in all three operators."""
    m, more = 260, int(rng.integers(20, 60))
    way = str(rng.choice(["covariance", "gram", "precomputed", "linear"]))
    values = np.concatenate([[1.0, 0.9], np.linspace(0.3, 0.05, m - 3)])
    ones = np.ones((m, 1)) if way != "covariance" else rng.standard_normal((m, 1))
    V = np.linalg.qr(np.hstack([ones, rng.standard_normal((m, m - 1))]))[0][:, 1:]
    U = np.hstack([np.ones((m + more, 1)), rng.standard_normal((m + more, m))])
    U = np.linalg.qr(U)[0][:, 1:]
    asked = {"n_components": 2, "solver": "krylov", "random_state": int(rng.integers(5)), "tol": 1e-4}

    def data(direction: Any) -> Any:
        if way == "precomputed":
            K = (V * values) @ V.T + 2 * np.outer(direction, direction)
            return (K + K.T) / 2
        X = (U[:, : m - 1] * np.sqrt(values)) @ V.T + np.sqrt(2) * np.outer(U[:, m - 1], direction)
        return X if way == "covariance" else X.T

    def fit(X: Any) -> Any:
        if way in ("covariance", "gram"):
            return PCA(**asked).fit(X)
        return KernelPCA(kernel=way, **asked).fit(X)

    nothing = np.zeros(m)
    with recorded() as seen:
        fit(data(nothing))
    used = np.hstack([*seen, ones, V[:, :2]])
    if used.shape[1] >= m:
        return SolverResult([], "nothing left to hide in", way)
    hidden = np.linalg.qr(np.hstack([used, rng.standard_normal((m, 1))]))[0][:, -1]
    X = data(hidden)
    model = fit(X)
    about = f"planted {way} {asked}, {used.shape[1]} of {m} directions used"
    exact = data(hidden)
    if way == "precomputed":
        H = np.eye(m) - 1 / m
        exact = H @ exact @ H
    else:
        exact = exact - exact.mean(axis=0)
        exact = exact.T @ exact if way == "covariance" else exact @ exact.T
    top = np.linalg.eigvalsh(exact)[::-1] / (len(X) - 1 if way in ("covariance", "gram") else 1)
    truth = Truth(top.astype(LONG), LONG(1e-12 * top[0]), LONG(top.sum()))
    return _found(model.certificate_, list(false_statements(model.certificate_, truth)), about)


def fit_operator(rng: np.random.Generator) -> SolverResult:
    """The operators' own bounds on what they multiply by, above all in float32 arithmetic."""
    long, short = int(rng.choice([30, 300, 3000])), int(rng.integers(2, 30))
    maker = [CovarianceOperator, GramOperator][rng.integers(2)]
    X = {
        "normal": lambda: rng.standard_normal((long, short)),
        "equal": lambda: (
            np.full((long, short), rng.uniform(1, 2)) * np.sign(np.arange(long) - long / 3)[:, None]
        ),
        "positive": lambda: rng.random((long, short)) + 0.5,
        "binary": lambda: (rng.random((long, short)) < 0.05) * 0.7,
        "wide": lambda: rng.standard_normal((long, short)) * 10.0 ** rng.uniform(-5, 5, short),
    }[str(rng.choice(["normal", "equal", "positive", "binary", "wide"]))]()
    X = X + rng.choice([0.0, 0.0, 1.0, 1e3, 1e6])
    X = X if maker is CovarianceOperator else np.ascontiguousarray(X.T)
    X = X.astype(np.float32 if rng.random() < 0.8 else np.float64)
    X = sp.csr_matrix(X) if rng.random() < 0.2 else X
    asked: dict[str, Any] = {"center": bool(rng.random() < 0.7), "ddof": 1}
    asked["scale"] = [None, None, "unit", 10.0 ** rng.uniform(-2, 2, X.shape[1])][rng.integers(4)]
    with small_blocks(rng.random() < 0.5):
        operator = _operator(as_rows(X), maker, asked, one_pass=rng.random() < 0.5)
        dense, products = operator.dense(), operator.matmat(np.eye(operator.size))
    view = operator.centered
    C = centered(X, **asked, constant=np.flatnonzero(view.constant)) / 2.0**view.unit_exponent
    exact = C.T @ C if maker is CovarianceOperator else C @ C.T
    total, kind = np.trace(exact), operator.error_kind
    false = []
    for name, made, allowed in (
        ("dense", dense, operator.dense_error),
        ("matmat", products, operator.error_bound),
    ):
        gap = np.asarray(made, dtype=LONG) - exact
        if asked["center"] and maker is GramOperator:
            # The rounding of the mean shifts all rows alike, which moves no eigenvalue to first order.
            gap = gap - gap.mean(axis=0) - gap.mean(axis=1)[:, None] + gap.mean()
        off = float(np.linalg.norm(gap.astype(np.float64), 2))
        if off > allowed + 1e-17 * float(total):
            false.append((f"{name} of {view.arithmetic} [{kind}]", _times(off, allowed)))
    if abs(operator.trace() - total) > 1e-13 * total + operator.error_bound * (view.arithmetic == np.float64):
        false.append(("trace", float(abs(operator.trace() - total) / total)))
    asked["scale"] = "array" if isinstance(asked["scale"], np.ndarray) else asked["scale"]
    return SolverResult(false, kind, f"{maker.__name__} {type(X).__name__} {X.shape} {X.dtype} {asked}")


def _operator(rows: Any, maker: Any, asked: dict[str, Any], *, one_pass: bool) -> Any:
    """The operator as one of the routes makes it: the covariance side may come with its matrix."""
    if maker is GramOperator or not one_pass:
        return maker(center_rows(rows, **asked))
    result, _ = scatter(rows, center=asked["center"])
    view = from_moments(rows, result, **asked)
    matrix = result.squares
    if view.divisor is not None:
        matrix = matrix / view.divisor[:, None] / view.divisor[None, :]
    return CovarianceOperator(view, whole=True, matrix=matrix)


ATTACKS: dict[str, tuple[int, Callable[[np.random.Generator], SolverResult]]] = {
    **{
        kind: (10, lambda rng, kind=kind: fit_pca(rng, kind, in_single if kind in SINGLE else in_memory))  # type: ignore[misc]
        for kind in TABLES
    },
    "kernel": (20, fit_kernel),
    "landmarks": (10, fit_landmarks),
    "identity": (10, fit_identity),
    "one-hot": (2, fit_one_hot),
    "file": (10, fit_by(by_file)),
    "stream": (15, fit_by(by_stream)),
    "torch": (10, fit_by(by_torch, "torch")),
    "dask": (5, fit_by(by_dask, "dask")),
    "weights": (15, fit_by(by_weights)),
    "operator": (10, fit_operator),
    "planted": (1, fit_planted),
}


def attacks(fits: int, seed: int, kinds: list[str]) -> Iterator[tuple[str, int, SolverResult]]:
    """Run the attacks in turn, each as often as its weight says; the same for the same seed."""
    turns = [kind for kind in kinds for _ in range(ATTACKS[kind][0])]
    order = np.random.default_rng(seed).permutation(turns)
    for i in range(fits):
        kind = str(order[i % len(order)])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                result = ATTACKS[kind][1](np.random.default_rng([seed, i]))
            except Exception as error:  # a crash is a finding like others
                result = SolverResult(
                    [(f"crash: {type(error).__name__}: {str(error)[:80]}", np.inf)], "crash"
                )
        yield kind, i, result


def main(arguments: list[str] | None = None) -> int:
    """Attack, and print what is false by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--show", type=int, default=2, help="examples of each kind of false statement")
    asked = parser.parse_args(arguments)
    if UNIT > 1e-18:
        parser.error("this machine has no extended precision, so the truth cannot be known")
    start = time.perf_counter()
    outcomes: Counter[str] = Counter()
    false: dict[tuple[str, str], list[tuple[float, int, str]]] = {}
    for kind, i, result in attacks(asked.fits, asked.seed, asked.kinds):
        outcomes[result.outcome] += 1
        for statement, times in result.false:
            false.setdefault((statement, kind), []).append((times, i, result.about))
        if ((i + 1) % 200 == 0 and sys.stderr.isatty()) or (i + 1) % 1000 == 0:
            seconds = time.perf_counter() - start
            print(
                f"{i + 1} of {asked.fits} fits, {sum(map(len, false.values()))} findings, {seconds:.0f} s",
                file=sys.stderr,
            )
    shown = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{asked.fits} fits, seed {asked.seed}: {shown}")
    wrong = 0
    for (statement, kind), cases in sorted(false.items()):
        worst = max(times for times, _, _ in cases)
        word = "exceeded" if "[estimate]" in statement else "FALSE"
        wrong += len(cases) * (word == "FALSE")
        print(f"{word} {len(cases):5d}  {statement}, by {kind}; at worst {worst:.3g} times what is stated")
        for times, i, about in sorted(cases, key=lambda case: -np.nan_to_num(case[0]))[: asked.show]:
            print(f"        fit {i}, {times:.3g} times: {about}")
    print(f"{wrong} statements were false." if wrong else "Nothing stated was false.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
