"""The command ``stability``."""

from gramian.cli.inputs import model_path, read_model, read_new_data
from gramian.cli.options import Data, JsonFlag, ModelFile, Reading, Seed, option
from gramian.cli.outputs import FIGURES, answer, check_out
from gramian.cli.progress import progress

COLUMNS = (
    *("component", "variance", "variance_low", "variance_high"),
    *("ratio", "ratio_low", "ratio_high", "agreement"),
)


def stability(
    model: ModelFile,
    data: Data,
    reading: Reading,
    n_boot: int = option("NUMBER", "Number of samples drawn with replacement. [200]", 200),
    level: float = option("SHARE", "Nominal coverage of the intervals. [0.95]", 0.95),
    out: str | None = option("FILE", "Also draw the intervals: an .svg, .png, .pdf or .html file."),
    random_state: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show how much the components of a saved PCA would change with another sample.

    Draws the rows of the fit with replacement many times. Prints intervals of each variance and its share of
    the total, and how well each component agrees with those of the samples.
    """
    from gramian.estimators.stability import stability
    from gramian.report.facts import payload

    if out is not None:
        inputs = (*reading.inputs(data), str(model_path(model)))
        check_out(out, *inputs, ends=FIGURES, writes="stability draws a figure")
    fitted = read_model(model)
    table = read_new_data(data, reading, fitted)
    with progress("computing"):
        result = stability(fitted, table, n_boot=n_boot, level=level, random_state=random_state)
    if out is not None:
        from gramian.plots.registry import function_of

        function_of("spectra", "stability")(result).save(out)
    facts = payload(result, "level", "n_boot", "feature_names", "loading_intervals", "separated") | {
        "rows": result.n_samples,
        "components": [dict(zip(COLUMNS, row, strict=True)) for row in result.rows()],
        "sentences": result.sentences(),
        "files": [] if out is None else [out],
    }
    written = "" if out is None else f"\n\nWritten: {out}"
    answer(as_json, facts, f"{result}{written}")
