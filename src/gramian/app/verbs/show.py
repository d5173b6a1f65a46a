"""A saved model in figures, on a page, as text, and for other programs."""

from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, Literal

from gramian.app import verb
from gramian.app.verbs.fit import model_lines
from gramian.core.checks import check_choice, counted, listed, six_digits
from gramian.errors import ParameterError
from gramian.figures.registry import FIGURES, available
from gramian.tables.reading import IMPUTED

BY_NAME = {figure.name: figure for figure in FIGURES}


def _check_names(name: str, figures: str) -> None:
    for figure in figures.split(","):
        check_choice(name, figure, tuple(BY_NAME))


NAMES = verb.Option(
    *("FIGURES", f"Names with commas between them: {', '.join(BY_NAME)}.", "all possible"),
    suggestions=tuple(BY_NAME),
    check=_check_names,
)
LOOKS = ("components", "hue", "style")  # options of figures


def _show_rows(values: Mapping[str, Any], model: Any) -> bool:
    from gramian.statistics.components import kind_of

    return not kind_of(model).faces and any(
        BY_NAME[name].data for name in (values.get("figures") or "").split(",") if name
    )


@verb.about(doing="drawing", shell_only=True)
def plot(
    model: verb.WholeModel,
    figures: Annotated[str | None, NAMES] = None,
    data: Annotated[Any, verb.DATA._replace(needed=_show_rows)] = None,
    *,
    meta: verb.Meta = None,
    components: str | None = None,
    hue: str | None = None,
    style: str | None = None,
    width: float = 120,
    format: Literal["svg", "png", "pdf"] = "svg",
) -> Annotated[verb.Result, verb.Output("figures", default="figures")]:
    """Draw a saved model.

    Writes one file for each figure, such as explained variance, eigenvalues with error bounds, scores and
    loadings, and replaces the files of an earlier call.

    Parameters
    ----------
    data
        Rows to draw, read as by transform. Without them a figure that you name is drawn of the table of the
        fit, and otherwise all that need no rows.
    components : A,B,.., default: 1,2, of loadings 1,2,3
        Components on the two axes, such as 1,3; for whitening two columns by their numbers; for loadings one
        or several.
    hue : COLUMN, default: the first of --label or --meta
        Column that sets the colour of points; may hold text.
    style : COLUMN, default: none
        Column that sets the shape of points.
    width : MM
        Width of each figure in millimetres; a column of a journal has about 85.
    format
        Of the files in a folder: svg, png or pdf.

    Files
    -----
    out : FOLDER or FILE
        A folder, or for one figure an .svg, .png or .pdf file.
    """
    from gramian.report.tables import completed
    from gramian.statistics.components import mapping_of

    fitted = mapping_of(model)
    channels = {name: column for name, column in (("hue", hue), ("style", style)) if column is not None}
    look: dict[str, Any] = dict(channels)
    if components is not None:
        look["components"] = components.split(",")
    if data is not None and fitted.model_kind.faces:
        raise ParameterError("data", problem="Figures of a face model take no DATA.", hint="Leave it out.")
    table = None if data is None else completed(fitted, data)
    if table is None and channels:
        allowed = "is about the rows of DATA, but there is no DATA"
        raise ParameterError(next(iter(channels)), allowed=allowed, hint="Add its file after the model.")
    possible = {figure.name: figure for figure in available(model, table)}
    names = figures.split(",") if figures else list(possible)
    for name in names:
        if name not in possible:
            available_ones = f"Available: {', '.join(possible)}."
            raise ParameterError("figures", name, "needs another model or DATA", available_ones)
    for option in LOOKS:
        takers = [name for name, figure in possible.items() if option in figure.options]
        if option in look and not {*takers} & {*names}:
            advice = f"It is for {', '.join(takers)}." if takers else "Leave it out."
            raise ParameterError(option, allowed=f"is not for {', '.join(names)}", hint=advice)
    return verb.Result(figures={name: partial(possible[name].draw, model, table, **look) for name in names})


MOST_NAMES = 30


def _require_components(values: Mapping[str, Any], model: Any) -> None:
    problem = f"The model is a {type(model).__name__}, which has no components."
    verb.require_model(model.model_kind.has_components, problem, "Name a PCA, KernelPCA or Whitener.")


@verb.about(check=_require_components, doing="writing", shell_only=True)
def report(
    model: verb.WholeModel,
    data: Annotated[Any, verb.DATA._replace(streamed=True)] = None,
    *,
    meta: verb.Meta = None,
    context: verb.Context = verb.Context(),
) -> Annotated[verb.Result, verb.Output("file", default="report.html", ends=(".html", ".htm", ".docx"))]:
    """Explain a saved model in a report.

    The first page prints on one sheet: what the data show, a figure, how groups differ, why rows are unusual,
    whether to trust it, and what was done. An appendix has the method and its error bounds, what every rule
    for the number of components says, figures, important columns, a methods paragraph for a paper, and the
    code that repeats the fit. With --label or --meta it says how much these explain of each component.
    Without DATA it lists what needs the data.

    Parameters
    ----------
    data
        Fitted or new rows, read as by transform.

    Files
    -----
    out : FILE
        An .html file for a browser, which loads nothing from elsewhere, or a .docx for a word processor.
    """
    from gramian.models.model_file import read_model
    from gramian.report import sections
    from gramian.report.facts import Fitted
    from gramian.report.page import as_page
    from gramian.report.tables import completed
    from gramian.statistics.components import mapping_of

    if as_docx := context.out.lower().endswith(
        ".docx"
    ):  # raises without its extra, before anything is computed
        from gramian.report.document import as_document
    fitted = mapping_of(model)
    if data is not None and fitted.model_kind.faces:
        problem = "The report of a faces model needs no DATA."
        raise ParameterError("data", problem=problem, hint="Leave it out.")
    table = None if data is None else completed(fitted, data)
    reading = None
    if table is not None and context.reading and table.values.shape[0] == fitted.n_samples_:
        reading = _as_fitted(context.reading, fitted)
    versions = read_model(verb.model_path(context.model)).versions if context.model else None
    whole = sections.explanation(Fitted(model, table, reading=reading), versions)
    content = as_document(whole) if as_docx else as_page(whole).encode("utf-8", "replace")
    return verb.Result(
        facts={"title": whole.title, "findings": whole.findings, "trust": vars(whole.trust)}, content=content
    )


def _as_fitted(reading: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Add how the fit imputed, and its columns where that takes no page: the file may have others."""
    from gramian.statistics.components import names_of

    method, names = getattr(model, "missing", None), [*(names_of(model) or ())]
    more: dict[str, Any] = {"missing": method} if method in IMPUTED else {}
    short = 0 < len(names) <= MOST_NAMES and not any("," in name or name.startswith("@") for name in names)
    if short and reading.keys().isdisjoint(("columns", "drop", "transpose")):
        more["columns"] = ",".join(names)
    return {**reading, **more}


@verb.about(doing="reading", shell_only=True)
def info(model: Annotated[str, verb.Option(verb.MODEL.metavar, verb.MODEL.help)]) -> verb.Result:
    """Show the contents of a saved model.

    Its parameters, components, plan, certificate and the versions that wrote it.
    """
    from gramian.answers.diagnose import diagnosis_of
    from gramian.models.model_file import load, read_model
    from gramian.report.facts import info_facts
    from gramian.statistics.components import mapping_of

    path = verb.model_path(model)
    stored = read_model(path)
    fitted = described(stored) or load(path)
    facts: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size, "versions": stored.versions}
    facts |= info_facts(fitted, stored.kind)
    lines = [_made(facts["model"])]
    if "components" in facts:
        lines = [*_lines(facts["model"]), "", *model_lines(mapping_of(fitted), diagnosis_of(fitted))]
    if "limits" in facts:
        lines = ["A monitor.", facts["limits"], "", *lines]
    writers = ", ".join(f"{name} {number}" for name, number in stored.versions.items())
    return verb.Result("\n".join([*lines, "", f"Written by {writers}."]), facts)


def described(stored: Any) -> Any:
    """Return parameters and fitted attributes of a PCA, KernelPCA or Whitener under their names.

    The model is not made, which would take scikit-learn.

    Parameters
    ----------
    stored : StoredModel

    Returns
    -------
    SimpleNamespace or None
        None where only the class can tell: for what is no decomposition, not whole, or holds other models.
    """
    from gramian.core.records import FloatArray, ModelKind
    from gramian.models.model_file import INVALID, declared, decode, set_checked
    from gramian.models.saving import DecompositionAttributes

    try:
        parameters, state = (decode(stored.content[name], stored.arrays) for name in ("parameters", "state"))
        # Those of a Whitener are one and the same.
        state.setdefault("explained_variance_", state.get("eigenvalues_"))
        hints = declared(DecompositionAttributes) | {"explained_variance_": Annotated[FloatArray, "k"]}
        model = SimpleNamespace(model_kind=ModelKind(stored.kind), **(parameters | state))
        model.get_params = lambda deep: parameters
        set_checked(model, hints, state)
    except INVALID:
        return None
    return model


def _made(facts: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    return f"{facts['kind']}({parameters})"


def _lines(facts: dict[str, Any]) -> list[str]:
    from gramian.report.facts import size_text

    size = size_text(facts["n_features"], facts["picture_shape"])
    kernel = f"Kernel: {six_digits(facts['kernel'])}" if facts["kernel"] else None
    repair = f"Repair: {facts['repair']}" if facts["repair"] else None
    fitted = (
        f"Fitted on {counted(facts['n_samples'], 'row')} x {size}; "
        f"{facts['n_components']:,} components, rank {facts['rank']:,}."
    )
    names = f"Columns: {listed(facts['feature_names'])}" if facts["feature_names"] else None
    validity = facts["validity"] and six_digits(facts["validity"])
    return [line for line in (_made(facts), kernel, validity, repair, fitted, names) if line]


@verb.about(shell_only=True)
def export(
    model: verb.Model,
) -> Annotated[verb.Result, verb.Output("file", ends=(".onnx",), key="out", required=True)]:
    """Write a saved model as ONNX.

    Other programs and languages then compute its scores without gramian, in float32.

    Files
    -----
    out : FILE
        The file to write: .onnx.
    """
    from gramian.connect.onnx import to_onnx

    content = to_onnx(model).SerializeToString()
    columns, components = int(model.n_features_in_), len(model.get_feature_names_out())
    text = f"Input X (rows x {columns:,}), output scores (rows x {components:,}), both float32."
    facts = {"bytes": len(content), "columns": columns, "components": components}
    return verb.Result(text, facts, content=content)
