"""What every rule says about the number of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.operations.fit import CENTER, DDOF, SCALE, Model, estimator
from gramian.operations.operation import LARGE_DATA, Result, operation
from gramian.operations.shared import MEMORY_LIMIT, SEED
from gramian.options import only_for, option

RULES = (
    *("parallel", "sign-flip", "gavish-donoho", "mle", "cv"),
    *("elbow", "broken-stick", "kaiser", "fraction", "max_rmse"),
)


@dataclass(frozen=True)
class ChooseComponents:
    """The parameters of ``gramian.choose_components``."""

    rules: str | None = option(
        "A,B,..", f"Rules to ask: {', '.join(RULES)}.", usual="all that apply", suggestions=RULES
    )
    fraction: float = option(
        "SHARE", "Explained variance ratio for the rule fraction.", 0.95, label="explained variance ratio"
    )
    max_rmse: float | None = option(
        "NUMBER",
        "Root-mean-square error of an entry for the rule max_rmse.",
        label="largest root-mean-square error",
    )
    kernel: str | None = option("KERNEL", "Kernel PCA, such as 'rbf(sigma=2)': parallel, cv and fraction.")
    no_center: bool = CENTER
    scale: str | None = SCALE
    ddof: int | None = DDOF
    seed: int = SEED
    memory_limit: str | None = MEMORY_LIMIT


def _estimator(options: ChooseComponents) -> Any:
    same = {name: getattr(options, name) for name in ("kernel", "no_center", "scale", "ddof", "memory_limit")}
    if options.kernel is not None:
        only_for("PCA, without --kernel", options, "max_rmse")
    return estimator(Model(**same))


@operation(LARGE_DATA, check=_estimator, doing="choosing components")
def choose_components(options: ChooseComponents, data: Any) -> Result:
    """Compare all rules for the number of components.

    Prints the number of each rule, its evidence, and when to trust it.
    """
    from gramian.inspect.choose_components import choose_components
    from gramian.report.facts import data_facts

    choices = choose_components(
        _estimator(options),
        data,
        rules=None if options.rules is None else [rule.strip() for rule in options.rules.split(",")],
        fraction=options.fraction,
        max_rmse=options.max_rmse,
        random_state=options.seed,
    )
    names = "rule", "components", "at_least", "evidence", "trust"
    columns = dict(zip(names, zip(*choices.rows(), strict=True), strict=True))
    facts = {"data": data_facts(data), "rules": choices.to_dict()}
    return Result(choices, facts, tables={"rules": columns})
