"""The command ``fit``: what it writes is a model or a folder of results."""

import shlex
from dataclasses import asdict, replace
from inspect import cleandoc
from pathlib import Path
from typing import Any

from gramian.checks import plain
from gramian.cli.inputs import proposed, read_arguments, read_table
from gramian.cli.options import AsIsFlag, Data, JsonFlag, Reading
from gramian.cli.outputs import answer, check_not_input, check_out, check_place, is_model_file
from gramian.errors import ParameterError
from gramian.operations.fit import ROWS, Fit, estimator, estimator_of
from gramian.operations.fit import fit as fit_rows
from gramian.operations.operation import limit_of
from gramian.options import as_arguments, given_options, option, spelled
from gramian.progress import say, shows_progress

EXAMPLES = """\b
gramian fit table.csv
gramian fit table.csv --label species --scale unit -o results --report
gramian fit table.csv --kernel rbf --components 3 -o model.gramian"""
IN_FOLDER = ("report", "loadings", "format")


def fit(
    data: Data,
    reading: Reading,
    options: Fit,
    out: str | None = option(
        "PATH",
        "A folder for all results, or FILE.gramian for the model alone.",
        usual="nothing is written",
    ),
    as_is: AsIsFlag = False,
    as_json: JsonFlag = False,
) -> None:
    estimator(options)
    to_folder = out is not None and not is_model_file(out)
    _check_writing(options, to_folder)
    estimator_of(options, reading.missing)
    if out is not None:
        _check_place(out, to_folder, reading.inputs(data))
    source, found = None, list[Any]()
    if not as_is:
        source, reading, options, found = proposed(data, reading, options)
    literal = ("gramian", "fit", data, *as_arguments(reading, _told(options)))
    command = (*literal, *(["-o", out] if out else []), "--as-is")
    if found:
        say(f"gramian: the same without proposals: {shlex.join(command)}")
    how = ROWS.how(options) if ROWS.how else {}
    table = read_table(data, reading, source=source, limit=limit_of(options, None), **how)
    given = None if data == "-" else read_arguments(data, reading)
    with shows_progress("computing"):
        result = fit_rows(options, data=table, reading=given, command=command, maps=to_folder)
    files: list[str] = []
    if out is not None:
        with shows_progress("writing"):
            files = _write(out, result, options, to_folder)
    others = f" and {len(files) - 1} other files" if len(files) > 1 else ""
    written = ["", f"Written: {files[-1]}{others}"] if files else []
    facts = result.facts | {"proposals": plain([asdict(one) for one in found]), "files": files}
    answer(as_json, facts, "\n".join([result.text, *written]))


summary, _, details = cleandoc(fit_rows.help).partition("\n\n")
fit.__doc__ = f"{summary}\n\n{EXAMPLES}\n\n{details}"


def _told(options: Fit) -> Any:
    """Return the options that the command of a report repeats."""
    return replace(options, verbose=False)


def _check_writing(options: Fit, to_folder: bool) -> None:
    for name in IN_FOLDER:
        if name in given_options(options) and not to_folder:
            raise ParameterError(spelled(name), allowed="needs a folder of results", hint="Name one with -o.")
    if options.loadings is not None and options.kernel is not None:
        raise ParameterError(
            "--loadings",
            allowed="applies only to PCA: components of kernel PCA have no loadings",
            hint="Leave it out.",
        )
    if options.loadings == "correlation" and options.no_center:
        raise ParameterError("--loadings", "correlation", "needs centred data", "Leave out --no-center.")


def _check_place(out: str, to_folder: bool, inputs: list[str]) -> None:
    from gramian.report.results import check_folder, own_files

    if not to_folder:
        check_out(out, *inputs)
        return
    check_place(Path(out))
    check_folder(Path(out))
    check_not_input(out, *inputs, replaced=[Path(out) / name for name in own_files(Path(out))])


def _write(out: str, result: Any, options: Fit, to_folder: bool) -> list[str]:
    """Write the model or the folder of results, and return the names of the files."""
    from gramian.report.results import write_results

    if not to_folder:
        result.model.save(out)
        return [out]
    written = write_results(Path(out), result.fitted, options.report)
    for note in written.notes:
        say(f"gramian: {note}")
    return [str(Path(out) / name) for name in written.files]
