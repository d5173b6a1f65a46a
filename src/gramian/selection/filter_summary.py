"""What a fitted filter found, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gramian.records import FloatArray
from gramian.selection.printing import bar

if TYPE_CHECKING:
    from gramian.selection.choosing_k import ChoiceOfK

__all__ = [
    "estimator_name",
    "filter_summary",
    "reason_for",
    "reason_for_discoveries",
    "reason_for_number",
    "score_name",
]

HEADS = {"mutual-information": "nats", "f": "F", "chi2": "chi2", "correlation": "|r|"}
WIDTH = 110


def score_name(score: Any) -> str:
    """Return how a score is called: its name, or that of the function.

    Examples
    --------
    >>> score_name("f"), score_name(max)
    ('f', 'max')
    """
    return score if isinstance(score, str) else getattr(score, "__name__", type(score).__name__)


def filter_summary(model: Any, features: int) -> str:
    """Return ranking, choice and reason of a fitted FeatureFilter."""
    d = model.ranking_.size
    label = f"{len(model.classes_)} classes" if model.classes_ is not None else "a number"
    how = score_name(model.score_func) + (", less redundancy (mrmr)" if model.redundancy else "")
    lines = [f"{d:,} features by {how} with {label}, {model.n_samples_:,} rows", *_ranking(model, features)]
    lines += ["", *textwrap.wrap(f"Kept {model.k_:,}. {model.reason_}", WIDTH)]
    if model.cv_results_ is not None:
        lines += ["", *_validated(model)]
    return "\n".join(
        [
            *lines,
            *(line for note in model.notes_ for line in textwrap.wrap(note, WIDTH, subsequent_indent="  ")),
        ]
    )


def _ranking(model: Any, features: int) -> Iterator[str]:
    order = np.argsort(model.ranking_, kind="stable")
    names = model.feature_names_
    shown = order[:features]
    width = max([7, *(len(names[j]) for j in shown)])
    p_values = model.pvalues_
    finite = model.scores_[np.isfinite(model.scores_)]
    largest = float(finite.max(initial=0.0))
    write = _writer(largest)
    head = HEADS.get(score_name(model.score_func), "score")
    yield f"rank  {'feature':{width}} {head:>10}" + ("" if p_values is None else f" {'p':>9}")
    for j in shown:
        score = float(model.scores_[j])
        # The bar of an infinite score is full.
        length = bar(min(score, largest) if largest > 0 else float(score > 0), largest or 1.0)
        chance = "" if p_values is None else f" {p_values[j]:9.2g}"
        kept = "kept" if model.support_[j] else ""
        start = f"{model.ranking_[j]:4d}  {names[j]:{width}} {write(score):>10}{chance}"
        yield f"{start}  {length:20} {kept}".rstrip()
    if len(order) > len(shown):
        more = int(model.support_[order[features:]].sum())
        yield f"... and {len(order) - len(shown):,} more" + (f", {more:,} of them kept" if more else "")


def _writer(largest: float) -> Callable[[float], str]:
    """Return what writes scores aligned, with four digits of the largest and two decimals at least."""
    if 1e-3 <= largest < 1e7:
        decimals = max(2, 3 - int(np.floor(np.log10(largest))))
        return lambda value: f"{value:.{decimals}f}"
    return lambda value: f"{value:.3e}" if value else "0"


def _validated(model: Any) -> Iterator[str]:
    found = model.cv_results_
    name = model.score_name_
    yield f"{'K':>6}  {name:>10}  standard error"
    for size, mean, error in zip(found["k"], found["mean_score"], found["standard_error"], strict=True):
        mark = [
            word for word, at in (("best", "best_k"), ("chosen", "one_standard_error_k")) if size == found[at]
        ]
        yield f"{size:6,}  {mean:10.4f}  {error:14.4f}  {', '.join(mark)}".rstrip()
    folds = found["fold_scores"].shape[1]
    yield from textwrap.wrap(
        f"Validated: {estimator_name(model.estimator_)}, on the features ranked best by the training rows of "
        f"each of {folds} folds. The best was chosen among {len(found['k'])}: its score is optimistic.",
        WIDTH,
    )


def reason_for(found: ChoiceOfK, name: str) -> str:
    """Return in a sentence why cross-validation chose so many."""
    folds = found.fold_scores.shape[1]
    best, error = found.at(found.best)
    features = "feature" if found.chosen == 1 else "features"
    where = f"{folds} folds" if folds > 1 else "1 fold"
    if found.chosen == found.best:
        said = f"{found.chosen:,} {features} validated best, with a mean {name} of {best:.4g} over {where}"
        if found.best == found.sizes[0]:
            return f"{said}."
        return f"{said}, and no smaller number is within one standard error ({error:.2g}) of that."
    mean = found.at(found.chosen)[0]
    return (
        f"{found.chosen:,} {features} validated with a mean {name} of {mean:.4g} over {where}, the "
        f"fewest within one standard error ({error:.2g}) of the best, {best:.4g} with {found.best:,}."
    )


def reason_for_number(k: Any, d: int) -> str:
    """Return in a sentence why a number or a share was kept.

    Examples
    --------
    >>> reason_for_number(3, 10)
    'So many were asked for: k=3.'
    """
    if isinstance(k, Integral):
        return f"So many were asked for: k={k}."
    return f"k={float(k):g} is a share of {d:,} features: {float(k) * d:g}, rounded half up, at least one."


def reason_for_discoveries(support: npt.NDArray[np.bool_], adjusted: FloatArray, alpha: float) -> str:
    """Return in a sentence what the false discovery rate found."""
    level = f"significant at a false discovery rate of {alpha:g} (Benjamini and Hochberg)"
    count = int(support.sum())
    if count:
        return f"{count:,} of {support.size:,} features {'is' if count == 1 else 'are'} {level}."
    return f"No feature is {level}: the smallest adjusted p-value is {adjusted.min():.3g}."


def estimator_name(estimator: Any) -> str:
    """Return the name of an estimator, with its steps if it is a pipeline.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> estimator_name(make_pipeline(StandardScaler(), Ridge()))
    'StandardScaler + Ridge'
    """
    steps = getattr(estimator, "steps", None)
    if steps is None:
        return type(estimator).__name__
    return " + ".join(estimator_name(step) for _, step in steps)
