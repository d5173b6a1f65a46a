"""The number of components by every rule that is fast enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gramian.analysis.component_rules.resampling import REPEATS
from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.analysis.component_rules.table import RULES
from gramian.checks import duration
from gramian.estimators.choose_components import choose_components
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.kernel_rules import KERNEL_RULES
from gramian.estimators.pca import PCA
from gramian.rows.table import Table

PATIENCE = 10.0  # seconds predicted for one rule
SECONDS = 1e-9  # of a number, for each of the smaller side, to find eigenvalues
PASSING = 1e-7  # of a number, to draw it again


def rule_choices(model: Any, table: Table | None) -> tuple[Sequence[ComponentChoice], list[str]]:
    """Apply the rules.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, or another one, which has no rules
    table : Table or None
        The data of the fit, which some rules need.

    Returns
    -------
    choices : sequence of ComponentChoice
    left_out : list of str
        Rules that were not applied, each with the reason.
    """
    if not isinstance(model, PCA | KernelPCA) or not model.n_components_:
        return (), []
    linear = isinstance(model, PCA)
    names = [name for name in (RULES if linear else KERNEL_RULES) if name != "max_rmse"]
    here = None if table is None or not table.in_memory or table.values.shape[0] < 2 else table
    waits = {} if here is None else {name: _wait(model, here, name) for name in names}
    asked = [name for name, wait in waits.items() if wait <= PATIENCE]
    said = dict(choose_components(model, table, rules=asked)) if asked else {}
    alone = [name for name in names if linear and not RULES[name].draws and name not in said]
    said |= choose_components(model, rules=alone) if alone else {}
    why = {name: f"it would take {_long(wait)}" for name, wait in waits.items()}
    left = [
        f"{name}: {why.get(name, 'it needs the data, two rows or more in memory')}."
        for name in names
        if name not in said
    ]
    return [said[name] for name in names if name in said], left


def _long(wait: float) -> str:
    return f"about {duration(wait)}" if math.isfinite(wait) else "many fits"


def _wait(model: Any, table: Table, rule: str) -> float:
    """Return the predicted seconds."""
    if isinstance(model, KernelPCA):
        fits = {"parallel": REPEATS + 1, "fraction": 1}
        return fits.get(rule, math.inf) * float(model.plan_.seconds)
    n, d = table.values.shape[0], math.prod(table.values.shape[1:])
    times = REPEATS + 1 if RULES[rule].draws else 1
    return float(times * n * d * (SECONDS * min(n, d) + PASSING))
