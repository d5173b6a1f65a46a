"""Attributes, warnings and the notebook view that all fitted decompositions share."""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gramian.core import package
from gramian.core.arrays import as_float64, as_pictures, from_numpy, is_numpy
from gramian.core.checks import counted
from gramian.core.notebook import Section
from gramian.core.records import Certificate, Components, DirectionBounds, RealArray
from gramian.engine.certificates import orthogonality_loss
from gramian.engine.solving import Account, Solution
from gramian.errors import CertificateWarning, DataError, RankWarning
from gramian.models import inputs, saving, sklearn
from gramian.statistics.components import Summary, component_names, decomposition_of, shares_of, summary_of
from gramian.tables.rows import Rows

ROUTES = ("plan_", "attempts_")  # words of what was run


class Transformer(saving.ColumnAttributes, sklearn.TransformerMixin, sklearn.BaseEstimator):
    """Base class of transformers from rows to scores, in the kind and dtype of the rows."""

    if TYPE_CHECKING:
        n_components_: int

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the scores: PC1, PC2, ...

        Parameters
        ----------
        input_features : object, ignored
            For pipelines: the names do not depend on those of the columns.

        Returns
        -------
        ndarray of shape (n_components_,), object
            The names.
        """
        check_is_fitted(self)
        return np.array(component_names(self.n_components_), dtype=object)

    @abstractmethod
    def _rows(self, X: Any, **options: Any) -> Rows:
        """Return the input as rows."""

    def _new_rows(self, X: Any, **options: Any) -> Rows:
        """Return rows that have the features of the fitted ones."""
        rows = self._rows(X, expected=inputs.expected_columns(self), **options)
        inputs.check_features(self, X, rows)
        return rows

    def _as_fitted(self, rows: Any) -> RealArray:
        """Return rows of the columns that were fitted, as pictures where those were pictures."""
        shape = getattr(self, "picture_shape_", None)
        result: RealArray = rows if shape is None else as_pictures(rows, shape)
        return result

    def _require_columns(self, rows: Rows, count: int, noun: str) -> None:
        if rows.shape[1] != count:
            raise DataError(f"X has {rows.shape[1]} columns, but inverse_transform takes {count} {noun}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


class Deferring:
    """Computes attributes that an instance does not have when somebody asks for one of them.

    All instances put the routes of a fit into words so. ``hasattr`` asks too, since only the computation
    shows whether there is an answer; ``vars`` does not.
    """

    _following: ClassVar[Collection[str]] = ()  # names of what ``_look`` sets

    def _look(self) -> None:
        """Set these attributes, where that is possible now."""

    if not TYPE_CHECKING:  # to a type checker a class with this method has every attribute

        def __getattr__(self, name: str) -> Any:
            if name in self._following:
                self._look()
            if name in ROUTES and "_account" in vars(self):
                self.plan_, self.attempts_ = self._account.plan, self._account.attempts
            if name in vars(self):
                return vars(self)[name]
            return object.__getattribute__(self, name)  # raises, a property its own error

    def __getstate__(self) -> dict[str, Any]:
        if "_account" in vars(self):
            getattr(self, ROUTES[0])
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        state.pop("_account", None)
        return state

    def _store_account(self, account: Account) -> None:
        """Keep what was run, in place of the words of an earlier fit."""
        for name in ROUTES:
            self.__dict__.pop(name, None)
        self._account = account


class Decomposer(Deferring, Transformer, saving.DecompositionAttributes):
    """Base class of transformers whose fit is made of eigenpairs.

    Subclasses add attributes; the dataclass of an estimator cannot, since its annotations are parameters.
    """

    def summary(self) -> Summary:
        """Return standard deviations, explained variance ratios and their cumulative sums as a table.

        Ratios are NaN for a kernel that is not proven positive semidefinite.

        Returns
        -------
        Summary
            Prints as a table.
        """
        from gramian.statistics.findings import serious_lines

        check_is_fitted(self)
        return replace(summary_of(self), misleads=serious_lines(self))


def warn_of_none(choice: Any) -> None:
    """Warn that a rule for the number of components finds none."""
    if choice.number == 0:
        param = f"n_components={choice.rule!r}"
        sentence = f"{param} finds no component; one is kept. {choice.sentence}"
        RankWarning(sentence).warn()


def store_solution(
    model: Any,
    result: Components,
    solution: Solution,
    rows: Rows,
    *,
    requested: bool,
    matrix: str,
    hidden: str | None = "",
) -> None:
    """Set the attributes for plan, spectrum and certificate, and warn if an error bound does not hold.

    Parameters
    ----------
    model : estimator
    result : Components
    solution : Solution
        Its spectrum in the units of the data.
    rows : Rows
        Of the fit, to whose kind and device all arrays of the model move.
    requested : bool
        Whether a number of components was asked for, so that a lower rank is worth a warning.
    matrix : str
        Whose rank it is, for the warning.
    hidden : str or None
        Warning of components that rounding hides, in place of one of the rank; None if an earlier warning
        said that there are no components.
    """
    model.n_components_, model.rank_ = result.values.size, result.rank
    model.explained_variance_ratio_ = result.ratio
    model._store_account(solution.account)
    model.spectrum_ = replace(solution.spectrum, vectors=None)
    model.certificate_ = solution.certificate
    k, rank = result.values.size, result.rank
    if hidden:
        RankWarning(hidden).warn()
    elif rank == 0 and hidden is not None:
        RankWarning(f"T{matrix[1:]} has rank 0: nothing varies beyond rounding, and every score is 0.").warn()
    elif requested and 0 < rank < k:
        RankWarning(
            f"n_components={k!r} but {matrix} has rank {rank}: the last "
            f"{counted(k - rank, 'component')} {'has' if k - rank == 1 else 'have'} variance 0 and "
            "scores 0."
        ).warn()
    certificate = solution.certificate
    if certificate is not None and not certificate.ok and rank > 0:
        CertificateWarning("; ".join(certificate.reasons)).warn()
    on_device(model, rows.like)


def store_parameters(model: Any, *names: str) -> None:
    """Store parameters that ``transform`` uses, so that ``set_params`` acts at the next fit only."""
    model._fit_parameters = {}
    for name in names:
        value = getattr(model, name)
        model._fit_parameters[name] = value.item() if isinstance(value, np.generic) else value


def parameter_at_fit(model: Any, name: str) -> Any:
    """Return a parameter's value at the time of the fit."""
    return vars(model).get("_fit_parameters", {}).get(name, getattr(model, name))


def on_device(model: Any, like: Any) -> None:
    """Move the arrays of a fit to the kind and device of the fitted rows."""
    if is_numpy(like):
        return
    for name in vars(model).keys() - model.get_params(deep=False).keys():
        value = getattr(model, name)
        if is_numpy(value):
            setattr(model, name, from_numpy(value, like))


def with_orthonormality(
    certificate: Certificate, vectors: Any, directions: DirectionBounds | None
) -> Certificate:
    """Return the certificate with the orthonormality of the vectors that the user holds.

    Parameters
    ----------
    certificate : Certificate
        Of the solver's vectors.
    vectors : array of shape (m, k)
        In the user's precision.
    directions : DirectionBounds or None
        Of the vectors.

    Notes
    -----
    The product costs no more than one of the matrix with the vectors, and k is at most its order.
    """
    if not vectors.shape[1]:
        return replace(certificate, directions=directions)
    loss = orthogonality_loss(vectors) + vectors.shape[0] * float(np.finfo(np.float64).eps)
    return replace(certificate, orthogonality=loss, directions=directions)


class Drawn:
    """Gives a decomposition its figures, of :mod:`gramian.figures`, which a fit does not load."""

    def plot(self, X: Any = None, **options: Any) -> Any:
        """Draw the scores of two components, by :func:`gramian.figures.scores`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Rows to draw. An exact KernelPCA keeps the scores of its training rows; other models need them.
        **options
            As for :func:`gramian.figures.scores`, such as ``hue=y``, ``components=(1, 3)`` or ``ax=ax``.

        Returns
        -------
        matplotlib.axes.Axes
            ``.figure.savefig("scores.pdf")`` writes it.

        Raises
        ------
        MissingExtraError
            Without matplotlib; the message is the command that installs it.
        """
        return package.figures().scores(self, X, **options)


# ---------------------------------------------------------- in notebooks

BARS, TALLEST = 40, 48  # bars of the small scree, and pixels of the first one
BLUE = "#0072B2"


class InNotebooks:
    """Adds retained variance, a small scree plot, plan and certificate to scikit-learn's HTML view."""

    def _repr_html_inner(self) -> str:
        return _with_summary(super()._repr_html_inner(), self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = _with_summary(bundle["text/html"], self)
        return bundle


def _with_summary(parameters: str, model: Any) -> str:
    # Displaying a stream must not start its decomposition.
    facts = summary(model) if "certificate_" in vars(decomposition_of(model)) else ""
    if not facts:
        return parameters
    columns = "display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start"
    return f'<div style="{columns}"><div>{parameters}</div><div style="max-width:48em">{facts}</div></div>'


def summary(model: Any) -> str:
    """Return what misleads, the retained variance, a small scree plot and sections of a fitted model as HTML.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
    """
    from gramian.statistics.findings import serious_lines
    from gramian.statistics.sampling import sampling_note

    model = decomposition_of(model)
    ratios, k = shares_of(model), int(model.n_components_)
    variance = "" if ratios is None else f", {100 * float(np.sum(ratios)):.4g} % of the variance"
    lines = [*map(html.escape, serious_lines(model)), f"<b>{counted(k, 'component')}{variance}</b>"]
    variances = as_float64(model.explained_variance_)[:BARS]
    if variances.size and variances[0] > 0:
        heights = np.maximum(1, TALLEST * variances / variances[0]).round().astype(int).tolist()
        bar = f"display:inline-block;width:7px;margin-right:1px;background:{BLUE};height"
        bars = "".join(f'<span style="{bar}:{h}px" title="PC{j}"></span>' for j, h in enumerate(heights, 1))
        lines.append(f'<div role="img" aria-label="variances of the components">{bars}</div>')
    lines += map(html.escape, filter(None, [sampling_note(model)]))
    records = (model.plan_, model.certificate_)
    lines += [Section(str(record).partition("\n")[0], tuple(record._notebook())).html() for record in records]
    return "".join(f'<div style="margin:0.3em 0">{line}</div>' for line in lines)
