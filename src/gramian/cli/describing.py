"""The command that says what components have to do with columns and metadata: ``describe``."""

from gramian.checks import check_integer
from gramian.cli.inputs import model_path, read_model, read_new_data, recalled
from gramian.cli.options import MEMORY_LIMIT, META, Data, JsonFlag, ModelFile, Reading, option
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress
from gramian.errors import ParameterError

FORMATS = (".csv", ".parquet")
STATISTICS = ("rows", "levels", "weighted_r2", "r2", "p", "p_adjusted")  # of a variable


def describe(
    model: ModelFile,
    data: Data,
    reading: Reading,
    meta: str | None = META,
    top: int = option("NUMBER", "Columns to list for each component. [5]", 5),
    out: str | None = option(
        "FILE", "Also write a .csv or .parquet table, a line for each variable and component."
    ),
    memory_limit: str | None = MEMORY_LIMIT,
    as_json: JsonFlag = False,
) -> None:
    """Say what columns and metadata have to do with each component.

    For each column of --meta, or of --label, it prints the share of the variance of the scores that the
    column explains (r2, or eta squared of categories) with tests adjusted for their number. A batch that
    explains much of the first components is a batch effect.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.describe import describe as described
    from gramian.report.facts import payload
    from gramian.report.tables import format_of, write_table

    check_integer("--top", top, 0)
    if out is not None:
        metas = [] if meta is None else [meta]
        inputs = (*reading.inputs(data), *metas, str(model_path(model)))
        check_out(out, *inputs, ends=FORMATS, writes="describe writes a table")
    fitted = read_model(model)
    data, reading = recalled(fitted, data, reading)
    if meta is None and not reading.labelled:
        raise ParameterError(
            "describe needs --meta FILE, or --label with columns of the data, such as sex,age."
        )
    table = read_new_data(data, reading, fitted, memory_limit_bytes(memory_limit), meta=meta)
    with progress("computing"):
        description = described(fitted, table, top=top)
    if out is not None:
        write_table(out, description.columns(), format_of(out))
    columns = {"name": description.variables, "kind": description.kinds}
    columns |= payload(description, *STATISTICS)
    facts = {
        "variables": [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)],
        "components": [
            {"name": name, description.measure: dict(columns)}
            for name, columns in zip(description.components, description.top, strict=True)
        ],
        "left_out": dict(description.left_out),
        "notes": table.notes,
        "files": [] if out is None else [out],
    }
    written = [] if out is None else [f"Written: {out}"]
    answer(as_json, facts, "\n".join([str(description), *written]))
