"""Rotated components of a PCA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, check_integer, counted, listed, percent
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import AnyArray, FloatArray, ModelKind
from gramian.engine.solving import fixed_signs
from gramian.errors import ParameterError
from gramian.statistics.candidates import as_frame
from gramian.statistics.components import column_names, kind_of

SWEEPS, ENOUGH = 200, 1e-14
GAIN = 1e-10  # of the criterion in a sweep, relatively, at which sweeps end
POWER = 4  # of promax's target, as in R


def varimax(loadings: FloatArray) -> FloatArray:
    """Return the orthogonal matrix R that maximises the varimax criterion of ``loadings @ R``.

    Rows are scaled to length 1 before (Kaiser's normalisation), so that each column counts alike.

    Parameters
    ----------
    loadings : ndarray of shape (d, k)

    Returns
    -------
    ndarray of shape (k, k)

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis, equation 5 and section 3.

    Examples
    --------
    >>> A = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> np.abs(A @ varimax(A)).round(4).tolist()
    [[1.4142, 0.0], [1.4142, 0.0], [0.0, 1.4142]]
    """
    lengths = np.linalg.norm(loadings, axis=1)
    A = loadings / np.where(lengths > 0, lengths, 1.0)[:, None]
    d, k = A.shape
    R = np.eye(k)
    criterion = float(np.sum(np.var(A**2, axis=0)))
    # Each plane has a solution in closed form; sweeps over all planes converge quadratically, and slowly
    # where no rotation is much better than others.
    for _ in range(SWEEPS):
        before = criterion
        for i in range(k - 1):
            for j in range(i + 1, k):
                x, y = A[:, i], A[:, j]
                u, v = x * x - y * y, 2.0 * x * y
                above = 2.0 * (u @ v - u.sum() * v.sum() / d)
                below = u @ u - v @ v - (u.sum() ** 2 - v.sum() ** 2) / d
                angle = 0.25 * np.arctan2(above, below)
                # At a minimum as flat as rounding nothing is gained.
                if np.hypot(above, below) <= ENOUGH * d or abs(angle) <= ENOUGH:
                    continue
                turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                A[:, [i, j]], R[:, [i, j]] = A[:, [i, j]] @ turn, R[:, [i, j]] @ turn
        criterion = float(np.sum(np.var(A**2, axis=0)))
        if criterion - before <= GAIN * criterion:
            break
    return R


def promax(loadings: FloatArray) -> FloatArray:
    """Return the oblique matrix R of promax, after varimax: ``loadings @ R`` has simple structure.

    The correlations of the rotated components are ``inv(R.T @ R)``, with ones on its diagonal.

    Parameters
    ----------
    loadings : ndarray of shape (d, k)

    References
    ----------
    Hendrickson and White (1964), Promax: a quick method for rotation to oblique simple structure.
    """
    R = varimax(loadings)
    L = loadings @ R
    U = np.linalg.lstsq(L, L * np.abs(L) ** (POWER - 1), rcond=None)[0]
    # Unscaled columns of U may differ by orders of magnitude.
    U = U / np.linalg.norm(U, axis=0)
    U = U * np.sqrt(np.diag(np.linalg.inv(U.T @ U)))
    return np.asarray(R @ U)


METHODS = {"varimax": varimax, "promax": promax}


SHOWN = 20
LARGE = 0.5  # of the largest loading, from which a column goes with a component
LOST = (
    "Lost by rotation: components are not ordered by the variance that each can explain at most, and they "
    "depend on how many are rotated. Scores of promax correlate, so that variances overlap. The certificate "
    "is about the components before the rotation: it holds for their common subspace."
)


@dataclass(frozen=True, eq=False, repr=False)
class Rotation(Tabulated):
    """Rotated components; print it.

    Attributes
    ----------
    method : {"varimax", "promax"}
        The rotation.
    columns : list of d str
        Names of the columns.
    loadings : ndarray of shape (d, k)
        Rotated ``component * sqrt(variance)``; under unit scale and varimax the correlations of columns with
        the rotated scores. Sorted by variance, and the largest entry of each is positive.
    variances : ndarray of shape (k,)
        Sums of squares of the loadings. For varimax they sum to the variance of the components before.
    ratio : ndarray of shape (k,)
        Of these to the total variance of the data.
    rotation_matrix : ndarray of shape (k, k)
        ``loadings`` are ``(component * sqrt(variance)) @ rotation_matrix``; orthogonal for varimax.
    correlations : ndarray of shape (k, k)
        Of ``(scores / sqrt(variance)) @ inv(rotation_matrix).T``, the rotated scores: the identity for
        varimax.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> rotation = gramian.rotate(gramian.PCA(2, scale="unit").fit(X))
    >>> rotation.ratio.round(3), rotation.rotation_matrix.shape
    (array([0.356, 0.198]), (2, 2))
    >>> rotation.columns[abs(rotation.loadings[:, 0]).argmax()]
    'flavanoids'
    """

    method: str
    columns: list[str]
    loadings: FloatArray
    variances: FloatArray
    ratio: FloatArray
    rotation_matrix: FloatArray
    correlations: FloatArray

    @property
    def names(self) -> list[str]:
        """RC1, RC2, ..."""
        return [f"RC{j + 1}" for j in range(len(self.variances))]

    def sentences(self) -> list[str]:
        """Return which columns go together: those whose largest loading is on one rotated component."""
        result, sizes = [], np.abs(self.loadings)
        for j, ratio in enumerate(self.ratio.tolist()):
            columns = np.flatnonzero((sizes.argmax(axis=1) == j) & (sizes[:, j] >= LARGE * sizes[:, j].max()))
            first = columns[np.argsort(-sizes[columns, j], kind="stable")]
            up = self.loadings[first, j] > 0
            rising, falling = ([self.columns[i] for i in some] for some in (first[up], first[~up]))
            if len(first) > 1:
                others = (
                    f", where {listed(falling)} fall{'s' * (len(falling) == 1)}" if falling else " together"
                )
                sentence = f"{listed(rising)} rise{'s' * (len(rising) == 1)}{others}"
                result.append(f"{sentence} ({self.names[j]}, {percent(ratio)} of the variance).")
        return result or ["No columns go together: each has a rotated component of its own."]

    def table(self) -> Any:
        """Return the loadings as a frame with a row for each column, as :meth:`gramian.PCA.table` does."""
        columns: dict[str, AnyArray] = {"name": np.array(self.columns, dtype=object)}
        return as_frame(columns | dict(zip(self.names, self.loadings.T, strict=True)))

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"{counted(len(self.variances), 'component')} rotated by {self.method}."
        order = np.argsort(-np.abs(self.loadings).max(axis=1), kind="stable")[:SHOWN]
        rows = [(self.columns[i], *self.loadings[i].round(3)) for i in np.sort(order)]
        sums = ("variance", *self.variances), ("share of the total", *self.ratio)
        yield Grid(("", *self.names), [*sums, *rows], ["", *[".4g"] * len(self.names)])
        if len(self.columns) > SHOWN:
            yield f"... the {SHOWN} of {len(self.columns):,} columns with the largest loadings"
        yield LOST


def rotate(model: Any, method: str = "varimax", *, n_components: int | None = None) -> Rotation:
    """Rotate components so that each column has a large loading on few of them.

    Parameters
    ----------
    model : fitted PCA
        The model whose components are rotated.
    method : {"varimax", "promax"}, default="varimax"
        Orthogonal rotation, or an oblique one with correlated components (power 4).
    n_components : int, optional
        Rotate the first ones only; by default all components with variance. Another number gives other
        components, so choose it first.

    Returns
    -------
    Rotation
        Loadings, variances and the rotation; prints as a table.

    Raises
    ------
    ParameterError
        For a model that is no PCA, another method, or fewer than two components.

    References
    ----------
    Kaiser (1958), The varimax criterion for analytic rotation in factor analysis. Hendrickson and White
    (1964), Promax. Jolliffe (2002), Principal Component Analysis, section 11.1, for what is lost.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> rng = np.random.default_rng(0)
    >>> causes = rng.normal(size=(200, 2))
    >>> X = causes[:, [0, 0, 0, 1, 1]] + 0.1 * rng.normal(size=(200, 5))
    >>> rotation = gramian.rotate(gramian.PCA(2, scale="unit").fit(X))
    >>> np.abs(rotation.loadings).round(1).tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    check_is_fitted(model)
    if kind_of(model) is not ModelKind.PCA or not hasattr(model, "_projection"):
        kind = type(model).__name__
        raise ParameterError("model", allowed=f"is a {kind}, but must be a fitted PCA, which has loadings")
    check_choice("method", method, tuple(METHODS))
    rank = int(model.rank_)
    if rank < 2:
        problem = f"has {counted(rank, 'component')} with variance; rotate needs two"
        raise ParameterError("model", allowed=problem)
    k = rank if n_components is None else check_integer("n_components", n_components, 2, rank)
    deviations = np.sqrt(as_float64(model.explained_variance_)[:k])
    A = as_float64(model.components_)[:k].T * deviations
    R = METHODS[method](A)
    L = A @ R
    order = np.argsort(-np.sum(L**2, axis=0), kind="stable")
    signs = fixed_signs(L[:, order])
    L, R = L[:, order] * signs, R[:, order] * signs
    variances = np.asarray(np.sum(L**2, axis=0))
    ratio = variances / (float(model.total_variance_) or 1.0)
    return Rotation(method, column_names(model), L, variances, ratio, R, np.asarray(np.linalg.inv(R.T @ R)))
