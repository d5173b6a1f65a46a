"""The figures of gramian, declared once: Python, the shell, the API and the page read this list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from gramian.errors import needs

MAPS = ("PCA", "KernelPCA")
DECOMPOSED = (*MAPS, "Whitener", "FaceSpace")
LINEAR, PAIR, HUE = ("PCA",), ("components",), ("hue",)
POINTS = (*PAIR, *HUE, "style", "labels", "mapped")


@dataclass(frozen=True)
class Figure:
    """A figure of a fitted model.

    Attributes
    ----------
    name : str
        As in the shell and in URLs.
    title : str
        The heading on the page.
    place : str
        The module of ``gramian.figures`` that draws it, by a function of the same name or "module:function".
    models : tuple of str
        The kinds of models that it shows; of a monitor its model, unless it shows monitors.
    fitted_on : {"tables", "centred tables", "pictures", "two columns"} or None
        The data that the model was fitted on, None for any.
    components : int
        The least number of components.
    data : bool
        Whether it shows rows.
    labels : bool
        Whether they need labels or metadata.
    options : tuple of str
        The options of ``gramian plot`` that it takes.
    """

    name: str
    title: str
    place: str
    models: tuple[str, ...]
    fitted_on: str | None = None
    components: int = 0
    data: bool = False
    options: tuple[str, ...] = ()
    labels: bool = False

    @property
    def function(self) -> str:
        """The name of its function."""
        return self.place.partition(":")[2] or self.name.replace("-", "_")

    def is_available(self, model: Any, table: Any) -> bool:
        """Return whether it can be drawn of a model, with rows or with None."""
        # Here, because help needs the names of figures only.
        from gramian.models.monitor import can_be_monitored
        from gramian.statistics.components import kind_of, mapping_of

        watched = mapping_of(model)
        labelled = getattr(table, "labels", None) is not None or getattr(table, "metadata", None)
        if {kind_of(model).value, kind_of(watched).value}.isdisjoint(self.models):
            return False
        if (self.data and table is None) or (self.labels and not labelled):
            return False
        pictures = getattr(watched, "picture_shape_", None) is not None
        fits = {None: True, "pictures": pictures, "tables": not pictures}
        fits["centred tables"] = not pictures and getattr(watched, "center", True)
        fits["two columns"] = watched.n_features_in_ == 2
        enough = fits[self.fitted_on] and int(watched.n_components_) >= self.components
        return bool(enough and ("Monitor" not in self.models or can_be_monitored(watched)))

    def draw(self, model: Any, table: Any = None, **options: Any) -> Any:
        """Return what its function returns: Axes, several, or a picture; options of others are ignored."""
        return self._called("", model, table, options)

    def data_of(self, model: Any, table: Any = None, **options: Any) -> Any:
        """Return what it draws: ``columns`` is its table, and ``notes`` are sentences."""
        return self._called("_data", model, table, options)

    def _called(self, ending: str, model: Any, table: Any, options: dict[str, Any]) -> Any:
        arguments = {name: options[name] for name in self.options if name in options}
        if "Monitor" not in self.models:
            from gramian.statistics.components import mapping_of

            model = mapping_of(model)
        function = function_of(self.place.partition(":")[0], self.function + ending)
        return function(model, *([table] if self.data else []), **arguments)


# The most useful first: the page shows them in this order.
FIGURES = (
    Figure("scores", "Scores", "points", MAPS, data=True, options=POINTS),
    Figure("contours", "Lines of equal score", "planes:kernel_contours", MAPS, "two columns", 0, True, HUE),
    Figure("directions", "Principal directions", "planes", LINEAR, "two columns", 1, True, HUE),
    Figure("scree", "Explained variance", "spectra", DECOMPOSED),
    Figure("components", "Components as pictures", "sheets", ("PCA", "FaceSpace"), "pictures"),
    Figure("loadings", "Loadings", "columns", LINEAR, "tables", options=PAIR),
    Figure("eigenvalues", "Eigenvalues with error bounds", "spectra", DECOMPOSED),
    Figure("control-chart", "Control chart", "monitoring", (*MAPS, "Monitor"), data=True),
    Figure("contribution-map", "Contributions over time", "monitoring", ("Monitor",), data=True),
    Figure("biplot", "Biplot", "columns", LINEAR, "tables", 2, data=True, options=POINTS),
    Figure("correlation-circle", "Correlation circle", "columns", LINEAR, "centred tables", 2, options=PAIR),
    Figure("metadata", "Components and metadata", "columns", MAPS, None, 1, True, labels=True),
    Figure("reconstructions", "Reconstructions", "sheets", MAPS, "pictures", data=True),
    Figure("whitening", "Effect of whitening", "planes", ("Whitener",), "tables", 2, True, PAIR),
)
# Where the public functions of gramian.figures are: those of figures, others, and what each of them draws.
DRAWINGS = {
    **{figure.function: figure.place.partition(":")[0] for figure in FIGURES},
    **{"selection": "spectra", "stability": "spectra", "relation": "planes"},
    **{"explanation": "monitoring", "rotation": "columns"},
}
FUNCTIONS = DRAWINGS | {f"{name}_data": path for name, path in DRAWINGS.items()}


def available(model: Any, table: Any = None) -> list[Figure]:
    """Return the figures of a fitted model, with rows or without."""
    return [figure for figure in FIGURES if figure.is_available(model, table)]


def public(name: str) -> Any:
    """Return a public function of ``gramian.figures`` by its name."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'gramian.figures' has no attribute {name!r}")
    return function_of(FUNCTIONS[name], name)


@cache
def function_of(module: str, name: str) -> Any:
    """Return a function of ``gramian.figures``."""
    with needs("plots", "matplotlib", "Drawing figures"):
        return getattr(import_module(f"gramian.figures.{module}"), name)
