"""Curves: candidates of a selection, reconstruction errors, and distributions of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from gramian.core.records import ModelKind
from gramian.errors import DataError
from gramian.figures import _altair_style as style
from gramian.figures.names import fitted
from gramian.statistics.candidates import Selection
from gramian.statistics.components import kind_of

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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gramian
    >>> X, y = load_iris(return_X_y=True)
    >>> chosen = gramian.FeatureFilter("f").fit(X, y)
    >>> chart = gramian.figures.selection(chosen)
    >>> [(row["size"], row["chosen"]) for row in chart.data.to_pylist()]
    [(1, True), (2, False), (3, False), (4, False)]
    """
    for name in ("history_", "selection_"):
        result = getattr(result, name, result)
    if not isinstance(result, Selection) or not len(result):
        raise DataError(
            "There is no selection to draw.",
            'A filter compares numbers of features only with k="cv", and a search that was '
            "stopped immediately has no candidates.",
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
        base, side, across, height = style.Chart().encode(x=number), "y", style.width(), 280
    else:
        every = alt.Axis(labelOverlap=False, labelLimit=260)
        words = alt.Y("candidate:N", sort=None, title=None, axis=every)
        base, side, across, height = style.Chart().encode(y=words), "x", style.width() - 100, 20 * len(result)
    channel = {"x": alt.X, "y": alt.Y}[side]
    score = style.axis(channel, "mean", result.measure, style.limits(mean - half, mean + half))
    bars = {side: channel("low:Q", title=result.measure), f"{side}2": "high:Q"}
    line = base.mark_line(color=style.BLUE, strokeWidth=1.2, opacity=0.6)
    points = base.mark_point(filled=True, opacity=1).encode(
        **{side: score},
        tooltip=["candidate:N", "size:Q", "mean:Q", "standard_error:Q"],
        color=alt.condition("datum.chosen", alt.value(style.VERMILION), alt.value(style.BLUE)),
        size=alt.condition("datum.chosen", alt.value(90), alt.value(30)),
    )
    marks = [base.mark_rule(color=style.BLUE, strokeWidth=1.2).encode(**bars)]
    marks += [line.encode(y=score, order=alt.Order("size:Q"))] if curve else []
    about = f"{result.about.splitlines()[0].rstrip('.')}."
    why = "" if result.choice is None else result.remarks()[0].lstrip("* ")
    said = "Bars: one standard error of the mean over folds." if np.isfinite(error).any() else ""
    size = {"across": across, "height": height}
    return style.layered(columns, [*marks, points], "Candidates", about, why, said, **size)


# ----------------- Reconstruction error against the number of components


def reconstruction_errors(model: Any, X: Any) -> Any:
    """Draw the relative error of reconstructions from r components, for r from 0 to all of the model.

    Parameters
    ----------
    model : fitted PCA or FaceSpace
        The model that reconstructs the rows.
    X : array-like of shape (n_samples, n_features), or dict of str to array-like
        Rows, or several sets of rows by name, such as ``{"fitted": X, "new": Y}``. Pictures of a FaceSpace
        are compared after its correction of the illumination.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each set and r: set, components, and the relative error
        ``sqrt(sum ||x - x~||^2 / sum ||x - mean||^2)``.

    Raises
    ------
    DataError
        For another model, and for rows that are all equal to the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> chart = gramian.figures.reconstruction_errors(gramian.PCA().fit(X), X)
    >>> np.round(chart.data["error"].to_pylist(), 4).tolist()
    [1.0, 0.2046, 0.0]
    """
    sets, inner = dict(X) if isinstance(X, Mapping) else {"rows": X}, fitted(model)
    if kind_of(model).faces:
        sets, model = {name: model.relight(pictures) for name, pictures in sets.items()}, inner
    if kind_of(model) is not ModelKind.PCA:
        kind = type(model).__name__
        raise DataError(f"Errors for every number of components are those of a PCA, not of a {kind}.")
    columns: dict[str, list[Any]] = {"set": [], "components": [], "error": []}
    for name, rows in sets.items():
        sums = model.reconstruction_errors(rows).sum(axis=0)
        if not sums[0] > 0:
            raise DataError(f"The {name} are all equal to the mean, so they have no relative error.")
        columns["set"] += [str(name)] * len(sums)
        columns["components"] += range(len(sums))
        columns["error"] += np.sqrt(sums / sums[0]).tolist()
    edges = style.limits(columns["components"], margin=0.03), style.limits(columns["error"], zero=True)
    whole = alt.Axis(format="d", tickMinStep=1)
    x = style.axis(alt.X, "components", "number of components", edges[0], axis=whole)
    y = style.axis(alt.Y, "error", "relative error of the reconstruction", edges[1])
    scale = alt.Scale(domain=list(sets), range=list(style.COLOURS[: len(sets)]))
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=2) if len(sets) > 1 else None
    color = alt.Color("set:N", title=None, scale=scale, legend=legend)
    tips = ["set:N", "components:Q", alt.Tooltip("error:Q", format=".4f")]
    lines = style.Chart().encode(x=x, y=y, color=color, tooltip=tips)
    dash = alt.StrokeDash("set:N", title=None, scale=alt.Scale(domain=list(sets)), legend=legend)
    marks = [lines.mark_line(strokeWidth=1.6).encode(strokeDash=dash)]
    if len(columns["error"]) <= 60 * len(sets):
        marks.append(lines.mark_point(filled=True, size=30, opacity=1))
    said = "Distance of rows from their reconstruction over their distance from the mean (root mean squares)."
    return style.layered(columns, marks, "Reconstruction error", said, height=style.HEIGHT - 60)


# ------------------------- Distributions of face scores, with thresholds

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

    Raises
    ------
    DataError
        If a group has no scores.

    Examples
    --------
    >>> import gramian
    >>> groups = {"same": [0.8, 0.9, 0.95], "different": [0.1, 0.2, 0.3]}
    >>> chart = gramian.figures.face_scores(groups, {"limit": 0.5}, title="similarity")
    >>> sorted(set(chart.data["group"].to_pylist()))
    ['different', 'same']
    >>> chart.save("similarity.svg")  # doctest: +SKIP
    """
    if kind_of(groups).faces:
        own = {f"limit of a face (accepts {100 * groups.face_keep_:g} % of these)": groups.face_threshold_}
        groups, thresholds = {"fitted faces": groups.face_scores_}, own if thresholds is None else thresholds
        title = "distance from the face space (relative)" if title == "score" else title
    values = {name: np.asarray(scores, dtype=float).ravel() for name, scores in groups.items()}
    marked = dict(thresholds or {})
    if not values or not all(len(scores) for scores in values.values()):
        raise DataError("A group has no scores. Give at least one score for each group.")
    edge = style.limits(*values.values(), np.array(list(marked.values())), margin=0.03)
    bounds = np.linspace(edge[0], edge[1], BINS + 1)
    columns = {
        "group": [name for name in values for _ in range(BINS)],
        "low": np.tile(bounds[:-1], len(values)),
        "high": np.tile(bounds[1:], len(values)),
        "share": np.concatenate([100 * np.histogram(v, bounds)[0] / len(v) for v in values.values()]),
    }
    scale = alt.Scale(domain=list(values), range=list(style.COLOURS))
    color = alt.Color("group:N", sort=None, title=None, scale=scale)
    y = alt.Y("share:Q", title="share of the group (%)", stack=None)
    tips = ["group:N", "low:Q", "high:Q", alt.Tooltip("share:Q", format=".2f")]
    x, base = style.axis(alt.X, "low", title, edge), style.Chart().encode(y=y, color=color)
    bars = base.mark_rect(opacity=0.45).encode(x=x, x2="high:Q", y2=alt.datum(0), tooltip=tips)
    dash = alt.StrokeDash("group:N", sort=None, title=None, scale=alt.Scale(domain=list(values)))
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.4).encode(x="low:Q", strokeDash=dash)
    what = [f"{name}: {at:.4g}" for name, at in marked.items()]
    rule = style.chart({"at": list(marked.values()), "what": what})
    rule = rule.mark_rule(color=style.INK, strokeDash=[5, 3], strokeWidth=1.4)
    rule = rule.encode(x="at:Q", tooltip="what:N")
    said = [f"{name}: {len(one):,} scores, median {np.median(one):.4g}." for name, one in values.items()]
    drawn = [f"Dashed, {one}." for one in what]
    layers = [bars, steps, *([rule] if marked else [])]
    return style.layered(columns, layers, "Scores and thresholds", *said, *drawn, height=260)
