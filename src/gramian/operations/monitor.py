"""Which rows are unlike the normal rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gramian.checks import check_integer, check_share
from gramian.errors import ParameterError
from gramian.operations.operation import LARGE_DATA, WHOLE_MODEL, Input, Out, Result, operation
from gramian.options import flag, option

NORMAL = Input(
    "normal",
    "data",
    "FILE",
    "Normal rows, which set the limits.",
    option=True,
    required=False,
    streamed=True,
    usual="by theory from the model, or those of a saved monitor",
    label="normal rows",
)


@dataclass(frozen=True)
class Monitor:
    """The parameters of ``gramian.Monitor`` that a fitted model leaves open."""

    alpha: float | None = option(
        "NUMBER",
        "Share of normal rows with an alarm, over both statistics.",
        usual="0.01, or that of a saved monitor",
        check=check_share,
    )
    lags: int | None = option(
        "NUMBER",
        "Earlier rows whose columns are added to each row; a model like MODEL, best of a share of the "
        "variance such as 0.95, is fitted to the normal rows.",
        usual="0, or that of a saved monitor",
        check=lambda flag, value: check_integer(flag, value, 0),
        label="earlier rows",
    )
    consecutive: int | None = option(
        "NUMBER",
        "Alarms in a row that begin an event.",
        usual="1, or that of a saved monitor",
        check=lambda flag, value: check_integer(flag, value, 1),
        label="alarms in a row",
    )
    fail: bool = flag("Exit with code 3 if there is an alarm or a frozen column.", local=True)


def _require_scores(options: Monitor, model: Any) -> None:
    if not model.model_kind.gives_scores:
        said = f"monitor needs a PCA or a kernel PCA, and this is a {type(model).__name__}."
        raise ParameterError("model", problem=said)


@operation(
    WHOLE_MODEL,
    LARGE_DATA,
    NORMAL,
    check=_require_scores,
    adds_earlier_rows=True,
    outs=[
        Out(
            "table",
            "FILE",
            "A .csv, .parquet, .npy or .zarr file with all rows, or - for CSV.",
            usual="a short table",
        ),
        Out(
            "file",
            "FILE",
            "A Markdown file (.md) with the events, the limits and the rules.",
            name="report",
            ends=(".md",),
            writes="--report writes Markdown",
        ),
        Out(
            "model",
            "FILE",
            "Also save the monitor, a .gramian file to be used as MODEL.",
            name="save",
        ),
    ],
)
def monitor(options: Monitor, model: Any, data: Any, normal: Any = None) -> Result:
    """Find rows that are unlike the normal rows.

    A row has an alarm if T2 (its distance from the mean within the components) or SPE (its squared distance
    from the components) exceeds a limit. The table has T2, SPE, their limits, the alarm, and the three
    columns that contribute most. An event is a run of alarms, with the columns that contribute most to its
    first rows. Columns that have one value for much longer than in the normal rows are named as frozen.
    """
    from gramian.models.monitor import monitor_of

    made = monitor_of(
        model,
        data,
        alpha=options.alpha,
        lags=options.lags,
        consecutive=options.consecutive,
        normal=normal,
    )
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
        alarm=options.fail and (count > 0 or bool(result.frozen)),
    )


def _records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]


def _report(result: Any, rules: Any, source: str) -> str:
    """Return the report of alarms as Markdown."""
    from gramian.checks import shown_lines
    from gramian.notebook import Grid

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
    from gramian.plots.registry import function_of

    return function_of("monitoring", "control_chart")(made, data)
