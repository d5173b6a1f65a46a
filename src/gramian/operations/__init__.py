"""The verbs of gramian: every function in a file of this folder that is declared as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from gramian.applications import is_installed
from gramian.operations.operation import Operation
from gramian.options import declared_of, flag_of, label_of, spelled
from gramian.reading import ReadingOptions
from gramian.wording import learn

__all__ = ["operations"]


@cache
def operations() -> dict[str, Operation]:
    """Return all operations that are installed, by name.

    Their files declare options only; what computes is imported when they run. Messages name parameters as
    the options are spelled from then on.

    Examples
    --------
    >>> operations()["stability"].summary
    'Show how much the components of a saved PCA would change with another sample.'
    """
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [ReadingOptions, *(one for module in modules for one in vars(module).values())]
    known = [one for one in found if isinstance(one, Operation)]
    terms: dict[str, tuple[str, str]] = {}
    for verb in known:
        terms |= {one.name: (spelled(one.name), one.label or one.name) for one in verb.inputs if one.option}
    flags = set()
    for one in (field for record in found for field in _options(record)):
        names = declared_of(one).parameters or (one.name,)
        terms |= dict.fromkeys(names, (flag_of(one), label_of(one)))
        flags |= set(names) if not declared_of(one).metavar else set()
    del terms["center"]  # has words of its own
    learn(terms, flags)
    return {one.name: one for one in known if is_installed(one.application)}


def _options(record: Any) -> Iterator[Field[Any]]:
    """Yield the options of a record, or nothing of anything else."""
    if isinstance(record, type) and is_dataclass(record):
        yield from (one for one in fields(record) if "option" in one.metadata)
