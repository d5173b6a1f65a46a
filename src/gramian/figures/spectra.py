"""Figures of spectra and of choices: explained variance, error bounds, stability, and candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from gramian.answers.choose_components import choose_components
from gramian.core.checks import counted, percent
from gramian.errors import DataError
from gramian.figures import style
from gramian.figures.drawing import CELL, DASHED, NOTHING, Data, figure, fitted, named_rows, whole
from gramian.models.pca.estimator import PCA
from gramian.statistics.candidates import Selection
from gramian.statistics.component_rules import ComponentChoice
from gramian.statistics.components import known_variances, shares_of

if TYPE_CHECKING:
    from gramian.answers.stability import Stability

MOST_BARS, LABELLED = 40, 5  # millimetres of a bar with a number
RULE = 0.56  # millimetres, the height of a rule for each point of its letters
MARKED = 95  # % of the variance, whose number of components is shown


@dataclass(frozen=True, eq=False)
class Scree(Data):
    """What :func:`scree` draws; columns: component, variance, share and cumulative share (%), kept.

    Attributes
    ----------
    rules : sequence of ComponentChoice
        Those with an answer.
    """

    rules: Sequence[ComponentChoice]


def scree_data(model: Any, choices: Iterable[ComponentChoice] | None = None) -> Scree:
    """Return what :func:`scree` draws."""
    model = fitted(model)
    kept, variance, ratios = int(model.n_components_), known_variances(model), shares_of(model)
    if not kept:
        raise DataError(NOTHING)
    whole, total = f"the variance of {counted(kept, 'component')}", variance.sum()
    if ratios is not None:
        whole, total = "the total variance", variance[0] / (ratios[0] or 1.0)
    share, numbers = 100 * variance / (float(total) or 1.0), np.arange(1, len(variance) + 1)
    cumulative = np.cumsum(share)
    chosen = list(getattr(choices, "choices", choices or ()))
    if choices is None and isinstance(model, PCA):
        chosen = list(choose_components(model).choices)
    enough = int(np.searchsorted(cumulative, MARKED - 1e-9)) + 1
    lines, needs = {f"{MARKED} %": enough}, counted(enough, "component")
    if enough > len(variance):
        lines, needs = {}, f"more than the {counted(len(variance), 'known component')}"
    columns: dict[str, Any] = {"component": numbers, "variance": variance, "share": share}
    columns |= {"cumulative": cumulative, "kept": numbers <= kept}
    sentences = [
        f"{counted(kept, 'component')} kept, {percent(float(share[:kept].sum()) / 100)} of {whole}.",
        f"{MARKED} % needs {needs}.",
    ]
    rules = [choice for choice in chosen if choice.number is not None]
    return Scree(columns, sentences, rules, x="component", lines=lines)


@figure(scree_data)
def scree(data: Scree, ax: Any, **bar: Any) -> Any:
    """Draw the variance of each component, and the number of components by several rules.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
        The model whose spectrum is drawn.
    choices : ComponentChoices, optional
        The result of :func:`gramian.choose_components`. By default, for PCA the rules that need only the
        spectrum. ``()`` for none.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure. The rules are above it.
    **bar
        Of the bars, as of ``Axes.bar``. More than 40 components are a line along a logarithmic axis.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        If the model has no components.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(50, 4)) * [4, 2, 1, 1]
    >>> pca = gramian.PCA(2).fit(X)
    >>> gramian.figures.scree_data(pca).columns["kept"].tolist()
    [True, True, False, False]
    >>> gramian.figures.scree(pca).get_ylabel()
    'share of variance (%)'
    """
    x, _, share, cumulative, kept = data.columns.values()
    many, above = len(x) > MOST_BARS, RULE * style.size("ytick.labelsize") * len(data.rules)
    ax = style.subplots(ax=ax, height_mm=0.7 * style.width_mm() + above)
    for name, mask, colour in (("kept", kept, style.BLUE), ("left out", ~kept, style.LEFT_OUT)):
        if mask.any() and not many:
            drawn = ax.bar(x[mask], share[mask], **{"color": colour, "label": name} | bar)
            if LABELLED * len(x) <= style.millimetres(ax)[0]:
                texts = ax.bar_label(drawn, fmt="%.1f", padding=3, fontsize="small")
                texts[0].set_ha("right" if name == "kept" else "center")  # beside the line
    if many:
        ax.plot(x, share, **{"color": style.BLUE, "label": "share"} | bar)
        ax.set(xscale="log", xlim=(0.9, x[-1]))
        _plain_log(ax.xaxis)
    else:
        ax.set_xlim(0.2 - any(choice.number == 0 for choice in data.rules), len(x) + 0.6)
        whole(ax.xaxis)
    look = {"ls": "-."} if many else {"marker": "o", "ms": 3}
    ax.plot(x, cumulative, color=style.VERMILION, label="cumulative", **look)
    for count in data.lines.values():
        ax.plot([ax.get_xlim()[0], count], [MARKED] * 2, color=style.ink(), zorder=0.5, **DASHED)
        ax.plot(count, cumulative[count - 1], "o", color=style.VERMILION, mfc="white", ms=5)
    ax.set_ylim(0, 103)
    ax.legend(loc="center right")
    if data.rules:
        _draw_rules(ax, data.rules)
    ax.set_ylabel("share of variance (%)", y=50 / ax.get_ylim()[1])
    return ax


def _draw_rules(ax: Any, rules: Sequence[ComponentChoice]) -> None:
    """Draw the number of each rule above 100 %."""
    (start, last), count = ax.get_xlim(), len(rules)
    whole = style.millimetres(ax)[1]
    tall = min(RULE * style.size("ytick.labelsize"), whole / (2 * count))
    places = 100 * (1 + tall * np.arange(count, 0, -1) / (whole - tall * count))
    for y, choice in zip(places, rules, strict=True):
        x = min(max(choice.number or 0, start), last)
        marker = ">" if (choice.number or 0) > last else "D"
        ax.plot(x, y, marker, color=style.ink(), ms=3.5, clip_on=False)
        look: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
        ax.annotate(choice.answer, (x, y), xytext=(5, 0), **look)
        look |= {"xycoords": ("axes fraction", "data"), "ha": "right", "size": style.size("ytick.labelsize")}
        ax.annotate(choice.rule, (0, y), xytext=(-4, 0), **look)
    ax.hlines(places, start, last, color=style.PALE, lw=0.6, zorder=0)
    ax.set(ylim=(0, places[0] + 3), yticks=range(0, 101, 20))
    ax.spines["left"].set_bounds(0, 100)


def _plain_log(axis: Any) -> None:
    """Write 1, 2, 5, 10 beside a logarithmic axis, and only powers of ten beside a long one."""
    low, high = axis.get_view_interval()
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.set_minor_formatter("{x:g}" if high < 50 * low else NullFormatter())


def eigenvalues_data(model: Any) -> Data:
    """Return what :func:`eigenvalues` draws; columns: component, eigenvalue, its bounds, error bound."""
    certificate = fitted(model).certificate_
    values = np.asarray(certificate.values)
    if not values.size or not values[0] > 0:
        raise DataError("There is no eigenvalue above 0, so there is no error bound to draw.")
    k, one_sided = len(values), "" if np.isfinite(certificate.upper).all() else "; some have no upper bound"
    columns = {"component": np.arange(1, k + 1), "eigenvalue": np.where(values > 0, values, np.nan)}
    columns |= {"lower": certificate.lower, "upper": certificate.upper}
    columns["radius"] = np.asarray(certificate.radii)
    about = f"Bars: intervals that contain the {k} largest exact eigenvalues{one_sided}."
    return Data(columns, [about, certificate.brief], x="component", y=certificate.unit)


@figure(eigenvalues_data)
def eigenvalues(data: Data, ax: Any, **errorbar: Any) -> Any:
    """Draw the eigenvalues with the error bounds of the certificate.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
        The model whose spectrum is drawn.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **errorbar
        As of ``Axes.errorbar``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        If no eigenvalue is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4)) * [4, 2, 1, 1]
    >>> data = gramian.figures.eigenvalues_data(gramian.PCA(2).fit(X))
    >>> round(float(data.columns["eigenvalue"][0]), 4), bool(data.columns["radius"][0] < 1e-10)
    (14.0601, True)
    """
    x, y, low, high, _ = data.columns.values()
    ax = style.subplots(ax=ax)
    least = float(np.nanmin(y)) / 10  # intervals that reach 0 end at the axis
    reach = np.maximum([y - np.maximum(low, least), np.where(np.isfinite(high), high, y) - y], 0)
    look = {"fmt": "o", "color": style.BLUE, "ms": 3.5, "capsize": 2, "lw": 0.8}
    ax.errorbar(x, y, reach, **look | errorbar)
    ax.set(yscale="log", xlim=(0.5, len(x) + 0.5))
    whole(ax.xaxis)
    _plain_log(ax.yaxis)
    return ax


def stability_data(result: Stability) -> Data:
    """Return what :func:`stability` draws; columns: component, variance, low, high, agreement."""
    if not (k := len(result.variances)):
        raise DataError(NOTHING)
    sentence = f"Bars: {100 * result.level:g} % bootstrap intervals from {result.n_resamples:,} samples of "
    sentence += f"{result.n_samples:,} rows."
    low, high = result.variance_intervals.T
    columns = {"component": np.arange(1, k + 1), "variance": result.variances, "low": low, "high": high}
    columns["agreement"] = result.agreement
    return Data(columns, [sentence, *result.sentences()[:2]], x="component", y="variance")


@figure(stability_data)
def stability(data: Data, ax: Any, **scatter: Any) -> Any:
    """Draw the variance of each component with its bootstrap interval, and its agreement.

    Parameters
    ----------
    result : Stability
        What :func:`gramian.stability` returns.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **scatter
        Of the points, as of ``Axes.scatter``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

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
    >>> data = gramian.figures.stability_data(result).columns
    >>> ((data["low"] < data["variance"]) & (data["variance"] < data["high"])).tolist()
    [True, True]
    """
    x, variance, low, high, agreement = data.columns.values()
    ax = style.subplots(ax=ax)
    ax.vlines(x, low, high, color=style.ink(), lw=0.8)
    look = {"cmap": "Blues", "vmin": 0, "vmax": 1, "s": 30, "edgecolors": style.ink(), "lw": 0.5, "zorder": 2}
    points = ax.scatter(x, variance, **{"c": agreement} | look | scatter)
    style.colour_bar(ax, points, "agreement")
    whole(ax.xaxis)
    ax.set(ylim=(0, None), xlim=(0.5, len(x) + 0.5))
    return ax


def selection_data(result: Any) -> Data:
    """Return what :func:`selection` draws; columns: candidate, size, mean, standard_error, chosen."""
    for name in ("history_", "selection_"):
        result = getattr(result, name, result)
    if not isinstance(result, Selection) or not len(result):
        hint = 'A filter compares numbers of features only with k="cv", and a search that was stopped '
        raise DataError("There is no selection to draw.", f"{hint}immediately has no candidates.")
    numbers = ("size", "mean", "standard_error")
    columns = {"candidate": np.array([result.label_of(candidate) for candidate in result], dtype=object)}
    columns |= {name: np.array([getattr(one, name) for one in result], dtype=float) for name in numbers}
    columns["chosen"] = np.arange(len(result)) == result.choice.place
    sentences = [f"{result.about.splitlines()[0].rstrip('.')}.", result.remarks()[0].lstrip("* ")]
    if np.isfinite(columns["standard_error"]).any():
        sentences.append("Bars: one standard error of the mean over folds.")
    sizes = columns["size"]
    if np.isnan(sizes).any() or len(set(sizes)) <= max(1, len(sizes) // 2):  # a list
        return Data(columns, sentences, x=result.measure)
    return Data(columns, sentences, x=f"number of {result.unit}", y=result.measure)


@figure(selection_data)
def selection(data: Data, ax: Any, **errorbar: Any) -> Any:
    """Draw the score of every candidate with its standard error, and mark the chosen one.

    Parameters
    ----------
    result : Selection, or fitted FeatureFilter or SequentialFeatureSelector
        What :func:`gramian.choose_kernel` returns, ``history_`` or ``selection_``.
    title : str or None, default="auto"
        A title of the figure; "auto" is what the data have, None no title.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **errorbar
        As of ``Axes.errorbar``.

    Returns
    -------
    Axes
        Candidates of different sizes form a curve, others a list.

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
    >>> gramian.figures.selection_data(chosen).columns["chosen"].tolist()
    [True, False, False, False]
    """
    names, size, mean, error, chosen = data.columns.values()
    is_curve, positions = bool(data.y), np.arange(len(mean))
    x, y, bars = (size, mean, "yerr") if is_curve else (mean, positions, "xerr")
    ax = style.subplots(ax=ax, height_mm=None if is_curve else 16 + CELL * len(mean))
    look = {bars: np.nan_to_num(error), "fmt": "o", "color": style.BLUE, "lw": 0.8, "ms": 3.5}
    ax.errorbar(x, y, **look | errorbar)
    if is_curve:
        order = np.argsort(size)
        ax.plot(size[order], mean[order], color=style.BLUE, lw=0.8, alpha=0.6)
        whole(ax.xaxis)
    else:
        named_rows(ax, names, style.LONGEST)
        ax.grid(axis="y", color=style.PALE, lw=0.6)
    ax.plot(x[chosen], y[chosen], "o", color=style.VERMILION, ms=6, zorder=3)
    return ax
