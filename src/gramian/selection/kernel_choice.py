"""What was found out about kernels, as a record that prints as a table."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian.errors import MissingExtraError
from gramian.estimators.kernel_pca import KernelPCA
from gramian.kernels import Kernel
from gramian.records import FloatArray

__all__ = ["Judgement", "KernelChoice", "KernelTrial", "judgement"]

WIDTH = 110
LONGEST = 40  # characters of a kernel beside its numbers


@dataclass(frozen=True)
class Judgement:
    """What a criterion says about a kernel.

    Attributes
    ----------
    value : float
    standard_error : float or None
        None where there is too little to tell it from.
    n_components : int or None
        The number of components it belongs to; None where the criterion looks at none.
    said : tuple of str
        What estimators complained about meanwhile.
    """

    value: float
    standard_error: float | None
    n_components: int | None = None
    said: tuple[str, ...] = ()


def judgement(
    values: FloatArray, best: int, counts: Sequence[int], rank: int, said: tuple[str, ...] = ()
) -> Judgement:
    """Return the mean over folds for one number of components, with its standard error.

    Parameters
    ----------
    values : ndarray of shape (folds, len(counts))
    best : int
        Which of the numbers.
    counts : sequence of int
    rank : int
        Components beyond it are 0; of several numbers the one that is named does not exceed it.

    Examples
    --------
    >>> judgement(np.array([[1.0, 2.0], [1.0, 4.0]]), 1, (2, 8), rank=3)
    Judgement(value=3.0, standard_error=1.0, n_components=3, said=())
    """
    column = values[:, best]
    error = float(column.std(ddof=1) / np.sqrt(len(column))) if len(column) > 1 else None
    number = int(counts[best])
    named = number if len(counts) == 1 else min(number, max(1, rank))
    return Judgement(float(column.mean()), error, named, said)


@dataclass(frozen=True, eq=False)
class KernelTrial:
    """One kernel that was tried.

    Attributes
    ----------
    kernel : Kernel
        Every parameter a number.
    value : float or None
        What the criterion says; None where it says nothing, and ``remark`` tells why.
    standard_error : float or None
    n_components : int or None
        The number of components that the value belongs to.
    remark : str
        Why there is no value, or what is doubtful about the kernel.
    model : KernelPCA
        Not fitted; with the kernel and whatever else the candidate asked for.
    """

    kernel: Kernel
    value: float | None
    standard_error: float | None
    n_components: int | None
    remark: str
    model: KernelPCA = field(repr=False)

    @property
    def expression(self) -> str:
        """The kernel as :class:`gramian.KernelPCA` and the command line read it."""
        return repr(self.kernel)


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """The kernels that were tried, and the one that was chosen; prints as a table.

    Attributes
    ----------
    place : int
        Which of the candidates is best.
    n_components : int or None
        Chosen together with it; None where the criterion says nothing about it.
    criterion : {"preimage", "parallel", "alignment", "score"}
    measure : str
        What the values are: error, energy, alignment, or the name of a score.
    candidates : tuple of KernelTrial
        All that were tried, in the order that they were given.
    reason : str
        Why it is the best, with the numbers that decided.
    notes : tuple of str
        What else should be known.
    about : str
        What the data were.
    """

    place: int
    n_components: int | None
    criterion: str
    measure: str
    candidates: tuple[KernelTrial, ...]
    reason: str
    notes: tuple[str, ...]
    about: str

    @property
    def best(self) -> Kernel:
        """The best kernel, for ``KernelPCA(kernel=...)``; every parameter is a number."""
        return self.candidates[self.place].kernel

    @property
    def model(self) -> KernelPCA:
        """A KernelPCA with this kernel and number of components, ready to be fitted."""
        chosen = clone(self.candidates[self.place].model)
        model: KernelPCA = chosen.set_params(n_components=self.n_components)
        return model

    def rows(self) -> list[tuple[str, float | None, float | None, int | None, bool, str]]:
        """Return expression, value, standard error, components, whether it is best, and remark, for each."""
        return [
            (t.expression, t.value, t.standard_error, t.n_components, place == self.place, t.remark)
            for place, t in enumerate(self.candidates)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        names = ("kernel", "value", "standard_error", "components", "best", "remark")
        return {
            "about": self.about,
            "criterion": self.criterion,
            "measure": self.measure,
            "kernel": repr(self.best),
            "components": self.n_components,
            "reason": self.reason,
            "notes": list(self.notes),
            "candidates": [dict(zip(names, row, strict=True)) for row in self.rows()],
        }

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame with one row for each kernel.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed; :meth:`rows` and :meth:`to_dict` need nothing.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingExtraError("frames", "pandas", "A data frame") from error
        names = ["kernel", self.measure, "standard_error", "components", "best", "remark"]
        frame = pandas.DataFrame(self.rows(), columns=names).set_index("kernel")
        return frame.astype({self.measure: float, "standard_error": float, "components": "Int64"})

    def __str__(self) -> str:
        expressions = [trial.expression for trial in self.candidates]
        width = min(LONGEST, max(map(len, expressions)))
        column = max(9, len(self.measure))
        lines = [
            f"Kernel for {self.about}, by {self.criterion}",
            f"  {'kernel':{width}} {self.measure:>{column}} {'std. error':>10} {'components':>10}".rstrip(),
        ]
        for place, trial in enumerate(self.candidates):
            lines += _lines(trial, "*" if place == self.place else " ", width, column)
        lines += ["", *textwrap.wrap(self.reason, WIDTH, break_on_hyphens=False)]
        for note in self.notes:
            lines += textwrap.wrap(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _lines(trial: KernelTrial, mark: str, width: int, column: int) -> list[str]:
    """One kernel of the table; a long expression, and a reason, have lines of their own."""
    head = f"{mark} {trial.expression:{width}}"
    said = textwrap.wrap(trial.remark, WIDTH - 4, initial_indent=" " * 4, subsequent_indent=" " * 4)
    if trial.value is None:
        return [f"{head} {'-':>{column}}", *said]
    error = "-" if trial.standard_error is None else f"{trial.standard_error:.2g}"
    number = "" if trial.n_components is None else str(trial.n_components)
    numbers = f"{trial.value:>{column}.4g} {error:>10} {number:>10}"
    lines = [head, f"{' ' * (width + 2)} {numbers}"] if len(head) > width + 2 else [f"{head} {numbers}"]
    return [*(line.rstrip() for line in lines), *said]
