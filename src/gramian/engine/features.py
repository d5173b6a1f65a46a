"""Kernel PCA of features as a problem for the engine: sums over all rows, and the way to coefficients.

With landmarks l the features are ``phi(x) = B.T k(l, x)``, with ``B.T W B = I`` and W = k(l, l): what of
x lies in the span of the landmarks, in an orthonormal basis. Their matrix is that of the kernel, projected.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gramian.analysis.components import fixed_signs
from gramian.arrays import as_float64
from gramian.engine.planning import plan, require_memory
from gramian.engine.solving import Solved
from gramian.engine.symmetric import eigenpairs
from gramian.errors import ParameterError
from gramian.operators.costs import COSINE, KERNEL_VALUE, LARGE, SymmetricCosts
from gramian.operators.features import FeatureSums, rounding_of_single
from gramian.operators.operator import Operator
from gramian.operators.scatter import product_tolerance
from gramian.operators.whole import SymmetricMatrix
from gramian.records import (
    Approximation,
    Ask,
    BoundKind,
    Components,
    FloatArray,
    Plan,
    Spectrum,
    Step,
    Target,
)
from gramian.solvers.product import EIGH_ALL
from gramian.solvers.route import Route
from gramian.solvers.spectra import count_for_fraction

EPS = float(np.finfo(np.float64).eps)
# Directions among the landmarks that are shorter than this, relative and squared, are left out: what they
# explain is small, and sums over rows would be divided by their length.
FLOOR = 1e-8
# Rounding of float32 products, relative to the largest eigenvalue, above which float64 is taken.
SINGLE = 1e-2
COLUMNS = 20
PER_CENTRE = 50  # rows drawn for k-means, for each of its centres
# Seconds of a step beside its numbers; and of choosing pivots, for each row, and for each with each landmark.
STEP, PIVOT_ROW, PIVOT_VALUE = 1e-3, 8e-7, 3e-9


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


@dataclass(eq=False)
class FeatureProblem:
    """Directions of largest variance of features ``f(x) @ basis``.

    Attributes
    ----------
    sums : FeatureSums
        Of the functions f.
    basis : ndarray of shape (m, r)
    center : bool
    spread : float
        Largest over least eigenvalue that the basis was divided by.
    scale : float
        An even power of two that kernel values were divided by.
    """

    sums: FeatureSums
    basis: FloatArray
    center: bool
    spread: float = 1.0
    scale: float = 1.0
    unit: str = "eigenvalues of the approximate Kc"
    everything: bool = field(default=False, init=False)

    @cached_property
    def matrix(self) -> FloatArray:
        """Scatter matrix of the features, shape (r, r): its eigenvalues are those of their kernel matrix."""
        S = self.basis.T @ (self.sums.scatter if self.center else self.sums.squares) @ self.basis
        return (S + S.T) / 2

    @property
    def costs(self) -> SymmetricCosts:
        """What products with the matrix take."""
        return SymmetricCosts(self.basis.shape[1])

    def operator(self, route: Route) -> SymmetricMatrix:
        """Return the matrix as an operator; what is rounding in the sums is none of its rank."""
        made = SymmetricMatrix(self.matrix, psd=True)
        unit = float(np.finfo(np.float32 if self.sums.single else np.float64).eps) / 2
        shape = (self.sums.count, len(self.sums.shift))
        rounding = product_tolerance(shape, unit, 1024) + 10 * unit * self.spread
        made.relative_tolerance = min(max(made.relative_tolerance, rounding), 1e-2)
        return made

    def start(self, route: Route, ask: Ask) -> None:
        """Know nothing to begin with."""

    def kept(self, found: Spectrum, operator: Operator, ask: Ask) -> Spectrum:
        """Cut down to what was asked for."""
        if ask.target.count is not None:
            return found.first(ask.target.count)
        if ask.target.fraction is not None:
            return found.first(
                count_for_fraction(found.values, operator.trace() or 0.0, ask.target.fraction) or 1
            )
        return found.first(max(found.rank, 1))

    def factor(self) -> float:
        """Return the power of two that kernel values were divided by."""
        return self.scale

    def scaled(self, spectrum: Spectrum) -> Spectrum:
        """Return the record in the units of the kernel."""
        return spectrum.scaled(self.scale)

    def coefficients(self, solved: Solved, count: int | None, total: float) -> tuple[Components, FloatArray]:
        """Return components, and the coefficients of the functions f in the scores, shape (m, k).

        Parameters
        ----------
        solved : Solved
        count : int or None
            Number of components: beyond the rank they have eigenvalue 0 and no coefficients.
        total : float
            Sum of all eigenvalues of the exact matrix, or a bound on it.
        """
        spectrum = solved.spectrum
        k = spectrum.values.size if count is None else count
        rank = min(spectrum.rank, k)
        values, coefficients = np.zeros(k), np.zeros((len(self.basis), k))
        values[:rank] = spectrum.values[:rank] * self.scale
        V = as_float64(spectrum.vectors)[:, :rank]
        coefficients[:, :rank] = self.basis @ V
        # By the covariances of scores with the functions, which do not depend on the basis.
        signs = fixed_signs(self.sums.scatter @ coefficients[:, :rank])
        coefficients[:, :rank] *= signs / math.sqrt(self.scale)
        return (
            Components(
                values=values,
                total=total * self.scale,
                size=self.sums.count,
                rank=rank,
                tolerance=spectrum.rank_tolerance,
            ),
            coefficients,
        )

    def reachable(self, target: Target, total: float, by: str) -> Target:
        """Return a share of ``total`` as one of what the features have of it; refuse what they have not."""
        if target.fraction is None:
            return target
        has = float(np.trace(self.matrix))
        if not target.fraction * total < has:
            raise ParameterError(
                f"n_components={target.fraction} asks for more of the variance than these {by} explain: "
                f"{has / total if total else 0.0:.4g} for certain. Take more of them, or ask for a number of "
                "components."
            )
        return Target(fraction=target.fraction * total / has, name=str(target))


def plan_features(shape: tuple[int, int], m: int, ask: Ask, *, rule: str | None, single: bool) -> Plan:
    """Return how m features of so many rows will be made, multiplied and decomposed.

    Parameters
    ----------
    shape : (n, d)
    m : int
    ask : Ask
    rule : {"rpcholesky", "uniform", "kmeans", "given"} or None
        How landmarks are chosen; None for random features.
    single : bool
        Whether products are made in float32.

    Raises
    ------
    MemoryLimitError
        When they do not fit.
    """
    inner = plan(SymmetricCosts(m), replace(ask, memory_limit=sys.maxsize))
    told = feature_plan(inner, shape, m, rule=rule, single=single)
    other = " or landmarks='uniform'," if rule == "rpcholesky" else ""
    what = f"solver={told.solver!r} with n_landmarks={m} for {shape[0]:,} rows"
    way_out = f"Take a smaller n_landmarks,{other} or raise memory_limit."
    require_memory(what, told.bytes, ask.memory_limit, way_out)
    return told


def feature_plan(inner: Plan, shape: tuple[int, int], m: int, *, rule: str | None, single: bool) -> Plan:
    """Return the plan for the matrix of m features with what comes before it; parameters as above."""
    n, d = shape
    kind = "float32" if single else "float64"
    one = COSINE if rule is None else KERNEL_VALUE["float64"] / 2
    values = n * m * (one + d / LARGE["float64"])
    solver, what = ("random-features", "random features") if rule is None else ("nystroem", "landmarks")
    steps, size = [], (16 + 4) * m * m + 1024 * 8 * m
    if rule is not None:
        cholesky = n * m * m / 2 / LARGE[kind] + 1.2 * values + n * (PIVOT_ROW + m * PIVOT_VALUE)
        centres = 40 * min(n, PER_CENTRE * m) * m * d / LARGE["float64"]
        details = {
            "rpcholesky": (f"{m} rows by randomly pivoted Cholesky", cholesky),
            "uniform": (f"{m} rows, each as likely as any other", 0.0),
            "kmeans": (f"{m} centres by k-means", centres),
            "given": (f"{m} rows that were given", 0.0),
        }
        size += n * m * (4 if single else 8) if rule == "rpcholesky" else 0
        steps = [
            Step("choose", *details[rule]),
            Step("orthonormalise", f"{m} x {m} kernel values", EIGH_ALL * m**3),
        ]
    steps += [
        Step("evaluate", f"{n:,} rows x {m} {'kernel values' if steps else what}", values),
        Step("multiply", f"their {m} x {m} products, {kind}", n * m * m / 2 / LARGE[kind]),
    ]
    steps = [replace(step, seconds=step.seconds + STEP) for step in steps]
    return replace(
        inner,
        operator=f"covariance of {m} {what}",
        solver=solver,
        steps=(*steps, *inner.steps),
        bytes=size + inner.bytes,
        reason=f"solver={solver!r} was asked for; time grows with the rows, not their square.",
        arithmetic=kind,
        alternatives=(),
    )


def landmark_bounds(problem: FeatureProblem, basis: Basis, by: str) -> Approximation:
    """Bound what the projection onto the landmarks' span does to eigenvalues.

    The exact matrix less the projected one is positive semi-definite, so that no eigenvalue falls below and
    none lies further above than by its trace; centring leaves both as they are. Beside that stands what
    rounding can do: of kernel values, of sums, and of the basis.

    Notes
    -----
    With T = f B B.T the features of x are ``T L`` for W = L L.T, so that an error E of the kernel values
    changes the matrix by ``2 |T| |E|`` to first order, however short the directions of the basis are.
    """
    sums, B = problem.sums, problem.basis
    n, m = sums.count, len(B)
    squares = B.T @ sums.squares @ B
    explained = float(np.trace(squares))
    unit = float(np.finfo(np.float32 if sums.single else np.float64).eps)
    values = math.sqrt(max(float(np.trace(sums.squares)), 0.0))
    E = unit * values + basis.error * math.sqrt(n * m)
    T = math.sqrt(max(float(np.sum((B.T @ B) * squares)), 0.0))
    rounding = sums.rounding() / basis.smallest + 2.0 * T * E + E * E / basis.smallest
    rounding += (basis.loss + 4 * m * EPS) * max(explained, 0.0)
    unexplained = max(sums.diagonal - explained, 0.0)
    above = unexplained + rounding + sums.rounding() * float(np.linalg.norm(B.T @ B))
    above += n * (basis.error + EPS * sums.diagonal)
    kind: BoundKind = "estimate" if sums.single else "deterministic"
    return Approximation(by, unexplained, sums.diagonal, rounding, above, kind)


def approximated(solved: Solved, by: Approximation) -> Solved:
    """Return the answer with what is known of its distance from the exact matrix."""
    certificate = solved.certificate
    assert certificate is not None
    return replace(solved, certificate=replace(certificate, approximation=by))
