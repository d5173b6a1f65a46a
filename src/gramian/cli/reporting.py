"""The command that explains a saved model on one page: ``report``."""

from dataclasses import replace
from typing import Annotated, Any

from gramian.cli.inputs import model_path, only_with_data, read_model, read_new_data, recalled
from gramian.cli.options import META, JsonFlag, ModelFile, Reading, argument, given_options, option
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress
from gramian.errors import ParameterError
from gramian.reading import IMPUTED

MOST_NAMES = 30


def report(
    model: ModelFile,
    reading: Reading,
    data: Annotated[
        str | None,
        argument("DATA", "Fitted or new rows, read as by transform."),
    ] = None,
    meta: str | None = META,
    out: str = option("FILE", "A .html file. [report.html]", "report.html"),
    as_json: JsonFlag = False,
) -> None:
    """Explain a saved model on one page for a browser.

    The page has the method and its error bounds, what every rule for the number of components says, figures,
    unusual rows, important columns, a methods paragraph for a paper, and the code that repeats the fit. It
    loads nothing from elsewhere. With --label or --meta it says how much these explain of each component.
    Without DATA it lists what needs the data.
    """
    from gramian.analysis.components import mapping_of
    from gramian.arrays import memory_limit_bytes
    from gramian.report.page import write_report
    from gramian.report.pieces import completed
    from gramian.report.summary import Fitted
    from gramian.store import read_model as stored_model

    metas = () if meta is None else (meta,)
    inputs = (model, *metas, *(reading.inputs(data) if data is not None else ()))
    check_out(out, *inputs, ends=(".html", ".htm"), writes="report writes a page")
    given = read_model(model, whole=True)
    fitted = mapping_of(given)
    if not fitted.model_kind.has_components:
        kind = type(fitted).__name__
        raise ParameterError(
            f"{model} is a {kind}, which has no components. Name a PCA, KernelPCA or Whitener."
        )
    table = None
    if data is not None:
        if fitted.model_kind.faces:
            raise ParameterError("The report of a faces model needs no DATA. Leave it out.")
        limit = memory_limit_bytes(getattr(fitted, "memory_limit", None))
        data, reading = recalled(fitted, data, reading)
        table = completed(fitted, read_new_data(data, reading, fitted, limit, meta=meta))
    else:
        only_with_data(meta=meta)
    same = table is not None and table.values.shape[0] == fitted.n_samples_
    if (method := getattr(fitted, "missing", None)) in IMPUTED:
        reading = replace(reading, missing=method)
    arguments = None
    if data is not None and same and data != "-":
        arguments = read_arguments(data, _as_fitted(reading, fitted))
    with progress("writing"):
        shown = Fitted(given, table, reading=arguments)
        write_report(out, shown, stored_model(model_path(model)).versions)
    answer(as_json, {"files": [out]}, f"Written: {out}")


def read_arguments(data: str, reading: Reading) -> dict[str, Any]:
    """Return what :func:`gramian.scan` is given to read the same in Python."""
    return {"path": data} | {name: _plain(value) for name, value in given_options(reading).items()}


def _plain(value: Any) -> Any:
    """Return names as text, several as a list."""
    if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
        return str(value) if isinstance(value, str) else value
    return [str(one) for one in value] if len(value) > 1 else str(value[0])


def _as_fitted(reading: Reading, model: Any) -> Reading:
    """Name the columns that the model was fitted on, where that takes no page: the file may have others."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    chosen = reading.columns or reading.drop or reading.transpose
    short = 0 < len(names) <= MOST_NAMES and not any("," in name or name.startswith("@") for name in names)
    return replace(reading, columns=",".join(names)) if short and not chosen else reading
