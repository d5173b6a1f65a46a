"""Figures of eigenvalues: what each component carries, how many there are, and how certain they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.analysis.components import component_names
from gramian.checks import counted
from gramian.errors import ParameterError
from gramian.estimators.choose_components import choose_components
from gramian.estimators.component_choice import known_variances
from gramian.estimators.pca import PCA
from gramian.plots.names import fitted
from gramian.plots.style import BLUE, INK, VERMILION, WIDTH, Layers, Lines, headed, table

MOST_BARS = 40
RULE_LINE = 17  # pixels


def scree(model: Any, choices: Iterable[ComponentChoice] | None = None, *, most: int = MOST_BARS) -> Any:
    """Draw what each component carries, what is kept, and what rules say about how many there are.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
    choices : ComponentChoices, optional
        What :func:`gramian.choose_components` says; by default, of a PCA, what rules read from the spectrum
        alone, and of others the rule that they followed. ``()`` for none.
    most : int
        Bars drawn at most.

    Returns
    -------
    altair.VConcatChart or altair.LayerChart
        ``chart.data`` has a row for each component: its number, name, variance, share and cumulative share
        of the total in percent, and whether it is kept.

    Raises
    ------
    ParameterError
        If the model has no components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [4, 2, 1, 1]
    >>> gramian.plots.scree(gramian.PCA(2).fit(X)).data.select(["name", "kept"]).to_pylist()[1:3]
    [{'name': 'PC2', 'kept': True}, {'name': 'PC3', 'kept': False}]
    """
    model = fitted(model)
    kept, found = int(model.n_components_), known_variances(model)
    if not kept:
        raise ParameterError("The model has no components to draw.")
    asked = list(_default_choices(model) if choices is None else getattr(choices, "choices", choices))
    ratios = model.explained_variance_ratio_
    if ratios is None:
        of, total = f"the variance of {counted(kept, 'component')}", float(found.sum())
    else:
        first = float(ratios[0])
        of, total = "the total variance", float(found[0]) / first if first > 0 else 0.0
    shares = 100 * found / (total or 1.0)
    data = table(
        {
            "component": np.arange(1, len(found) + 1),
            "name": component_names(len(found)),
            "variance": found,
            "share": shares,
            "cumulative": np.cumsum(shares),
            "kept": np.arange(len(found)) < kept,
        }
    )
    shown = min(most, len(found))
    answers = [choice for choice in asked if choice.number is not None]
    places = list(range(0 if any(choice.number == 0 for choice in answers) else 1, shown + 1))
    step = max(1, -(-shown // 16))
    x = alt.X("component:O", scale=alt.Scale(domain=places))
    ticks = alt.Axis(values=[j for j in places if (j - 1) % step == 0 or j == 0], labelAngle=0, ticks=False)
    bottom = x.axis(ticks).title("component")
    names = ["kept", *(["left out"] if shown > kept else []), "cumulative"]
    colors = [BLUE, *(["#b5cfe0"] if shown > kept else []), VERMILION]
    legend = alt.Scale(domain=names, range=colors)
    bars = (
        alt.Chart()
        .transform_filter(f"datum.component <= {shown}")
        .transform_calculate(what="datum.kept ? 'kept' : 'left out'")
    )
    tooltip = [
        "name:N",
        "variance:Q",
        alt.Tooltip("share:Q", format=".2f"),
        alt.Tooltip("cumulative:Q", format=".2f"),
    ]
    y_title = f"share of {of} (%)"
    marks = [
        bars.mark_bar().encode(
            x=bottom,
            y=alt.Y("share:Q", title=y_title, scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("what:N", scale=legend, title=None),
            tooltip=tooltip,
        ),
        bars.mark_line(color=VERMILION, strokeWidth=1.5).encode(x=bottom, y="cumulative:Q"),
        bars.mark_point(filled=True, size=26, opacity=1).encode(
            x=bottom, y="cumulative:Q", color=alt.ColorDatum("cumulative"), tooltip=tooltip
        ),
    ]
    share = float(np.sum(shares[:kept]))
    caption = [f"{counted(kept, 'component')} kept, {share:.4g} % of {of}."]
    if shown < len(found):
        caption.append(f"The first {shown} of {len(found)} known eigenvalues are drawn.")
    silent = [choice.rule for choice in asked if choice.number is None]
    if silent:
        caption.append(f"No answer from {', '.join(silent)}.")
    title = headed("Variance of components", *caption)
    size = {"width": WIDTH, "height": 260}
    if not answers:
        return Layers(data=data, layer=marks, title=title, **size)
    strip = {"layer": _rules(answers, x, places), "width": WIDTH, "height": RULE_LINE * len(answers)}
    return Lines(
        data=data,
        vconcat=[alt.LayerChart(layer=marks, **size), alt.LayerChart(**strip)],
        title=title,
        spacing=8,
    )


def _default_choices(model: Any) -> list[ComponentChoice]:
    if isinstance(model, PCA):
        return [c for c in choose_components(model).choices if c.number is not None]
    choice = getattr(model, "component_choice_", None)
    return [] if choice is None else [choice]


def _rules(answers: list[ComponentChoice], x: Any, places: list[int]) -> list[Any]:
    last = places[-1]
    numbers = [int(choice.number or 0) for choice in answers]
    rows = table(
        {
            "rule": [choice.rule for choice in answers],
            "number": numbers,
            "answer": [choice.answer for choice in answers],
            "component": [min(number, last) for number in numbers],
            "beyond": [number > last for number in numbers],
            "why": [choice.sentence for choice in answers],
            "left": [min(number, last) > places[len(places) // 2] for number in numbers],
        }
    )
    base = alt.Chart(rows).encode(
        x=x.axis(None),
        y=alt.Y("rule:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, grid=True)),
        tooltip=["rule:N", "answer:N", "why:N"],
    )
    text = {"fontSize": 10.5, "color": INK, "baseline": "middle"}
    return [
        base.mark_point(filled=True, size=55, color=INK, opacity=1).encode(
            shape=alt.condition("datum.beyond", alt.value("triangle-right"), alt.value("diamond"))
        ),
        base.transform_filter("!datum.left").mark_text(align="left", dx=8, **text).encode(text="answer:N"),
        base.transform_filter("datum.left").mark_text(align="right", dx=-8, **text).encode(text="answer:N"),
    ]


def eigenvalues(model: Any) -> Any:
    """Draw the eigenvalues with the intervals that the certificate proves, and how wide these are.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace

    Returns
    -------
    altair.VConcatChart
        ``chart.data``: number, eigenvalue, ``lower`` and ``upper`` (missing where nothing is known of
        eigenvalues that were not computed), the radius, and it relative to the largest eigenvalue.
    """
    certificate = fitted(model).certificate_
    values = np.asarray(certificate.values)
    if not values.size or not values[0] > 0:
        raise ParameterError("No eigenvalue above 0 was computed, so there is no interval to draw.")
    top = float(values[0])
    least = float(values[values > 0].min()) / 10
    data = table(
        {
            "component": np.arange(1, len(values) + 1),
            "eigenvalue": np.where(values > 0, values, np.nan),
            "lower": certificate.lower,
            "upper": certificate.upper,
            "radius": certificate.radii,
            "relative": np.maximum(certificate.radii / top, 1e-18),
        }
    )
    numbers = alt.Scale(domain=[0.5, len(values) + 0.5], nice=False)
    places = list(range(1, len(values) + 1, max(1, -(-len(values) // 16))))
    x = alt.X("component:Q", title=None, axis=alt.Axis(labels=False, values=places), scale=numbers)
    log = alt.Scale(type="log", nice=True)
    power = alt.Axis(format="~g", tickCount=6)
    rows = alt.Chart().transform_calculate(
        low=f"max(datum.lower, {least})", high="isValid(datum.upper) ? datum.upper : datum.eigenvalue"
    )
    upper = [
        rows.mark_errorbar(ticks=alt.MarkConfig(color=BLUE), color=BLUE, thickness=1).encode(
            x=x, y=alt.Y("low:Q", title=certificate.unit, scale=log, axis=power), y2="high:Q"
        ),
        rows.mark_point(filled=True, color=BLUE, opacity=1, size=28).encode(
            x=x,
            y=alt.Y("eigenvalue:Q", scale=log),
            tooltip=["component:Q", "eigenvalue:Q", "lower:Q", "upper:Q"],
        ),
    ]
    below = x.title("component").axis(alt.Axis(values=places, format="d"))
    radius = alt.Y("relative:Q", title="radius / largest", scale=log, axis=alt.Axis(format="~e", tickCount=4))
    lower = [
        alt.Chart()
        .mark_point(filled=True, color=BLUE, opacity=1, size=28)
        .encode(x=below, y=radius, tooltip=["component:Q", alt.Tooltip("relative:Q", format=".1e")]),
        alt.Chart(table({"tol": [certificate.tol]}))
        .mark_rule(color=VERMILION, strokeDash=[5, 3])
        .encode(y=alt.Y("tol:Q", scale=log)),
    ]
    known = bool(np.isfinite(certificate.upper).all())
    caption = [
        f"Bars: where each of the {len(values)} largest exact eigenvalues is proven to lie"
        f"{'' if known else ' from below; nothing is known of eigenvalues that were not computed'}.",
        f"Largest radius {float(certificate.radii.max()) / top:.1e} of the largest eigenvalue, {top:.6g}; "
        f"the dashed line is the tolerance asked for, {certificate.tol:.1e}.",
    ]
    if certificate.approximation is not None:
        caption.append(f"The matrix is an approximation by {certificate.approximation.by}.")
    return Lines(
        data=data,
        vconcat=[
            alt.LayerChart(layer=upper, width=WIDTH, height=230),
            alt.LayerChart(layer=lower, width=WIDTH, height=100),
        ],
        title=headed("Eigenvalues and their certificate", *caption),
        spacing=6,
    )
