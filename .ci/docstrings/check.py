"""Validates the docstrings of the public names by numpydoc, with the checks that pyproject.toml lists.

python .ci/docstrings/check.py

Public is what the modules below export, and the results that these return: their classes, and the methods and
properties without an underscore. A method without a docstring has that of the method that it overrides.

Every function and class that a module exports has an example that runs. The data of a figure are in
that of the figure.
"""

import doctest
import importlib
import inspect
import re
import sys
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

from numpydoc.validate import validate

ROOT = Path(__file__).parents[2]
MODULES = (
    "gramian",
    "gramian.connect.anndata",
    "gramian.connect.sklearn",
    "gramian.errors",
    "gramian.faces",
    "gramian.kernels",
    "gramian.connect.onnx",
    "gramian.figures",
    "gramian.connect.xarray",
)
# anndata needs pandas below 3: their examples run in docs/single_cells.md.
SKIPPED = {"gramian.connect.anndata.pca"}


def exported() -> Iterator[Any]:
    """Yield what the public modules export."""
    for name in MODULES:
        module = importlib.import_module(name)
        yield from (getattr(module, each) for each in module.__all__ if each != "__version__")


def classes(hint: Any) -> Iterator[type]:
    """Yield the classes of this package in a type."""
    if isinstance(hint, type) and not isinstance(hint, UnionType) and hint.__module__.startswith("gramian."):
        yield hint
    for part in typing.get_args(hint):
        yield from classes(part)


def results(member: Any) -> Iterator[type]:
    """Yield the classes of this package that a function returns."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    try:
        yield from classes(typing.get_type_hints(function).get("return"))
    except (NameError, TypeError):  # of names that only a type checker imports
        return


def members(kind: type) -> Iterator[tuple[type, str, Any]]:
    """Yield the documented definition of each public method and property: its class, name and value."""
    for name in sorted(name for name in dir(kind) if not name.startswith("_")):
        for base in kind.__mro__:
            member = vars(base).get(name)
            function = getattr(member, "__func__", member)
            if not isinstance(member, property) and not inspect.isfunction(function):
                continue
            if base.__module__.startswith("gramian.") and member.__doc__:
                yield base, name, member
                break
            if not any(name in vars(other) for other in base.__mro__[1:]):
                yield base, name, member
                break


def public() -> Iterator[str]:
    """Yield the full names to validate, each once."""
    waiting, seen = list(exported()), set()
    while waiting:
        one = waiting.pop()
        if not (inspect.isclass(one) or inspect.isfunction(one)) or not one.__module__.startswith("gramian"):
            continue
        if (name := f"{one.__module__}.{one.__qualname__}") in seen:
            continue
        seen.add(name)
        yield name
        waiting += results(one)
        if not inspect.isclass(one):
            continue
        for base, method, member in members(one):
            if (
                base.__module__.startswith("gramian.")
                and (full := f"{base.__module__}.{base.__qualname__}.{method}") not in seen
            ):
                seen.add(full)
                yield full
                waiting += results(member)


def constructed_by_base(name: str) -> bool:
    """Return whether a public class of that name leaves its constructor to a class of this package."""
    module, _, kind = name.rpartition(".")
    one = getattr(sys.modules.get(module), kind, None)
    return (
        inspect.isclass(one)
        and "__init__" not in vars(one)
        and one.__init__.__module__.startswith("gramian.")
    )


def without_example() -> Iterator[str]:
    """Yield the exported functions and classes whose examples are missing, or run nothing but imports."""
    for one in exported():
        if not (inspect.isclass(one) or inspect.isfunction(one)) or one.__name__.endswith("_data"):
            continue
        name = f"{one.__module__}.{one.__qualname__}"
        examples = doctest.DocTestParser().get_examples(one.__doc__ or "")
        run = (each.source for each in examples if not each.options.get(doctest.SKIP))
        if not examples or (name not in SKIPPED and all(re.match("import |from ", line) for line in run)):
            yield name


def main() -> None:
    """Print the errors, and fail if there are any."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]
    checks, exclude = set(options["checks"]), [re.compile(pattern) for pattern in options.get("exclude", ())]
    overrides = {
        name.removeprefix("override_"): [re.compile(pattern) for pattern in patterns]
        for name, patterns in options.items()
        if name.startswith("override_")
    }
    names = [name for name in sorted(public()) if not any(pattern.search(name) for pattern in exclude)]
    missing = sorted({*without_example()})
    print("".join(f"{name}: has no example that runs\n" for name in missing), end="")
    failed = len(missing)
    for name in names:
        result = validate(name)
        for code, message in result["errors"]:
            allowed = any(pattern.search(result["docstring"]) for pattern in overrides.get(code, ()))
            allowed = allowed or (code == "PR01" and constructed_by_base(name))
            if code in checks and not allowed:
                failed += 1
                print(f"{result['file']}:{result['file_line']}: {name}: {code} {message}")
    print(f"{failed} errors in the docstrings of {len(names)} public names")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
