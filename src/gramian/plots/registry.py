"""The figures of gramian, declared once: Python, the shell, the API and the page read this list."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from gramian.errors import needs

Kind = Literal["PCA", "KernelPCA", "Whitener", "FaceSpace"]
MAPS: tuple[Kind, ...] = ("PCA", "KernelPCA")
DECOMPOSED: tuple[Kind, ...] = (*MAPS, "Whitener", "FaceSpace")
POINTS = ("x", "y", "color")


@dataclass(frozen=True)
class Figure:
    """A figure of a fitted model.

    Attributes
    ----------
    name : str
        As in the shell and in URLs.
    title : str
        The heading on the page.
    function : str
        What draws it, in ``gramian.plots``: "module:function".
    models : tuple of str
        The kinds of models that it shows.
    fitted_on : {"tables", "pictures", "two columns"} or None
        The data that the model was fitted on, None for any.
    components : int
        The least number of components.
    data : bool
        Whether it shows rows.
    options : tuple of str
        The options of ``gramian plot`` that it takes.
    """

    name: str
    title: str
    function: str
    models: tuple[Kind, ...]
    fitted_on: Literal["tables", "pictures", "two columns"] | None = None
    components: int = 0
    data: bool = False
    options: tuple[str, ...] = ()

    @property
    def is_public(self) -> bool:
        """Whether ``gramian.plots`` has a function of this name."""
        return self.function.endswith(f":{self.name.replace('-', '_')}")

    @property
    def needs(self) -> str:
        """What it needs, for messages and help."""
        text = " or ".join([", ".join(self.models[:-1]), self.models[-1]] if self.models[1:] else self.models)
        text += "" if self.fitted_on is None else f" of {self.fitted_on}"
        text += f" with {self.components} components" if self.components else ""
        return f"a {text}{' and DATA' if self.data else ''}"

    def is_available(self, model: Any, table: Any) -> bool:
        """Return whether it can be drawn of a model, with rows or with None."""
        kind = _kind(model)
        if kind not in self.models or (self.data and table is None):
            return False
        pictures = getattr(model, "picture_shape_", None) is not None
        of = {"tables": not pictures, "pictures": pictures, "two columns": model.n_features_in_ == 2}
        return of.get(self.fitted_on or "", True) and int(model.n_components_) >= self.components

    def draw(self, model: Any, table: Any = None, **options: Any) -> Any:
        """Return the chart or picture; other options than its own are ignored."""
        given = {name: options[name] for name in self.options if name in options}
        return function_of(self.function)(model, *([table] if self.data else []), **given)


# The most useful first: the page shows them in this order.
FIGURES = (
    Figure("scores", "Scores", "points:scores", MAPS, data=True, options=(*POINTS, "linked")),
    Figure(
        "contours",
        "Lines of equal score",
        "contours:compared_contours",
        MAPS,
        "two columns",
        data=True,
        options=("color",),
    ),
    Figure("scree", "Explained variance", "spectra:scree", DECOMPOSED),
    Figure("components", "Components as pictures", "images:components", ("PCA", "FaceSpace"), "pictures"),
    Figure("loadings", "Loadings", "columns:loadings", ("PCA",), "tables"),
    Figure("eigenvalues", "Eigenvalues with error bounds", "spectra:eigenvalues", DECOMPOSED),
    Figure("biplot", "Biplot", "columns:biplot", ("PCA",), "tables", 2, data=True, options=POINTS),
    Figure(
        "correlation-circle",
        "Correlation circle",
        "columns:correlation_circle",
        ("PCA",),
        "tables",
        2,
        data=True,
        options=("x", "y"),
    ),
    Figure(
        "reconstructions", "Reconstructions", "images:sample_reconstructions", MAPS, "pictures", data=True
    ),
    Figure(
        "whitening",
        "Before and after whitening",
        "whitening_panels:whitening",
        ("Whitener",),
        data=True,
        options=("x", "y"),
    ),
    Figure("face-scores", "Distances from the face space", "score_histograms:face_scores", ("FaceSpace",)),
)
# The public functions of gramian.plots, by name. Figures of saved models may have functions of their own.
FUNCTIONS = {
    name: f"{module}:{name}"
    for module, name in (
        *(figure.function.split(":") for figure in FIGURES if figure.is_public),
        ("pixels", "Picture"),
        ("images", "reconstructions"),
        ("contours", "kernel_contours"),
        ("curves", "selection"),
        ("witness", "counter_example"),
    )
}


def available(model: Any, table: Any = None) -> list[Figure]:
    """Return the figures of a fitted model, with rows or without."""
    return [figure for figure in FIGURES if figure.is_available(model, table)]


def function_of(place: str) -> Any:
    """Return the function at "module:function"."""
    module, _, name = place.partition(":")
    with needs("plots", "altair", "Drawing figures"):
        return getattr(import_module(f"gramian.plots.{module}"), name)


def _kind(model: Any) -> Kind | None:
    if hasattr(model, "face_scores_"):
        return "FaceSpace"
    if hasattr(model, "regularized_eigenvalues_"):
        return "Whitener"
    if not hasattr(model, "certificate_"):
        return None
    return "PCA" if hasattr(model, "components_") else "KernelPCA"
