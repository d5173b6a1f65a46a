"""Kernel PCA as a problem for the engine: tiles of a kernel matrix, and the way to coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian.analysis.components import complete_basis, components_of, fixed_signs
from gramian.arrays import from_numpy, is_numpy, moved, to_dtype
from gramian.engine.solving import Problem, Solution
from gramian.errors import IndefiniteKernelError, ParameterError
from gramian.operators.centered_kernel import CenteredKernelOperator, WeightedKernelOperator
from gramian.operators.costs import SPARSE_ENTRY, SPARSE_WIDTH, KernelCosts
from gramian.operators.kernel_source import (
    KernelSource,
    MatrixSource,
    WeightedSource,
    leading_from_few,
    require_eigenvalues,
)
from gramian.operators.operator import Operator
from gramian.operators.tiles import SpreadTiles, TileMatrix
from gramian.records import Calls, Components, FloatArray, Repair, SolveRequest, Spectrum
from gramian.rows import Rows
from gramian.solvers.krylov import KrylovRoute
from gramian.solvers.route import Route, count_for_fraction
from gramian.store import Passes


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
    repair: Repair | None = None
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
    passes : Passes or None
        Where what passes over the matrix give is kept.
    spread : DaskRows or None
        The same rows where they are spread: tiles are made, and stay, there.
    """

    rows: Rows
    source: KernelSource | MatrixSource | None
    center: bool
    psd: bool
    clip: bool
    calls: Calls | None = None
    given: bool = False
    fraction: bool = False
    single: bool = False
    unit: str = "eigenvalues of Kc"
    passes: Passes | None = None
    spread: Any = None

    @property
    def everything(self) -> bool:
        """Whether every eigenvalue is needed: only all of them tell the share of one, or what is negative."""
        return not self.psd and (self.clip or self.fraction)

    @property
    def costs(self) -> KernelCosts:
        """What products with the kernel matrix take."""
        n, width = self.rows.shape
        if self.rows.skips_zeros:
            width = SPARSE_WIDTH + SPARSE_ENTRY * int(self.rows.in_memory().nnz) // n
        elsewhere = None if self.spread is None else self.spread.room
        return KernelCosts((n, width), self.calls, self.given, self.psd, self.single, elsewhere)

    def build(self, route: Route) -> CenteredKernelOperator:
        """Build the centred kernel matrix of tiles, as the route wants them."""
        assert self.source is not None
        form, rows = route.form, self.rows
        exact: KernelSource | MatrixSource | WeightedSource = self.source
        if rows.weights is not None:
            exact = WeightedSource(self.source, np.sqrt(rows.weights))
        source = exact
        if (
            form.storage == "again"
            and not form.double
            and not isinstance(exact, MatrixSource)
            and self.single
        ):
            source = exact.single()
        kept = form.storage == "kept" or (form.whole and not self.given)
        tiles: TileMatrix | SpreadTiles
        kind: type[CenteredKernelOperator] = CenteredKernelOperator
        unit, more = None, dict[str, Any]()
        if rows.weights is not None:
            unit = np.sqrt(rows.weights / rows.weight)
            kind, more = WeightedKernelOperator, {"unit": unit, "weight": rows.weight}
        if self.spread is not None and isinstance(source, KernelSource):
            tiles = SpreadTiles(self.spread, source, whole=form.whole)
        else:
            tiles = TileMatrix(
                rows.shape[0],
                source,
                from_numpy(np.empty(0), rows.like),
                form.arithmetic,
                share=1.0 if kept else form.share,
                exact=None if source is exact else exact,
                whole=form.whole,
                passes=self.passes,
                along=unit,
            )
        operator = kind(
            tiles,
            source.diagonal,
            relative=source.relative,
            absolute=source.absolute,
            promoted=(exact.relative, exact.absolute),
            center=self.center,
            psd=self.psd,
            error_kind=source.error_kind,
            **more,
        )
        require_eigenvalues(max(operator.frobenius(), abs(operator.trace())) * self.factor())
        return operator

    def start(self, route: Route, request: SolveRequest) -> Any:
        """Return estimates of the leading vectors from a few rows, if tiles are recomputed in every pass."""
        if not isinstance(route, KrylovRoute) or not isinstance(self.source, KernelSource):
            return None
        if self.rows.weights is not None:
            return None
        if route.form.storage != "again" or not self.single or not is_numpy(self.rows.like):
            return None
        # The other columns of a block are random: nothing is out of reach.
        return leading_from_few(self.source, 3 * route.block // 4, request.solver_rng)

    def factor(self) -> float:
        """Return the power of two that tiles are divided by."""
        assert self.source is not None
        return 2.0 ** (self.source.exponent + 2 * self.rows.weight_exponent)

    def truncate(self, result: Spectrum, operator: Operator, request: SolveRequest) -> Spectrum:
        """Raise an error for an indefinite matrix, and truncate a whole spectrum to the request."""
        self._require_definite(result, operator, request)
        target, total = request.target, self._total(result, operator)
        if target.count is not None:
            k = min(target.count, result.rank if self.clip else result.values.size)
        elif target.fraction is not None:
            if total is None:
                raise ParameterError(
                    f"n_components={target.fraction} asks for an explained variance ratio, which a "
                    f"kernel with negative eigenvalues does not have (smallest: {result.smallest:.4g}). "
                    "Ask for an integer."
                )
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
        vectors, weights = complete_basis(to_dtype(spectrum.vectors[:, :rank], rows.dtype), k), None
        counts = from_numpy(np.ones((1, 1), dtype=rows.dtype), vectors)
        if rows.weights is not None:
            weights = rows.weights / rows.weight
            # To the vectors of repeated rows, of which all but a share of the weight are left out.
            given = np.ldexp(rows.weights, 2 * rows.weight_exponent)[:, None]
            roots = np.sqrt(np.where(given > 0, given, np.inf))
            vectors = to_dtype(vectors / from_numpy(roots, vectors), rows.dtype)
            counts = to_dtype(from_numpy(given, vectors), rows.dtype)
        vectors = vectors * to_dtype(from_numpy(fixed_signs(vectors), vectors), rows.dtype)[None, :]
        inverse = np.zeros(k)
        inverse[:rank] = 1.0 / np.sqrt(values[:rank])
        values_of, coefficients = 2.0**self.source.exponent, vectors * counts
        return Coefficients(
            components,
            moved(coefficients * to_dtype(from_numpy(inverse, vectors), rows.dtype)[None, :], rows.home),
            operator.row_means * values_of,
            operator.mean * values_of,
            vectors=moved(vectors, rows.home),
            weights=weights,
            repair=self._clipped(spectrum, operator) if self.clip else None,
            negative=self._negative(spectrum, operator) * factor,
        )

    def _total(self, spectrum: Spectrum, operator: Operator) -> float | None:
        """Sum of the eigenvalues, where it means something: of a valid kernel, or of all of them."""
        if self.psd:
            return operator.trace()
        every = np.concatenate([spectrum.values, spectrum.rest])
        whole = spectrum.complete and every.size == operator.size
        if whole and (self.clip or float(every.min()) >= -operator.noise):
            return float(np.maximum(every, 0.0).sum())
        return None

    def _clipped(self, spectrum: Spectrum, operator: Operator) -> Repair:
        """Return the change by setting the negative eigenvalues to zero."""
        factor = self.factor()
        if operator.psd:
            return Repair(0, operator.size, 0.0, 0.0, (operator.trace() or 0.0) * factor, 0.0)
        every = np.concatenate([spectrum.values, spectrum.rest])
        negative = every[every < -_noise(spectrum, operator)]
        return Repair(
            count=negative.size,
            size=operator.size,
            smallest=float(negative.min(initial=0.0)) * factor,
            negative=-float(negative.sum()) * factor,
            total=float(np.abs(every).sum()) * factor,
            change=float(np.linalg.norm(negative) / (np.linalg.norm(every) or 1.0)),
        )

    def _negative(self, spectrum: Spectrum, operator: Operator) -> float:
        """Return the smallest eigenvalue found if it is negative beyond rounding and not clipped, else 0."""
        smallest = spectrum.smallest
        if self.psd or self.clip or smallest is None or smallest >= -_noise(spectrum, operator):
            return 0.0
        return smallest

    def _require_definite(self, spectrum: Spectrum, operator: Operator, request: SolveRequest) -> None:
        """Raise an error for a negative eigenvalue beyond rounding, unless it is outside the request."""
        smallest, bound = self._negative(spectrum, operator), _noise(spectrum, operator)
        if smallest == 0:
            return
        if request.target.count is not None:
            wanted = spectrum.values[: request.target.count]
            if wanted.size == request.target.count and float(wanted[-1]) > bound:
                return
        factor = self.factor()
        raise IndefiniteKernelError(
            f"The Gram matrix has the eigenvalue {smallest * factor:.6g}, negative beyond rounding "
            f"({bound * factor:.1e}), so this is not "
            f"a valid kernel on this data; {int((spectrum.values > bound).sum())} eigenvalues are positive. "
            "Ask for no more components than that, set the negative ones to 0 (repair='clip'), or use a "
            "kernel that is positive semi-definite, such as rbf or poly."
        )


def _noise(spectrum: Spectrum, operator: Operator) -> float:
    """Return the size below which an eigenvalue may be zero or have the other sign."""
    largest = float(np.abs(spectrum.values).max(initial=0.0))
    return spectrum.searched_to + operator.size * float(np.finfo(np.float64).eps) * largest
