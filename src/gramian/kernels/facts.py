"""Facts that each kernel declares, and the ones that combinations keep.

A formula states its :class:`Facts` once. For kernels made of kernels the table :data:`CLOSURE` has a row for
every way to combine them: the sentence of the proof, and the facts that are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from gramian.core.records import BoundKind
from gramian.kernels.arithmetic import FUNCTION_ULPS, UNIT

Status = Literal["proven", "refuted", "unknown"]


@dataclass(frozen=True)
class Validity:
    """Whether every Gram matrix of a function, on any rows of any width, is positive semidefinite.

    Attributes
    ----------
    status : {"proven", "refuted", "unknown"}
        What is known.
    reason : str
        The theorem or closure rule, or what speaks against it.
    formula : str
        The function it is about, as it is written in an expression.
    parts : tuple of Validity
        What is known about the functions that this one is built of.

    Examples
    --------
    >>> from gramian.kernels import RBF, Linear
    >>> print((RBF(sigma=2) + 3 * Linear()).validity)
    rbf(sigma=2) + 3 * linear(): proven. A sum of kernels is a kernel.
      rbf(sigma=2): proven. The Fourier transform of a positive measure (Bochner 1933).
      3 * linear(): proven. A kernel times a number >= 0 is a kernel.
        linear(): proven. An inner product: its feature map is x itself.
    """

    status: Status
    reason: str
    formula: str = ""
    parts: tuple[Validity, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether there is a proof."""
        return self.status == "proven"

    @property
    def refuted(self) -> bool:
        """Whether it is known not to be a kernel."""
        return self.status == "refuted"

    def __bool__(self) -> bool:
        return self.proven

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> list[str]:
        own_line = f"{'  ' * depth}{self.formula}: {self.status}. {self.reason}"
        return [own_line, *(line for proof in self.parts for line in proof._lines(depth + 1))]


def proven(reason: str, formula: str = "", *proofs: Validity) -> Validity:
    """Return a proof."""
    return Validity("proven", reason, formula, proofs)


def refuted(reason: str, formula: str = "", *proofs: Validity) -> Validity:
    """Return a refutation."""
    return Validity("refuted", reason, formula, proofs)


def unknown(reason: str, formula: str = "", *proofs: Validity) -> Validity:
    """Return that neither a proof nor a refutation is known."""
    return Validity("unknown", reason, formula, proofs)


@dataclass(frozen=True, eq=False)
class Facts:
    """What a kernel declares about itself; what is left out is not known, or not so.

    Attributes
    ----------
    validity : Validity
        Whether it is a kernel, with the proof.
    divisible : bool
        Whether every positive power of the kernel is a kernel too (infinitely divisible).
    stationary : bool
        Whether it depends on x - y alone.
    unit_diagonal : bool
        Whether k(x, x) = 1 for all x.
    shifts_out : bool
        Whether shifting all rows alike leaves the centred Gram matrix as it is.
    graded : bool
        Whether an entry's error is a share of ``sqrt(k(x, x) k(y, y))``, however small that is: the share
        that it is for the longest rows.
    floor : float
        The least value that a column may have.
    error_kind : {"deterministic", "estimate"}
        Kind of the bound on evaluation errors.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> facts = RBF(sigma=1.0).facts
    >>> facts.stationary, facts.unit_diagonal, facts.validity.status
    (True, True, 'proven')
    """

    validity: Validity
    divisible: bool = False
    stationary: bool = False
    unit_diagonal: bool = False
    shifts_out: bool = False
    graded: bool = False
    floor: float = -np.inf
    error_kind: BoundKind = "deterministic"


# ------------------------------------------------------------------ combinations


@dataclass(frozen=True, eq=False)
class Rule:
    """A row of the closure table: what is known of a combination when its parts are known.

    Sentences may name the combination's parameters, such as ``{exponent:g}``.

    Attributes
    ----------
    proof : str
        Why it is a kernel where all parts are; "" where that does not follow.
    lost : str
        What is said where it does not follow and nothing refutes it.
    refuted : str
        Why it is no kernel where its part is none; "" where that does not follow.
    always : bool
        Whether it is a kernel whatever the parts are.
    keeps : tuple of str
        The facts that it has where all parts have them.
    gives : mapping
        The facts that it has whatever the parts are.
    graded : callable or None
        From the bound combination and the shares that errors of its parts are, see ``Facts.graded``, to its
        own; asked of kernels only.
    """

    proof: str = ""
    lost: str = ""
    refuted: str = ""
    always: bool = False
    keeps: tuple[str, ...] = ()
    gives: Mapping[str, Any] = field(default_factory=dict)
    graded: Callable[..., float] | None = None

    def facts(self, kernel: Any, of_parts: Sequence[Facts]) -> Facts:
        """Return the facts of a combination, given those of its parts."""
        return Facts(
            self._validity(kernel, [facts.validity for facts in of_parts]),
            error_kind="estimate" if "estimate" in {f.error_kind for f in of_parts} else "deterministic",
            **{name: all(getattr(facts, name) for facts in of_parts) for name in self.keeps},
            **self.gives,
        )

    def _validity(self, kernel: Any, proofs: Sequence[Validity]) -> Validity:
        values = kernel.get_params(deep=False)
        if self.always:
            return proven(self.proof.format(**values))
        if self.proof and all(proofs):
            return proven(self.proof.format(**values), "", *proofs)
        if self.refuted and proofs[0].refuted:
            return refuted(self.refuted.format(**values), "", *proofs)
        return unknown(self.lost.format(**values), "", *proofs)


def _power_error(bound: Any, c: float) -> float:
    p = float(bound.kernel.exponent)
    return float(np.expm1(p * np.log1p(c))) + (FUNCTION_ULPS + p) * UNIT if c < 1 else np.inf


def _exp_error(bound: Any, c: float) -> float:
    # exp(sqrt(k(x, x) k(y, y))) <= exp((k(x, x) + k(y, y)) / 2).
    error = c * bound.parts[0].largest
    return float(np.expm1(error)) + 2 * FUNCTION_ULPS * UNIT if error < 1 else np.inf


ALL = ("stationary", "unit_diagonal", "divisible")
CLOSURE: dict[str, Rule] = {
    "sum": Rule(
        proof="A sum of kernels is a kernel.",
        lost="A sum is proven only if both parts are; a negative part loses the proof.",
        keeps=("stationary",),
        # By Cauchy and Schwarz for the roots of k1(x, x), k2(x, x) and of k1(y, y), k2(y, y).
        graded=lambda bound, a, b: max(a, b) + 2 * UNIT,
    ),
    "product": Rule(
        proof="A product of kernels is a kernel (Schur 1911).",
        lost="A product is proven only if both parts are.",
        # A power of a product is the product of powers.
        keeps=ALL,
        graded=lambda bound, a, b: a + b + a * b + 2 * UNIT,
    ),
    "positive multiple": Rule(
        proof="A kernel times a number >= 0 is a kernel.",
        lost="A factor > 0 changes nothing about it: still unknown.",
        refuted="A factor > 0 changes nothing about it: still no kernel.",
        # A power of a positive factor is one.
        keeps=("stationary", "divisible"),
        graded=lambda bound, c: c + 2 * UNIT,
    ),
    "zero": Rule(
        proof="Zero times a function is the kernel 0.",
        always=True,
        keeps=("stationary", "divisible"),
        graded=lambda bound, c: c + 2 * UNIT,
    ),
    "negative multiple": Rule(
        lost="A negative factor loses the proof.",
        keeps=("stationary",),
    ),
    # A power of a power is a power.
    "whole power": Rule(
        proof="A whole power is a product of kernels (Schur 1911).",
        lost="A power is proven only if its base is.",
        keeps=ALL,
        graded=_power_error,
    ),
    "power of a divisible kernel": Rule(
        proof="The kernel is infinitely divisible: it is the exponential of a conditionally positive "
        "definite function, so that every positive power is a kernel (Horn 1969).",
        keeps=ALL,
    ),
    "fractional power": Rule(
        lost="A fractional power, {exponent:g}, loses the proof.",
        keeps=ALL,
    ),
    "exp": Rule(
        proof="exp(k) is a sum of powers of k with factors 1 / m! >= 0.",
        lost="exp is proven only of a kernel.",
        keeps=("stationary",),
        # exp(k)^p = exp(p k), a kernel where exp(k) is one because k is.
        gives={"divisible": True},
        graded=_exp_error,
    ),
    "normalized": Rule(
        proof="g(x) k(x, y) g(y) is a kernel for every function g.",
        lost="It is as valid as the kernel where k(x, x) > 0.",
        # A power of the normalised kernel is the normalised power.
        keeps=("stationary", "divisible"),
        graded=lambda bound, c: float(bound.absolute),
    ),
    "on": Rule(
        proof="A kernel of some columns is a kernel of the rows.",
        lost="It is as valid as the kernel of the columns.",
        keeps=ALL,
        graded=lambda bound, c: c,
    ),
}
