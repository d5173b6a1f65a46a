"""Kernel PCA of features as a problem for the engine: sums over all rows, and the way to coefficients.

With landmarks l the features are ``phi(x) = B.T k(l, x)``, with ``B.T W B = I`` and W = k(l, l): what of
x lies in the span of the landmarks, in an orthonormal basis. Their matrix is that of the kernel, projected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian.analysis.components import components_of, fixed_signs
from gramian.arrays import as_float64, moved, power_of_two, to_float64
from gramian.checks import amount, counted
from gramian.engine.kernel import Coefficients
from gramian.engine.solving import Problem, Solution
from gramian.engine.symmetric import eigenpairs
from gramian.errors import ParameterError
from gramian.kernels import Evaluator
from gramian.kernels.feature_maps import CONFIDENCE, FourierFeatureMap
from gramian.operators.costs import COSINE, KERNEL_VALUE, LARGE, Substitute, SymmetricCosts
from gramian.operators.features import FeatureSums, KernelValues, OnDevice, feature_sums, rounding_of_single
from gramian.operators.kernel_source import NEAR_ONE, require_eigenvalues
from gramian.operators.operator import Operator, SymmetricMatrix
from gramian.operators.pivots import PER_CENTRE
from gramian.operators.scatter import product_tolerance
from gramian.records import (
    Approximation,
    BoundKind,
    Certificate,
    Cost,
    FloatArray,
    SolveRequest,
    Spectrum,
    Step,
    Target,
)
from gramian.rows import Rows
from gramian.solvers.product import EIGH_ALL
from gramian.solvers.route import Route, count_of

EPS = float(np.finfo(np.float64).eps)
# Directions among the landmarks that are shorter than this, relative and squared, are left out: what they
# explain is small, and sums over rows would be divided by their length.
FLOOR = 1e-8
# Rounding of float32 products, relative to the largest eigenvalue, above which float64 is taken.
SINGLE = 1e-2
COLUMNS = 20
ROUNDINGS = 10  # of a random feature
# Seconds of a step of any size; of choosing pivots: for each row, each row with each landmark, each landmark.
STEP, PIVOT_ROW, PIVOT_VALUE, PIVOT = 1e-3, 8e-7, 1.2e-9, 7e-5


@dataclass(frozen=True, eq=False)
class Basis:
    """An orthonormal basis in feature space, as combinations of the landmarks.

    Attributes
    ----------
    vectors : ndarray of shape (m, r)
        B.
    smallest, largest : float
        One over a bound on the squared norm of B, and the largest length that was divided by, squared.
    loss : float
        Norm of ``B.T W B - I``, the rounding of W included.
    error : float
        Bound on the error of a kernel value.
    """

    vectors: FloatArray
    smallest: float
    largest: float
    loss: float
    error: float

    @classmethod
    def of(cls, W: FloatArray, relative: float, absolute: float) -> Basis:
        """Orthonormalise landmarks with the kernel matrix W; those that depend on others add nothing.

        Their differences first, so that what is far from the origin of feature space loses nothing, and then
        their mean. An entry of W is off by ``absolute + relative * |k|``.
        """
        m = len(W)
        means = W.mean(axis=0)
        values, vectors = eigenpairs(W - means - means[:, None] + means.mean())
        largest = float(np.abs(W).max(initial=0.0))
        error = absolute + relative * largest
        noise = 2.0 * m * (error + EPS * largest)
        kept = values > max(FLOOR * float(values[0]), noise)
        B = vectors[:, kept] - vectors[:, kept].mean(axis=0)
        B = B / np.sqrt(values[kept])
        lengths, inverse = [*values[kept]], float((1.0 / values[kept]).max(initial=0.0))
        shares = means @ B
        mean = np.full(m, 1.0 / m) - B @ shares
        left = float(mean @ W @ mean)
        if left > max(FLOOR * float(means.mean()), noise / m):
            B = np.column_stack([B, mean / math.sqrt(left)])
            # The mean as one of m landmarks would have it.
            lengths.append(m * left)
            inverse += float(mean @ mean) / left
        if not lengths:
            return cls(np.zeros((m, 1)), 1.0, 1.0, 0.0, error)
        least = 1.0 / inverse
        loss = float(np.linalg.norm(B.T @ (W @ B) - np.eye(B.shape[1])))
        return cls(B, least, max(lengths), loss + m * (error + EPS * largest) / least, error)

    def allows_single(self, W: FloatArray, count: int) -> bool:
        """Whether float32 products of ``count`` rows like the landmarks lose nothing that shows."""
        gaps = W - W.mean(axis=0)
        total = count / len(W) * float(np.sum(gaps * gaps))
        # The landmarks' own features, whose second column or so no longer is their mean.
        features = gaps @ self.vectors[:, :COLUMNS]
        top = count / len(W) * float(np.sum(features * features, axis=0).max())
        return rounding_of_single(count, total) <= SINGLE * top * self.smallest


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of a row whose sums are taken, and what makes features of them.

    Attributes
    ----------
    values : callable
        Writes them for a block of rows.
    diagonal : callable
        From rows to k(x, x).
    basis : ndarray of shape (m, r)
    single : bool
        Whether they may be rounded to float32.
    on_device : callable
        Returns values and diagonal for rows like an array on a device.
    bounds : callable
        From sums to what is known of the distance from the exact matrix.
    spread : float
        Largest over least squared length that the basis was divided by.
    scale : float
        An even power of two that kernel values are divided by, where squares would leave float64's range.
    noise : callable
        From sums to the size of eigenvalues that the rounding of the functions alone can make.
    """

    values: Callable[[Any, Any], None]
    diagonal: Callable[[Any], Any]
    basis: FloatArray
    single: bool
    on_device: OnDevice
    bounds: Callable[[FeatureSums], Approximation]
    spread: float = 1.0
    scale: float = 1.0
    noise: Callable[[FeatureSums], float] = lambda sums: (ROUNDINGS * EPS) ** 2 * sums.diagonal

    def sums(self, rows: Rows) -> FeatureSums:
        """Pass over the rows."""
        made = self.values, len(self.basis), self.diagonal, self.on_device
        return feature_sums(rows, *made, single=self.single)


def landmark_features(
    bind: Callable[[Any], Evaluator], landmarks: Any, n: int, dtype: Any, every: Evaluator | None = None
) -> Features:
    """Return the projections of n rows onto the span of landmarks.

    Parameters
    ----------
    bind : callable
        Binds the kernel to the landmarks, wherever they are.
    landmarks : array or sparse matrix of shape (m, d)
    n : int
    dtype : dtype
        Of the rows.
    every : Evaluator, optional
        The kernel, bound to all rows; it states the error bound of a value.
    """
    evaluator = bind(landmarks)
    relative, absolute = (
        max(getattr(bound, name) for bound in (evaluator, every or evaluator))
        for name in ("relative", "absolute")
    )
    diagonal = as_float64(evaluator.diagonal(landmarks))
    largest = float(diagonal.max(initial=0.0))
    require_eigenvalues(n * n * largest)
    scale = 4.0 ** (power_of_two(largest) // 2) if abs(power_of_two(largest)) > NEAR_ONE else 1.0
    values = KernelValues(evaluator, landmarks, 1.0 / scale)
    W = np.empty((landmarks.shape[0],) * 2)
    values(landmarks, W)
    W = (W + W.T) / 2
    np.fill_diagonal(W, diagonal / scale)
    basis = Basis.of(W, relative, absolute / scale)

    def on_device(like: Any) -> Callable[[Any], tuple[Any, Any]]:
        there = moved(landmarks, like)
        bound = bind(there)
        right = bound.encode(there)[1]
        return lambda X: (bound.tile(bound.encode(X)[0], right) / scale, bound.diagonal(X) / scale)

    return Features(
        values,
        lambda X: as_float64(evaluator.diagonal(X)) / scale,
        basis.vectors,
        dtype == np.float32 and evaluator.facts.unit_diagonal and basis.allows_single(W, n),
        on_device,
        lambda sums: landmark_bounds(sums, basis),
        basis.largest / basis.smallest,
        scale,
        lambda sums: rounding_of_values(sums, basis) ** 2 / basis.smallest,
    )


def random_features(mapping: FourierFeatureMap, error: float, dtype: Any) -> Features:
    """Return the features of a map whose products are off kernel values by up to ``error``, most likely."""

    def values(X: Any, out: Any) -> None:
        out[...] = mapping.evaluate(X, out.dtype)

    def bounds(sums: FeatureSums) -> Approximation:
        by, off = counted(len(mapping), "random feature"), sums.weight * error
        return Approximation(by, None, sums.weight, off, off, "probabilistic", 1.0 - CONFIDENCE)

    def on_device(like: Any) -> Callable[[Any], tuple[Any, Any]]:
        return lambda X: (mapping.evaluate(X), to_float64(X[:, 0] * 0.0 + 1.0))

    one = np.eye(len(mapping))
    return Features(values, lambda X: np.ones(len(X)), one, dtype == np.float32, on_device, bounds)


@dataclass(eq=False)
class FeatureProblem(Problem):
    """Directions of largest variance of features.

    Attributes
    ----------
    sums : FeatureSums
    features : Features
        Whose sums they are.
    center : bool
    made : SymmetricCosts
        What that takes.
    """

    sums: FeatureSums
    features: Features
    center: bool
    made: SymmetricCosts
    unit: str = "eigenvalues of the approximate Kc"

    @property
    def costs(self) -> SymmetricCosts:
        """What making and decomposing their matrix takes."""
        return self.made

    @cached_property
    def matrix(self) -> FloatArray:
        """Scatter matrix of the features, shape (r, r): its eigenvalues are those of their kernel matrix."""
        B = self.features.basis
        S = B.T @ (self.sums.moments.squares if self.center else self.sums.squares) @ B
        return (S + S.T) / 2

    @cached_property
    def bounds(self) -> Approximation:
        """What is known of the distance from the exact matrix."""
        return self.features.bounds(self.sums)

    @property
    def total(self) -> float:
        """Sum of all eigenvalues of the exact matrix, or a bound on it."""
        return float(np.trace(self.matrix)) + (self.bounds.unexplained or 0.0)

    @cached_property
    def noise(self) -> float:
        """Size of eigenvalues that the rounding of the functions alone can make."""
        return self.features.noise(self.sums)

    def build(self, route: Route) -> SymmetricMatrix:
        """Return the matrix as an operator; eigenvalues at the rounding of the sums do not count as rank."""
        made = SymmetricMatrix(self.matrix, psd=True, noise=self.noise)
        unit = float(np.finfo(np.float32 if self.sums.single else np.float64).eps) / 2
        shape = (self.sums.count, len(self.features.basis))
        rounding = product_tolerance(shape, unit, 1024) + 10 * unit * self.features.spread
        made.relative_tolerance = min(max(made.relative_tolerance, rounding), 1e-2)
        return made

    def truncate(self, result: Spectrum, operator: Operator, request: SolveRequest) -> Spectrum:
        """Truncate the spectrum to the request."""
        everything = request.target.count is request.target.fraction is None
        k = max(result.rank, 1) if everything else count_of(request.target, result.values, operator.trace())
        return result.first(k)

    def factor(self) -> float:
        """Return the power of two that kernel values were divided by."""
        return self.features.scale

    def certified(self, certificate: Certificate, request: SolveRequest) -> Certificate:
        """Return it with how far the eigenvalues are from those of the exact matrix."""
        made = replace(certificate, approximation=self.bounds.scaled(self.features.scale))
        noise = self.noise * self.features.scale
        if not made.values.size or made.values[0] > noise:
            return made
        why = f"no eigenvalue exceeds what rounding alone can make, {noise:.2g}."
        return replace(made, ok=False, reasons=(*made.reasons, why))

    def coefficients(self, solution: Solution, count: int | None) -> Coefficients:
        """Return components, and the coefficients of the functions f in the scores, shape (m, k).

        Beyond the rank of ``count`` components they have eigenvalue 0 and no coefficients.
        """
        spectrum, B, scale = solution.spectrum, self.features.basis, self.features.scale
        components = components_of(spectrum, count, scale, self.total, self.sums.count)
        k, rank = components.values.size, components.rank
        coefficients = np.zeros((len(B), k))
        coefficients[:, :rank] = B @ as_float64(spectrum.vectors)[:, :rank]
        # By the covariances of scores with the functions, which do not depend on the basis.
        signs = fixed_signs(self.sums.moments.squares @ coefficients[:, :rank])
        coefficients[:, :rank] *= signs / math.sqrt(scale)
        mean = self.sums.mean if self.center else np.zeros(len(B))
        row_means, weights = mean * scale, B @ (B.T @ mean)
        components = replace(components, rest=components.rest[:0])
        return Coefficients(components, coefficients, row_means, float(row_means @ weights), weights=weights)

    def reachable(self, target: Target) -> Target:
        """Return the target relative to the features' own trace; raise an error if it is out of reach."""
        if target.count is not None:
            return Target(count=min(target.count, self.features.basis.shape[1]))
        if target.fraction is None:
            return target
        has, total, by = float(np.trace(self.matrix)), self.total, self.bounds.by
        if not target.fraction * total < has:
            raise ParameterError(
                f"n_components={target.fraction} is more of the variance than these {by} explain "
                f"(at least {has / total if total else 0.0:.4g}). Use more of them, or set a number of "
                "components."
            )
        return Target(fraction=target.fraction * total / has, name=str(target))


def feature_costs(
    shape: tuple[int, int],
    m: int,
    rule: str | None,
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
    rule : {"rpcholesky", "uniform", "kmeans", "given"} or None
        How landmarks are chosen; None for random features.
    single : bool
        Whether products are made in float32.
    rank : int, optional
        Order of their matrix, where it is known not to be m.
    elsewhere : bool
        Whether what is kept of every row is where rows are spread.
    """
    n, d = shape
    kind = "float32" if single else "float64"
    one = COSINE if rule is None else KERNEL_VALUE["float64"] / 2
    values = n * m * (one + d / LARGE["float64"])
    solver, what = ("random-features", "random features") if rule is None else ("nystroem", "landmarks")
    steps, size = [], (16 + 4) * m * m + 1024 * 8 * m
    if rule is not None:
        cholesky = n * m * m / 4 / LARGE[kind] + 1.2 * values + n * (PIVOT_ROW + m * PIVOT_VALUE) + m * PIVOT
        centres = 40 * min(n, PER_CENTRE * m) * m * d / LARGE["float64"]
        # Columns of the factor are made when few candidates are accepted: from none of them to nearly all.
        factor = n * m * (4 if single else 8) if rule == "rpcholesky" else 0
        drawn = f"{m} rows by randomly pivoted Cholesky, whose factor takes up to {amount(factor)}"
        details = {
            "rpcholesky": (drawn, cholesky),
            "uniform": (f"{m} rows drawn uniformly", 0.0),
            "kmeans": (f"{m} centres by k-means", centres),
            "given": (f"{m} rows from the parameter landmarks", 0.0),
        }
        size += 0 if elsewhere else factor
        steps = [
            Step("choose", *details[rule]),
            Step("orthonormalise", f"{m} x {m} kernel values", EIGH_ALL * m**3),
        ]
    steps += [
        Step("evaluate", f"{n:,} rows x {m} {'kernel values' if steps else what}", values),
        Step("multiply", f"their {m} x {m} products, {kind}", n * m * m / 2 / LARGE[kind]),
    ]
    steps = [replace(step, seconds=step.seconds + STEP) for step in steps]
    other = " or landmarks='uniform'," if rule == "rpcholesky" else ""
    made = Substitute(
        solver,
        f"covariance of {m} {what}",
        Cost(tuple(steps), size),
        "time grows linearly with the number of rows, not quadratically.",
        kind,
    )
    too_large = (
        f"solver={solver!r} with n_landmarks={m} for {n:,} rows",
        f"Use a smaller n_landmarks,{other} or raise memory_limit.",
    )
    return SymmetricCosts(rank or m, substitute=made, too_large=too_large)


def rounding_of_values(sums: FeatureSums, basis: Basis, unit: float = EPS) -> float:
    """Bound the Frobenius norm of the error of all kernel values between rows and landmarks."""
    squares = float(np.trace(sums.squares))
    return unit * math.sqrt(max(squares, 0.0)) + basis.error * math.sqrt(sums.weight * len(basis.vectors))


def landmark_bounds(sums: FeatureSums, basis: Basis) -> Approximation:
    """Bound what the projection onto the landmarks' span does to eigenvalues.

    The exact matrix less the projected one is positive semi-definite, so that no eigenvalue falls below and
    none lies further above than by its trace; centring leaves both as they are. Beside that stands what
    rounding can do: of kernel values, of sums, and of the basis.

    Notes
    -----
    With T = f B B.T the features of x are ``T L`` for W = L L.T, so that an error E of the kernel values
    changes the matrix by ``2 |T| |E|`` to first order, however short the directions of the basis are.
    """
    n, m, B = sums.weight, len(basis.vectors), basis.vectors
    products = sums.squares
    squares = B.T @ products @ B
    explained = float(np.trace(squares))
    unit = float(np.finfo(np.float32 if sums.single else np.float64).eps)
    E = rounding_of_values(sums, basis, unit)
    T = math.sqrt(max(float(np.sum((B.T @ B) * squares)), 0.0))
    rounding = sums.rounding / basis.smallest + 2.0 * T * E + E * E / basis.smallest
    rounding += (basis.loss + 4 * m * EPS) * max(explained, 0.0)
    unexplained = max(sums.diagonal - explained, 0.0)
    above = unexplained + rounding + sums.rounding * float(np.linalg.norm(B.T @ B))
    above += n * (basis.error + EPS * sums.diagonal)
    kind: BoundKind = "estimate" if sums.single else "deterministic"
    return Approximation(counted(m, "landmark"), unexplained, sums.diagonal, rounding, above, kind)
