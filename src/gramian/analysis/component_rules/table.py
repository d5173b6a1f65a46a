"""The table of all rules for the number of components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gramian.analysis.component_rules.eigenvalues import broken_stick, elbow, gavish_donoho, kaiser, minka
from gramian.analysis.component_rules.rules import ComponentChoice, Scree

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True)
class Rule:
    """What is known of a rule before it is asked.

    Attributes
    ----------
    trust : str
        When to trust it.
    request : callable or None
        The rule itself, where it reads the spectrum and nothing else.
    draws : bool
        Whether it needs the data, to draw others like them.
    of_covariances : bool
        Whether it is about variances, so that without centring it has no meaning.
    """

    trust: str
    request: Callable[[Scree], ComponentChoice] | None = None
    draws: bool = False
    of_covariances: bool = False


RULES = {
    "parallel": Rule(
        "Columns of any size and distribution, the same noise in all rows. A strong component hides "
        "weak ones; where rows have different noise it finds too many.",
        draws=True,
        of_covariances=True,
    ),
    "sign-flip": Rule(
        "Noise that is independent and symmetric about 0, of any size in any entry. Misses weak components "
        "next to strong ones, and in small tables.",
        draws=True,
    ),
    "gavish-donoho": Rule(
        "Independent noise of one size in all entries, components fewer than half of the smaller side. Where "
        "columns or rows have different noise it finds too many.",
        gavish_donoho,
    ),
    "mle": Rule(
        "Normal data, many more rows than columns, noise of one size in all columns. Never answers 0.",
        minka,
        of_covariances=True,
    ),
    "cv": Rule(
        "Independent noise; the number that predicts best. It sees half of the data at a time, so it misses "
        "weak components.",
        draws=True,
    ),
    "elbow": Rule(
        "A clear gap in a long spectrum. Never answers 0; one dominant component hides the others.",
        elbow,
        of_covariances=True,
    ),
    "broken-stick": Rule(
        "A cautious first look: it has no model of noise, and keeps few components.",
        broken_stick,
        of_covariances=True,
    ),
    "kaiser": Rule(
        "Hardly ever: about half of the eigenvalues of pure noise exceed their mean.",
        kaiser,
        of_covariances=True,
    ),
    "fraction": Rule("When you need a given explained variance ratio. It ignores noise."),
    "max_rmse": Rule("When you can accept a given error in the units of the data. It ignores noise."),
}
