"""What was tried in a selection, with its standard errors."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.tried import Selection
from gramian.errors import DataError
from gramian.plots.style import BLUE, VERMILION, WIDTH, Layers, axis, headed, limits, table


def selection(found: Any) -> Any:
    """Draw the score of everything that was tried, with its standard error, and mark what was chosen.

    Parameters
    ----------
    found : Selection, or fitted FeatureFilter or SequentialFeatureSelector
        What :func:`gramian.choose_kernel` returns, ``history_`` or ``selection_``.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each candidate: it in words, its size, the mean score, its standard
        error, mean less and plus that, and whether it was chosen. Sizes are along the axis where candidates
        differ in size, else there is a line for each candidate.

    Raises
    ------
    DataError
        Where nothing was tried, as by a filter with a given number of features.
    """
    for name in ("history_", "selection_"):
        found = getattr(found, name, found)
    if not isinstance(found, Selection) or not len(found):
        raise DataError(
            "There is no selection to draw: a filter tries numbers of features only with k='cv', and a "
            "search that was stopped at once has tried nothing."
        )
    mean = np.array([one.mean for one in found], dtype=float)
    error = np.array([one.standard_error for one in found], dtype=float)
    half = np.where(np.isfinite(error), error, 0.0)
    chosen = -1 if found.choice is None else found.choice.place
    sizes = [one.size for one in found]
    data = table(
        {
            "candidate": [found.label_of(one) for one in found],
            "size": [None if size is None else int(size) for size in sizes],
            "mean": mean,
            "standard_error": error,
            "low": mean - half,
            "high": mean + half,
            "chosen": [place == chosen for place in range(len(found))],
        }
    )
    curve = len(set(sizes)) > max(1, len(sizes) // 2) and None not in sizes
    sense = "score" if found.measure == "score" else found.measure
    edge = limits(mean - half, mean + half)
    tip = [
        "candidate:N",
        "size:Q",
        alt.Tooltip("mean:Q", format=".4g"),
        alt.Tooltip("standard_error:Q", format=".2g"),
    ]
    whole = alt.Axis(tickMinStep=1, format="d")
    if curve:
        along: dict[str, Any] = {
            "x": alt.X("size:Q", title=f"number of {found.unit}", axis=whole, scale=alt.Scale(zero=False))
        }
        score = axis(alt.Y, "mean", sense, edge)
        bars = {"y": alt.Y("low:Q", title=sense), "y2": "high:Q"}
        size: dict[str, Any] = {"width": WIDTH, "height": 280}
    else:
        along = {
            "y": alt.Y(
                "candidate:N", sort=None, title=None, axis=alt.Axis(labelOverlap=False, labelLimit=260)
            )
        }
        score = axis(alt.X, "mean", sense, edge)
        bars = {"x": alt.X("low:Q", title=sense), "x2": "high:Q"}
        size = {"width": WIDTH - 100, "height": 20 * len(found)}
    side = "y" if curve else "x"
    base = alt.Chart()
    marks = [base.mark_rule(color=BLUE, strokeWidth=1.2).encode(**along, **bars)]
    if curve:
        order = alt.Order("size:Q")
        marks.append(
            base.mark_line(color=BLUE, strokeWidth=1.2, opacity=0.6).encode(**along, y=score, order=order)
        )
    points = base.mark_point(filled=True, opacity=1).encode(
        **along,
        **{side: score},
        tooltip=tip,
        color=alt.condition("datum.chosen", alt.value(VERMILION), alt.value(BLUE)),
        size=alt.condition("datum.chosen", alt.value(90), alt.value(30)),
    )
    why = "" if found.choice is None else found.remarks()[0].lstrip("* ")
    said = "Bars: one standard error of the mean over folds." if np.isfinite(error).any() else ""
    width = WIDTH if curve else WIDTH + 60
    head = headed("What was tried", f"{found.about.splitlines()[0].rstrip('.')}.", why, said, width=width)
    return Layers(data=data, layer=[*marks, points], title=head, **size)
