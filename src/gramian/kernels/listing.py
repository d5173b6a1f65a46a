"""The list of all kernels and of the ways to combine them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from gramian.kernels.algebra import Product, Scaled, Sum
from gramian.kernels.callables import Callable
from gramian.kernels.expression import FORMULAS
from gramian.kernels.formulas import Formula
from gramian.kernels.inner_products import Linear
from gramian.kernels.kernel import Kernel
from gramian.kernels.normalized import Normalized
from gramian.kernels.powers import Exp, Power
from gramian.kernels.radial import RBF
from gramian.kernels.transformed import After, OnColumns

__all__ = ["KernelFacts", "KernelTable", "table"]

WIDTH = 100


@dataclass(frozen=True)
class KernelFacts:
    """One line of the table.

    Attributes
    ----------
    name : str
        As an expression spells it.
    formula : str
    parameters : tuple of (str, str)
        Names and defaults.
    validity : str
        ``proven``, ``refuted`` or ``unknown``, for the default parameters.
    reason : str
        The theorem, closure rule or refutation.
    """

    name: str
    formula: str
    parameters: tuple[tuple[str, str], ...]
    validity: str
    reason: str


@dataclass(frozen=True)
class KernelTable:
    """All kernels; prints as a table, iterates over :class:`KernelFacts`."""

    rows: tuple[KernelFacts, ...]

    def __iter__(self) -> Iterator[KernelFacts]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return "\n".join(line for row in self.rows for line in _lines(row))


def table() -> KernelTable:
    """Return all kernels and combinations with formula, parameters and validity.

    Examples
    --------
    >>> from gramian.kernels import table
    >>> next(row.formula for row in table() if row.name == "poly")
    '(gamma x . y + coef0)^degree'
    """
    formulas = [_facts(cls.name, cls(), getattr(cls, "general", "")) for cls in FORMULAS.values()]
    own = KernelFacts(
        "a function",
        Callable.general,
        (),
        "unknown",
        "A bare function carries no proof; gramian.kernels.audit looks for a counter-example.",
    )
    given = KernelFacts(
        "precomputed",
        "K[i, j]",
        (),
        "unknown",
        "Only its eigenvalues tell; KernelPCA finds them and refuses a negative one, or clips it on request.",
    )
    return KernelTable((*formulas, own, given, *_combinations()))


def _combinations() -> list[KernelFacts]:
    k1, k2 = RBF(), Linear()
    shown: list[tuple[str, str, Kernel]] = [
        ("k1 + k2", "k1(x, y) + k2(x, y)", Sum(k1, k2)),
        ("k1 * k2", "k1(x, y) k2(x, y)", Product(k1, k2)),
        ("c * k", "c k(x, y)", Scaled(k2, 2.0)),
        ("k ** p", "k(x, y)^p", Power(k2, 2)),
        ("exp(k)", "exp(k(x, y))", Exp(k2)),
        ("k.normalized()", "k(x, y) / sqrt(k(x, x) k(y, y))", Normalized(k2)),
        ("k.on(columns)", "k of some columns", OnColumns(k2, (0, 1))),
        ("k.after(map)", "k(map(x), map(y))", After(k2, abs)),
    ]
    return [
        KernelFacts(name, formula, (), f"{kernel.validity.status} if its parts are", kernel.validity.reason)
        for name, formula, kernel in shown
    ]


def _facts(name: str, kernel: Kernel, general: str) -> KernelFacts:
    assert isinstance(kernel, Formula)
    found = kernel.validity
    parameters = tuple((key, repr(value)) for key, value in kernel.get_params(deep=False).items())
    return KernelFacts(name, general, parameters, found.status, found.reason)


def _lines(row: KernelFacts) -> list[str]:
    parameters = ", ".join(f"{name}={value}" for name, value in row.parameters)
    head = f"{row.name:16}{row.formula}"
    rest = [f"parameters: {parameters}"] if parameters else []
    rest.append(f"{row.validity}: {row.reason}")
    wrapped = [
        textwrap.fill(text, WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 18) for text in rest
    ]
    return [head, *wrapped]
