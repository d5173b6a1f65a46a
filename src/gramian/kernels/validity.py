"""What is known about a function being a kernel, with the proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Validity", "proven", "refuted", "unknown"]

Status = Literal["proven", "refuted", "unknown"]


@dataclass(frozen=True)
class Validity:
    """Whether every Gram matrix of a function, on any rows of any width, is positive semi-definite.

    Attributes
    ----------
    status : {"proven", "refuted", "unknown"}
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
        own = f"{'  ' * depth}{self.formula}: {self.status}. {self.reason}"
        return [own, *(line for part in self.parts for line in part._lines(depth + 1))]


def proven(reason: str, formula: str = "", *parts: Validity) -> Validity:
    """Return a proof."""
    return Validity("proven", reason, formula, parts)


def refuted(reason: str, formula: str = "", *parts: Validity) -> Validity:
    """Return a refutation."""
    return Validity("refuted", reason, formula, parts)


def unknown(reason: str, formula: str = "", *parts: Validity) -> Validity:
    """Return that neither a proof nor a refutation is known."""
    return Validity("unknown", reason, formula, parts)
