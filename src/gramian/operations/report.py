"""A saved model explained on one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gramian.errors import ParameterError
from gramian.operations.operation import LARGE_DATA, META, WHOLE_MODEL, Asked, Out, Result, operation
from gramian.reading import IMPUTED

MOST_NAMES = 30
ROWS = replace(LARGE_DATA, help="Fitted or new rows, read as by transform.", required=False)


@dataclass(frozen=True)
class Report:
    """Nothing is left open."""


def _require_components(options: Report, model: Any) -> None:
    if not model.model_kind.has_components:
        raise ParameterError(
            "model",
            problem=f"The model is a {type(model).__name__}, which has no components.",
            hint="Name a PCA, KernelPCA or Whitener.",
        )


@operation(
    WHOLE_MODEL,
    ROWS,
    META,
    outs=[
        Out(
            *("file", "FILE", "A .html file.", "report.html"),
            ends=(".html", ".htm"),
            writes="report writes a page",
        )
    ],
    check=_require_components,
    doing="writing",
    shell_only=True,
)
def report(options: Report, model: Any, data: Any = None, asked: Asked | None = None) -> Result:
    """Explain a saved model on one page for a browser.

    The page has the method and its error bounds, what every rule for the number of components says, figures,
    unusual rows, important columns, a methods paragraph for a paper, and the code that repeats the fit. It
    loads nothing from elsewhere. With --label or --meta it says how much these explain of each component.
    Without DATA it lists what needs the data.
    """
    from gramian.analysis.components import mapping_of
    from gramian.report import sections
    from gramian.report.fitted import Fitted
    from gramian.report.page import as_page
    from gramian.report.pieces import completed

    fitted, asked = mapping_of(model), asked or Asked()
    if data is not None and fitted.model_kind.faces:
        raise ParameterError(
            "data", problem="The report of a faces model needs no DATA.", hint="Leave it out."
        )
    table = None if data is None else completed(fitted, data)
    reading = None
    if table is not None and asked.reading and table.values.shape[0] == fitted.n_samples_:
        reading = _as_fitted(asked.reading, fitted)
    whole = sections.explanation(Fitted(model, table, reading=reading), asked.versions or None)
    page = as_page(whole).encode("utf-8", "replace")
    return Result(facts=sections.as_json(whole), content=page)


def _as_fitted(reading: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Add how the fit imputed, and its columns where that takes no page: the file may have others."""
    from gramian.analysis.components import lags_of, names_of

    method, names = getattr(model, "missing", None), [*(names_of(model) or ())]
    names = names[: len(names) // (lags_of(model) + 1)]
    more: dict[str, Any] = {"missing": method} if method in IMPUTED else {}
    short = 0 < len(names) <= MOST_NAMES and not any("," in name or name.startswith("@") for name in names)
    if short and reading.keys().isdisjoint(("columns", "drop", "transpose")):
        more["columns"] = ",".join(names)
    return {**reading, **more}
