"""Parameters of messages in the terms of who reads them: as options of the shell, or as words of a page.

Python has ``missing="mean"``, the shell ``--missing mean``, a page ``missing values "mean"``.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

# What the shell and the page call a parameter: of gramian serve, and of all records of options.
TERMS = {"behind_proxy": ("--proxy-address", "proxy")}
FLAGS: set[str] = set()  # parameters that are options without a value


def learn(terms: Mapping[str, tuple[str, str]], flags: Iterable[str]) -> None:
    """Take note of what shell and page call parameters."""
    TERMS.update(terms)
    FLAGS.update(flags)


class Value(NamedTuple):
    """A value in a message: as Python writes it, and without quotes."""

    python: str
    plain: str


def _in_shell(name: str, values: Sequence[Value]) -> str | None:
    """Return a parameter of a message as the command line has it: each value has its forms."""
    plain = [shlex.quote(value.plain) if set(value.plain) & set(' "') else value.plain for value in values]
    if name == "":
        return ", ".join(plain)
    if name == "center" and values:
        return "--no-center" if values[0].plain == "False" else "centred data (leave out --no-center)"
    flag = name if name.startswith("-") else TERMS.get(name, (None,))[0]
    if flag is None or not values:
        return flag
    if plain == ["True"] and name in FLAGS:
        return flag
    if plain in (["None"], ["False"]):
        return f"no {flag}"
    return f"{flag} {' or '.join(plain)}".replace(" True", " true")


def _on_page(name: str, values: Sequence[Value]) -> str | None:
    """Return a parameter of a message as the page has it."""
    if name == "center" and values:
        return "no centring" if values[0].plain == "False" else "centring"
    label = TERMS.get(name, (None, None))[1]
    if label is None or not values or ([value.plain for value in values] == ["True"] and name in FLAGS):
        return label
    if [value.plain for value in values] in (["None"], ["False"]):
        return f"no {label}"
    said = [f'"{value.plain}"' if value.python[:1] in "'\"" else value.plain for value in values]
    return f"{label} {' or '.join(said)}"


# How a surface spells a parameter with values; None: as Python does. The name "" stands for values alone.
SPEAK: dict[str, Callable[[str, Sequence[Value]], str | None]] = {"shell": _in_shell, "page": _on_page}
