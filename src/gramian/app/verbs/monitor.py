"""Which rows are unlike the normal rows."""

from collections.abc import Mapping
from typing import Annotated, Any

from gramian.app.verb import DATA, LargeData, Option, Output, Result, WholeModel, about
from gramian.core.checks import check_integer, check_share
from gramian.errors import ParameterError


def _require_scores(values: Mapping[str, Any], model: Any) -> None:
    if not model.model_kind.gives_scores:
        said = f"monitor needs a PCA or a kernel PCA, and this is a {type(model).__name__}."
        raise ParameterError("model", problem=said)


@about(check=_require_scores, adds_earlier_rows=True, documented={"": "gramian.models.monitor:Monitor"})
def monitor(
    model: WholeModel,
    data: LargeData,
    *,
    normal: Annotated[Any, DATA._replace(streamed=True)] = None,
    alpha: Annotated[float | None, Option(check=check_share)] = None,
    lags: Annotated[int | None, Option(check=lambda name, value: check_integer(name, value, 0))] = None,
    consecutive: Annotated[
        int | None, Option(check=lambda name, value: check_integer(name, value, 1))
    ] = None,
    fail: Annotated[bool, Option(local=True)] = False,
) -> Annotated[
    Result, Output("table"), Output("file", name="report", ends=(".md",)), Output("model", name="save")
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
    alpha : NUMBER, default: 0.01, or that of a saved monitor
        Share of normal rows with an alarm, over both statistics.
    lags : NUMBER, default: 0, or that of a saved monitor
        Earlier rows whose columns are added to each row; a model like MODEL, best of a share of the variance
        such as 0.95, is fitted to the normal rows.
    consecutive : NUMBER, default: 1, or that of a saved monitor
        Alarms in a row that begin an event.
    fail
        Exit with code 3 if there is an alarm or a frozen column.

    Files
    -----
    out : FILE, default: a short table
        A .csv, .parquet, .npy or .zarr file with all rows, or - for CSV.
    report : FILE
        A Markdown file (.md) with the events, the limits and the rules.
    save : FILE
        Also save the monitor, a .gramian file to be used as MODEL.
    """
    from gramian.models.monitor import monitor_of

    made = monitor_of(model, data, alpha=alpha, lags=lags, consecutive=consecutive, normal=normal)
    result = made.statistics(data, rows="auto")
    columns, limits = result.finite, made.limits_
    worst = [place for place in result.worst() if result.alarms[place]]
    count, events = int(result.alarms.sum()), result.events
    rules = made.run_rules() if limits.held_out else None
    notes = [*map(str, result.frozen), *limits.sentences]
    facts = {
        "rows": len(result),
        "alarms": count,
        "alpha": limits.alpha,
        "limits": [vars(one) for one in limits.limits],
        "worst": [{name: values[i] for name, values in columns.items()} for i in worst],
        "frozen": [one._asdict() for one in result.frozen],
        "events": _records(events.columns),
        "rules": [] if rules is None else _records(rules.columns),
        "summary": result.summary,
        "notes": [*data.notes, *notes],
    }
    return Result(
        result,
        facts,
        notes=notes,
        tables={"rows": columns},
        figures={"control-chart": lambda: _chart(made, data)},
        content=lambda: _report(result, rules, data.source).encode(),
        model=made,
        alarm=fail and (count > 0 or bool(result.frozen)),
    )


def _records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]


def _report(result: Any, rules: Any, source: str) -> str:
    """Return the report of alarms as Markdown."""
    from gramian.core.checks import shown_lines
    from gramian.core.notebook import Grid

    lines = [f"# Alarms in {source}"]
    for title, parts in (
        ("", [result.summary, *map(str, result.frozen)]),
        ("Events", result.events.parts()),
        ("Limits", result.limits.parts()),
        ("Rules", [] if rules is None else rules.parts()),
    ):
        lines += [f"## {title}"] if title and parts else []
        lines += [one.markdown() if isinstance(one, Grid) else one for one in parts]
    return shown_lines("\n\n".join(lines)) + "\n"


def _chart(made: Any, data: Any) -> Any:
    from gramian.figures.registry import function_of

    return function_of("monitoring", "control_chart")(made, data)
