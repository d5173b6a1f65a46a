"""From eigenpairs to components: signs, completion of a basis, the table of variances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.core.arrays import as_float64
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import FloatArray, ModelKind

if TYPE_CHECKING:
    from gramian.statistics.component_rules import ComponentChoice

# Largest deviation of a column over the smallest from which columns may have different units: where their
# names say so, and without names.
UNITS_GAP, RATIO = 1.25, 5.0


def component_names(k: int) -> list[str]:
    """Return PC1, PC2, ..., the names in every table and figure."""
    return [f"PC{j}" for j in range(1, k + 1)]


def kind_of(model: Any) -> ModelKind:
    """Return what a model is; of another library's, by what it has."""
    kind = getattr(model, "model_kind", None)
    if isinstance(kind, ModelKind):
        return kind
    if getattr(model, "components_", None) is not None:
        return ModelKind.PCA
    return ModelKind.OTHER if getattr(model, "kernel", None) is None else ModelKind.KERNEL_PCA


def decomposition_of(model: Any) -> Any:
    """Return the model itself, or the decomposition that a space of faces is made of."""
    kind = getattr(model, "model_kind", None)
    return getattr(model, "decomposition_", model) if kind is ModelKind.FACES else model


def mapping_of(model: Any) -> Any:
    """Return the model itself, or the PCA or KernelPCA that a monitor watches."""
    return model.model_ if getattr(model, "model_kind", None) is ModelKind.MONITOR else model


def shares_of(model: Any) -> FloatArray | None:
    """Return the explained variance ratios of a fitted model in NumPy; None where they are not known."""
    result = model.explained_variance_ratio_
    return None if result is None else as_float64(result)


def component_titles(model: Any, k: int) -> list[str]:
    """Return "PC1 (44.3 %)", "PC2 (21.0 %)", ..., without unknown ratios."""
    ratios = shares_of(model)
    if ratios is None:
        return component_names(k)
    return [f"PC{j} ({100 * r:.{1 if r >= 0.001 else 2}f} %)" for j, r in enumerate(ratios[:k], 1)]


def axis_title(model: Any, index: int) -> str:
    """Return "PC1 (44.3 % of the variance)" for place 0."""
    what = "variance" if getattr(model, "center", True) else "second moments"
    return component_titles(model, index + 1)[index].replace(" %)", f" % of the {what})")


def known_variances(model: Any) -> FloatArray:
    """Return the variances that a fitted model kept, and those left out as far as they are known."""
    spectrum, variances = model.spectrum_, as_float64(model.explained_variance_)
    top = float(spectrum.values[0]) if spectrum.values.size else 0.0
    if spectrum.rest.size and variances.size and top > 0:
        rest = np.maximum(spectrum.rest, 0.0) * (float(variances[0]) / top)
        if getattr(getattr(model, "imputed_", None), "method", "") == "iterative" and rest.any():
            # Of the filled table, whose imputed entries have no noise.
            rest *= max(float(model.total_variance_) - float(variances.sum()), 0.0) / float(rest.sum())
        variances = np.concatenate([variances, rest])
    return variances


def column_norms(model: Any) -> FloatArray:
    """Return norms of the centred columns that a PCA was fitted on."""
    moments = vars(model).get("_moments")
    if moments is not None:
        return np.asarray(np.sqrt(moments.column_squares))
    return as_float64(model._norms)


def column_variances(model: Any) -> FloatArray:
    """Return variances of the columns as a fitted PCA has scaled them."""
    norms, divisor = column_norms(model), model._divisor
    norms = norms if divisor is None else norms / as_float64(divisor)
    # Shares alone matter, and a largest norm of 1 keeps squares in range.
    return np.asarray((norms / (norms.max(initial=0.0) or 1.0)) ** 2)


def effective_rows(model: Any) -> float:
    """Return how many rows of weight 1 say as much as those of a fitted PCA: of a stream Kish's number."""
    moments = vars(model).get("_moments")
    return float(model._weight if moments is None else moments.effective)


def feature_names_of(model: Any) -> list[str]:
    """Return the column names of the fit; without names x0, x1, ..., of pictures r0c0, r0c1, ..."""
    names, shape = names_of(model), getattr(model, "picture_shape_", None)
    if names is None and shape is not None:
        return [f"r{i}c{j}" for i in range(shape[0]) for j in range(shape[1])]
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)


def column_names(model: Any) -> list[str]:
    """Return the names of the fitted columns; x0, x1, ... without names."""
    names = names_of(model)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)


def names_of(model: Any) -> tuple[str, ...] | None:
    """Return the names of the fitted columns as text, also of numbers and dates; None without names."""
    names = getattr(model, "feature_names_in_", None)
    names = getattr(model, "_column_names", None) if names is None else names
    return None if names is None else tuple(map(str, names))


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Tabulated):
    """Importance of components, as a table.

    Attributes
    ----------
    names : list of str
        PC1, PC2, ...
    standard_deviation, explained_variance_ratio, cumulative : ndarray of shape (k,)
        Square roots of the variances; their ratios to the total variance; the sums of the ratios. NaN where
        there is no total, as for a kernel that is not proven positive semidefinite.
    choice : ComponentChoice or None
        The rule that found the number of components, and why.
    notes : tuple of str
        What to know before the components are interpreted.
    misleads : tuple of str
        Serious findings that the model shows without its rows; they are printed first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> summary = gramian.PCA(2).fit(load_iris().data).summary()
    >>> summary.names, summary.cumulative.round(4)
    (['PC1', 'PC2'], array([0.9246, 0.9777]))
    """

    names: list[str]
    standard_deviation: FloatArray
    explained_variance_ratio: FloatArray
    cumulative: FloatArray
    choice: ComponentChoice | None = None
    notes: tuple[str, ...] = ()
    misleads: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, float, float, float]]:
        """Return one tuple a component."""
        columns = (self.standard_deviation, self.explained_variance_ratio, self.cumulative)
        return list(zip(self.names, *(column.tolist() for column in columns), strict=True))

    def _notebook(self) -> Iterator[str | Grid]:
        yield from self.misleads
        heads = "", "standard deviation", "explained variance ratio", "cumulative"
        yield Grid(heads, self.rows(), ("", ".6g", ".4f", ".4f"))
        if self.choice is not None:
            yield f"Chosen by {self.choice.rule}: {self.choice.sentence}"
        yield from self.notes


def summary_of(model: Any) -> Summary:
    """Return the importance of the components of a fitted model."""
    ratios, k = shares_of(model), int(model.n_components_)
    ratios = np.full(k, np.nan) if ratios is None else ratios
    deviations = np.sqrt(as_float64(model.explained_variance_))
    choice, notes = getattr(model, "component_choice_", None), model.certificate_.rotation_sentences()
    return Summary(component_names(k), deviations, ratios, np.cumsum(ratios), choice, tuple(notes))
