"""Writes the options of every command into docs/cli.md: ``python docs/update_help.py``.

The lists are made here and not taken from ``--help``, whose looks vary with the version of typer.
"""

import re
import textwrap
from pathlib import Path

import typer

from gramian.cli.app import app

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"(<!-- options of ([\w -]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMN, WIDTH = 24, 100


def options_of(name: str) -> str:
    """Return the arguments and options of a command, such as ``kernels audit``, one an entry."""
    entries = []
    command = typer.main.get_command(app)
    for part in name.split():
        command = command.commands[part]
        command = getattr(command, "loaded", command)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            head = parameter.metavar
        else:
            head = ", ".join(sorted(parameter.opts, key=len))
            head += "" if parameter.is_flag else f" {parameter.metavar}"
        if head == "--help":
            continue
        first = f"{head:{COLUMN}}" if len(head) < COLUMN else f"{head}  "
        entries.append(
            textwrap.fill(parameter.help, WIDTH, initial_indent=first, subsequent_indent=" " * COLUMN)
        )
    return "```text\n" + "\n".join(entries) + "\n```\n"


def updated(page: str) -> str:
    """Return the page with the options as they are now."""
    return BLOCK.sub(lambda found: found[1] + options_of(found[2]) + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
