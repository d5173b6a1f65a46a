"""Options that several operations have, and what their results say alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gramian.checks import check_seed
from gramian.errors import ParameterError
from gramian.operations.operation import Out
from gramian.options import LIMITS, option

TABLES = (".csv", ".parquet", ".npy", ".zarr")
FIGURES = (".svg", ".png", ".pdf", ".html")
DEVICE = option(
    "NAME",
    "A GPU to compute on: cuda or cuda:1; cpu is PyTorch on the host.",
    usual="the host",
    suggestions=("cuda", "cpu"),
    panel=LIMITS,
    local=True,
)
MEMORY_LIMIT = option(
    "BYTES",
    "Working memory, such as 4GB; larger tables are read in blocks.",
    usual="80 % of the machine's",
    label="memory limit",
    panel=LIMITS,
    local=True,
)
SEED = option(
    "NUMBER",
    "Seed of the random numbers.",
    0,
    "--seed",
    label="seed",
    parameters=("random_state",),
    panel=LIMITS,
    check=check_seed,
)


def figure_out(help: str, writes: str, key: Any = "files") -> Out:
    """Declare the file of a figure."""
    return Out("figure", "FILE", help, ends=FIGURES, writes=writes, key=key)


# ------------------------------------------------------------- values as text


def read_components(text: str | None, rules: Sequence[str] = ()) -> int | float | str | None:
    """Read a number of components, an explained variance ratio, or the name of a rule.

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_components("10"), read_components("0.95"), read_components(None)
    (10, 0.95, None)
    """
    if text is None or text in rules:
        return text
    advice = "Give a number such as 10, or an explained variance ratio between 0 and 1 such as 0.95."
    if rules:
        advice += f" Or a rule: {', '.join(rules)}."
    return number_or_share("n_components", text, advice)


def number_or_name(name: str, text: str | None, names: Sequence[str]) -> float | str | None:
    """Read a number, or one of some names; None stays None."""
    if text is None or text.strip() in names:
        return text and text.strip()
    try:
        return float(text)
    except ValueError:
        raise ParameterError(name, text, f"is neither a number nor {' or '.join(names)}") from None


def number_or_share(name: str, text: str, advice: str) -> int | float:
    """Read a whole number from 1, or a share between 0 and 1."""
    try:
        value = int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise ParameterError(name, text, "is not understood", advice) from None
    if not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        raise ParameterError(name, text, "is out of range", advice)
    return value


def read_counts(text: str) -> list[int]:
    """Read numbers of components, in rising order.

    Raises
    ------
    ParameterError
        For anything but whole numbers from 1.

    Examples
    --------
    >>> read_counts("10"), read_counts("5,2, 10")
    ([10], [2, 5, 10])
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        advice = "Give a whole number such as 10, or several, such as 2,5,10."
        raise ParameterError("n_components", text, "is not understood", advice)
    return sorted({int(part) for part in parts})
