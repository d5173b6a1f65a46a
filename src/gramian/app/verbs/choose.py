"""Numbers of components, columns and kernels that are best, equations that hold, and what is a kernel."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from gramian.app import verb
from gramian.app.verbs.fit import DOCUMENTED, Center, Ddof, Scale, estimator
from gramian.core.checks import check_choice, listed, six_digits
from gramian.errors import DataError, ParameterError

RULES = (
    *("parallel", "sign-flip", "gavish-donoho", "mle", "cv"),
    *("broken-stick", "kaiser", "fraction"),
)
RULES_OPTION = verb.Option(
    "A,B,..", f"Rules to ask: {', '.join(RULES)}.", "all that apply", suggestions=RULES
)


@verb.about(documented=DOCUMENTED)
def judged(
    *,
    kernel: str | None = None,
    center: Center = True,
    scale: Scale = None,
    ddof: Ddof = None,
    memory_limit: verb.MemoryLimit = None,
) -> Any:
    """Return the unfitted model whose components are counted.

    Parameters
    ----------
    kernel : KERNEL, default: PCA
        Kernel PCA, such as 'rbf(sigma=2)': parallel, cv and fraction.
    """
    return estimator(kernel=kernel, center=center, scale=scale, ddof=ddof, memory_limit=memory_limit)


@verb.about(
    doing="choosing components", documented={"": "gramian.answers.choose_components:choose_components"}
)
def choose_components(
    data: verb.LargeData,
    *,
    model: Annotated[Any, verb.Of(judged)],
    rules: Annotated[list[str] | None, RULES_OPTION] = None,
    fraction: float = 0.95,
    random_state: verb.Seed = 0,
) -> verb.Result:
    """Compare all rules for the number of components.

    Prints the number of each rule, its evidence, and when to trust it.

    Parameters
    ----------
    fraction : SHARE
        Explained variance ratio for the rule fraction.
    """
    from gramian.answers.choose_components import choose_components
    from gramian.report.facts import data_facts

    choices = choose_components(model, data, rules=rules, fraction=fraction, random_state=random_state)
    return verb.Result(
        choices, {"data": data_facts(data), "rules": choices.to_dict(), "sentences": [choices.recommended]}
    )


WRAPPER_ONLY = ("n_features_to_select", "floating")
FILTER_ONLY = ("score_func", "k", "redundancy")
VALIDATING = ("estimator", "cv", "scoring")
TIME_LIMIT = 30.0  # seconds of an audit, half of what the server gives a request
CLASSES = ("logistic", "knn")
NUMBERS = ("ridge", "knn")


def _check_options(values: Mapping[str, Any]) -> None:
    """Refuse options that would be ignored."""
    if values.get("direction") is not None:
        verb.only_for("filters: leave out direction", values, *FILTER_ONLY, hint="")
    else:
        verb.only_for("a wrapper, with a direction", values, *WRAPPER_ONLY)
        if values.get("k") not in (None, "cv"):
            verb.only_for('k="cv"', values, *VALIDATING)


def _of_one_label(proposal: Any) -> bool:
    """Return whether a proposal leaves open which one of several labels is predicted."""
    return bool(proposal.option != "labels_from")


@verb.about(
    check=_check_options,
    doing="selecting",
    needs_label=True,
    heeds=_of_one_label,
    documented={
        "Filters": "gramian.select.filters:FeatureFilter",
        "Wrappers": "gramian.select.wrappers:SequentialFeatureSelector",
    },
)
def select(
    data: verb.Data,
    *,
    score_func: Annotated[
        Literal["mutual-information", "f", "chi2"] | None,
        verb.Option(usual="mutual-information"),
    ] = None,
    k: Annotated[int | float | Literal["cv"] | None, verb.Option(check=verb.check_count)] = None,
    direction: Literal["forward", "backward", "exhaustive"] | None = None,
    n_features_to_select: Annotated[
        int | float | Literal["best", "one-se"] | None, verb.Option(check=verb.check_count)
    ] = None,
    estimator: Annotated[str | None, verb.Option(suggestions=tuple(dict.fromkeys(CLASSES + NUMBERS)))] = None,
    cv: int | None = None,
    redundancy: Literal["mrmr"] | None = None,
    floating: bool = False,
    scoring: str | None = None,
    random_state: verb.Seed = 0,
) -> Annotated[verb.Result, verb.Output("file", key="out")]:
    """Select the columns that predict a label best.

    Needs --label. A filter scores each column by itself and prints the ranking. A wrapper adds or removes
    columns one by one, or tries all subsets, by the cross-validated score of an estimator. Text, and whole
    numbers with few distinct values, are classes; other labels are numbers.

    Parameters
    ----------
    k : K, default: cv
        Filters: a number such as 10, a share such as 0.1, or cv.
    direction : default: a filter
        A wrapper in place of a filter: forward, backward, or exhaustive (all subsets of at most 15 columns).
    n_features_to_select : K, default: best
        Wrappers: a number such as 10, a share such as 0.1, best or one-se.
    estimator : NAME, default: logistic or ridge, by the label
        Estimator for validation, on standardised columns: logistic or knn for classes; ridge or knn for
        numbers.
    cv : FOLDS, default: 5
        Number of cross-validation folds.
    redundancy
        Filters: mrmr skips redundant columns.
    floating
        Wrappers: undo earlier steps where that improves the score.
    scoring : NAME, default: accuracy; r2
        Name of a scikit-learn score.

    Files
    -----
    out : FILE
        A text file for the names of the selected columns, one per line, for --columns @FILE; - for standard
        output.
    """
    options = {name: value for name, value in locals().items() if value is not None and value is not False}
    from gramian.select.filters import FeatureFilter
    from gramian.select.validation import default_estimator
    from gramian.select.wrappers import SequentialFeatureSelector

    del options["data"], options["random_state"]
    refuse_several_labels(data)
    discrete = is_discrete(data)
    if estimator is not None:
        options["estimator"] = estimator_named(estimator, discrete)
    model: Any
    if direction is None:
        model = FeatureFilter(random_state=random_state, **options)
    else:
        model = SequentialFeatureSelector(options.pop("estimator", default_estimator(discrete)), **options)
    model.fit(data)
    names = [str(name) for name in model.get_feature_names_out()]
    return verb.Result(
        f"{model.summary()}\n",
        _facts(data, model, names, direction),
        content=lambda: _lines(names if data.picture_shape else _known_as(data, model.support_)),
        written=", the names of the selected columns",
    )


def refuse_several_labels(data: Any) -> None:
    """Raise an error for several labels where one is predicted.

    Raises
    ------
    ParameterError
    """
    from gramian.tables.treatment import DEPTH

    names = [data.label_name, *(name for name in data.metadata if name != DEPTH)]
    file = data.origin.reading.get("labels_from")
    if data.labels is None or len(names) < 2:
        return
    if file is not None:
        problem = f"has the columns {listed(names)}, but one is predicted here"
        hint = f"Name one, as in labels_from={f'{file}:{names[0]}'!r}."
        raise ParameterError("labels_from", file, problem, hint)
    problem, hint = "names several columns, but one is predicted here", "leave out the others with drop."
    raise ParameterError("label", ",".join(names), problem, f"Name one, and {hint}")


def is_discrete(data: Any) -> bool:
    """Return whether the labels name classes."""
    from gramian.select.targets import as_target

    return as_target(data.labels, data.values.shape[0])[1] is not None


def estimator_named(name: str, discrete: bool) -> Any:
    """Return the estimator for validation, on standardised columns.

    Parameters
    ----------
    name : str
    discrete : bool
        Whether the label names classes.

    Raises
    ------
    ParameterError
        For a name that is not known, or that does not go with the label.
    """
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from gramian.select.validation import default_estimator

    allowed = CLASSES if discrete else NUMBERS
    if check_choice("estimator", name, sorted({*CLASSES, *NUMBERS})) not in allowed:
        label = "The label names classes" if discrete else "The label is a number"
        problem = f"{label}, which estimator={name!r} does not support."
        raise ParameterError("estimator", name, problem=problem, hint=f"Use one of {', '.join(allowed)}.")
    if name == allowed[0]:
        return default_estimator(discrete)
    return make_pipeline(StandardScaler(), KNeighborsClassifier() if discrete else KNeighborsRegressor())


def _known_as(table: Any, kept: Any) -> list[str]:
    """Return what --columns knows the kept columns by: names, or positions in the file."""
    names = table.feature_names or table.column_numbers or range(len(kept))
    return [str(name) for name, is_kept in zip(names, kept, strict=True) if is_kept]


def _lines(names: list[str]) -> bytes:
    from gramian.tables.strings import shown_as_text

    if broken := [name for name in names if "\n" in name or "\r" in name]:
        problem = f"The name of column {broken[0]!r} has a line break, but -o writes one name a line."
        raise ParameterError("-o", problem=problem, hint="Rename it, or use --json.")
    return "".join(f"{name}\n" for name in shown_as_text(names).to_pylist()).encode()


def _facts(table: Any, model: Any, names: list[str], direction: str | None) -> dict[str, Any]:
    from gramian.report.facts import data_facts
    from gramian.select.validation import estimator_name

    facts: dict[str, Any] = {
        "data": data_facts(table),
        "label": table.label_name,
        "method": direction or model.score_func,
        "kept": names,
    }
    if direction is None:
        return facts | _filter_facts(model)
    return facts | {
        "estimator": estimator_name(model.estimator),
        "score": model.score_,
        "standard_error": model.standard_error_,
        "reason": model.history_.choice.why,
        "history": model.history_.to_dict(),
    }


def _filter_facts(model: Any) -> dict[str, Any]:
    import numpy as np

    from gramian.select.validation import estimator_name

    columns: dict[str, Any] = {"rank": model.ranking_, "column": model.feature_names_, "score": model.scores_}
    columns |= {"p_value": model.pvalues_, "kept": model.support_}
    ranking = [
        {name: None if values is None else values[j] for name, values in columns.items()}
        for j in np.argsort(model.ranking_)
    ]
    validated = model.selection_
    if validated is not None:
        tried = [dict(zip(validated.columns, row, strict=True)) for row in validated.rows()]
        scorer = {"estimator": estimator_name(model.estimator_), "scoring": model.score_name_}
        validated = scorer | {"tried": tried}
    return {
        "task": model.task_,
        "classes": model.classes_,
        "redundancy": model.redundancy,
        "reason": model.reason_,
        "ranking": ranking,
        "validation": validated,
        "notes": model.notes_,
    }


@verb.about(heeds=_of_one_label, documented={"": "gramian.select.choose_kernel:choose_kernel"})
def choose_kernel(
    data: verb.Data,
    *,
    criterion: Literal["preimage", "score"] | None = None,
    candidates: list[str] | None = None,
    n_components: Annotated[list[int] | None, verb.Option(short="-k")] = None,
    cv: int = 5,
    estimator: str | None = None,
    scoring: str | None = None,
    scale: Literal["unit"] | None = None,
    random_state: verb.Seed = 0,
) -> verb.Result:
    """Choose a kernel and its width.

    Prints all kernels of the comparison with their standard errors.

    Parameters
    ----------
    criterion : default: preimage; score with labels
        preimage, or with labels score.
    candidates : KERNEL, default: a default list
        A kernel to compare, such as 'rbf(sigma=2)'; may be repeated.
    n_components : K,K,.., default: a default list
        Numbers of components to compare, such as 2,5,10.
    cv : FOLDS
        Number of cross-validation folds.
    estimator : NAME, default: logistic or ridge, by the label
        score: estimator, as in select: logistic or knn for classes; ridge or knn for numbers.
    scoring : NAME, default: accuracy; r2
        score: name of a scikit-learn score.
    scale : unit
        Compare kernels of standardised columns.
    """
    options = {name: value for name, value in locals().items() if name != "data"}
    from gramian.report.facts import data_facts
    from gramian.select.choose_kernel import choose_kernel

    refuse_several_labels(data)
    if data.labels is None and (criterion == "score" or estimator is not None):
        problem = 'criterion="score" and estimator need labels.'
        hint = "Name their column with label, or their file with labels_from."
        raise ParameterError("criterion", problem=problem, hint=hint)
    if estimator is not None:
        options["estimator"] = estimator_named(estimator, is_discrete(data))
    choice = choose_kernel(data, **options)
    fit = {"kernel": repr(choice.best), "n_components": choice.n_components, "scale": scale}
    fit = {name: value for name, value in fit.items() if value is not None}
    return verb.Result(choice, {"data": data_facts(data), **choice.to_dict()}, fit=fit)


# Attributes of a relation in JSON, in addition to the columns.
FIELDS = (
    *("equation", "terms", "powers", "coefficients", "errors", "residual", "held_out", "noise_level"),
    *("limit", "origin", "unit"),
)


def _heeds(proposal: Any) -> bool:
    """Return whether a proposal leaves equations between columns as they are."""
    named = proposal.option in ("id", "label", "answers", "na_values")
    no_numbers = proposal.option == "drop" and not proposal.evidence["distinct"]
    return named or no_numbers or proposal.evidence.get("reason") in ("text", "time", "identifier")


@verb.about(heeds=_heeds, documented={"": "gramian.select.relations:relations"})
def relations(
    data: Annotated[Any, verb.DATA._replace(streamed=lambda values: values.get("degree") == 1)],
    *,
    degree: Annotated[int, verb.Option("NUMBER")] = 2,
    tol: Annotated[float | None, verb.Option("NUMBER", usual="by the data")] = None,
) -> Annotated[verb.Result, verb.FIGURE._replace(key="out")]:
    """Find polynomial equations that all rows satisfy.

    For instance x^2 + y^2 - 1 = 0, in the units of the columns, with residuals.

    Files
    -----
    out : FILE
        A figure of the first equation between two columns, or else three: .svg, .png or .pdf.
    """
    from gramian.figures.registry import function_of
    from gramian.report.facts import data_facts, payload
    from gramian.select.relations import relations

    result = relations(data, degree, tol=tol)
    facts = {
        "data": data_facts(data),
        "degree": result.degree,
        "monomials": result.n_monomials,
        "distinct_rows": result.n_samples,
        "relations": [
            payload(relation, *FIELDS) | {"columns": relation.feature_names} for relation in result
        ],
        "nearest_other": result.nearest,
        "limit": result.limit,
        "reason": result.reason,
    }

    def draw() -> Any:
        first = next((law for law in result if law.powers.any(axis=0).sum() == 2), None)
        if first is None:
            raise DataError(f"Nothing is drawn: no equation is between two columns.\n{result}")
        return function_of("planes", "relation")(first, data)

    return verb.Result(f"{result}\n", facts, figures={"relation": draw})


# ------------------------------------------------------------------ kernels


def table() -> verb.Result:
    """List all kernels with their formulas.

    Each comes with its parameters and, if it is positive semidefinite, the proof.
    """
    from gramian.kernels import table

    kernels = table()
    return verb.Result(kernels, {"kernels": [asdict(kernel) for kernel in kernels]})


@verb.about(doing="auditing", documented={"": "gramian.kernels.auditing:audit"})
def audit(
    kernel: str,
    data: Annotated[Any, verb.DATA] = None,
    *,
    n_features: int | None = None,
    value_tol: float | None = None,
    random_state: verb.Seed = 0,
    time_limit: Annotated[float | None, verb.Option(usual=f"{TIME_LIMIT:g}", local=True)] = None,
) -> verb.Result:
    """Check a function for positive semidefiniteness: proof or counterexample.

    EXPRESSION is made of kernels, or a formula of two rows such as "min(x,y)" or "exp(-norm(x-y))".

    Parameters
    ----------
    kernel : EXPRESSION
        Such as 'rbf(sigma=2) + linear()', a formula of two rows such as 'sum(min(x,y))', or precomputed when
        DATA is a Gram matrix.
    data
        Rows to test, in any format that fit reads. Without them, search for a counterexample.
    n_features : D, default: 1, 2 and 3
        Search among points of D features.
    value_tol : NUMBER, default: 1e-10
        Error of a precomputed matrix's entries, relative to the largest.
    time_limit : SECONDS
        Stop the search after this time, and report it.
    """
    from gramian.kernels import kernel_from_name
    from gramian.kernels.auditing import audit
    from gramian.report.facts import audit_facts

    if data is not None:
        searching = {"n_features": n_features, "time_limit": time_limit}
        verb.only_for("the search without data", searching, *searching)
    audited: Any = kernel if kernel == "precomputed" else kernel_from_name(kernel)
    rows = None if data is None else data.flat  # a picture is one row
    if data is not None and kernel != "precomputed":
        # Names of columns end here, and widths that depend on the data are shown as numbers.
        audited = audited.resolve(rows, data.feature_names)
    options: dict[str, Any] = {} if value_tol is None else {"value_tol": value_tol}
    options |= {"n_features": n_features, "random_state": random_state}
    report = audit(audited, rows, **options, time_limit=TIME_LIMIT if time_limit is None else time_limit)
    return verb.Result(_rounded(str(report)), audit_facts(report) | {"formula": str(audited)})


def _rounded(text: str) -> str:
    """Return a report with the digits of a witness, which are needed, and six of all other numbers."""
    head, gap, witness = text.partition("\n\n")
    return six_digits(head) + gap + witness
