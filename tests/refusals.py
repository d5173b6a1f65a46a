"""Errors by type and fields: ``from refusals import refused``. Their wording stands in ``golden/errors.txt``.

``REFRESH_WORDINGS=1 pytest tests/...``, without ``-n``, writes what the errors of these tests say now.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import currently_in_test_context

from gramian.applications import is_installed
from gramian.errors import GramianError

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "errors.txt"
REFRESH = bool(os.environ.get("REFRESH_WORDINGS"))
# Without an application shell and page do not know its options.
SURFACES = ("shell", "page") if all(map(is_installed, ("gramian.faces.", "gramian.selection."))) else ()

Wording = tuple[str, ...]  # what Python says, then each surface that says it in another way
folders: list[Path] = []  # of this run, which a message may name
seen: dict[str, list[Wording]] = defaultdict(list)


@contextmanager
def refused(
    kind: type[Exception] | tuple[type[Exception], ...], parameter: str | None = None, **fields: Any
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error of gramian, with these fields and the wording of the golden file."""
    with pytest.raises(kind) as raised:
        yield raised
    error = raised.value
    expected = fields if parameter is None else {"parameter": parameter, **fields}
    assert {name: getattr(error, name) for name in expected} == expected
    test = os.environ["PYTEST_CURRENT_TEST"].split("[")[0].split(" (")[0]
    said = wording(error)
    if said not in seen[test]:
        seen[test].append(said)
    if not REFRESH and not currently_in_test_context():  # which draws other inputs each time
        known = [_without_numbers(entry if SURFACES else entry[:1]) for entry in golden().get(test, [])]
        assert _without_numbers(said) in known, "REFRESH_WORDINGS=1 updates errors.txt"


def wording(error: GramianError) -> Wording:
    """Return type, parameter and message of an error, as Python, shell and page say it."""
    about = f"{type(error).__name__} {getattr(error, 'parameter', '')}".strip()
    spoken = {surface: error.worded(surface) for surface in SURFACES}
    other = [f"  {surface}: {text}" for surface, text in spoken.items() if text != str(error)]
    return tuple(_neutral(line) for line in (f"{about}: {error}", *other))


def _without_numbers(said: Wording) -> Wording:
    """Leave out numbers, whose digits depend on the machine."""
    return tuple(re.sub(r"\d+([.,]\d+)*(e[-+]?\d+)?", "#", line) for line in said)


def _neutral(text: str) -> str:
    """Leave out folders of tests, the last digits of numbers, and what a file of lines cannot hold."""
    for folder in folders:
        text = re.sub(rf"{re.escape(str(folder))}(/\w+)?", "TMP", text)
    text = re.sub(r"(\.\d{6})\d+", r"\1", text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@cache
def golden() -> dict[str, list[Wording]]:
    """Read the golden file: wordings by test."""
    tests: dict[str, list[Wording]] = {}
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n") if GOLDEN.exists() else ():
        test, *lines = block.strip("\n").split("\n")
        entries = re.split(r"\n(?! )", "\n".join(lines))
        tests[test] = [tuple(entry.split("\n")) for entry in entries]
    return tests


def is_there(test: str) -> bool:
    """Whether a test of the golden file exists."""
    file, *_, name = test.split("::")
    path = TESTS.parent / file
    return path.exists() and f"def {name}(" in path.read_text(encoding="utf-8")


def refresh() -> None:
    """Write what the errors of this run said, next to those of the tests that did not run."""
    tests = {test: said for test, said in golden().items() if is_there(test)} | seen
    blocks = [
        "\n".join([test, *("\n".join(entry) for entry in sorted(tests[test]))]) for test in sorted(tests)
    ]
    GOLDEN.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
