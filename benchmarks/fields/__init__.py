"""Suite ``fields``: the work of a field, beside the tool that the field uses; each module is one field."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from harness.rows import Row


def rows(quick: bool) -> list[Row]:
    """Return the rows of every field."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return [row for module in modules for row in module.rows(quick)]
