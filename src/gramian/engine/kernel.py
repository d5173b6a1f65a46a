"""Kernel PCA as problems for the engine: of tiles of a kernel matrix, and of features of the rows.

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

from gramian.core import arrays, records
from gramian.core.checks import counted
from gramian.core.records import Approximation, BoundKind, Certificate, Components, FloatArray, Spectrum
from gramian.engine import krylov, scatter, tiles
from gramian.engine.features import FeatureSums, KernelValues, OnDevice, feature_sums, rounding_of_single
from gramian.engine.operator import SPARSE_ENTRY, SPARSE_WIDTH, Operator, SymmetricCosts, SymmetricMatrix
from gramian.engine.routes import Route, count_for_fraction, count_of, leading
from gramian.engine.solving import Problem, Solution, complete_basis, components_of, fixed_signs
from gramian.errors import IndefiniteKernelError, ParameterError
from gramian.kernels import Evaluator
from gramian.tables.rows import Rows


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What the eigenpairs of ``Kc`` mean, with what maps new rows.

    Attributes
    ----------
    components : Components
        Eigenvalues of Kc.
    coefficients : array of shape (n, k)
        Of fitted rows, landmarks or features in the components.
    row_means, mean : ndarray of shape (n,), float
        Means of the rows of K and of all of it; zero without centring.
    vectors : array of shape (n, k) or None
        Unit eigenvectors with fixed signs, where there is a coefficient for every row. Those of weighted rows
        are divided by the roots of the weights, and 0 where a weight is 0.
    weights : ndarray of shape (n,) or None
        The mean in feature space as a combination of nodes; None where it is that of all rows, unweighted.
    repair : Repair or None
        The change by clipping, if it was requested.
    negative : float
        A negative eigenvalue outside the requested ones, beyond rounding; 0 if none is known.
    """

    components: Components
    coefficients: Any
    row_means: FloatArray
    mean: float
    vectors: Any = None
    weights: FloatArray | None = None
    repair: records.Repair | None = None
    negative: float = 0.0


@dataclass(eq=False)
class KernelProblem(Problem):
    """Directions of largest variance in a kernel's feature space.

    Attributes
    ----------
    rows : Rows
    source : KernelSource, MatrixSource or None
        What fills tiles; None to plan only.
    center : bool
    psd : bool
        Whether the kernel is proven positive semi-definite.
    clip : bool
        Whether negative eigenvalues are set to zero.
    calls : Calls or None
        What a user's function costs.
    given : bool
        Whether the matrix is the user's own.
    fraction : bool
        Whether an explained variance ratio is wanted.
    single : bool
        Whether values may be evaluated in float32.
    """

    rows: Rows
    source: tiles.KernelSource | tiles.MatrixSource | None
    center: bool
    psd: bool
    clip: bool
    calls: records.Calls | None = None
    given: bool = False
    fraction: bool = False
    single: bool = False
    unit: str = "eigenvalues of Kc"

    @property
    def everything(self) -> bool:  # type: ignore[override]
        """Whether every eigenvalue is needed: only all of them tell the share of one, or what is negative."""
        return not self.psd and (self.clip or self.fraction)

    @property
    def costs(self) -> tiles.KernelCosts:
        """What products with the kernel matrix take."""
        n, width = self.rows.shape
        if self.rows.skips_zeros:
            width = SPARSE_WIDTH + SPARSE_ENTRY * int(self.rows.in_memory().nnz) // n
        return tiles.KernelCosts((n, width), self.calls, self.given, self.psd, self.single)

    def build(self, route: Route) -> tiles.CenteredKernelOperator:
        """Build the centred kernel matrix of tiles, as the route wants them."""
        assert self.source is not None
        form, rows = route.form, self.rows
        exact: tiles.AnySource = self.source
        unit = None
        if rows.weights is not None:
            exact = tiles.WeightedSource(self.source, np.sqrt(rows.weights))
            unit = np.sqrt(rows.weights / rows.weight)
        source = exact
        anew = form.storage == "again" and not form.double and self.single
        if anew and not isinstance(exact, tiles.MatrixSource):
            source = exact.single()
        kept = form.storage == "kept" or (form.whole and not self.given)
        like, share = arrays.from_numpy(np.empty(0), rows.like), 1.0 if kept else form.share
        options: dict[str, Any] = {"share": share, "exact": None if source is exact else exact}
        options |= {"whole": form.whole, "along": unit}
        matrix = tiles.TileMatrix(rows.shape[0], source, like, form.arithmetic, **options)
        operator = tiles.CenteredKernelOperator(
            matrix, source, exact, center=self.center, psd=self.psd, weight=rows.weight
        )
        tiles.require_eigenvalues(max(operator.frobenius(), abs(operator.trace())) * self.factor())
        return operator

    def start(self, route: Route, request: records.SolveRequest) -> Any:
        """Return estimates of the leading vectors from a few rows, if tiles are recomputed in every pass."""
        if not isinstance(route, krylov.KrylovRoute) or not isinstance(self.source, tiles.KernelSource):
            return None
        if self.rows.weights is not None or not self.single or not arrays.is_numpy(self.rows.like):
            return None
        if route.form.storage != "again":
            return None
        # The other columns of a block are random: nothing is out of reach.
        return tiles.leading_from_few(self.source, 3 * route.block // 4, request.solver_rng)

    def factor(self) -> float:
        """Return the power of two that tiles are divided by."""
        assert self.source is not None
        return 2.0**self.source.exponent

    def truncate(self, result: Spectrum, operator: Operator, request: records.SolveRequest) -> Spectrum:
        """Raise an error for an indefinite matrix, and truncate a whole spectrum to the request."""
        self._require_definite(result, operator, request.target.count)
        target, total = request.target, self._total(result, operator)
        if target.count is not None:
            k = min(target.count, result.rank if self.clip else result.values.size)
        elif target.fraction is not None:
            if total is None:
                why = (
                    "asks for an explained variance ratio, which a kernel with negative eigenvalues does not "
                    f"have (smallest: {result.smallest:.4g})"
                )
                raise ParameterError("n_components", target.fraction, why, "Ask for an integer.")
            k = count_for_fraction(result.values, total, target.fraction) or result.values.size
        else:
            k = max(result.rank, 1)
        return result.first(k)

    def coefficients(self, solution: Solution, count: int | None) -> Coefficients:
        """Return components and coefficients, in the units of the kernel.

        Parameters
        ----------
        solution : Solution
        count : int or None
            Number of components: beyond the rank they have eigenvalue 0.
        """
        assert self.source is not None
        spectrum, operator, rows, factor = solution.spectrum, solution.operator, self.rows, self.factor()
        total = self._total(spectrum, operator)
        components = components_of(spectrum, count, factor, total, rows.shape[0])
        values, rank, k = components.values, components.rank, components.values.size
        vectors, weights = complete_basis(arrays.to_dtype(spectrum.vectors[:, :rank], rows.dtype), k), None
        counts = arrays.from_numpy(np.ones((1, 1), dtype=rows.dtype), vectors)
        if rows.weights is not None:
            weights = rows.weights / rows.weight
            # To the vectors of repeated rows, of which all but a share of the weight are left out.
            row_weights = rows.weights[:, None]
            roots = np.sqrt(np.where(row_weights > 0, row_weights, np.inf))
            vectors = arrays.to_dtype(vectors / arrays.from_numpy(roots, vectors), rows.dtype)
            counts = arrays.to_dtype(arrays.from_numpy(row_weights, vectors), rows.dtype)
        signs = arrays.from_numpy(fixed_signs(vectors), vectors)
        vectors = vectors * arrays.to_dtype(signs, rows.dtype)[None, :]
        inverse = np.zeros(k)
        inverse[:rank] = 1.0 / np.sqrt(values[:rank])
        factors = arrays.to_dtype(arrays.from_numpy(inverse, vectors), rows.dtype)
        coefficients = vectors * counts * factors[None, :]
        coefficients, vectors = (arrays.moved(A, rows.like) for A in (coefficients, vectors))
        means = operator.row_means * factor, operator.mean * factor
        repair = self._clipped(spectrum, operator) if self.clip else None
        negative = self._negative(spectrum, operator) * factor
        return Coefficients(components, coefficients, *means, vectors, weights, repair, negative)

    def _total(self, spectrum: Spectrum, operator: Operator) -> float | None:
        """Sum of the eigenvalues, where it means something: of a valid kernel, or of all of them."""
        if self.psd:
            return operator.trace()
        every = np.concatenate([spectrum.values, spectrum.rest])
        whole = spectrum.complete and every.size == operator.size
        if whole and (self.clip or float(every.min()) >= -operator.noise):
            return float(np.maximum(every, 0.0).sum())
        return None

    def _clipped(self, spectrum: Spectrum, operator: Operator) -> records.Repair:
        """Return the change by setting the negative eigenvalues to zero."""
        factor = self.factor()
        if operator.psd:
            return records.Repair(0, operator.size, 0.0, 0.0, (operator.trace() or 0.0) * factor, 0.0)
        every = np.concatenate([spectrum.values, spectrum.rest])
        negative = every[every < -_noise(spectrum, operator)]
        smallest, lost = float(negative.min(initial=0.0)) * factor, -float(negative.sum()) * factor
        total = float(np.abs(every).sum()) * factor
        change = float(np.linalg.norm(negative) / (np.linalg.norm(every) or 1.0))
        return records.Repair(negative.size, operator.size, smallest, lost, total, change)

    def _negative(self, spectrum: Spectrum, operator: Operator) -> float:
        """Return the smallest eigenvalue found if it is negative beyond rounding and not clipped, else 0."""
        smallest = spectrum.smallest
        if self.psd or self.clip or smallest is None or smallest >= -_noise(spectrum, operator):
            return 0.0
        return smallest

    def _require_definite(self, spectrum: Spectrum, operator: Operator, count: int | None) -> None:
        """Raise an error for a negative eigenvalue beyond rounding, unless it is outside the request."""
        smallest, bound = self._negative(spectrum, operator), _noise(spectrum, operator)
        if smallest == 0:
            return
        if count is not None:
            wanted = spectrum.values[:count]
            if wanted.size == count and float(wanted[-1]) > bound:
                return
        factor = self.factor()
        raise IndefiniteKernelError(
            f"The Gram matrix has the eigenvalue {smallest * factor:.6g}, negative beyond rounding "
            f"({bound * factor:.1e}), so this is not "
            f"a valid kernel on this data; {int((spectrum.values > bound).sum())} eigenvalues are positive. "
            "Ask for no more components than that, set the negative ones to 0 "
            '(repair="clip"), or use a kernel that is positive semi-definite, such as rbf or '
            "poly."
        )


def _noise(spectrum: Spectrum, operator: Operator) -> float:
    """Return the size below which an eigenvalue may be zero or have the other sign."""
    largest = float(np.abs(spectrum.values).max(initial=0.0))
    return spectrum.searched_to + operator.size * float(np.finfo(np.float64).eps) * largest


# ---- Kernel PCA of features as a problem for the engine: sums over all rows, and the way to coefficients

EPS = float(np.finfo(np.float64).eps)
# Directions among the landmarks that are shorter than this, relative and squared, are left out: what they
# explain is small, and sums over rows would be divided by their length.
FLOOR = 1e-8
# Rounding of float32 products, relative to the largest eigenvalue, above which float64 is taken.
SINGLE = 1e-2
COLUMNS = 20


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
    def of(cls, W: FloatArray, relative: float, absolute: float, like: Any) -> Basis:
        """Orthonormalise landmarks with the kernel matrix W; those that depend on others add nothing.

        Their differences first, so that what is far from the origin of feature space loses nothing, and then
        their mean. An entry of W is off by ``absolute + relative * |k|``. W is decomposed where ``like`` is.
        """
        m = len(W)
        means = W.mean(axis=0)
        centred = arrays.moved(W - means - means[:, None] + means.mean(), like)
        values, vectors, _ = leading(centred, records.Target())
        vectors = arrays.as_float64(vectors)
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
        loss = float(np.linalg.norm(arrays.multiplied(like, B.T, W, B) - np.eye(B.shape[1])))
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
        From sums, and those of products of the features themselves, to what is known of the distance from the
        exact matrix.
    like : array
        Of the kind, and on the device, of the rows.
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
    bounds: Callable[[FeatureSums, FloatArray], Approximation]
    like: Any
    spread: float
    scale: float
    noise: Callable[[FeatureSums], float]

    def sums(self, rows: Rows) -> FeatureSums:
        """Pass over the rows."""
        made = self.values, len(self.basis), self.diagonal, self.on_device
        return feature_sums(rows, *made, single=self.single)


def landmark_features(
    bind: Callable[[Any], Evaluator], landmarks: Any, n: int, dtype: Any, like: Any, every: Evaluator | None
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
    like : array
        Of the kind, and on the device, of the rows: the landmarks' matrix is decomposed there.
    every : Evaluator or None
        The kernel, bound to all rows, where it states the error bound of a value.
    """
    evaluator = bind(landmarks)
    relative = max(evaluator.relative, (every or evaluator).relative)
    absolute = max(evaluator.absolute, (every or evaluator).absolute)
    diagonal = arrays.as_float64(evaluator.diagonal(landmarks))
    largest = float(diagonal.max(initial=0.0))
    tiles.require_eigenvalues(n * n * largest)
    exponent = arrays.power_of_two(largest)
    scale = 4.0 ** (exponent // 2) if abs(exponent) > tiles.NEAR_ONE else 1.0
    values = KernelValues(evaluator, landmarks, 1.0 / scale)
    W = np.empty((landmarks.shape[0],) * 2)
    values(landmarks, W)
    W = (W + W.T) / 2
    np.fill_diagonal(W, diagonal / scale)
    basis = Basis.of(W, relative, absolute / scale, like)

    def on_device(like: Any) -> Callable[[Any], tuple[Any, Any]]:
        there = arrays.moved(landmarks, like)
        bound = bind(there)
        right = bound.encode(there)[1]
        return lambda X: (bound.tile(bound.encode(X)[0], right) / scale, bound.diagonal(X) / scale)

    return Features(
        values,
        lambda X: arrays.as_float64(evaluator.diagonal(X)) / scale,
        basis.vectors,
        dtype == np.float32 and evaluator.facts.unit_diagonal and basis.allows_single(W, n),
        on_device,
        lambda sums, products: landmark_bounds(sums, basis, products, like),
        like,
        basis.largest / basis.smallest,
        scale,
        lambda sums: rounding_of_values(sums, basis) ** 2 / basis.smallest,
    )


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
        squares = self.sums.moments.squares if self.center else self.sums.squares
        S = arrays.multiplied(self.features.like, B.T, squares, B)
        return (S + S.T) / 2

    @cached_property
    def bounds(self) -> Approximation:
        """What is known of the distance from the exact matrix."""
        products = self.matrix
        if self.center:
            mean = self.features.basis.T @ self.sums.mean
            products = products + self.sums.weight * np.outer(mean, mean)
        return self.features.bounds(self.sums, products)

    @property
    def total(self) -> float:
        """Sum of all eigenvalues of the exact matrix, or a bound on it."""
        return float(np.trace(self.matrix)) + self.bounds.unexplained

    @cached_property
    def noise(self) -> float:
        """Size of eigenvalues that the rounding of the functions alone can make."""
        return self.features.noise(self.sums)

    def build(self, route: Route) -> SymmetricMatrix:
        """Return the matrix as an operator; eigenvalues at the rounding of the sums do not count as rank."""
        made = SymmetricMatrix(self.matrix, psd=True, noise=self.noise)
        unit = float(np.finfo(np.float32 if self.sums.single else np.float64).eps) / 2
        shape = (self.sums.count, len(self.features.basis))
        rounding = scatter.product_tolerance(shape, unit, 1024) + 10 * unit * self.features.spread
        made.relative_tolerance = min(max(made.relative_tolerance, rounding), 1e-2)
        return made

    def truncate(self, result: Spectrum, operator: Operator, request: records.SolveRequest) -> Spectrum:
        """Truncate the spectrum to the request."""
        everything = request.target.count is request.target.fraction is None
        k = max(result.rank, 1) if everything else count_of(request.target, result.values, operator.trace())
        return result.first(k)

    def factor(self) -> float:
        """Return the power of two that kernel values were divided by."""
        return self.features.scale

    def certified(self, certificate: Certificate, request: records.SolveRequest) -> Certificate:
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
        coefficients[:, :rank] = B @ arrays.as_float64(spectrum.vectors)[:, :rank]
        # By the covariances of scores with the functions, which do not depend on the basis.
        signs = fixed_signs(self.sums.moments.squares @ coefficients[:, :rank])
        coefficients[:, :rank] *= signs / math.sqrt(scale)
        mean = self.sums.mean if self.center else np.zeros(len(B))
        row_means, weights = mean * scale, B @ (B.T @ mean)
        components = replace(components, rest=components.rest[:0])
        return Coefficients(components, coefficients, row_means, float(row_means @ weights), weights=weights)

    def reachable(self, target: records.Target) -> records.Target:
        """Return the target relative to the features' own trace; raise an error if it is out of reach."""
        if target.count is not None:
            return records.Target(count=min(target.count, self.features.basis.shape[1]))
        if target.fraction is None:
            return target
        has, total, by = float(np.trace(self.matrix)), self.total, self.bounds.by
        if not target.fraction * total < has:
            share = has / total if total else 0.0
            why = f"is more of the variance than these {by} explain (at least {share:.4g})"
            hint = "Use more of them, or set a number of components."
            raise ParameterError("n_components", target.fraction, why, hint)
        return records.Target(fraction=target.fraction * total / has, name=str(target))


def rounding_of_values(sums: FeatureSums, basis: Basis, unit: float = EPS) -> float:
    """Bound the Frobenius norm of the error of all kernel values between rows and landmarks."""
    squares = float(np.trace(sums.squares))
    return unit * math.sqrt(max(squares, 0.0)) + basis.error * math.sqrt(sums.weight * len(basis.vectors))


def landmark_bounds(sums: FeatureSums, basis: Basis, products: FloatArray, like: Any) -> Approximation:
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
    explained = float(np.trace(products))
    lengths = arrays.multiplied(like, B.T, B)
    unit = float(np.finfo(np.float32 if sums.single else np.float64).eps)
    E = rounding_of_values(sums, basis, unit)
    T = math.sqrt(max(float(np.vdot(lengths, products)), 0.0))
    rounding = sums.rounding / basis.smallest + 2.0 * T * E + E * E / basis.smallest
    rounding += (basis.loss + 4 * m * EPS) * max(explained, 0.0)
    unexplained = max(sums.diagonal - explained, 0.0)
    above = unexplained + rounding + sums.rounding * float(np.linalg.norm(lengths))
    above += n * (basis.error + EPS * sums.diagonal)
    kind: BoundKind = "estimate" if sums.single else "deterministic"
    return Approximation(counted(m, "landmark"), unexplained, sums.diagonal, rounding, above, kind)
