"""The command that chooses columns by a label: ``select``."""

import sys
from dataclasses import dataclass
from typing import Any

from gramian.checks import check_choice, shown_lines
from gramian.cli.inputs import HERE, read_table
from gramian.cli.models import number_or_share
from gramian.cli.options import Data, Engine, JsonFlag, Reading, Seed, flag, given_options, only_for, option
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress
from gramian.errors import ParameterError
from gramian.wording import worded

FILTERS = ("mutual-information", "f", "chi2", "correlation")
WRAPPERS = ("forward", "backward", "exhaustive")
WRAPPER_ONLY = ("floating", "patience", "nested")
FILTER_ONLY = ("redundancy", "alpha")
VALIDATING = ("estimator", "cv", "scoring")
CLASSES = ("logistic", "lda", "knn", "tree")
NUMBERS = ("ridge", "knn", "tree")


@dataclass(frozen=True)
class Selecting:
    """Parameters of the two selectors."""

    method: str = option(
        "NAME",
        "Filters mutual-information, f, chi2, correlation; wrappers forward, backward, exhaustive (all "
        "subsets of at most 15 columns). [mutual-information]",
        "mutual-information",
        choices=FILTERS + WRAPPERS,
    )
    estimator: str | None = option(
        "NAME",
        "Estimator for validation: logistic, lda, knn or tree for classes; ridge, knn or tree for numbers. "
        "All but tree use standardised columns. [logistic or ridge, by the label]",
        suggestions=tuple(dict.fromkeys(CLASSES + NUMBERS)),
    )
    features: str | None = option(
        "K",
        "A number such as 10, a share such as 0.1, for filters also cv or fdr, for wrappers best or "
        "one-se. [cv; best]",
        suggestions=("cv", "fdr", "best", "one-se"),
    )
    alpha: float | None = option("RATE", "With --features fdr: false discovery rate. [0.05]")
    cv: int | None = option("FOLDS", "Number of cross-validation folds. [5]")
    redundancy: str | None = option("HOW", "Filters: mrmr skips redundant columns.", choices=("mrmr",))
    floating: bool = flag("Wrappers: undo earlier steps where that improves the score.")
    patience: int | None = option("STEPS", "Wrappers: stop after this many steps without gain. [all]")
    nested: bool = flag("Wrappers: also run nested cross-validation of the whole selection.")
    scoring: str | None = option("NAME", "Name of a scikit-learn score. [accuracy; r2]")
    seed: Seed = 0


def select(
    data: Data,
    reading: Reading,
    selecting: Selecting,
    engine: Engine = HERE,
    out: str | None = option(
        "FILE",
        "A text file for the names of the selected columns, one per line, for --columns @FILE; "
        "- for standard output.",
    ),
    as_json: JsonFlag = False,
) -> None:
    """Select the columns that predict a label best.

    Needs --label. A filter scores each column by itself and prints the ranking. A wrapper adds or removes
    columns one by one, or tries all subsets, by the cross-validated score of an estimator. Text, and whole
    numbers with few distinct values, are classes; other labels are numbers.
    """
    wanted = read_features(selecting.features, selecting.method)
    _check_applicable(selecting, wanted)
    if out is not None:
        check_out(out, *reading.inputs(data), as_json=as_json)
    reading.refuse_several_labels()
    if not reading.labelled:
        raise ParameterError(
            "select needs a label. Name its column with --label, or its file with --labels-from."
        )
    if engine.engine is not None and selecting.method in WRAPPERS:
        raise ParameterError(
            f"--method {selecting.method} does not support --engine dask. Use one of {', '.join(FILTERS)}, "
            "or leave out --engine and choose some --rows."
        )
    table = read_table(data, reading, engine=engine)
    _check_names(table, out)
    from gramian.selection.labels import as_target

    classes = as_target(table.labels, table.values.shape[0])[1]
    model = _selector(selecting, wanted, classes is not None)
    try:
        with progress("selecting"):
            model.fit(table)
    except KeyboardInterrupt:
        # A wrapper has selected the best subset so far.
        if getattr(model, "history_", None):
            print(shown_lines(model.history_), file=sys.stderr)
        raise
    names = [str(name) for name in model.get_feature_names_out()]
    if out is not None:
        _write(out, names if table.picture_shape else _known_as(table, model.support_))
    written = [] if out in (None, "-") else ["", f"Written: {out}, the names of the selected columns"]
    text = "\n".join([worded(str(model.summary()), "shell"), *written])
    facts = _facts(table, selecting, model, names, out)
    answer(as_json, facts, text, sys.stderr if out == "-" else None)


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
    rules = ("best", "one-se") if method in WRAPPERS else ("cv", "fdr")
    if text is None:
        return rules[0]
    if text in rules:
        return text
    advice = f"--method {method} takes a number such as 10, a share such as 0.1, or {' or '.join(rules)}."
    return number_or_share("--features", text, advice)


def _check_applicable(selecting: Selecting, wanted: int | float | str) -> None:
    """Refuse options that would be ignored."""
    if selecting.method in WRAPPERS:
        only_for("filters", selecting, *FILTER_ONLY)
    else:
        only_for("--method forward, backward and exhaustive", selecting, *WRAPPER_ONLY)
        if wanted != "cv":
            only_for("--features cv", selecting, *VALIDATING)
    if wanted != "fdr":
        only_for("--features fdr", selecting, "alpha")


def _check_names(table: Any, out: str | None) -> None:
    broken = [name for name in table.feature_names or () if "\n" in name or "\r" in name]
    if out is not None and broken:
        raise ParameterError(
            f"The name of column {broken[0]!r} has a line break, but -o writes one name a line. Rename it, "
            "or use --json."
        )


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
    if check_choice("--estimator", name, sorted({*CLASSES, *NUMBERS})) not in allowed:
        what = "The label names classes" if discrete else "The label is a number"
        raise ParameterError(
            f"{what}, which --estimator {name} does not support. Use one of {', '.join(allowed)}."
        )
    if name == allowed[0]:
        return default_estimator(discrete)
    if name == "tree":
        return (DecisionTreeClassifier if discrete else DecisionTreeRegressor)(random_state=seed)
    nearest = KNeighborsClassifier if discrete else KNeighborsRegressor
    last = LinearDiscriminantAnalysis() if name == "lda" else nearest()
    return make_pipeline(StandardScaler(), last)


def _selector(selecting: Selecting, wanted: int | float | str, discrete: bool) -> Any:
    """Return the unfitted selector that the options describe."""
    from gramian.selection.filters import FeatureFilter
    from gramian.selection.wrappers import SequentialFeatureSelector

    validating = estimator(selecting.estimator, discrete, selecting.seed)
    given = given_options(selecting)
    options = {name: given[name] for name in ("cv", "scoring", *WRAPPER_ONLY, *FILTER_ONLY) if name in given}
    if selecting.method in WRAPPERS:
        return SequentialFeatureSelector(
            validating, n_features_to_select=wanted, direction=selecting.method, **options
        )
    if selecting.estimator is not None:
        options["estimator"] = validating
    return FeatureFilter(selecting.method, wanted, random_state=selecting.seed, **options)


def _known_as(table: Any, kept: Any) -> list[str]:
    """Return what --columns knows the kept columns by: names, or positions in the file."""
    known = table.feature_names or table.column_numbers or range(len(kept))
    return [str(name) for name, is_kept in zip(known, kept, strict=True) if is_kept]


def _write(out: str, names: list[str]) -> None:
    from gramian.rows.columns.formulas import shown_as_text

    text = "".join(f"{name}\n" for name in shown_as_text(names).to_pylist())
    if out == "-":
        sys.stdout.write(text)
        return
    from gramian.store.atomic import atomic_write

    with progress("writing"), atomic_write(out) as file:
        file.write(text.encode())


def _facts(table: Any, selecting: Selecting, model: Any, names: list[str], out: str | None) -> dict[str, Any]:
    from gramian.report.facts import data_facts
    from gramian.selection.validation import estimator_name

    facts: dict[str, Any] = {"data": data_facts(table), "label": table.label_name, "method": selecting.method}
    if selecting.method in WRAPPERS:
        facts |= {
            "estimator": estimator_name(model.estimator),
            "score": model.score_,
            "standard_error": model.standard_error_,
            "reason": model.history_.choice.why,
            "history": model.history_.to_dict(),
        }
    else:
        facts |= _filter_facts(model)
    return facts | {"kept": names, "out": out}


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
