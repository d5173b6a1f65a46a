"""Polynomial equations that the rows satisfy, with their residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.checks import check_integer, check_share, counted, listed
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray, IntArray, Members
from gramian.errors import DataError, ParameterError
from gramian.kernels.feature_maps import count_monomials, monomial_name
from gramian.select.polynomials import Frame, frame_of, points_of, term_order
from gramian.select.relation_search import CAP, Refined, columns, search
from gramian.tables import table
from gramian.tables.as_rows import as_rows
from gramian.tables.rows import Rows

MOST_MONOMIALS = 500
ROWS_PER_MONOMIAL = 2


@dataclass(frozen=True, eq=False)
class Relation:
    """A polynomial equation that the rows satisfy.

    Attributes
    ----------
    equation : str
        Such as ``x^2 + y^2 - 6 x - 4 y + 10.75 = 0``, rounded to the digits that the data support.
    terms : tuple of str
        The monomials in words, the constant as ``"1"``.
    powers : ndarray of shape (n_terms, n_features)
        Their exponents.
    coefficients : ndarray of shape (n_terms,)
        Not rounded. The first printed coefficient is 1, or an integer where that makes all of them integers.
    errors : ndarray of shape (n_terms,)
        Standard errors of the coefficients, with the first printed coefficient fixed.
    residual : float
        In data units: root mean square of the left-hand side over that of its gradient, to first order the
        distance of the rows from the solution set (Sampson). With columns of different units the column of
        the steepest dependence dominates.
    held_out : float
        Residual by five-fold cross-validation.
    noise_level : float
        The residual with every column in units of its standard deviation (a constant column in units of its
        value), at least the rounding of the numbers.
    limit : float
        The largest noise level at which this relation would have been accepted.
    origin, unit : ndarray of shape (n_features,)
        The equation is in ``(x - origin) / unit``: 0 and 1, except for columns far from 0 or of extreme size.
    feature_names : tuple of str
    """

    equation: str
    terms: tuple[str, ...]
    powers: IntArray
    coefficients: FloatArray
    errors: FloatArray
    residual: float
    held_out: float
    noise_level: float
    limit: float
    origin: FloatArray
    unit: FloatArray
    feature_names: tuple[str, ...]
    _named: bool = field(default=False, repr=False)

    def __call__(self, X: Any) -> Any:
        """Return the left-hand side for every row, shape (n_samples,), float64: 0 where the equation holds.

        The result is lazy for Dask's collections.

        Raises
        ------
        DataError
            If the number or the names of the columns differ, or X is not a table of finite numbers.
        """
        rows = as_rows(X, expected=table.Expected())
        features = rows.shape[1] if rows.feature_names is None or not self._named else rows.feature_names
        if features not in (len(self.feature_names), self.feature_names):
            has = listed(features) if isinstance(features, tuple) else f"{features} columns"
            raise DataError(
                f"X has {has}, but the relation is between {len(self.feature_names)} columns: "
                f"{listed(self.feature_names)}.",
                "Give these columns in this order.",
            )

        def left(block: Rows) -> FloatArray:
            V = (_dense(block) - self.origin) / self.unit
            return np.asarray(columns(V, self.powers) @ self.coefficients)[:, None]

        return rows.mapped(left, 1, np.float64)[:, 0]

    def __str__(self) -> str:
        return self.equation

    def __repr__(self) -> str:
        return f"<Relation {self.equation}>"


@dataclass(frozen=True, eq=False, repr=False)
class Relations(Tabulated, Members[Relation]):
    """All relations, simplest first; prints as a table.

    Attributes
    ----------
    relations : tuple of Relation
        The equations found.
    degree : int
        Largest degree of the polynomials that were searched.
    n_samples, n_features, n_monomials : int
        Of the data.
    nearest : float
        Noise level of the nearest polynomial that was not accepted; infinite where there is none.
    limit : float
        The largest noise level that would have been accepted.
    reason : str
        Why the nearest polynomial was not accepted although it is below the limit; otherwise empty.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> t = np.linspace(0, 6, 100)
    >>> relations = gramian.relations(np.column_stack([np.cos(t), np.sin(t)]), degree=2)
    >>> len(relations), str(relations[0])
    (1, 'x^2 + y^2 - 1 = 0')
    """

    relations: tuple[Relation, ...]
    degree: int
    n_samples: int
    n_features: int
    n_monomials: int
    nearest: float
    limit: float
    reason: str

    def _notebook(self) -> Iterator[str | Grid]:
        size = f"{self.n_samples:,} distinct rows x {counted(self.n_features, 'column')}"
        where = f"up to degree {self.degree} ({self.n_monomials:,} monomials) in {size}"
        if self.relations:
            yield f"{counted(len(self), 'relation')} {where}:"
            rows = [(r.equation, r.residual, r.held_out, r.noise_level) for r in self]
            heads = "relation", "residual", "held out", "noise"
            yield Grid(heads, rows, ("", ".2g", ".2g", ".1e"), most=len(rows))
            yield "Residuals are distances in data units; noise is relative to the spread of each column."
        else:
            yield f"No relation {where}."
        yield self._rest()

    def _rest(self) -> str:
        if not np.isfinite(self.nearest):
            return "There is no other polynomial."
        other = "other " if self.relations else ""
        nearest = f"The nearest {other}polynomial has a noise level of {self.nearest:.2g}"
        if self.reason:
            return f"{nearest}, but {self.reason}."
        return f"{nearest}; the limit is {self.limit:.2g}."


def relations(X: Any, degree: int = 2, *, tol: float | None = None) -> Relations:
    """Find the polynomial equations between the columns that all rows satisfy.

    Equations are null directions of the uncentred second moment of all monomials up to ``degree``. They are
    computed by a singular value decomposition of the monomials in shifted and scaled coordinates, which keeps
    digits that the moment matrix loses. They are written in the units of the columns, with as few terms as
    the data allow. Consequences of simpler relations are left out: with ``x + y = 1`` not ``x^2 + x y = x``.

    Parameters
    ----------
    X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
        The same kinds of data as for estimators. Columns without names are called x, y, z, or x1, x2, ...
        when there are more than three. Repeated rows count once.
    degree : int
        Largest degree of the monomials; C(n_features + degree, degree) of them, at most 500.
    tol : float in (0, 1), optional
        The largest accepted noise level, in the sample and held out: residuals with every column in units of
        its standard deviation (ddof 0). None decides by the data: the noise is at most 5 % of the spread,
        all other polynomials are at least 4 times as far from vanishing (30 times, where a clearer equation
        is known), held-out rows agree, and shuffled columns are more than twice as far.

    Returns
    -------
    Relations
        A sequence of :class:`Relation`; empty where there is no equation.

    Raises
    ------
    DataError
        For fewer than two distinct rows per monomial, and for anything but a table of finite numbers.
    ParameterError
        For a degree or a tolerance outside its range, and for more than 500 monomials.
    MemoryLimitError
        For more rows than fit into memory.

    Notes
    -----
    Coefficients minimise the squared distance of the rows to first order, under noise of the same relative
    size in all columns, so they are nearly free of the bias that noise has on squares. float32 input has a
    rounding noise of 6e-8 of its size, a lower bound of the noise level.

    References
    ----------
    D. Heldt, M. Kreuzer, S. Pokutta, H. Poulisse (2009), Approximate computation of zero-dimensional
    polynomial ideals, Journal of Symbolic Computation 44. G. Taubin (1991), Estimation of planar curves,
    surfaces and nonplanar space curves defined by implicit equations, IEEE Transactions on Pattern Analysis
    and Machine Intelligence 13.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> t = np.linspace(0, 6, 100)
    >>> X = np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])
    >>> circle = gramian.relations(X)
    >>> circle[0].equation
    'x^2 + y^2 - 6 x - 4 y + 10.75 = 0'
    >>> bool(abs(circle[0](X)).max() < 1e-12)
    True
    """
    degree = check_integer("degree", degree)
    rows = as_rows(X, weigh=False, estimator="relations")
    d = rows.shape[1]
    if tol is not None:
        advice = (
            "It is the largest accepted residual, relative to the standard deviation of each column. "
            f"By default the data decide, and at most {CAP:g} is accepted."
        )
        tol = check_share("tol", tol, advice)
    count = count_monomials(d, degree)
    if count > MOST_MONOMIALS:
        why = f"is too high: {d:,} columns have {count:,} monomials up to it, more than {MOST_MONOMIALS}."
        hint = "Choose fewer columns or a lower degree, or reduce the columns by PCA first."
        raise ParameterError("degree", degree, why, hint)
    # np.unique sorts them; the order of the rows is of no consequence to the result.
    points = points_of(np.unique(_dense(rows), axis=0))
    n = len(points.values)
    if n < ROWS_PER_MONOMIAL * count:
        what = "row" if n == rows.shape[0] else "distinct row"
        raise DataError(
            f"{counted(n, what)} and {count:,} monomials "
            f"up to degree {degree} of {counted(d, 'column')}: polynomials vanish on so few rows by chance.",
            f"Give at least {ROWS_PER_MONOMIAL * count:,} distinct rows (two per monomial), fewer columns or "
            "a lower degree.",
        )
    frame = frame_of(points, degree, float(np.finfo(rows.dtype).eps))
    result = search(points, frame, degree, tol)
    names = _names(rows)
    results = [_relation(r, limit, frame, names, rows) for r, limit in result.relations]
    results.sort(key=lambda r: (int(r.powers.sum(axis=1).max()), len(r.terms), *(-r.powers[::-1]).ravel()))
    reason = result.reason if result.nearest <= result.limit else ""
    return Relations(tuple(results), degree, n, d, count, result.nearest, result.limit, reason)


def _relation(refined: Refined, limit: float, frame: Frame, names: tuple[str, ...], rows: Rows) -> Relation:
    """Write a relation in the units of the data."""
    powers = refined.powers
    factors = np.prod((frame.unit / frame.spread) ** powers, axis=1)
    factors = factors / factors[refined.lead]
    values, errors = refined.vector * factors, refined.errors * factors
    whole = whole_factor(values, errors)
    rounded = justified(powers, whole * values, refined.triangle / (factors * whole), refined.n_rows)
    used = powers.any(axis=0)
    written = variables(names, frame.origin, frame.unit)
    text, terms = equation(powers, rounded, written), tuple(monomial_name(p, written) for p in powers)
    noise = max(refined.distance, float(frame.rounding[used].min(initial=np.inf)))
    numbers = powers, whole * values, whole * errors, *refined.lengths, noise, limit
    named = rows.feature_names is not None
    return Relation(text, terms, *numbers, frame.origin, frame.unit, names, named)


def _dense(rows: Rows) -> FloatArray:
    return as_float64(rows.block(slice(None)).dense)


def _names(rows: Rows) -> tuple[str, ...]:
    """Return the names of the columns, or those that stand for them."""
    d = rows.shape[1]
    if rows.feature_names is not None:
        return rows.feature_names
    return ("x", "y", "z")[:d] if d <= 3 else tuple(f"x{k + 1}" for k in range(d))


# ---- Equations as people write them: as many digits as the data justify, whole numbers where they are whole

MOST_DIGITS = 16
# Coefficients are never shown to more than about ten digits without need.
SHOWN = 5e-11
# What rounding the coefficients for print may add to a residual, and the least residual that is looked at.
ADDED, FINEST = 0.3, 1e-9
LARGEST_FACTOR, LARGEST_WHOLE = 12, 1000


def variables(names: Sequence[str], origin: FloatArray, unit: FloatArray) -> list[str]:
    """Return how the variables are written: ``x``, ``(x - 1000000)``, ``(x / 1e+150)``.

    A name that could be read as part of the formula stands in backquotes.

    Examples
    --------
    >>> variables(["x", "body mass"], np.array([1e6, 0]), np.array([1.0, 1.0]))
    ['(x - 1000000)', '`body mass`']
    """
    written = []
    for name, start, step in zip(names, origin.tolist(), unit.tolist(), strict=True):
        plain = name if name.isidentifier() else f"`{name}`"
        if start:
            plain = f"({plain} {'-' if start > 0 else '+'} {_number(abs(start))})"
        written.append(plain if step == 1 else f"({plain} / {step:g})")
    return written


def justified(powers: IntArray, values: FloatArray, triangle: FloatArray, n: int) -> FloatArray:
    """Round coefficients to the fewest digits that the data leave open.

    One after the other, terms of high degree first, is rounded to the shortest number within two standard
    errors, and the others are fitted again with it held: rounding each by itself would spoil the equation
    where large terms cancel.

    Parameters
    ----------
    powers : ndarray of shape (s, d)
    values : ndarray of shape (s,)
        The first in order is kept as it is.
    triangle : ndarray of shape (s, s)
        ``|triangle @ values|`` is the root mean square of the residuals.
    n : int
        Number of rows.
    """
    best = float(np.linalg.norm(triangle @ values))
    doubts, order = 2.0, term_order(powers)
    for _ in range(40):
        rounded = values.copy()
        for done in range(1, len(order)):
            index = order[done]
            error = best / np.sqrt(n) * _follow(rounded, values, order[:done], order[done:], triangle)
            least = min(doubts, 1) * SHOWN * abs(rounded[index])
            rounded[index] = _shortest(float(rounded[index]), max(doubts * error, least))
        if np.linalg.norm(triangle @ (rounded - values)) <= ADDED * max(best, FINEST):
            return rounded
        doubts /= 2
    return values


def _follow(
    rounded: FloatArray, values: FloatArray, held: IntArray, free: IntArray, triangle: FloatArray
) -> float:
    """Move the free coefficients, in place, to where the held ones being rounded matters least.

    From the fit and not by a new one: least squares with one coefficient held would have the bias that the
    fit is free of.

    Returns
    -------
    float
        Standard error of the first free coefficient where the residual is 1 and there is one row.
    """
    sizes = np.linalg.norm(triangle[:, free], axis=0)
    sizes[sizes == 0] = 1.0
    inverse = np.linalg.pinv(triangle[:, free] / sizes)
    moved = triangle[:, held] @ (rounded[held] - values[held])
    rounded[free] = values[free] - (inverse @ moved) / sizes
    return float(np.linalg.norm(inverse[0]) / sizes[0])


def whole_factor(values: FloatArray, errors: FloatArray) -> int:
    """Return the small factor that makes all coefficients whole numbers, where they certainly are; else 1.

    Examples
    --------
    >>> whole_factor(np.array([1, 7 / 3, -2 / 3]), np.zeros(3))
    3
    >>> whole_factor(np.array([1, -6, 10.75]), np.zeros(3))
    1
    """
    doubt = np.maximum(2 * errors, SHOWN * np.abs(values))
    if np.all(np.abs(values * 1000 - np.round(values * 1000)) <= 1000 * doubt):
        return 1
    for factor in range(2, LARGEST_FACTOR + 1):
        nearest = np.round(factor * values)
        if (
            np.all(np.abs(factor * values - nearest) <= factor * doubt)
            and np.all(factor * doubt < 1e-3)
            and np.all((nearest != 0) & (np.abs(nearest) <= LARGEST_WHOLE))
        ):
            return factor
    return 1


def equation(powers: IntArray, values: FloatArray, names: Sequence[str]) -> str:
    """Return the equation, terms of high degree first.

    Examples
    --------
    >>> equation(np.array([[0, 0], [2, 0], [0, 2]]), np.array([-1.0, 1.0, 2.5]), ["x", "y"])
    'x^2 + 2.5 y^2 - 1 = 0'
    """
    terms: list[str] = []
    for index in term_order(powers):
        value, power = float(values[index]), powers[index].tolist()
        number, name = _number(abs(value)), monomial_name(power, names)
        term = number if not any(power) else name if number == "1" else f"{number} {name}"
        sign = "-" if value < 0 else "+"
        terms.append(f"{sign} {term}" if terms else term if value > 0 else f"-{term}")
    return f"{' '.join(terms)} = 0"


def _shortest(value: float, doubt: float) -> float:
    """Return the number of fewest digits within ``doubt``."""
    for digits in range(MOST_DIGITS):
        short = float(f"{value:.{digits}e}")
        if abs(short - value) <= doubt:
            return short
    return value


def _number(value: float) -> str:
    if 1e-5 <= value < 1e16:
        return np.format_float_positional(value, trim="-")
    return f"{value!r}".replace(".0e", "e").removesuffix(".0")
