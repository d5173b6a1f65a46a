"""The command that compares rows with normal rows: ``monitor``."""

import typer

from gramian.checks import check_share
from gramian.cli.inputs import model_path, read_model, read_new_data
from gramian.cli.options import Data, JsonFlag, ModelFile, Reading, flag, option
from gramian.cli.outputs import answer, check_out, table_target
from gramian.cli.progress import progress, say
from gramian.errors import ParameterError

ALARMS = 3  # exit code


def monitor(
    model: ModelFile,
    data: Data,
    reading: Reading,
    normal: str | None = option(
        "FILE", "Normal rows, which set the limits. [by theory from the model, or those of a saved monitor]"
    ),
    alpha: float | None = option(
        "NUMBER",
        "Share of normal rows with an alarm, over both statistics. [0.01, or that of a saved monitor]",
    ),
    out: str | None = option(
        "FILE", "A .csv, .parquet, .npy or .zarr file with all rows, or - for CSV. [a short table]"
    ),
    save: str | None = option("FILE", "Also save the monitor, a .gramian file to be used as MODEL."),
    fail: bool = flag("Exit with code 3 if there is an alarm."),
    as_json: JsonFlag = False,
) -> None:
    """Find rows that are unlike the normal rows.

    A row has an alarm if T2 (its distance from the mean within the components) or SPE (its squared distance
    from the components) exceeds a limit. The table has T2, SPE, their limits, the alarm, and the three
    columns that contribute most.
    """
    from gramian.analysis.components import mapping_of
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.monitor import monitor_of
    from gramian.report.tables import write_table

    inputs = (*reading.inputs(data), str(model_path(model)), *([] if normal is None else [normal]))
    if alpha is not None:
        check_share("--alpha", alpha)
    target, kind = (None, "") if out is None else table_target(out, as_json, *inputs)
    if save is not None:
        if not save.endswith(".gramian"):
            raise ParameterError(f"--save {save}: name a file that ends in .gramian.")
        check_out(save, *inputs)
    given = read_model(model, whole=True)
    fitted = mapping_of(given)
    if not fitted.model_kind.gives_scores:
        raise ParameterError(f"monitor needs a PCA or a kernel PCA, and this is a {type(fitted).__name__}.")
    limit = memory_limit_bytes(fitted.memory_limit)
    table = read_new_data(data, reading, fitted, limit=limit)
    rows = None if normal is None else read_new_data(normal, reading, fitted, limit=limit)
    with progress("computing"):
        made = monitor_of(given, table, alpha=alpha, normal=rows)
        result = made.statistics(table, rows="auto")
    if save is not None:
        made.save(save)
    for sentence in made.limits_.sentences:
        say(f"gramian: {sentence}")
    count = int(result.alarms.sum())
    files = [name for name in (out, save) if name is not None and name != "-"]
    if target is not None:
        with progress("writing"):
            write_table(target, result.finite, kind)
    if out != "-":
        worst = [place for place in result.worst() if result.alarms[place]]
        facts = {"rows": len(result), "alarms": count, "alpha": made.limits_.alpha, "files": files}
        facts["limits"] = [vars(one) for one in made.limits_.limits]
        facts["worst"] = [{name: values[i] for name, values in result.finite.items()} for i in worst]
        text = "\n".join([str(result), *(f"Written: {name}" for name in files)])
        answer(as_json, facts | {"notes": [*table.notes, *made.limits_.sentences]}, text)
    if fail and count:
        raise typer.Exit(ALARMS)
