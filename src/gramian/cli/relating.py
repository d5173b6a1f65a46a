"""The command ``relations``."""

from gramian.cli.inputs import read_table
from gramian.cli.options import Data, JsonFlag, Reading, option
from gramian.cli.outputs import FIGURES, answer, check_out
from gramian.cli.progress import progress
from gramian.errors import DataError

# Attributes of a relation in JSON, in addition to the columns.
FIELDS = (
    *("equation", "terms", "powers", "coefficients", "errors", "residual", "held_out", "noise_level"),
    *("limit", "origin", "unit"),
)


def relations(
    data: Data,
    reading: Reading,
    degree: int = option("NUMBER", "Largest degree of the equations. [2]", 2),
    tol: float | None = option(
        "NUMBER",
        "Largest accepted residual, relative to the standard deviation of each column. [by the data]",
    ),
    out: str | None = option(
        "FILE", "A figure of the first equation between two columns: .svg, .png, .pdf or .html."
    ),
    as_json: JsonFlag = False,
) -> None:
    """Find polynomial equations that all rows satisfy.

    For instance x^2 + y^2 - 1 = 0, in the units of the columns, with residuals.
    """
    if out is not None:
        check_out(out, *reading.inputs(data), ends=FIGURES, writes="relations draws a figure")
        from gramian import plots

        draw = plots.relation  # raises without its extra, before anything is computed
    from gramian.arrays import memory_limit_bytes
    from gramian.laws.relations import relations as find
    from gramian.report.facts import data_facts, payload

    # Equations of degree 1 take one pass over the file.
    table = read_table(data, reading, limit=memory_limit_bytes(None) if degree == 1 else None)
    with progress("computing"):
        result = find(table, degree, tol=tol)
    if out is not None:
        of_two = [law for law in result if law.powers.any(axis=0).sum() == 2]
        if not of_two:
            raise DataError(f"-o {out}: there is no equation between two columns to draw.\n{result}")
        with progress("drawing"):
            draw(of_two[0], table).save(out)
    each = [payload(one, *FIELDS) | {"columns": one.feature_names} for one in result]
    facts = {
        "data": data_facts(table),
        "degree": result.degree,
        "monomials": result.n_monomials,
        "distinct_rows": result.n_samples if result.distinct else None,
        "relations": each,
        "nearest_other": result.nearest,
        "limit": result.limit,
        "reason": result.reason,
        "out": out,
    }
    answer(as_json, facts, result if out is None else f"{result}\n\nWritten: {out}")
