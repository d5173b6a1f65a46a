"""The candidates of a selection, with standard errors."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.candidates import Selection
from gramian.errors import DataError
from gramian.plots.style import BLUE, VERMILION, axis, layered, limits, width

PADDED = alt.Scale(zero=False, nice=False, padding=8)


def selection(result: Any) -> Any:
    """Draw the score of every candidate with its standard error, and mark the chosen one.

    Parameters
    ----------
    result : Selection, or fitted FeatureFilter or SequentialFeatureSelector
        What :func:`gramian.choose_kernel` returns, ``history_`` or ``selection_``.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each candidate: description, size, mean score, its standard error, mean
        minus and plus the error, and whether it was chosen. Candidates of different sizes form a curve,
        others a list.

    Raises
    ------
    DataError
        Without candidates, as after a filter with a fixed number of features.
    """
    for name in ("history_", "selection_"):
        result = getattr(result, name, result)
    if not isinstance(result, Selection) or not len(result):
        raise DataError(
            "There is no selection to draw. A filter compares numbers of features only with k='cv', and a "
            "search that was stopped immediately has no candidates."
        )
    mean = np.array([one.mean for one in result], dtype=float)
    error = np.array([one.standard_error for one in result], dtype=float)
    half = np.where(np.isfinite(error), error, 0.0)
    chosen = -1 if result.choice is None else result.choice.place
    sizes = [one.size for one in result]
    columns = {
        "candidate": [result.label_of(one) for one in result],
        "size": [None if size is None else int(size) for size in sizes],
        "mean": mean,
        "standard_error": error,
        "low": mean - half,
        "high": mean + half,
        "chosen": [place == chosen for place in range(len(result))],
    }
    curve = len(set(sizes)) > max(1, len(sizes) // 2) and None not in sizes
    if curve:
        whole = alt.Axis(tickMinStep=1, format="d")
        number = alt.X("size:Q", title=f"number of {result.unit}", axis=whole, scale=PADDED)
        base, side, across, height = alt.Chart().encode(x=number), "y", width(), 280
    else:
        every = alt.Axis(labelOverlap=False, labelLimit=260)
        words = alt.Y("candidate:N", sort=None, title=None, axis=every)
        base, side, across, height = alt.Chart().encode(y=words), "x", width() - 100, 20 * len(result)
    channel = {"x": alt.X, "y": alt.Y}[side]
    score = axis(channel, "mean", result.measure, limits(mean - half, mean + half))
    bars = {side: channel("low:Q", title=result.measure), f"{side}2": "high:Q"}
    line = base.mark_line(color=BLUE, strokeWidth=1.2, opacity=0.6)
    points = base.mark_point(filled=True, opacity=1).encode(
        **{side: score},
        tooltip=["candidate:N", "size:Q", "mean:Q", "standard_error:Q"],
        color=alt.condition("datum.chosen", alt.value(VERMILION), alt.value(BLUE)),
        size=alt.condition("datum.chosen", alt.value(90), alt.value(30)),
    )
    marks = [base.mark_rule(color=BLUE, strokeWidth=1.2).encode(**bars)]
    marks += [line.encode(y=score, order=alt.Order("size:Q"))] if curve else []
    about = f"{result.about.splitlines()[0].rstrip('.')}."
    why = "" if result.choice is None else result.remarks()[0].lstrip("* ")
    said = "Bars: one standard error of the mean over folds." if np.isfinite(error).any() else ""
    size = {"across": across, "height": height}
    return layered(columns, [*marks, points], "Candidates", about, why, said, **size)
