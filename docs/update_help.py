"""Writes the options of every command into docs/cli.md: ``python docs/update_help.py``.

The lists are made here and not taken from ``--help``, whose looks vary with the version of typer. Options
that many commands share are listed once, and named where a command has them.
"""

import re
import textwrap
from collections import Counter
from pathlib import Path

import typer

from gramian.app.cli.app import app
from gramian.app.verb import parameters_of
from gramian.app.verb import reading as reading_options

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r"(<!-- options of ([\w -]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
COLUMN, WIDTH = 24, 100
READING, SHARED = "reading", "several commands"  # the two lists of options that commands share
MANY = 3  # commands share an option if so many have it in the same words
LIKE = {"plan": "fit"}  # commands whose options are those of another, and need no words of their own


def entries(name: str) -> dict[str, str]:
    """Return the help of the arguments and options of a command, such as ``kernels audit``."""
    command = typer.main.get_command(app)
    for part in name.split():
        command = command.commands[part]
        command = getattr(command, "loaded", command)
    heads = {}
    for parameter in command.explained():
        if parameter.param_type_name == "argument":
            head = parameter.metavar
        else:
            head = ", ".join(sorted((*parameter.opts, *parameter.secondary_opts), key=len))
            head += "" if parameter.is_flag else f" {parameter.metavar}"
        if head != "--help":
            heads[head] = parameter.help
    return heads


def updated(page: str) -> str:
    """Return the page with the options as they are now."""
    commands = [name for _, name, _ in BLOCK.findall(page) if name not in (READING, SHARED)]
    options = {name: entries(name) for name in commands}
    flags = {f"--{one.name.replace('_', '-')}" for one in parameters_of(reading_options)}
    reading = {head: text for head, text in options["fit"].items() if head.split()[0] in flags}
    counts = Counter(
        entry
        for name, given in options.items()
        if name not in LIKE and not name.startswith("faces ")
        for entry in given.items()
    )
    shared = {head: text for (head, text), count in counts.items() if count >= MANY and head not in reading}
    shared = dict(sorted(shared.items(), key=lambda entry: entry[0].startswith("-")))  # arguments first

    def block(name: str) -> str:
        if name in (READING, SHARED):
            return listed(reading if name == READING else shared)
        given = options[name]
        reads = reading.items() <= given.items()
        known = shared.items() | (reading.items() if reads else set())
        first = options[LIKE[name]].items() if name in LIKE else set()
        own = {head: text for head, text in given.items() if (head, text) not in known | first}
        parts = []
        if alike := [flag(head) for head, text in given.items() if (head, text) in first - known]:
            parts.append(f"As for [`{LIKE[name]}`](cli.md#{LIKE[name]}): {', '.join(alike)}.")
        names = [flag(head) for head, text in given.items() if (head, text) in shared.items()]
        names += ["[options of reading](#data)"] * reads
        if names:
            parts.append(f"[Shared](#shared-options): {', '.join(names)}.")
        also = textwrap.fill(" ".join(parts), 120, break_on_hyphens=False, break_long_words=False)
        return "\n".join([*([listed(own)] if own else []), *([f"{also}\n\n"] if parts else [])])

    return BLOCK.sub(lambda match: match[1] + block(match[2]) + match[3], page)


def flag(head: str) -> str:
    """Return the name of an argument or option, as code."""
    names, _, _ = head.partition(" ")
    return f"`{names.strip(',')}`"


def listed(heads: dict[str, str]) -> str:
    """Return arguments and options with their help, one an entry."""
    lines = []
    for head, text in heads.items():
        first = f"{head:{COLUMN}}" if len(head) < COLUMN else f"{head}  "
        lines.append(textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * COLUMN))
    return "```text\n" + "\n".join(lines) + "\n```\n"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
