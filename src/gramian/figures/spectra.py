"""Figures of eigenvalues: explained variance, and error bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from gramian.core.checks import counted, percent
from gramian.errors import DataError
from gramian.explain.choose_components import choose_components
from gramian.figures._altair_style import (
    BLUE,
    INK,
    LEFT_OUT,
    VERMILION,
    Chart,
    chart,
    layered,
    panel,
    stacked,
    width,
)
from gramian.figures.names import NOTHING, fitted
from gramian.models.pca.estimator import PCA
from gramian.statistics.component_rules import ComponentChoice
from gramian.statistics.components import component_names, known_variances, shares_of

if TYPE_CHECKING:
    from gramian.explain.stability import Stability

MOST_BARS = 40
RULE_LINE, RULE_NAMES = 17, 30  # pixels of a rule, and of its name where it exceeds the margin
MARKED = 95  # % of the variance, whose number of components is shown
LOG = alt.Scale(type="log")
STEPS = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]  # between labels of components
SHARES = [alt.Tooltip(name, type="quantitative", format=".2f") for name in ("share", "cumulative")]
KINDS = ("deterministic", "probabilistic", "estimate")  # of bounds, the strongest first


def scree(model: Any, choices: Iterable[ComponentChoice] | None = None, *, most: int = MOST_BARS) -> Any:
    """Draw the variance of each component, and the number of components by several rules.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
        The model whose spectrum is drawn.
    choices : ComponentChoices, optional
        The result of :func:`gramian.choose_components`. By default, for PCA the rules that need only the
        spectrum, for others the rule of the fit. ``()`` for none.
    most : int
        The maximum number of bars. More components are lines along a logarithmic axis.

    Returns
    -------
    altair.VConcatChart or altair.LayerChart
        ``chart.data`` has a row for each component: its number, name, variance, share and cumulative share
        of the total in percent, and whether it is kept.

    Raises
    ------
    DataError
        If the model has no components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [4, 2, 1, 1]
    >>> gramian.figures.scree(gramian.PCA(2).fit(X)).data.select(["name", "kept"]).to_pylist()[1:3]
    [{'name': 'PC2', 'kept': True}, {'name': 'PC3', 'kept': False}]
    """
    model = fitted(model)
    kept, result = int(model.n_components_), known_variances(model)
    if not kept:
        raise DataError(NOTHING)
    ratios = shares_of(model)
    total, of = float(result.sum()), f"the variance of {counted(kept, 'component')}"
    if ratios is not None:
        total, of = float(result[0]) / (float(ratios[0]) or 1.0), "the total variance"
    shares = result / (total or 1.0)
    cumulative = 100 * np.cumsum(shares)
    columns = {
        "component": np.arange(1, len(result) + 1),
        "name": component_names(len(result)),
        "variance": result,
        "share": 100 * shares,
        "cumulative": cumulative,
        "kept": np.arange(len(result)) < kept,
    }
    asked = list(_default_choices(model) if choices is None else getattr(choices, "choices", choices))
    answers = [choice for choice in asked if choice.number is not None]
    silent = ", ".join(choice.rule for choice in asked if choice.number is None)
    enough = int(np.searchsorted(cumulative, MARKED - 1e-9)) + 1
    marked = enough if enough <= len(result) else None
    more = f"more than the {counted(len(result), 'known component')}"
    title = (
        "Explained variance",
        f"{counted(kept, 'component')} kept, {percent(float(shares[:kept].sum()))} of {of}.",
        f"{MARKED} % needs {more if marked is None else counted(marked, 'component')}.",
        f"Rules without a result: {silent}." if silent else "",
    )
    across, last = width() - (RULE_NAMES if answers else 0), len(result)
    if last > most:
        x = alt.X("component:Q", scale=alt.Scale(type="log", domain=[1, last], nice=False))
        marks, half = _curves(x, of), float(np.sqrt(last))
    else:
        places = list(range(0 if any(choice.number == 0 for choice in answers) else 1, last + 1))
        x, half = alt.X("component:O", scale=alt.Scale(domain=places)), float(places[len(places) // 2])
        marks = _bars(x, places, of, kept < last)
    marks += [] if marked is None else _mark(x, marked, marked > half)
    if not answers:
        return layered(columns, marks, *title, height=260)
    rules = _rules(answers, x, 1 if last > most else 0, last, half)
    panels = [panel(marks, 260, across), panel(rules, RULE_LINE * len(answers), across)]
    return stacked(columns, panels, *title)


def _bars(x: Any, places: list[int], of: str, more: bool) -> list[Any]:
    """Return bars and the cumulative line; ``more`` if some components are left out."""
    step = max(1, -(-places[-1] // 16))
    labelled = [place for place in places if (place - 1) % step == 0 or place == 0]
    x = x.axis(alt.Axis(values=labelled, labelAngle=0, ticks=False)).title("component")
    names = ["kept", *(["left out"] if more else []), "cumulative"]
    legend = alt.Scale(domain=names, range=[BLUE, *([LEFT_OUT] if more else []), VERMILION])
    base = Chart().transform_calculate(what="datum.kept ? 'kept' : 'left out'")
    base = base.encode(x=x, tooltip=["name:N", "variance:Q", *SHARES])
    dots = base.mark_point(filled=True, size=26, opacity=1)
    return [
        base.mark_bar().encode(y=_share(of), color=alt.Color("what:N", scale=legend, title=None)),
        base.mark_line(color=VERMILION, strokeWidth=1.5).encode(y="cumulative:Q"),
        dots.encode(y="cumulative:Q", color=alt.ColorDatum("cumulative")),
    ]


def _curves(x: Any, of: str) -> list[Any]:
    """Return the shares and the cumulative shares of many components as lines."""
    legend = alt.Scale(domain=["share", "cumulative"], range=[BLUE, VERMILION])
    x = x.axis(alt.Axis(format="d", tickCount=6)).title("component")
    base = Chart().encode(x=x, tooltip=["name:N", "variance:Q", *SHARES])
    line = base.mark_line(strokeWidth=1.8)
    return [
        line.encode(y=_share(of), color=alt.ColorDatum("share", scale=legend, title=None)),
        line.encode(y="cumulative:Q", color=alt.ColorDatum("cumulative")),
    ]


def _share(of: str) -> Any:
    return alt.Y("share:Q", title=f"share of {of} (%)", scale=alt.Scale(domain=[0, 100]))


def _mark(x: Any, number: int, right: bool) -> list[Any]:
    """Return lines and words where so many components explain most of the variance."""
    words = f"{MARKED} %: {counted(number, 'component')}"
    row = {"component": [number], "marked": [MARKED], "zero": [0], "words": [words]}
    base, dashed = chart(row), {"color": INK, "strokeDash": [3, 3], "strokeWidth": 1}
    place = {"align": "right", "dx": -2, "dy": -7} if right else {"align": "left", "dx": 5, "dy": 10}
    line, text = base.mark_rule(**dashed), base.mark_text(fontSize=10.5, color=INK, **place)
    across, up = line.encode(y="marked:Q"), line.encode(x=x, y="zero:Q", y2="marked:Q")
    return [across, up, text.encode(x=x, y="marked:Q", text="words:N")]


def _default_choices(model: Any) -> list[ComponentChoice]:
    if isinstance(model, PCA):
        return [c for c in choose_components(model).choices if c.number is not None]
    choice = getattr(model, "component_choice_", None)
    return [] if choice is None else [choice]


def _rules(answers: list[ComponentChoice], x: Any, least: int, last: int, half: float) -> list[Any]:
    """Return the number of each rule between the least and the last place of the axis."""
    numbers = [int(choice.number or 0) for choice in answers]
    places = [min(max(number, least), last) for number in numbers]
    rows = {
        "rule": [choice.rule for choice in answers],
        "number": numbers,
        "answer": [choice.answer for choice in answers],
        "component": places,
        "beyond": [number > last for number in numbers],
        "why": [choice.sentence for choice in answers],
        "left": [place > half for place in places],
    }
    y = alt.Y("rule:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, grid=True))
    base = chart(rows).encode(x=x.axis(None), y=y, tooltip=["rule:N", "answer:N", "why:N"])
    text = {"fontSize": 10.5, "color": INK, "baseline": "middle"}
    return [
        base.mark_point(filled=True, size=55, color=INK, opacity=1).encode(
            shape=alt.condition("datum.beyond", alt.value("triangle-right"), alt.value("diamond"))
        ),
        base.transform_filter("!datum.left").mark_text(align="left", dx=8, **text).encode(text="answer:N"),
        base.transform_filter("datum.left").mark_text(align="right", dx=-8, **text).encode(text="answer:N"),
    ]


def eigenvalues(model: Any) -> Any:
    """Draw the eigenvalues with the error bounds of the certificate.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
        The model whose spectrum is drawn.

    Returns
    -------
    altair.VConcatChart
        ``chart.data``: number, eigenvalue, ``lower`` and ``upper`` (missing where unknown), the error bound
        (radius), and the bound relative to the largest eigenvalue.

    Raises
    ------
    DataError
        If no eigenvalue is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> chart = gramian.figures.eigenvalues(gramian.PCA(2).fit(X))
    >>> first = chart.data.to_pylist()[0]
    >>> first["component"], round(first["eigenvalue"], 4), first["radius"] < 1e-10
    (1, 14.0601, True)
    """
    certificate = fitted(model).certificate_
    values = np.asarray(certificate.values)
    if not values.size or not values[0] > 0:
        raise DataError("There is no eigenvalue above 0, so there is no error bound to draw.")
    k, top = len(values), float(values[0])
    columns = {
        "component": np.arange(1, k + 1),
        "eigenvalue": np.where(values > 0, values, np.nan),
        "lower": certificate.lower,
        "upper": certificate.upper,
        "radius": certificate.radii,
        "relative": np.maximum(certificate.radii / top, 1e-18),  # 0 is nowhere on a logarithmic axis
    }
    bounds = [part for part in (certificate.completeness, certificate.approximation) if part is not None]
    weakest = max([certificate.widening_kind, *(part.kind for part in bounds)], key=KINDS.index)
    one_sided = "" if np.isfinite(certificate.upper).all() else "; some have no upper bound"
    title = (
        "Eigenvalues with error bounds",
        f"Bars: intervals that contain the {k} largest exact eigenvalues{one_sided} [{weakest}].",
        f"Largest error bound: {float(certificate.radii.max()) / top:.1e} of the largest eigenvalue "
        f"({top:.6g}). Dashed line: requested tolerance, {certificate.tol:.1e}.",
        "" if certificate.ok else "The certificate does not hold.",
        f"The matrix is approximated by {certificate.approximation.by}." if certificate.approximation else "",
    )
    scale = alt.Scale(domain=[0.5, k + 0.5], nice=False)
    step = next(size for size in STEPS if k <= 16 * size)
    labelled = list(range(step, k + 1, step))
    x = alt.X("component:Q", title=None, axis=alt.Axis(labels=False, values=labelled), scale=scale)
    below = x.title("component").axis(alt.Axis(values=labelled, format="d"))
    upper = _intervals(x, float(values[values > 0].min()) / 10, certificate.unit)
    panels = [panel(upper, 230), panel(_radii(below, certificate.tol), 100)]
    return stacked(columns, panels, *title, spacing=6)


def _intervals(x: Any, least: float, unit: str) -> list[Any]:
    """Return eigenvalues and their intervals; those that reach 0 end at the axis."""
    high = "isValid(datum.upper) ? datum.upper : datum.eigenvalue"
    base = Chart().transform_calculate(low=f"max(datum.lower, {least})", high=high).encode(x=x)
    y = alt.Y("low:Q", title=unit, scale=LOG, axis=alt.Axis(format="~g", tickCount=6))
    dots = base.mark_point(filled=True, color=BLUE, opacity=1, size=28)
    bars = base.mark_errorbar(ticks=alt.MarkConfig(color=BLUE), color=BLUE, thickness=1)
    tips = ["component:Q", "eigenvalue:Q", "lower:Q", "upper:Q"]
    return [bars.encode(y=y, y2="high:Q"), dots.encode(y=alt.Y("eigenvalue:Q", scale=LOG), tooltip=tips)]


def _radii(x: Any, tol: float) -> list[Any]:
    """Return error bounds relative to the largest eigenvalue, and the tolerance."""
    y = alt.Y("relative:Q", title="bound / largest", scale=LOG, axis=alt.Axis(format="~e", tickCount=4))
    dots = Chart().mark_point(filled=True, color=BLUE, opacity=1, size=28)
    line = chart({"tol": [tol]}).mark_rule(color=VERMILION, strokeDash=[5, 3])
    dots = dots.encode(x=x, y=y, tooltip=["component:Q", "relative:Q"])
    return [dots, line.encode(y=alt.Y("tol:Q", scale=LOG))]


def stability(result: Stability) -> Any:
    """Draw the variance of each component with its bootstrap interval, and its agreement.

    Parameters
    ----------
    result : Stability
        What :func:`gramian.stability` returns.

    Returns
    -------
    altair.LayerChart
        ``chart.data``: number and name of each component, variance, ``low`` and ``high`` of its interval,
        and the agreement of its direction.

    Raises
    ------
    DataError
        If the model has no components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> result = gramian.stability(gramian.PCA(2).fit(X), X)
    >>> chart = gramian.figures.stability(result)
    >>> [row["low"] < row["variance"] < row["high"] for row in chart.data.to_pylist()]
    [True, True]
    """
    k = len(result.variances)
    if not k:
        raise DataError(NOTHING)
    columns = {
        "component": np.arange(1, k + 1),
        "name": component_names(k),
        "variance": result.variances,
        "low": result.variance_intervals[:, 0],
        "high": result.variance_intervals[:, 1],
        "agreement": result.agreement,
    }
    x = alt.X("component:O", title="component", axis=alt.Axis(labelAngle=0, ticks=False))
    shade = alt.Color("agreement:Q", scale=alt.Scale(domain=[0, 1], range=["#d5e3ec", BLUE]))
    base = Chart().encode(x=x, tooltip=["name:N", *(f"{key}:Q" for key in list(columns)[2:])])
    y = alt.Y("variance:Q", title="variance", scale=alt.Scale(zero=True))
    layer = [
        base.mark_rule(color=INK, strokeWidth=1.4).encode(y=alt.Y("low:Q", title="variance"), y2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, stroke=INK, strokeWidth=0.6).encode(
            y=y, color=shade.title("agreement")
        ),
    ]
    sample = f"{result.n_resamples:,} samples of {result.n_samples:,} rows"
    said = f"Bars: {100 * result.level:g} % bootstrap intervals from {sample}."
    title = "Stability of the components"
    return layered(columns, layer, title, said, *result.sentences()[:2], height=260)
