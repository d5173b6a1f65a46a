"""The commands that fit: ``fit`` and ``plan``."""

import json
import time
from pathlib import Path
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.models import estimator
from gramian.cli.options import Model, Reading, as_arguments
from gramian.cli.outputs import check_file, check_not_input, check_place, is_model_file
from gramian.cli.progress import progress, say
from gramian.errors import ParameterError

__all__ = ["component_table", "fit", "fit_table", "plan"]

LOADINGS = ("unit", "correlation")
FORMATS = ("csv", "parquet")
LISTED = 10


def fit(
    data: str,
    out: str,
    reading: Reading,
    options: Model,
    loadings: str | None,
    table_format: str | None,
    as_json: bool,
) -> None:
    """Fit a model and write it, alone or in a folder of results."""
    from gramian.report.results import check_folder, write_results

    model = estimator(options)
    model_only = is_model_file(out)
    _check_writing(options, loadings, table_format, model_only)
    check_not_input(out, data)
    if model_only:
        check_file(out)
    else:
        check_place(Path(out))
        check_folder(Path(out))
    table = read_table(data, reading)
    given = ["--loadings", loadings] if loadings else []
    given += ["--format", table_format] if table_format else []
    command = ("gramian", "fit", data, *as_arguments(reading), *as_arguments(options), *given, "-o", out)
    fitted = fit_table(
        model, table, command, loadings or "unit", table_format or "csv", scores=not model_only
    )
    with progress("writing"):
        if model_only:
            model.save(out)
            files, notes = [out], []
        else:
            written = write_results(Path(out), fitted)
            files, notes = [str(written.folder / name) for name in written.files], written.notes
    for note in notes:
        say(f"gramian: {note}")
    print(_as_json(fitted, files) if as_json else _as_text(fitted, out, files))


def fit_table(
    model: Any,
    table: Any,
    command: tuple[str, ...],
    loadings: str = "unit",
    table_format: str = "csv",
    scores: bool = True,
) -> Any:
    """Fit a model to a table.

    Returns
    -------
    gramian.report.Fitted
    """
    import numpy as np

    from gramian.report.results import Fitted

    start = time.perf_counter()
    with progress("computing"):
        mapped = model.fit_transform(table) if scores else model.fit(table) and np.empty((0, 0))
    seconds = time.perf_counter() - start
    return Fitted(model, table, np.asarray(mapped), command, seconds, loadings, table_format)


def plan(data: str, reading: Reading, options: Model, as_json: bool) -> None:
    """Print the route that fit would take."""
    from gramian.report.facts import data_facts, plan_facts

    model = estimator(options)
    table = read_table(data, reading)
    chosen = model.plan(table)
    print(
        json.dumps({"data": data_facts(table), "plan": plan_facts(chosen)}, indent=2) if as_json else chosen
    )


def _check_writing(options: Model, loadings: str | None, table_format: str | None, model_only: bool) -> None:
    for name, value, allowed in (("loadings", loadings, LOADINGS), ("format", table_format, FORMATS)):
        if value is not None and value not in allowed:
            raise ParameterError(f"--{name} {value} is not known. Allowed: {', '.join(allowed)}.")
        if value is not None and model_only:
            raise ParameterError(
                f"--{name} is about tables, but -o names a model file. Name a folder instead."
            )
    if loadings is not None and options.kernel is not None:
        raise ParameterError(
            "--loadings belongs to PCA: components of kernel PCA have no loadings. Leave it out."
        )
    if loadings == "correlation" and options.no_center:
        raise ParameterError("--loadings correlation needs centred data. Leave out --no-center.")


def _as_json(fitted: Any, files: list[str]) -> str:
    from gramian.report.facts import component_facts, data_facts, model_facts, versions

    facts = {
        "data": data_facts(fitted.table),
        "model": model_facts(fitted.model),
        "components": component_facts(fitted.model),
        "seconds": fitted.seconds,
        "command": list(fitted.command),
        "files": files,
        "versions": versions(),
    }
    return json.dumps(facts, indent=2, allow_nan=False)


def _as_text(fitted: Any, out: str, files: list[str]) -> str:
    from gramian.report.summary import headline

    model = fitted.model
    lines = [
        headline(model, fitted.table),
        "",
        *component_table(model),
        "",
        str(model.plan_),
        "",
        str(model.certificate_),
        "",
    ]
    if len(files) == 1:
        return "\n".join([*lines, f"Written: {out}"])
    return "\n".join([*lines, f"Written: {files[-1]}, and {len(files) - 1} other files beside it"])


def component_table(model: Any, count: int = LISTED) -> list[str]:
    """Return the first components as lines of a text table."""
    from gramian.report.facts import component_facts

    facts = component_facts(model)
    lines = [f"{'':8}{'eigenvalue':>14}{'std. dev.':>14}{'share':>10}{'sum':>10}"]
    columns = [
        facts[name] for name in ("component", "eigenvalue", "standard deviation", "share", "cumulative")
    ]
    for name, value, deviation, *shares in list(zip(*columns, strict=True))[:count]:
        parts = "".join(f"{'-' if share is None else f'{100 * share:.2f} %':>10}" for share in shares)
        lines.append(f"{name:8}{value:14.6g}{deviation:14.6g}{parts}")
    if model.n_components_ > count:
        lines.append(f"... and {model.n_components_ - count} more")
    return lines
