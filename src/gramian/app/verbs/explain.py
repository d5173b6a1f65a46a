"""What a fitted model means: columns and metadata, what misleads, unusual rows, other samples and fits."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal

from gramian.app import verb
from gramian.core.checks import check_integer, check_number, check_share

check_natural = partial(check_integer, least=0)
ENDS = (".csv", ".parquet", *verb.FIGURES)
STATISTICS = ("rows", "levels", "weighted_r2", "r2", "p", "p_adjusted", "r")  # of a variable


@verb.about(documented={"": "gramian.answers.describe:describe"})
def describe(
    model: verb.Model,
    data: verb.LargeData,
    *,
    meta: verb.Meta = None,
    top: Annotated[int, verb.Option("NUMBER", check=check_natural)] = 5,
    memory_limit: verb.MemoryLimit = None,
) -> Annotated[verb.Result, verb.Output("table", ends=ENDS)]:
    """Say what columns and metadata have to do with each component.

    For each column of --meta, or of --label, it prints the share of the variance of the scores that the
    column explains (r2, or eta squared of categories) with tests adjusted for their number. A batch that
    explains much of the first components is a batch effect.

    Files
    -----
    out : FILE
        Also write a .csv or .parquet table, a line for each variable and component, or draw it: an .svg, .png
        or .pdf file.
    """
    import numpy as np

    from gramian.answers.describe import describe
    from gramian.figures.registry import function_of
    from gramian.report.facts import payload

    result, texts = describe(model, data, top=top), data.descriptions
    named = (name for component in result.top for name, _ in component)
    lines = result.columns()
    if texts:
        lines["description"] = np.array([texts.get(name, "") for name in lines["variable"]], dtype=object)
    columns = {"name": result.variables, "kind": result.kinds} | payload(result, *STATISTICS)
    facts = {
        "variables": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "components": [
            {"name": name, result.measure: dict(largest)}
            for name, largest in zip(result.components, result.top, strict=True)
        ],
        "left_out": dict(result.left_out),
        "descriptions": {name: texts[name] for name in (*result.variables, *named) if name in texts},
        "sentences": result.answers(),
        "notes": data.notes,
    }
    figures = {"metadata": lambda: function_of("columns", "metadata")(result)}
    return verb.Result(result, facts, tables={"variables": lines}, figures=figures)


@verb.about(documented={"": "gramian.answers.explanation:explain"})
def explain(
    model: verb.Model,
    data: verb.Data,
    *,
    subset: verb.Names = None,
    versus: verb.Names = None,
    meta: verb.Meta = None,
) -> Annotated[verb.Result, verb.Output("table", ends=ENDS)]:
    """Explain why a row is unusual, or what tells some rows from others.

    For a row it prints the columns that make it unusual, with what is usual for the other rows, and a likely
    cause, such as a slip of the decimal point. For several rows, such as a group, it prints the columns in
    which they differ from the others.

    Parameters
    ----------
    subset : A,B,.., default: the most unusual row
        Rows by name or number from 0, COLUMN=VALUE for all rows of a group, or a value of the labels.
    versus : A,B,.., default: all other rows
        The rows to compare with.

    Files
    -----
    out : FILE
        Also write a .csv or .parquet table with all columns, or draw the largest contributions: an .svg, .png
        or .pdf file.
    """
    from gramian.answers.explanation import explain
    from gramian.figures.registry import function_of

    result = explain(model, data, subset, versus=versus)
    columns = result.table()
    facts = {
        "rows": result.rows,
        "others": len(result.versus),
        "sentence": result.sentence,
        "statistic": result.statistic,
        "value": result.value,
        "limit": result.limit,
        "columns": _records(columns),
        "causes": [asdict(cause) for cause in result.causes],
        "notes": result.notes,
    }
    figures = {"explanation": lambda: function_of("monitoring", "explanation")(result)}
    return verb.Result(result, facts, tables={"columns": columns}, figures=figures)


def diagnose(model: verb.Model, data: verb.Data, *, meta: verb.Meta = None) -> verb.Result:
    """Say whether the answer of a fitted model means what it seems to mean.

    Looks for columns that dominate by their unit, a kernel too narrow or too wide, single rows, identifiers,
    orders, arches, and components that are chance. Each finding has its evidence and the step that mends it.
    Of several columns of labels or metadata, such as treatment and batch, it says which coincide.
    """
    from gramian.answers.diagnose import diagnose

    result = diagnose(model, data)
    return verb.Result(
        "\n".join(result.lines()), {"findings": [asdict(finding) for finding in result.findings]}
    )


INTERVALS = (
    *("component", "variance", "variance_low", "variance_high"),
    *("ratio", "ratio_low", "ratio_high", "agreement"),
)


@verb.about(documented={"": "gramian.answers.stability:stability"})
def stability(
    model: verb.Model,
    data: verb.Data,
    *,
    n_resamples: Annotated[int, verb.Option("NUMBER")] = 200,
    level: Annotated[float, verb.Option("SHARE")] = 0.95,
    random_state: verb.Seed = 0,
) -> Annotated[verb.Result, verb.FIGURE]:
    """Show how much the components of a saved PCA would change with another sample.

    Draws the rows of the fit with replacement many times. Prints intervals of each variance and its share of
    the total, and how well each component agrees with those of the samples.

    Files
    -----
    out : FILE
        Also draw the intervals: an .svg, .png or .pdf file.
    """
    from gramian.answers.stability import stability
    from gramian.figures.registry import function_of
    from gramian.report.facts import payload

    result = stability(model, data, n_resamples=n_resamples, level=level, random_state=random_state)
    components = [dict(zip(INTERVALS, row, strict=True)) for row in result.rows()]
    facts = payload(result, "level", "n_resamples", "feature_names", "loading_intervals", "separated") | {
        "rows": result.n_samples,
        "components": components,
        "sentences": [result.answer, *result.sentences()],
    }
    figures = {"stability": lambda: function_of("spectra", "stability")(result)}
    return verb.Result(f"{result}\n", facts, figures=figures)


@verb.about(documented={"": "gramian.answers.rotate:rotate"})
def rotate(
    model: verb.Model,
    *,
    method: Literal["varimax", "promax"] = "varimax",
    n_components: Annotated[int | None, verb.Option("K", usual="all with variance", short="-k")] = None,
) -> Annotated[verb.Result, verb.FIGURE]:
    """Rotate components so that each column has a large loading on few of them.

    The model is a saved PCA. Prints the variance of each rotated component, and the columns with the largest
    loadings. Rotated components depend on how many are rotated.

    Parameters
    ----------
    method
        varimax keeps components uncorrelated; promax lets them correlate.

    Files
    -----
    out : FILE
        Also draw the rotated loadings: an .svg, .png or .pdf file.
    """
    from gramian.answers.rotate import rotate
    from gramian.figures.registry import function_of
    from gramian.report.facts import payload

    result = rotate(model, method, n_components=n_components)
    facts = payload(result, "method", "columns", "loadings", "variances", "ratio")
    facts |= payload(result, "rotation_matrix", "correlations") | {"sentences": result.sentences()}
    return verb.Result(
        result, facts, figures={"rotation": lambda: function_of("columns", "rotation")(result)}
    )


CHANGES = (
    *("old", "new", "old_variance", "new_variance", "change", "change_explained"),
    *("angle", "angle_explained"),
)


def compare(old: verb.Model, new: verb.Model, *, tol: float | None = None) -> verb.Result:
    """Compare two saved PCA models: did an upgrade, a machine or new rows change the result?

    Matches components whatever their order and signs, and says whether the error bounds of both fits explain
    the changes. Exit code 3 means that a change exceeds --tol.

    Parameters
    ----------
    old : OLD
        A model file that gramian fit has written.
    new : NEW
        A model file, fitted on the same columns.
    tol : NUMBER, default: any
        Largest accepted change: of a variance relative to the largest, of a direction in radians.
    """
    from gramian.answers.compare import compare
    from gramian.report.facts import payload

    if tol is not None:
        check_number("tol", tol, least=0.0, advice="0 allows no difference at all.")
    result = compare(old, new)
    within = tol is None or max(result.largest_change, result.largest_angle) <= tol
    facts = payload(result, "explained", "largest_change", "largest_angle") | {
        "within_tolerance": within,
        "sentences": result.sentences(),
        "components": [dict(zip(CHANGES, row, strict=True)) for row in result.rows()],
    }
    beyond = "" if within else f"\n\nA change exceeds the tolerance of {tol:g}."
    return verb.Result(f"{result}{beyond}", facts, alarm=not within)


@verb.about(documented={"": "gramian.models.monitor:Monitor"})
def monitor(
    model: verb.WholeModel,
    data: verb.LargeData,
    *,
    normal: Annotated[Any, verb.DATA._replace(streamed=True)] = None,
    reference: verb.Names = None,
    alpha: Annotated[float | None, verb.Option(check=check_share)] = None,
    consecutive: Annotated[int | None, verb.Option(check=check_integer)] = None,
    fail: Annotated[bool, verb.Option(local=True)] = False,
    context: verb.Context = verb.Context(),
) -> Annotated[
    verb.Result,
    verb.Output("table"),
    verb.Output("model", name="save"),
]:
    """Find rows that are unlike the normal rows.

    A row has an alarm if T2 (its distance from the mean within the components) or SPE (its squared distance
    from the components) exceeds a limit. The table has T2, SPE, their limits, the alarm, and the three
    columns that contribute most. An event is a run of alarms, with the columns that contribute most to its
    first rows. Columns that have one value for much longer than in the normal rows are named as frozen.

    Parameters
    ----------
    normal : FILE, default: by theory from the model, or those of a saved monitor
        Normal rows, which set the limits.
    reference : FIRST,LAST
        The first and the last of the rows of DATA that are normal, by name, number from 0 or time; a model
        like MODEL is fitted to them, and sets the limits.
    alpha : NUMBER, default: 0.01, or that of a saved monitor
        Share of normal rows with an alarm, over both statistics.
    consecutive : NUMBER, default: 1, or that of a saved monitor
        Alarms in a row that begin an event.
    fail
        Exit with code 3 if there is an alarm or a frozen column.

    Files
    -----
    out : FILE, default: a short table
        A .csv, .parquet, .npy or .zarr file with all rows, or - for CSV.
    save : FILE
        Also save the monitor, a .gramian file to be used as MODEL.
    """
    from gramian.figures.registry import function_of
    from gramian.models.monitor import monitor_of

    made = monitor_of(model, data, alpha=alpha, consecutive=consecutive, normal=normal, reference=reference)
    result = made.statistics(data, rows="auto")
    columns, limits = result.finite, made.limits_
    worst = [row for row in result.worst() if result.alarms[row]]
    count, events = int(result.alarms.sum()), result.events
    rules = made.run_rules() if limits.held_out else None
    notes = [*map(str, result.frozen), *limits.sentences]
    facts = {
        "rows": len(result),
        "alarms": count,
        "alpha": limits.alpha,
        "limits": [vars(item) for item in limits.limits],
        "worst": [{name: values[i] for name, values in columns.items()} for i in worst],
        "frozen": [item._asdict() for item in result.frozen],
        "events": _records(events.columns),
        "rules": [] if rules is None else _records(rules.columns),
        "summary": result.summary,
        "notes": [*data.notes, *notes],
    }
    return verb.Result(
        result,
        facts,
        notes=notes if context.out == "-" else (),  # else the text has them
        tables={"rows": columns},
        figures={"control-chart": lambda: function_of("monitoring", "control_chart")(made, data)},
        model=made,
        alarm=fail and (count > 0 or bool(result.frozen)),
    )


def _records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
