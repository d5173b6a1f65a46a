"""Compare all rules for the number of components: their answers, evidence and limits."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import memory_limit_bytes
from gramian.core.checks import check_choice
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import ModelKind, Seed
from gramian.errors import GramianError, InputTypeError, ParameterError
from gramian.models.inputs import check_target, generators
from gramian.models.pca.estimator import PCA
from gramian.models.pca.fits import TableFit
from gramian.models.pca.rules import Material, refusal, room_for, scree_of
from gramian.statistics.component_rules import KERNEL_RULES, RULES, ComponentChoice, fraction_rule
from gramian.tables.as_rows import as_rows, weighted

Answers = tuple[Callable[[str], ComponentChoice], str]  # by the name of a rule; what they are about
PASS = "Pass the data too: choose_components(model, X)."


def recommended(choices: Sequence[ComponentChoice]) -> str:
    """Return how many components serve which use, by the rules that say so; "" without them."""
    answers = {choice.rule: choice.answer for choice in choices}
    if answers.get("parallel") == "0":
        return "None is larger than noise would make it (parallel analysis): keep what you look at."
    uses = {"fraction": "keep {} to compress the data (95 % of the variance)"}
    uses["cv"] = "take {} to predict or to monitor (cross-validation)"
    texts = [text.format(answers[rule]) for rule, text in uses.items() if answers.get(rule, "0") != "0"]
    return f"{'; '.join(['Look at 2 or 3', *texts])}." if texts else ""


@dataclass(frozen=True, eq=False, repr=False)
class ComponentChoices(Tabulated, Mapping[str, ComponentChoice]):
    """The answers of all rules for the number of components; prints as a table.

    Attributes
    ----------
    choices : tuple of ComponentChoice
        One for each rule, also by its name: ``choices["parallel"].number``.
    about : str
        Description of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> choices = gramian.choose_components(
    ...     gramian.PCA(scale="unit"), load_wine().data, rules=["parallel", "kaiser"]
    ... )
    >>> choices["parallel"].number, choices["kaiser"].number
    (3, 3)
    """

    choices: tuple[ComponentChoice, ...]
    about: str

    def __getitem__(self, rule: str) -> ComponentChoice:
        return {choice.rule: choice for choice in self.choices}[rule]

    def __iter__(self) -> Iterator[str]:
        return (choice.rule for choice in self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def recommended(self) -> str:
        """How many components serve which use; "" without the rules parallel, cv and fraction."""
        return recommended(self.choices)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return everything as plain values that JSON can hold."""
        return {
            c.rule: {
                "components": c.number,
                "at_least": c.at_least,
                "sentence": c.sentence,
                "trust": RULES[c.rule].trust,
                "evidence": {name: np.asarray(column).tolist() for name, column in c.evidence.items()},
            }
            for c in self.choices
        }

    def _notebook(self) -> Iterator[str | Grid]:
        yield f"Number of components of {self.about}"
        yield from filter(None, [self.recommended])
        yield Grid(("rule", "components", "evidence"), [(c.rule, c.answer, c.sentence) for c in self.choices])
        yield Grid(("rule", "when to trust it"), [(c.rule, RULES[c.rule].trust) for c in self.choices])


def choose_components(
    X_or_model: Any,
    X: Any = None,
    *,
    rules: Sequence[str] | None = None,
    fraction: float = 0.95,
    random_state: Seed = 0,
) -> ComponentChoices:
    """Compare all rules for the number of components.

    Parameters
    ----------
    X_or_model : array-like of shape (n_samples, n_features), file, PCA or KernelPCA
        Data as PCA accepts them; a PCA that is not fitted, with ``X``, such as ``PCA(scale="unit")``; or a
        fitted PCA. A fitted PCA without ``X`` supplies its spectrum; rules
        that resample the data then have no answer. If it stores only part of the spectrum, the rules use the
        trace for the rest where they can. A KernelPCA, fitted or with ``X``, supports the rules "parallel",
        "fraction" and "cv".
    X : array-like of shape (n_samples, n_features), optional
        The data, if the first argument is a model; centred and scaled as by that model.
    rules : sequence of str, optional
        Names of the rules; all by default.
    fraction : float, default=0.95
        For the rule "fraction".
    random_state : int, RandomState, Generator or None, default=0
        For the rules that resample the data; None draws a new seed at each call. An integer gives the same
        answers as PCA with the rule as ``n_components``.

    Returns
    -------
    ComponentChoices
        One answer for each rule; prints as a table.

    Raises
    ------
    ParameterError
        For an unknown rule, or a model that is not fitted if ``X`` is None.
    InputTypeError
        For a model that is neither PCA nor KernelPCA, and for two data sets.

    References
    ----------
    Horn (1965); Buja and Eyuboglu (1992) for "parallel"; Joergensen and Hansen (2012), Model selection for
    Gaussian kernel PCA denoising, for kernels. Hong, Sheng, Dobriban (2020) for "sign-flip". Gavish and
    Donoho (2014). Minka (2000) for "mle". Owen and Perry (2009) for "cv".
    Frontier (1976) for "broken-stick". Kaiser (1960).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import choose_components
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 20)) + rng.standard_normal((100, 20))
    >>> choices = choose_components(X, random_state=0)
    >>> choices["parallel"].number, choices["gavish-donoho"].number
    (3, 3)
    """
    kind = getattr(type(X_or_model), "model_kind", ModelKind.OTHER)
    model = X_or_model if kind.gives_scores else None
    if model is None and hasattr(X_or_model, "fit"):
        kind_name = type(X_or_model).__name__
        raise InputTypeError(f"A {kind_name} is neither data nor a gramian.PCA or KernelPCA. Pass the data.")
    available = KERNEL_RULES if kind.kernel else tuple(RULES)
    requested = available if rules is None else [check_choice("rules", rule, available) for rule in rules]
    check_target(float(fraction), 1, (1, 1))
    if model is None:
        if X is not None:
            raise InputTypeError("Two data sets were passed. Pass one, or a model and its data.")
        model, X = PCA(), X_or_model
    arguments = X, fraction, generators(random_state, 3)[2]
    request, about = _of_kernel(model, *arguments) if kind.kernel else _of_pca(model, *arguments)
    choices = []
    for rule in requested:
        try:
            choices.append(request(rule))
        except GramianError as error:  # one failing rule does not hide the others
            choices.append(ComponentChoice(rule, None, {}, str(error)))
    return ComponentChoices(tuple(choices), about)


def _of_pca(model: PCA, X: Any, fraction: float, rng: Generator) -> Answers:
    """Return a function from a rule's name to its answer, and a description of the data or model."""
    rows, material = None, None
    if X is not None:
        limit = memory_limit_bytes(model.memory_limit)
        rows = as_rows(X, weigh=True, estimator="choose_components", minimum=2, limit=limit)
        (n, d), equal = rows.shape, rows.weights is None
        material = Material(TableFit(model, rows).problem, limit)
        # What varies is looked at here, which also refuses what no rule can take.
        shape, about = (n, material.varying), f"{n:,} rows x {d:,} columns"
    else:
        try:
            check_is_fitted(model)
        except NotFittedError as error:
            raise ParameterError("model", allowed="is a PCA that is not fitted", hint=PASS) from error
        scree, equal = scree_of(model), not vars(model).get("_unequal", False)
        seen = "" if scree.whole else f", {scree.known.size} of {scree.size} eigenvalues known"
        shape = (scree.n_samples, scree.varying)
        about = f"a model of {scree.n_samples:,} rows x {scree.n_features:,} columns{seen}"

    def request(rule: str) -> ComponentChoice:
        sparse = rows is not None and rows.skips_zeros
        refused = refusal(rule, shape, center=bool(model.center), sparse=sparse, equal=equal)
        if RULES[rule].draws and not refused:
            if material is not None:
                room_for(rule, material.problem.rows, material.memory_limit)
                # Each rule starts from the same state, so that its answer does not depend on the others.
                return material.choose(rule, copy.deepcopy(rng))
            refused = "The rule needs the data: call choose_components(model, X)."
        if refused:
            return ComponentChoice(rule, None, {}, refused)
        spectrum = scree if material is None else material.scree
        if rule == "fraction":
            return fraction_rule(spectrum, float(fraction))
        return RULES[rule].request(spectrum)  # type: ignore[misc]

    return request, about


def _of_kernel(model: Any, X: Any, fraction: float, rng: Generator) -> Answers:
    from gramian.models.kernel_pca.rules import components_of_kernel

    shares = None
    if X is None:
        X, shares = getattr(model, "X_fit_", None), vars(model).get("_mean_weights")
        if X is None:
            why = "not fitted, its kernel is precomputed, or it stores only landmarks"
            raise ParameterError("model", allowed=f"is a KernelPCA without rows: it is {why}", hint=PASS)
        model = clone(model).set_params(scale=None)  # its rows are standardised
    rows = as_rows(X, weigh=True, estimator="choose_components", minimum=2)
    rows = rows if shares is None else weighted(rows, shares * rows.shape[0])
    about = f"{rows.shape[0]:,} rows x {rows.shape[1]:,} columns in feature space"
    return partial(components_of_kernel, model, rows, fraction=fraction, rng=rng), about
