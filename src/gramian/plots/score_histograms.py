"""Distributions of face scores, with thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.components import kind_of
from gramian.errors import DataError
from gramian.plots.style import COLOURS, INK, axis, layered, limits, table

BINS = 40


def face_scores(groups: Any, thresholds: Mapping[str, float] | None = None, *, title: str = "score") -> Any:
    """Draw the distributions of scores of groups of pictures, and thresholds.

    Parameters
    ----------
    groups : mapping of str to array-like, or fitted FaceSpace
        Scores by group, such as ``space.face_score`` of faces and of other pictures, or similarities of the
        same and of different people. A FaceSpace provides its threshold and the held-out scores of its own
        pictures.
    thresholds : mapping of str to float, optional
        Thresholds by name.
    title : str
        The title of the axis.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each group and interval of scores: the share of the group in it (%).
    """
    if kind_of(groups).faces:
        own = {f"limit of a face (accepts {100 * groups.face_keep_:g} % of these)": groups.face_threshold_}
        groups, thresholds = {"fitted faces": groups.face_scores_}, own if thresholds is None else thresholds
        title = "distance from the face space (relative)" if title == "score" else title
    values = {name: np.asarray(scores, dtype=float).ravel() for name, scores in groups.items()}
    marked = dict(thresholds or {})
    if not values or not all(len(scores) for scores in values.values()):
        raise DataError("A group has no scores. Give at least one score for each group.")
    edge = limits(*values.values(), np.array(list(marked.values())), margin=0.03)
    bounds = np.linspace(edge[0], edge[1], BINS + 1)
    columns: dict[str, list[Any]] = {name: [] for name in ("group", "low", "high", "share")}
    for name, scores in values.items():
        columns["group"] += [name] * BINS
        columns["low"] += bounds[:-1].tolist()
        columns["high"] += bounds[1:].tolist()
        columns["share"] += (100 * np.histogram(scores, bounds)[0] / len(scores)).tolist()
    color = alt.Color(
        "group:N", sort=None, title=None, scale=alt.Scale(domain=list(values), range=list(COLOURS))
    )
    y = alt.Y("share:Q", title="share of the group (%)", stack=None)
    tips = ["group:N", "low:Q", "high:Q", alt.Tooltip("share:Q", format=".2f")]
    x, base = axis(alt.X, "low", title, edge), alt.Chart().encode(y=y, color=color)
    bars = base.mark_rect(opacity=0.45).encode(x=x, x2="high:Q", y2=alt.datum(0), tooltip=tips)
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.4).encode(x="low:Q")
    rules = table({"at": list(marked.values()), "what": [f"{name}: {at:.4g}" for name, at in marked.items()]})
    rule = alt.Chart(rules).mark_rule(color=INK, strokeDash=[5, 3], strokeWidth=1.4)
    rule = rule.encode(x="at:Q", tooltip="what:N")
    said = [
        f"{name}: {len(scores):,} scores, median {np.median(scores):.4g}." for name, scores in values.items()
    ]
    drawn = [f"Dashed, {name}: {at:.4g}." for name, at in marked.items()]
    layers = [bars, steps, *([rule] if marked else [])]
    return layered(columns, layers, "Scores and thresholds", *said, *drawn, height=260)
