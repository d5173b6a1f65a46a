"""What an audit of a kernel found, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gramian.checks import counted
from gramian.kernels.auditing.trials import Margin
from gramian.kernels.auditing.witness import Asymmetry, Witness
from gramian.kernels.facts import Validity

Verdict = Literal["valid", "not a kernel", "no counter-example"]


@dataclass(frozen=True, eq=False)
class AuditReport:
    """What is known about a function being a kernel, and how.

    Attributes
    ----------
    kernel : str
        The function.
    validity : Validity
        What theory says.
    witness : Witness, Asymmetry or None
        Points that refute.
    lowest : Margin
        Smallest eigenvalue of what was tested, the one that lay lowest in units of its bound.
    asymmetry : float
        Largest ``|k(x, y) - k(y, x)|`` that was seen, relative to the largest |k| on the same points.
    tested : str
        On which points.
    trials, skipped, evaluations : int
        Gram matrices tested; sets of points left out because k has no finite value there; values of k.
    value_tol : float or None
        What was assumed about the rounding of k, relative to the largest value; None where it is proven.
    """

    kernel: str
    validity: Validity
    witness: Witness | Asymmetry | None
    lowest: Margin
    asymmetry: float
    tested: str
    value_tol: float | None
    trials: int = 1
    skipped: int = 0
    evaluations: int = 0

    @property
    def verdict(self) -> Verdict:
        """In three words: "valid", "not a kernel" or "no counter-example"."""
        if self.witness is not None or self.validity.refuted:
            return "not a kernel"
        return "valid" if self.validity.proven else "no counter-example"

    @property
    def eigenvalue(self) -> float | None:
        """Smallest eigenvalue of the witness's Gram matrix, or the lowest; None for an asymmetry."""
        return self._shown.eigenvalue if self._shown is not None else None

    @property
    def bound(self) -> float | None:
        """An eigenvalue above ``-bound`` says nothing: rounding can do that much."""
        return self._shown.bound if self._shown is not None else None

    @property
    def _shown(self) -> Margin | Witness | None:
        if isinstance(self.witness, Asymmetry):
            return None
        return self.lowest if self.witness is None else self.witness

    @property
    def valid(self) -> bool | None:
        """True where it is proven, False where it is refuted, None where neither is known."""
        return {"valid": True, "not a kernel": False}.get(self.verdict)

    def __str__(self) -> str:
        lines = [self.kernel, f"Verdict: {self._verdict()}", f"Symmetric: {self._symmetry()}"]
        if self.eigenvalue is not None and self.bound is not None:
            lines.append(
                f"Smallest eigenvalue: {self.eigenvalue:.4g}{self._scaling()}; above {-self.bound:.1e} it "
                f"would say nothing ({self._sources()})."
            )
        lines.append(f"Tested: {self.tested}")
        if self.value_tol is not None:
            lines.append(
                f"Assumed: every value is right to {self.value_tol:g} times the largest. "
                "Raise value_tol for a function that is less accurate."
            )
        if self.witness is not None:
            lines += ["", str(self.witness)]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.verdict == "valid":
            return "\n  ".join(["valid, proved by theory.", *str(self.validity).splitlines()])
        if self.verdict == "no counter-example":
            return (
                f"no counter-example found in {counted(self.trials, 'trial')}; that proves nothing. "
                f"{self.validity.reason}"
            )
        if isinstance(self.witness, Witness):
            return f"not a kernel, by a witness of {counted(len(self.witness.points), 'point')}."
        if self.witness is not None:
            return "not a kernel, by a witness of 2 points: it is not symmetric."
        return (
            "not a kernel, refuted by theory alone: no witness was found in "
            f"{counted(self.trials, 'trial')}. {self.validity.reason}"
        )

    def _symmetry(self) -> str:
        if isinstance(self.witness, Asymmetry):
            return "no, see the witness."
        if not self.asymmetry:
            return "yes."
        return f"yes, within rounding: differences reach {self.asymmetry:.1e} of the largest value."

    def _scaling(self) -> str:
        scaled = isinstance(self.witness, Witness) and (self.witness.scaling != 1).any()
        return ", rows and columns scaled to a diagonal near 1" if scaled else ""

    def _sources(self) -> str:
        values = "values of k as far as assumed below" if self.value_tol is not None else "values of k"
        return f"rounding of the {values}, and of the eigenvalue solver"
