"""What the data show, in two sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.analysis.associations import associated
from gramian.analysis.components import component_names, feature_names_of, shares_of
from gramian.arrays import as_float64
from gramian.checks import percent
from gramian.errors import shortened
from gramian.plots.names import WITHOUT

SHOWN = 2  # components
COLUMNS, RELATIVE = 3, 0.5  # of a component, and their least loading relative to the largest
MOST_GROUPS = 50
LONGEST = 60  # letters of a name


def findings(model: Any, labels: Any = None, title: str = "", scores: Any = None) -> list[str]:
    """Return at most two sentences: what the first components are, and how groups differ along them.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Whitener
    labels : array-like of shape (n,), optional
    title : str
        The name of the labels.
    scores : array-like of shape (n, at least 1), optional

    Examples
    --------
    >>> import gramian
    >>> X = np.array([[0.0, 0.0], [4.0, 0.1], [8.0, 0.0], [12.0, -0.1]])
    >>> model = gramian.PCA(1).fit(X)
    >>> for sentence in findings(model, ["a", "a", "b", "b"], "kind", model.transform(X)):
    ...     print(sentence)
    PC1 (99.99 % of the variance) rises with `x0`.
    The groups of `kind` explain 80.00 % of the variance of PC1.
    """
    k = min(SHOWN, int(model.n_components_))
    about = [_about(model, place) for place in range(k)]
    groups = _groups(labels, title, scores, k)
    return [*([f"{'; '.join(about)}."] if about else []), groups] if groups else [f"{one}." for one in about]


def _about(model: Any, place: int) -> str:
    """Return the share of a component, and the columns of its largest loadings."""
    name, ratios = component_names(place + 1)[place], shares_of(model)
    where = " in feature space" if model.model_kind.kernel else ""
    share = "" if ratios is None else f"{percent(float(ratios[place]))} of the variance{where}"
    if not model.model_kind.linear or getattr(model, "picture_shape_", None) is not None:
        return f"{name} explains {share}" if share else f"{name} has no known share of the variance"
    direction, names = as_float64(model.components_)[place], feature_names_of(model)
    large = np.argsort(-np.abs(direction), kind="stable")[:COLUMNS]
    large = large[np.abs(direction[large]) >= RELATIVE * np.abs(direction[large[0]])]
    verbs = (("rises with", large[direction[large] > 0]), ("falls with", large[direction[large] < 0]))
    said = [f"{verb} {_and([_code(names[j]) for j in some])}" for verb, some in verbs if len(some)]
    return f"{name}{f' ({share})' if share else ''} {' and '.join(said)}"


def _groups(labels: Any, title: str, scores: Any, k: int) -> str:
    """Return how much of the variance of the scores is that of the means of groups (eta squared)."""
    if labels is None or scores is None or not k:
        return ""
    texts = np.asarray(labels).astype(str)
    known = ~np.isin(texts, WITHOUT)
    texts, values = texts[known], as_float64(scores)[known, :k]
    association = associated(texts, values) if len(np.unique(texts)) <= MOST_GROUPS else ""
    if isinstance(association, str):
        return ""
    shares = zip(map(percent, association.r2), component_names(k), strict=True)
    parts = [f"{share} of the variance of {name}" for share, name in shares]
    return f"The groups of {_code(title) if title else 'the labels'} explain {_and(parts)}."


def _code(name: str) -> str:
    """Return a name between backticks, without those of its own, and not longer than a line."""
    return f"`{shortened(name.replace('`', chr(39)), LONGEST)}`"


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
