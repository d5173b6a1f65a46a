"""The commands that fit: ``fit`` and ``plan``."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from gramian.cli.annotating import Annotated, fit_annotated
from gramian.cli.inputs import HERE, read_table
from gramian.cli.models import estimator
from gramian.cli.options import (
    OUTPUT,
    Data,
    Engine,
    JsonFlag,
    Model,
    Reading,
    as_arguments,
    flag,
    given_options,
    only_for,
    option,
    spelled,
)
from gramian.cli.outputs import answer, check_not_input, check_out, check_place, is_model_file, model_lines
from gramian.cli.progress import progress, say
from gramian.cli.reporting import read_arguments
from gramian.errors import ParameterError
from gramian.reading import IMPUTED


@dataclass(frozen=True)
class Writing:
    """Options of a folder of results, and of checkpoints."""

    panel: ClassVar[str] = OUTPUT

    loadings: str | None = option(
        "KIND", "unit vectors, or correlation of columns with scores. [unit]", choices=("unit", "correlation")
    )
    format: str | None = option("KIND", "Tables as csv or parquet. [csv]", choices=("csv", "parquet"))
    checkpoint: str | None = option(
        "FOLDER",
        "Save progress here once a minute, on data in a file or for kernel PCA. After a crash the same "
        "command continues; it removes the folder once results are written. [none]",
    )
    report: bool = flag("Also write report.html, one page for a browser, into the folder.")


PLAINLY, NOT_ANNOTATED = Writing(), Annotated()


def fit(
    data: Data,
    reading: Reading,
    model: Model,
    out: str | None = option(
        "PATH",
        "A folder for all results, FILE.gramian for the model alone, or FILE.h5ad for a copy of an .h5ad "
        "file with the results. [nothing is written]",
    ),
    writing: Writing = PLAINLY,
    annotated: Annotated = NOT_ANNOTATED,
    engine: Engine = HERE,
    verbose: bool = flag("Print the whole plan and certificate."),
    as_json: JsonFlag = False,
) -> None:
    """Find components; write model, tables, pictures.

    The folder gets a summary.md that explains the result, the solver and the reason for it, and the error
    bounds. Results of an earlier fit in it are replaced; other files stay. Without -o the command
    prints what was used, the components with their largest loadings, certificate and plan, and writes
    nothing.
    """
    import numpy as np

    from gramian.arrays import memory_limit_bytes
    from gramian.report.pieces import completed
    from gramian.report.results import check_folder, own_files, write_results
    from gramian.report.summary import Fitted
    from gramian.store import remove_checkpoint

    made = _estimator(model, reading)
    if annotated.wanted(out):
        assert out is not None
        _check_writing(model, writing, to_folder=False)
        only_for("a model or a folder of results", writing, "checkpoint")
        only_for("a model or a folder of results", engine, "engine")
        fit_annotated(data, reading, model, annotated, made, out, as_json)
        return
    to_folder = out is not None and not is_model_file(out)
    _check_writing(model, writing, to_folder)
    if out is not None:
        inputs = reading.inputs(data)
        if to_folder:
            check_place(Path(out))
            check_folder(Path(out))
            check_not_input(out, *inputs, replaced=[Path(out) / name for name in own_files(Path(out))])
        else:
            check_out(out, *inputs)
    limit = memory_limit_bytes(model.memory_limit)
    keep = writing.checkpoint is not None and model.kernel is None
    table = read_table(data, reading, limit=limit, in_place=keep, engine=engine, imputes=model.kernel is None)
    options = as_arguments(reading, model, engine, replace(writing, checkpoint=None))
    command = ("gramian", "fit", data, *options, *(["-o", out] if out else []))
    resumed = {} if writing.checkpoint is None else {"checkpoint": writing.checkpoint}
    start, scores = time.perf_counter(), np.empty((0, 0))
    with progress("computing"):
        if to_folder and table.in_memory:  # scores of a table in a file are computed when they are written
            scores = np.asarray(made.fit_transform(table, **resumed))
        else:
            made.fit(table, **resumed)
    seconds, table = time.perf_counter() - start, completed(made, table)
    kinds = writing.loadings or "unit", writing.format or "csv"
    given = None if data == "-" else read_arguments(data, reading)
    fitted = Fitted(made, table, scores, command, seconds, *kinds, given)
    files: list[str] = []
    notes: list[str] = []
    if out is not None:
        with progress("writing"):
            if to_folder:
                written = write_results(Path(out), fitted, writing.report)
                files, notes = [str(Path(out) / name) for name in written.files], written.notes
            else:
                made.save(out)
                files = [out]
    if writing.checkpoint is not None:
        remove_checkpoint(writing.checkpoint)
    for note in notes:
        say(f"gramian: {note}")
    _report(fitted, files, verbose, as_json)


def plan(
    data: Data, reading: Reading, model: Model, engine: Engine = HERE, as_json: JsonFlag = False
) -> None:
    """Show the solver that fit would use, and why.

    Nothing is computed. Of a large text the first 16 MB are read, and the number of rows is estimated.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.report.facts import data_facts, plan_facts

    made = _estimator(model, reading)
    limit = memory_limit_bytes(model.memory_limit)
    to_plan = model.kernel != "precomputed"  # whose rows and columns must be equally many
    table = read_table(
        data, reading, limit=limit, engine=engine, imputes=model.kernel is None, to_plan=to_plan
    )
    chosen = made.plan(table)
    answer(as_json, {"data": data_facts(table), "plan": plan_facts(chosen)}, chosen)


def _estimator(options: Model, reading: Reading) -> Any:
    """Return the model, which keeps the method that imputes what reading leaves in."""
    made = estimator(options)
    imputes = options.kernel is None and reading.missing in IMPUTED
    if imputes and not (options.components or "").isdecimal():
        raise ParameterError(
            f"--missing {reading.missing} imputes with a number of components. Name one, such as "
            "--components 2; with --missing mean, --components cv suggests one."
        )
    return made.set_params(missing=reading.missing) if imputes else made


def _check_writing(options: Model, writing: Writing, to_folder: bool) -> None:
    for name in ("report", "loadings", "format"):
        if name in given_options(writing) and not to_folder:
            raise ParameterError(f"{spelled(name)} needs a folder of results. Name one with -o.")
    if writing.loadings is not None and options.kernel is not None:
        raise ParameterError(
            "--loadings applies only to PCA: components of kernel PCA have no loadings. Leave it out."
        )
    if writing.loadings == "correlation" and options.no_center:
        raise ParameterError("--loadings correlation needs centred data. Leave out --no-center.")


def _report(fitted: Any, files: list[str], verbose: bool, as_json: bool) -> None:
    from gramian.analysis.proposals import columns_to_drop
    from gramian.report.facts import component_facts, data_facts, model_facts, versions
    from gramian.report.summary import headline, used_lines

    unlikely = columns_to_drop(fitted.table)
    facts = {
        "data": data_facts(fitted.table),
        "proposals": [asdict(one) for one in unlikely],
        "model": model_facts(fitted.model),
        "components": component_facts(fitted.model),
        "seconds": fitted.seconds,
        "command": fitted.command,
        "files": files,
        "versions": versions(),
    }
    others = f" and {len(files) - 1} other files" if len(files) > 1 else ""
    written = ["", f"Written: {files[-1]}{others}"] if files else []
    lines = [
        headline(fitted.model),
        *used_lines(fitted.model, fitted.table),
        *_proposed(unlikely),
        "",
        *model_lines(fitted.model, verbose),
        *written,
    ]
    answer(as_json, facts, "\n".join(lines))


def _proposed(unlikely: Sequence[Any]) -> list[str]:
    """Return the line that says which columns may be no measurements, and the option that leaves them out."""
    if not unlikely:
        return []
    names = ",".join(f'"{one.value}"' if "," in one.value else one.value for one in unlikely)
    them = "it" if len(unlikely) == 1 else "them"
    reasons = ", ".join(one.why for one in unlikely)
    return [f"Proposed: {reasons}; leave {them} out with --drop {shlex.quote(names)}"]
