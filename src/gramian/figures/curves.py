"""Curves: candidates of a selection, reconstruction errors, and distributions of scores."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from gramian.core.checks import number
from gramian.core.records import ModelKind
from gramian.errors import DataError
from gramian.figures import style
from gramian.figures.drawing import CELL, DASHED, Data, figure, named_rows, whole
from gramian.figures.names import fitted
from gramian.statistics.candidates import Selection
from gramian.statistics.components import kind_of

DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
BINS = 40


def selection_data(result: Any) -> Data:
    """Return what :func:`selection` draws; columns: candidate, size, mean, standard_error, chosen."""
    for name in ("history_", "selection_"):
        result = getattr(result, name, result)
    if not isinstance(result, Selection) or not len(result):
        hint = 'A filter compares numbers of features only with k="cv", and a search that was stopped '
        raise DataError("There is no selection to draw.", f"{hint}immediately has no candidates.")
    sizes = [candidate.size for candidate in result]
    columns: dict[str, Any] = {
        "candidate": np.array([result.label_of(candidate) for candidate in result], dtype=object)
    }
    for name in ("size", "mean", "standard_error"):
        columns[name] = np.array([getattr(candidate, name) for candidate in result], dtype=float)
    columns["chosen"] = np.arange(len(result)) == result.choice.place
    sentences = [f"{result.about.splitlines()[0].rstrip('.')}."]
    sentences += [result.remarks()[0].lstrip("* ")]
    if np.isfinite(columns["standard_error"]).any():
        sentences.append("Bars: one standard error of the mean over folds.")
    if None in sizes or len(set(sizes)) <= max(1, len(sizes) // 2):  # a list
        return Data(columns, sentences, x=result.measure)
    return Data(columns, sentences, x=f"number of {result.unit}", y=result.measure)


@figure(selection_data)
def selection(data: Data, ax: Any, **errorbar: Any) -> Any:
    """Draw the score of every candidate with its standard error, and mark the chosen one.

    Parameters
    ----------
    result : Selection, or fitted FeatureFilter or SequentialFeatureSelector
        What :func:`gramian.choose_kernel` returns, ``history_`` or ``selection_``.
    title : str, optional
        A title of the figure; by default it has none.
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


# ----------------- Reconstruction error against the number of components


def reconstruction_errors_data(model: Any, X: Any) -> Data:
    """Return what :func:`reconstruction_errors` draws; columns: set, components, error."""
    sets, inner = dict(X) if isinstance(X, Mapping) else {"rows": X}, fitted(model)
    if kind_of(model).faces:
        sets, model = {name: model.relight(pictures) for name, pictures in sets.items()}, inner
    if kind_of(model) is not ModelKind.PCA:
        kind = type(model).__name__
        raise DataError(f"Errors for every number of components are those of a PCA, not of a {kind}.")
    sums = {str(name): model.reconstruction_errors(rows).sum(axis=0) for name, rows in sets.items()}
    for name, errors in sums.items():
        if not errors[0] > 0:
            raise DataError(f"The {name} are all equal to the mean, so they have no relative error.")
    count = int(model.n_components_) + 1
    columns = {
        "set": np.repeat(np.array(list(sums), dtype=object), count),
        "components": np.tile(np.arange(count), len(sums)),
        "error": np.concatenate([np.sqrt(errors / errors[0]) for errors in sums.values()]),
    }
    sentence = (
        "Distance of rows from their reconstruction over their distance from the mean (root mean squares)."
    )
    return Data(columns, [sentence], x="number of components", y="relative error of the reconstruction")


@figure(reconstruction_errors_data)
def reconstruction_errors(data: Data, ax: Any, **line: Any) -> Any:
    """Draw the relative error of reconstructions from r components, for r from 0 to all of the model.

    It is ``sqrt(sum ||x - x~||^2 / sum ||x - mean||^2)``.

    Parameters
    ----------
    model : fitted PCA or FaceSpace
        The model that reconstructs the rows.
    X : array-like of shape (n_samples, n_features), or dict of str to array-like
        Rows, or several sets of rows by name, such as ``{"fitted": X, "new": Y}``. Pictures of a FaceSpace
        are compared after its correction of the illumination.
    title : str, optional
        A title of the figure; by default it has none.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **line
        As of ``Axes.plot``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        For another model, and for rows that are all equal to the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> data = gramian.figures.reconstruction_errors_data(gramian.PCA().fit(X), X)
    >>> data.columns["error"].round(4).tolist()
    [1.0, 0.2046, 0.0]
    """
    group, count, error = data.columns.values()
    names, ax = list(dict.fromkeys(group)), style.subplots(ax=ax)
    markers = style.MARKERS if count.max() <= 60 else ["None"] * 8
    ax.set_prop_cycle(color=style.COLOURS, ls=DASHES * 2, marker=markers)
    handles = [ax.plot(count[group == name], error[group == name], **{"ms": 3} | line)[0] for name in names]
    ax.set_ylim(0, None)
    whole(ax.xaxis)
    if len(names) > 1:
        style.legend(ax, handles, names)
    return ax


# ------------------------- Distributions of face scores, with thresholds


def face_scores_data(
    groups: Any, thresholds: Mapping[str, float] | None = None, measure: str = "score"
) -> Data:
    """Return what :func:`face_scores` draws; columns: group, low, high, share (%) of the group."""
    if kind_of(groups).faces:
        limit = {f"limit of a face (accepts {100 * groups.face_keep_:g} % of these)": groups.face_threshold_}
        groups, thresholds = (
            {"fitted faces": groups.face_scores_},
            limit if thresholds is None else thresholds,
        )
        measure = "distance from the face space (relative)" if measure == "score" else measure
    values = {str(name): np.asarray(scores, dtype=float).ravel() for name, scores in groups.items()}
    marked = dict(thresholds or {})
    if not values or not all(len(scores) for scores in values.values()):
        raise DataError("A group has no scores. Give at least one score for each group.")
    start, stop = style.limits(*values.values(), list(marked.values()), margin=0.03)
    bounds = np.linspace(start, stop, BINS + 1)
    columns = {
        "group": np.repeat(np.array(list(values), dtype=object), BINS),
        "low": np.tile(bounds[:-1], len(values)),
        "high": np.tile(bounds[1:], len(values)),
        "share": np.concatenate([100 * np.histogram(v, bounds)[0] / len(v) for v in values.values()]),
    }
    sentences = [
        f"{name}: {len(scores):,} scores, median {number(np.median(scores))}."
        for name, scores in values.items()
    ]
    sentences += [f"Dashed, {name}: {number(at)}." for name, at in marked.items()]
    return Data(columns, sentences, x=measure, y="share of the group (%)", lines=marked)


@figure(face_scores_data)
def face_scores(data: Data, ax: Any, **stairs: Any) -> Any:
    """Draw the distributions of scores of groups of pictures, and thresholds.

    Parameters
    ----------
    groups : mapping of str to array-like, or fitted FaceSpace
        Scores by group, such as ``space.face_score`` of faces and of other pictures, or similarities of the
        same and of different people. A FaceSpace provides its threshold and the held-out scores of its own
        pictures.
    thresholds : mapping of str to float, optional
        Thresholds by name.
    measure : str
        The title of the axis.
    title : str, optional
        A title of the figure; by default it has none.
    ax : Axes, optional
        Where to draw, by default in a new figure.
    **stairs
        As of ``Axes.stairs``.

    Returns
    -------
    Axes
        That which is given, or of a new figure.

    Raises
    ------
    DataError
        If a group has no scores.

    Examples
    --------
    >>> import gramian
    >>> groups = {"same": [0.8, 0.9, 0.95], "different": [0.1, 0.2, 0.3]}
    >>> ax = gramian.figures.face_scores(groups, {"limit": 0.5}, measure="similarity")
    >>> ax.get_xlabel()
    'similarity'
    """
    group, low, high, share = data.columns.values()
    names, ax, handles = list(dict.fromkeys(group)), style.subplots(ax=ax), []
    for name, colour, dashes in zip(names, cycle(style.COLOURS), cycle(DASHES), strict=False):
        mask, look = (
            group == name,
            {"fill": True, "fc": (colour, 0.35), "ec": colour, "ls": dashes, "lw": 1.1},
        )
        edges = np.append(low[mask], high[mask][-1])
        handles.append(ax.stairs(share[mask], edges, **look | stairs))
    for at in data.lines.values():
        ax.axvline(at, color=style.ink(), **DASHED)
    ax.set(xlim=(low[0], high[-1]), ylim=(0, None))
    if len(names) > 1:
        style.legend(ax, handles, names)
    return ax
