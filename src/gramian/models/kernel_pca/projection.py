"""How kernel PCA maps a new row to scores: standardised, by kernel values with the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy.sparse import issparse

from gramian.core import arrays
from gramian.core.checks import check_choice, slices
from gramian.core.records import POSITIVE, FloatArray
from gramian.engine.centered import center_rows
from gramian.errors import ParameterError
from gramian.kernels import Evaluator, Kernel
from gramian.models.inputs import ddof_of
from gramian.tables.device import tile_length
from gramian.tables.rows import Rows

BLOCK = 480  # new rows mapped at a time by one worker
SCALES = ("unit",)


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Columns less their means, over their standard deviations.

    Attributes
    ----------
    center, rest : ndarray of shape (d,)
        The means, as sums of two numbers of float64.
    divisor : ndarray of shape (d,)
        Standard deviations; 0 for a constant column, which is 0 in every standardised row.
    """

    center: Annotated[FloatArray, "d"]
    rest: Annotated[FloatArray, "d"]
    divisor: Annotated[FloatArray, "d", POSITIVE]

    @classmethod
    def of(cls, scale: Any, rows: Rows, *, precomputed: bool = False) -> Self | None:
        """Measure the columns as ``scale`` says; None where it asks for nothing.

        Raises
        ------
        ParameterError
            For another rule than "unit", and for a kernel matrix, which has no columns.
        DataError
            For a column whose squares float64 cannot hold.
        """
        check_scale(scale, precomputed=precomputed)
        ddof = ddof_of(1, rows)  # by which variances in feature space are divided too
        if scale is None:
            return None
        view = center_rows(rows, center=True, scale=scale, ddof=ddof)
        assert view.divisor is not None
        assert view.rest is not None
        divisor = np.ldexp(view.divisor, -view.unit_exponent)
        return cls(view.mean, view.rest, np.where(np.isinf(divisor), 0.0, divisor))

    def rows(self, rows: Rows) -> Rows:
        """Return standardised rows of the same kind and dtype."""
        return rows.converted(lambda values: self.apply(values, rows.dtype))

    def apply(self, values: Any, dtype: np.dtype[Any]) -> Any:
        """Return a block of rows, dense or sparse, standardised in float64 and rounded to a dtype."""
        X = arrays.to_float64(arrays.dense(values))
        center, rest, divisor = (arrays.from_numpy(vector, X) for vector in self.parts)
        with np.errstate(over="ignore"):
            Z = arrays.to_dtype((X - center - rest) / divisor, dtype)
        return arrays.require_range(Z, "Standardised rows")

    def back(self, rows: Any) -> Any:
        """Return standardised rows of float64 in the units of the columns."""
        vectors = (self.divisor, self.rest, self.center)
        divisor, rest, center = (arrays.from_numpy(vector, rows) for vector in vectors)
        with np.errstate(over="ignore"):
            return rows * divisor + rest + center

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is subtracted, twice, and what that is divided by: infinite for a constant column."""
        return self.center, self.rest, np.where(self.divisor > 0, self.divisor, np.inf)


def as_scaled(scale: Any, rows: Rows) -> Any:
    """Return all rows, as one array, as a kernel takes them."""
    scaling = Standardisation.of(scale, rows)
    return (rows if scaling is None else scaling.rows(rows)).in_memory()


def check_scale(scale: Any, *, precomputed: bool = False) -> None:
    """Raise a ParameterError for what is neither None nor "unit", and for a scaled kernel matrix."""
    if scale is None:
        return
    check_choice("scale", scale, SCALES)
    if precomputed:
        why = 'divides columns, but with kernel="precomputed" the data are kernel values'
        hint = "Leave it out, or give the rows themselves and the kernel's name."
        raise ParameterError("scale", scale, why, hint)


def about_mean(
    coefficients: Any, weights: Any, row_means: Any, center: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what maps new rows: coefficients, offset and weights of a :class:`KernelProjection`."""
    alpha = arrays.as_float64(coefficients)
    n, k = alpha.shape
    if not center:
        return alpha, np.zeros(k), np.zeros(n)
    if weights is None:
        # Centred coefficients cancel the row means of the new kernel values; what is left is constant.
        alpha, weights = alpha - alpha.mean(axis=0), np.full(n, 1.0 / n)
    return alpha, arrays.as_float64(row_means) @ alpha, arrays.as_float64(weights)


@dataclass(frozen=True, eq=False)
class KernelProjection:
    """The map of kernel PCA: scores are ``k(x, nodes) @ coefficients - offset``.

    Attributes
    ----------
    kernel : Kernel or None
        None where rows hold kernel values already.
    nodes : array or sparse matrix of shape (m, d), or None
        Fitted rows or landmarks; None without a kernel.
    coefficients : ndarray of shape (m, k)
    offset : ndarray of shape (k,)
        What the mean of the fitted rows has; 0 without centring.
    weights : ndarray of shape (m,)
        The mean of the fitted rows in feature space, as a combination of the nodes; 0 without centring.
    precision : float
        Error of a kernel value, relative to the largest, that is allowed.
    centered : bool
        Whether the kernel may take another origin.
    scaling : Standardisation or None
        What new rows go through first; nodes are standardised rows.
    """

    kernel: Kernel | None
    nodes: Any
    coefficients: FloatArray
    offset: FloatArray
    weights: FloatArray
    precision: float
    centered: bool
    scaling: Standardisation | None = None

    def bound(self, nodes: Any) -> Evaluator:
        """Return the kernel on the nodes, wherever they are, as it was when the model was fitted."""
        assert self.kernel is not None
        return self.kernel.bind(nodes, self.precision, centered=self.centered)

    def scores(self, rows: Rows) -> Any:
        """Return the scores of rows, shape (n, k); the kernel matrix is filled tile by tile."""
        xp, like = rows.xp, rows.like
        work = self._block_scores(rows)
        size = BLOCK if arrays.is_numpy(like) else tile_length(like)
        blocks = slices(rows.shape[0], size)
        results = arrays.parallel_map(work, blocks, like=like, part="block of rows")
        scores = results[0] if len(results) == 1 else xp.concat(results, axis=0)
        with np.errstate(over="ignore"):
            scores = arrays.to_dtype(scores - arrays.from_numpy(self.offset, like), rows.dtype)
        return arrays.require_range(scores, "Scores")

    def _block_scores(self, rows: Rows) -> Callable[[slice], Any]:
        """Return the function that maps a slice of new rows to uncentred scores."""
        alpha, scaling = arrays.from_numpy(self.coefficients, rows.like), self.scaling

        def values_of(chunk: slice) -> Any:
            values = rows.block(chunk).values
            return values if scaling is None else scaling.apply(values, rows.dtype)

        if self.kernel is None:
            return lambda chunk: arrays.to_float64(values_of(chunk)) @ alpha
        sparse = issparse(self.nodes)
        fitted = self.nodes if sparse else arrays.moved(self.nodes, rows.like)
        evaluator = self.bound(fitted)
        _, right = evaluator.encode(fitted)
        # Sparse factors are NumPy's, wherever the new rows are.
        factors = self.coefficients if sparse else alpha
        size = 2 * BLOCK if arrays.is_numpy(rows.like) else tile_length(rows.like)

        def work(chunk: slice) -> Any:
            left, _ = evaluator.encode(arrays.alike(values_of(chunk), fitted))
            return arrays.moved(evaluator.times(left, right, factors, size), rows.like)

        return work
