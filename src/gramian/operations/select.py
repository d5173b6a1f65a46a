"""The columns that predict a label best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.checks import check_choice, listed
from gramian.errors import ParameterError
from gramian.operations.operation import DATA, Out, Result, operation
from gramian.operations.shared import SEED, number_or_share
from gramian.options import flag, given_options, only_for, option

FILTERS = ("mutual-information", "f", "chi2", "correlation")
WRAPPERS = ("forward", "backward", "exhaustive")
WRAPPER_ONLY = ("floating", "patience")
FILTER_ONLY = ("redundancy",)
VALIDATING = ("estimator", "cv", "scoring")
CLASSES = ("logistic", "lda", "knn", "tree")
NUMBERS = ("ridge", "knn", "tree")


@dataclass(frozen=True)
class Select:
    """Parameters of the two selectors."""

    method: str = option(
        "NAME",
        "Filters mutual-information, f, chi2, correlation; wrappers forward, backward, exhaustive (all "
        "subsets of at most 15 columns).",
        "mutual-information",
        choices=FILTERS + WRAPPERS,
        parameters=("method", "score", "direction"),
    )
    estimator: str | None = option(
        "NAME",
        "Estimator for validation: logistic, lda, knn or tree for classes; ridge, knn or tree for numbers. "
        "All but tree use standardised columns.",
        usual="logistic or ridge, by the label",
        suggestions=tuple(dict.fromkeys(CLASSES + NUMBERS)),
    )
    features: str | None = option(
        "K",
        "A number such as 10, a share such as 0.1, for filters also cv, for wrappers best or one-se.",
        usual="cv; best",
        label="number of columns",
        parameters=("k", "n_features_to_select"),
        suggestions=("cv", "best", "one-se"),
    )
    cv: int | None = option("FOLDS", "Number of cross-validation folds.", usual="5", label="number of folds")
    redundancy: str | None = option("HOW", "Filters: mrmr skips redundant columns.", choices=("mrmr",))
    floating: bool = flag(
        "Wrappers: undo earlier steps where that improves the score.", label="floating search"
    )
    patience: int | None = option("STEPS", "Wrappers: stop after this many steps without gain.", usual="all")
    scoring: str | None = option("NAME", "Name of a scikit-learn score.", usual="accuracy; r2", label="score")
    seed: int = SEED


def _check_options(options: Select) -> None:
    """Refuse options that would be ignored."""
    wanted = read_features(options.features, options.method)
    if options.method in WRAPPERS:
        only_for("filters", options, *FILTER_ONLY)
    else:
        only_for("--method forward, backward and exhaustive", options, *WRAPPER_ONLY)
        if wanted != "cv":
            only_for("--features cv", options, *VALIDATING)


@operation(
    DATA,
    outs=[
        Out(
            "file",
            "FILE",
            "A text file for the names of the selected columns, one per line, for --columns @FILE; "
            "- for standard output.",
            key="out",
        )
    ],
    check=_check_options,
    application="gramian.selection",
    doing="selecting",
    needs_label=True,
)
def select(options: Select, data: Any) -> Result:
    """Select the columns that predict a label best.

    Needs --label. A filter scores each column by itself and prints the ranking. A wrapper adds or removes
    columns one by one, or tries all subsets, by the cross-validated score of an estimator. Text, and whole
    numbers with few distinct values, are classes; other labels are numbers.
    """
    refuse_several_labels(data)
    model = _selector(options, is_discrete(data))
    try:
        model.fit(data)
    except KeyboardInterrupt:  # a wrapper has selected the best subset so far
        raise KeyboardInterrupt(*filter(None, [getattr(model, "history_", None)])) from None
    names = [str(name) for name in model.get_feature_names_out()]
    return Result(
        f"{model.summary()}\n",
        _facts(data, options, model, names),
        content=lambda: _lines(names if data.picture_shape else _known_as(data, model.support_)),
        written=", the names of the selected columns",
    )


def read_features(text: str | None, method: str) -> int | float | str:
    """Read how many columns are asked for: a number, a share or the name of a rule of the method.

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_features("10", "f"), read_features("0.1", "forward"), read_features(None, "f")
    (10, 0.1, 'cv')
    """
    rules = ("best", "one-se") if method in WRAPPERS else ("cv",)
    if text is None:
        return rules[0]
    if text in rules:
        return text
    advice = f"--method {method} takes a number such as 10, a share such as 0.1, or {' or '.join(rules)}."
    return number_or_share("k", text, advice)


def refuse_several_labels(data: Any) -> None:
    """Raise an error for several labels where one is predicted.

    Raises
    ------
    ParameterError
    """
    if data.labels is not None and data.metadata:
        if (file := data.origin.reading.get("labels_from")) is not None:
            problem = (
                f"has the columns {listed([data.label_name, *data.metadata])}, but one is predicted here"
            )
            one = f"labels_from={f'{file}:{data.label_name}'!r}"
            raise ParameterError("labels_from", file, problem, f"Name one, as in {one}.")
        raise ParameterError(
            "label",
            ",".join([data.label_name, *data.metadata]),
            "names several columns, but one is predicted here",
            "Name one, and leave out the others with drop.",
        )


def is_discrete(data: Any) -> bool:
    """Return whether the labels name classes."""
    from gramian.selection.targets import as_target

    return as_target(data.labels, data.values.shape[0])[1] is not None


def estimator(name: str | None, discrete: bool, seed: int = 0) -> Any:
    """Return the estimator for validation, on standardised columns except for a tree.

    Parameters
    ----------
    name : str or None
        None takes logistic or ridge.
    discrete : bool
        Whether the label names classes.
    seed : int
        For the tree's choice between equal splits.

    Raises
    ------
    ParameterError
        For a name that is not known, or that does not go with the label.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from gramian.selection.validation import default_estimator

    allowed = CLASSES if discrete else NUMBERS
    if name is None:
        name = allowed[0]
    if check_choice("estimator", name, sorted({*CLASSES, *NUMBERS})) not in allowed:
        what = "The label names classes" if discrete else "The label is a number"
        raise ParameterError(
            "estimator",
            name,
            problem=f"{what}, which --estimator {name} does not support.",
            hint=f"Use one of {', '.join(allowed)}.",
        )
    if name == allowed[0]:
        return default_estimator(discrete)
    if name == "tree":
        return (DecisionTreeClassifier if discrete else DecisionTreeRegressor)(random_state=seed)
    nearest = KNeighborsClassifier if discrete else KNeighborsRegressor
    last = LinearDiscriminantAnalysis() if name == "lda" else nearest()
    return make_pipeline(StandardScaler(), last)


def _selector(options: Select, discrete: bool) -> Any:
    """Return the unfitted selector that the options describe."""
    from gramian.selection.filters import FeatureFilter
    from gramian.selection.wrappers import SequentialFeatureSelector

    wanted = read_features(options.features, options.method)
    validating = estimator(options.estimator, discrete, options.seed)
    names = {"cv", "scoring", *WRAPPER_ONLY, *FILTER_ONLY}
    given = {name: value for name, value in given_options(options).items() if name in names}
    if options.method in WRAPPERS:
        return SequentialFeatureSelector(
            validating, n_features_to_select=wanted, direction=options.method, **given
        )
    if options.estimator is not None:
        given["estimator"] = validating
    return FeatureFilter(options.method, wanted, random_state=options.seed, **given)


def _known_as(table: Any, kept: Any) -> list[str]:
    """Return what --columns knows the kept columns by: names, or positions in the file."""
    known = table.feature_names or table.column_numbers or range(len(kept))
    return [str(name) for name, is_kept in zip(known, kept, strict=True) if is_kept]


def _lines(names: list[str]) -> bytes:
    from gramian.tables.strings import shown_as_text

    if broken := [name for name in names if "\n" in name or "\r" in name]:
        raise ParameterError(
            "-o",
            problem=f"The name of column {broken[0]!r} has a line break, but -o writes one name a line.",
            hint="Rename it, or use --json.",
        )
    return "".join(f"{name}\n" for name in shown_as_text(names).to_pylist()).encode()


def _facts(table: Any, options: Select, model: Any, names: list[str]) -> dict[str, Any]:
    from gramian.report.facts import data_facts
    from gramian.selection.validation import estimator_name

    facts: dict[str, Any] = {"data": data_facts(table), "label": table.label_name, "method": options.method}
    if options.method in WRAPPERS:
        facts |= {
            "estimator": estimator_name(model.estimator),
            "score": model.score_,
            "standard_error": model.standard_error_,
            "reason": model.history_.choice.why,
            "history": model.history_.to_dict(),
        }
    else:
        facts |= _filter_facts(model)
    return facts | {"kept": names}


def _filter_facts(model: Any) -> dict[str, Any]:
    import numpy as np

    from gramian.selection.validation import estimator_name

    names = model.feature_names_
    ranking = [
        {
            "rank": model.ranking_[j],
            "column": names[j],
            "score": model.scores_[j],
            "p_value": None if model.pvalues_ is None else model.pvalues_[j],
            "kept": model.support_[j],
        }
        for j in np.argsort(model.ranking_)
    ]
    validated = model.cv_results_
    if validated is not None:
        about = {"estimator": estimator_name(model.estimator_), "scoring": model.score_name_}
        validated = about | validated
    return {
        "task": model.task_,
        "classes": model.classes_,
        "redundancy": model.redundancy,
        "reason": model.reason_,
        "ranking": ranking,
        "validation": validated,
        "notes": model.notes_,
    }
