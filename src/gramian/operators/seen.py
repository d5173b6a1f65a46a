"""What is kept of rows that arrive in batches: moments, merged exactly, or a sketch beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from gramian.arrays import as_float64, from_numpy, numpy_dtype, power_of_two
from gramian.operators.centered import CenteredRows
from gramian.operators.frequent_directions import Sketch
from gramian.operators.moments import ALONE, center_rows, from_moments, merge_moments, scatter
from gramian.records import FloatArray, Moments
from gramian.rows import Rows
from gramian.rows.rows import SeenRows

# Between two to these powers, sums of squares and their squares stay in the range of float64.
SAFE = 200
WEIGHED = 4  # bounds the roundings of sums of weights and of their squares by a batch
MERGED = 25  # bounds the roundings of an entry when two batches become one
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Seen:
    """All that is remembered of a stream of rows.

    A batch has weight 1; that of everything before it is multiplied by the forgetting factor with each batch.

    Attributes
    ----------
    rows, batches : int
        How many there were.
    centered : bool
        Whether column means are subtracted.
    moments : Moments
        Of ``X / 2**exponent``, each row with its weight; ``squares`` has shape (d, d), beside a sketch (d,).
    squared_weights : float
        Sum of the squares of the rows' weights.
    exponent : int
    kind : array of shape (0, 0)
        Of the kind and dtype that results are returned in.
    sketch : Sketch or None
        Of the centred ``X / 2**exponent``.
    seconds : float
        What the batches took.
    blur : float
        Bound on what means that were not found for merging change sums of squares by, relatively.
    """

    rows: int
    batches: int
    centered: bool
    moments: Moments
    squared_weights: float
    exponent: int
    kind: Any
    sketch: Sketch | None = None
    seconds: float = 0.0
    blur: float = 0.0

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.moments.mean)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns by the mean, by both sides of the squares and by the sketch."""
        squares = self.moments.squares.shape
        wide = self.columns if self.sketch is None else self.sketch.columns
        return self.columns, squares[0], squares[-1], wide

    @property
    def effective(self) -> float:
        """Rows of equal weight that tell as much: ``(sum w)^2 / sum w^2``, their number if none is forgotten.

        References
        ----------
        Kish (1965), Survey sampling.
        """
        return float(self.moments.count**2 / self.squared_weights)

    def table(self) -> SeenRows:
        """Return the table that was seen, without its numbers."""
        dtype = numpy_dtype(self.kind)
        return SeenRows(dtype=dtype, count=self.rows, columns=self.columns, kind=self.kind)

    def column_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of the columns, shape (d,); divided by the sum of the weights."""
        found = self.moments
        squares = np.diag(found.squares) if found.squares.ndim == 2 else found.squares
        return np.ldexp(found.mean, self.exponent), np.ldexp(squares / found.count, 2 * self.exponent)

    def degrees_lost(self, ddof: int) -> float:
        """Return what the sum of the weights is reduced by to divide sums of squares, as in ``numpy.cov``."""
        return ddof * self.squared_weights / self.moments.count

    def view(self, scale: Any, ddof: float) -> CenteredRows:
        """Return the centred rows, of which there is all but their numbers."""
        rows, center = self.table(), self.centered
        return from_moments(rows, self.moments, self.exponent, center=center, scale=scale, ddof=ddof)

    def rounding(self, view: CenteredRows, degrees: float) -> float:
        """Bound on what float64 has changed eigenvalues of the scatter matrix by, and ``degrees``."""
        terms = float(self.rows + self.columns + MERGED * self.batches)
        # Of few rows that weigh anything, the sum of the weights nearly cancels what is taken off it.
        terms += WEIGHED * (1 + self.batches) * (self.moments.count / degrees - 1.0)
        # Batches of float32 were centred and multiplied in float64.
        return (terms * EPS + self.blur) * (view.total + view.noise) + replace(
            view, double=True
        ).forming_error


def empty_like(array: Any) -> Any:
    """Return an array of shape (0, 0) of the same kind and dtype, which keeps no other one alive."""
    return from_numpy(np.empty((0, 0), dtype=numpy_dtype(array)), array)


def blur_of(found: Moments) -> float:
    """Bound ``Seen.blur`` for moments of rows that nothing was to be merged with."""
    squares = np.diag(found.squares)
    varies = squares > 0
    off = found.count * EPS * np.abs(found.mean[varies]) / np.sqrt(squares[varies] / found.count)
    # A larger error of a mean was measured and taken off.
    return 2.0 * min(float(off.max(initial=0.0)), ALONE)


def seen_of(rows: Rows, *, center: bool, among: int = 1) -> Seen:
    """Return mean and scatter matrix of one batch, in one pass; it may be merged with so many rows."""
    exponent, found = scatter(rows, center=center, double=True, among=among)
    n = rows.shape[0]
    return Seen(n, 1, center, found, float(n), exponent, empty_like(rows.home))


def merged(before: Seen, batch: Seen, forgetting: float) -> Seen:
    """Return what is known of all rows, from what was known and a batch.

    Means and scatter matrices are merged by Chan, Golub and LeVeque (1979), see
    :func:`gramian.operators.moments.merge_moments`.
    """
    faded = before.moments
    if forgetting != 1.0:
        faded = replace(faded, count=faded.count * forgetting, squares=faded.squares * forgetting)
    before = replace(before, moments=faded)
    exponent = _common_exponent(before, batch)
    parts = [_moments_at(seen, exponent) for seen in (before, batch)]
    return replace(
        batch,
        rows=before.rows + batch.rows,
        batches=before.batches + 1,
        moments=merge_moments(*parts, faded=before.moments.count != before.rows),
        squared_weights=before.squared_weights * forgetting**2 + batch.squared_weights,
        exponent=exponent,
        kind=max(batch.kind, before.kind, key=lambda kind: numpy_dtype(kind).itemsize),
        blur=before.blur,
    )


def sketched(before: Seen | None, rows: Rows, *, center: bool, size: int, forgetting: float) -> Seen:
    """Return moments of the columns and the sketch of all rows, from what was known and a batch.

    The scatter matrix of the whole is that of the parts, and of one row more for the distance of their means:
    with that row the sketch is of the centred data, although the mean is known in the end only.
    """
    among = 1 if before is None else before.rows
    view = center_rows(rows, center=center, scale=None, ddof=0, among=among)
    n, d = rows.shape
    rest = np.zeros(d) if view.rest is None else view.rest
    found = Moments(n, view.mean, view.column_squares, rest)
    batch = Seen(n, 1, center, found, float(n), view.exponent, empty_like(rows.home))
    if before is None:
        whole, sketch, correction = batch, Sketch(size, np.empty((0, d))), []
    else:
        assert before.sketch is not None
        whole = merged(before, batch, forgetting)
        shift = before.exponent - whole.exponent
        sketch = before.sketch.scaled(math.sqrt(forgetting), shift)
        correction = [_correction(before, batch, whole, forgetting)] if center else []
    # One row less its own mean is nothing.
    if center and n == 1:
        return replace(whole, sketch=sketch.with_rows(correction))
    shift = view.exponent - whole.exponent
    if not rows.is_spread:
        return replace(whole, sketch=sketch.with_rows(chain(correction, _blocks(view, shift))))
    empty = Sketch(size, np.empty((0, d)))
    of_parts = view.over_parts(lambda part: empty.with_rows(_blocks(part, shift)), Sketch.joined)
    return replace(whole, sketch=sketch.with_rows(correction).joined(of_parts))


def _blocks(view: CenteredRows, shift: int) -> Iterator[FloatArray]:
    exact = replace(view, double=True)
    for part in exact.row_slices():
        block = as_float64(exact.block(part, slice(None)))
        yield np.ldexp(block, shift) if shift else block


def _correction(before: Seen, batch: Seen, whole: Seen, forgetting: float) -> FloatArray:
    """The row whose square is the scatter between two means, times the root of their common weight."""
    first, second = (_moments_at(seen, whole.exponent) for seen in (before, batch))
    gap = (second.mean - first.mean) + (second.rest - first.rest)
    weight = first.count * forgetting
    return np.asarray(math.sqrt(weight * second.count / (weight + second.count)) * gap)[None, :]


def _moments_at(seen: Seen, exponent: int) -> Moments:
    shift, found = seen.exponent - exponent, seen.moments
    if shift == 0:
        return found
    with np.errstate(under="ignore"):
        mean, rest = np.ldexp(found.mean, shift), np.ldexp(found.rest, shift)
        return Moments(found.count, mean, np.ldexp(found.squares, 2 * shift), rest)


def _common_exponent(*parts: Seen) -> int:
    """Power of two by which data are divided for their squares to stay in range; 0 where that will do."""
    coarse = max(seen.exponent for seen in parts)
    means = [np.ldexp(seen.moments.mean, seen.exponent - coarse) for seen in parts]
    gap = float(np.abs(means[1] - means[0]).max())
    totals = [(seen.exponent, _total(seen.moments.squares)) for seen in parts]
    sizes = [e + power_of_two(math.sqrt(total)) for e, total in totals if total > 0]
    sizes += [coarse + power_of_two(gap)] if gap > 0 else []
    size = max(sizes, default=0)
    if abs(size) < SAFE:
        return 0
    # A small spread is not blown up so far that a large mean overflows.
    return max(size, coarse + power_of_two(max(float(np.abs(mean).max()) for mean in means)) - 1000)


def _total(squares: FloatArray) -> float:
    return float(np.trace(squares) if squares.ndim == 2 else squares.sum())
