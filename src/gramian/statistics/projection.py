"""How a new row is mapped to scores, and scores are mapped back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.core import arrays
from gramian.core.checks import counted, first_few, slices
from gramian.core.records import FloatArray, IndexArray
from gramian.engine.centered import CenteredRows
from gramian.errors import MissingValuesWarning
from gramian.tables.rows import Rows, row_text

if TYPE_CHECKING:
    from gramian.statistics.normal_model import NormalModel

HOLED = 1 << 20  # entries of rows with missing values that are mapped at a time


@dataclass(frozen=True, eq=False)
class LinearProjection:
    """The affine map of PCA, in both directions.

    Parameters
    ----------
    directions : array of shape (k, d)
        Orthonormal rows.
    center : ndarray of shape (d,)
        Subtracted from every row.
    divisor : ndarray of shape (d,) or None
        What centred columns are divided by.
    deviations : ndarray of shape (k,) or None
        Standard deviations that whitening divides scores by; 0 gives scores of 0.
    rank : int
        Scores beyond it are exactly 0.
    incomplete : NormalModel or None
        How rows with missing values are mapped; None raises a DataError for them.
    """

    directions: Any
    center: FloatArray
    divisor: FloatArray | None
    deviations: FloatArray | None
    rank: int
    incomplete: NormalModel | None = None

    def centered(self, rows: Rows) -> CenteredRows:
        """Return new rows as the model centres and scales them."""
        return CenteredRows(rows, self.center, self.divisor, np.zeros(1), 0.0)

    def centered_blocks(self, rows: Rows, *, double: bool = False) -> Iterator[FloatArray]:
        """Yield a few of these rows at a time, in NumPy; ``double`` computes in float64."""
        view = self.centered(rows).multiplied_in(double=double)
        for some in view.row_slices():
            yield arrays.as_float64(view.block(some, slice(None)))

    def scores(self, rows: Rows, errors: FloatArray | None = None) -> Any:
        """Return the scores of rows, shape (n, k), and write their standard errors into ``errors``.

        Raises
        ------
        DataError
            For NaN where rows with missing values are not mapped, for infinity, and where a score is beyond
            the range of the rows' dtype.
        """
        view = self.centered(rows)
        # One memory layout, so that a model read from a file gives the same bits.
        W = np.ascontiguousarray(arrays.to_numpy(self.directions).T, dtype=view.arithmetic)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = arrays.to_dtype(view.times(arrays.from_numpy(W, rows.like)), rows.dtype)
            finite = bool(rows.xp.isfinite(rows.xp.sum(rows.xp.abs(scores))))
        # A NaN in a row shows in its scores, so one look at them replaces a pass over the data.
        if not finite:
            if self.incomplete is None or rows.skips_zeros:
                rows.require_finite()
            scores = self._with_holes(rows, scores, errors)
        scores[:, self.rank :] = 0
        return self.whitened(scores)

    def _with_holes(self, rows: Rows, scores: Any, errors: FloatArray | None) -> Any:
        """Replace the scores of rows with missing values by those that their observed entries determine."""
        results = np.array(arrays.to_numpy(scores))
        complete = np.ones(len(results), dtype=bool)
        for indices, X in incomplete_rows(rows, np.flatnonzero(~np.isfinite(results).all(axis=1))):
            assert self.incomplete is not None
            complete[indices] = False
            results[indices, : self.rank], spread = self.incomplete.scores(X)
            if errors is not None:
                errors[indices, : self.rank] = spread
        arrays.require_range(results[complete], "Scores")  # or only their sum is beyond the range
        warn_of_undetermined(rows, np.flatnonzero(np.isnan(results[:, : max(1, self.rank)]).any(axis=1)))
        return arrays.from_numpy(results, scores)

    def whitened(self, scores: Any) -> Any:
        """Return scores divided by their standard deviations, where whitening is asked for."""
        return scores if self.deviations is None else divided(scores, self.deviations)

    def back(self, scores: Any) -> Any:
        """Return ``center + divisor * (scores . directions)``, shape (n, d).

        Raises
        ------
        DataError
            Where a row is beyond the range of the scores' dtype.
        """
        dtype = arrays.numpy_dtype(scores)

        def like(values: Any) -> Any:
            return arrays.from_numpy(np.ascontiguousarray(values, dtype=dtype), scores)

        with np.errstate(over="ignore", invalid="ignore"):
            if self.deviations is not None:
                scores = multiplied(scores, self.deviations)
            rows = scores @ like(arrays.to_numpy(self.directions))
            if self.divisor is not None:
                rows = rows * like(self.divisor)[None, :]
            rows = rows + like(self.center)[None, :]
        return arrays.require_range(rows, "Rows of these scores")


def incomplete_rows(rows: Rows, indices: IndexArray | None = None) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Yield those of some rows, or of all, that have missing values, block by block, with their numbers.

    Raises
    ------
    DataError
        If one of these rows, with missing values or not, has infinity.
    """
    if indices is None:
        holes = rows.holes()
        indices = np.array(sorted(holes.by_row if holes else ()), dtype=np.intp)
    for batch in slices(len(indices), max(1, HOLED // rows.shape[1])):
        X = arrays.to_numpy(arrays.dense(rows.at(indices[batch])))
        if np.isinf(X).any():
            rows.require_finite(holes=True)
        with_holes = np.isnan(X).any(axis=1)
        if with_holes.all():  # as those of genotypes, which need no copy
            yield indices[batch], X
        elif with_holes.any():
            yield indices[batch][with_holes], X[with_holes]


def warn_of_undetermined(rows: Rows, indices: IndexArray) -> None:
    """Warn of rows whose observed entries determine no scores."""
    if not len(indices):
        return
    names = first_few(indices.tolist(), lambda row: row_text(rows, row))
    MissingValuesWarning(
        f"{counted(len(indices), 'row has', 'rows have')} too few observed entries to determine scores, "
        f"which are NaN: {names}. Leave such rows out, or measure more of their columns."
    ).warn()


# ------------------------------------------------------- scores of variance one


def inverse_deviations(deviations: FloatArray) -> FloatArray:
    """Return ``1 / deviations``, and 0 where a deviation is 0."""
    some = deviations > 0
    return np.where(some, 1.0 / np.where(some, deviations, 1.0), 0.0)


def divided(scores: Any, deviations: FloatArray) -> Any:
    """Return scores divided by their standard deviations; a deviation of 0 gives 0.

    Parameters
    ----------
    scores : array of shape (n, k)
    deviations : ndarray of shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> divided(np.array([[4.0, 1e-9]]), np.array([2.0, 0.0]))
    array([[2., 0.]])
    """
    factors = inverse_deviations(deviations).astype(arrays.numpy_dtype(scores))
    return scores * arrays.from_numpy(factors, scores)[None, :]


def multiplied(scores: Any, deviations: FloatArray) -> Any:
    """Undo :func:`divided`, where the deviation is not 0."""
    return scores * arrays.from_numpy(deviations.astype(arrays.numpy_dtype(scores)), scores)[None, :]
