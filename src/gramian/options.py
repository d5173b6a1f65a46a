"""Options, declared once as fields of records: shell, server, page, help and messages read them.

Only the standard library is imported here, so that ``gramian --help`` answers at once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any, NamedTuple, get_args, get_type_hints

from gramian.errors import ParameterError

# Groups of options in the help of a command, in this order.
READING, METHOD, OTHER, OUTPUT, LIMITS = PANELS = (
    *("Reading the data", "The method", "Options", "Output", "Limits and hardware"),
)
LIST = ",.."  # the end of a metavar: a list with commas; if the option is repeated, the lists are joined


class Declared(NamedTuple):
    """What is declared of an option besides its name, type and default.

    Attributes
    ----------
    metavar : str
        What stands for its value; "" for a flag.
    help : str
        Its effect, in sentences.
    usual : str
        What holds where it is not given; by default the default.
    flags : tuple of str
        How the shell spells it, if not by its name.
    choices, suggestions : sequence of str
        The values allowed; values that a shell completes besides.
    label : str
        What the page calls it, by default its name.
    parameters : tuple of str
        What Python calls it, by default its name.
    shell : str
        What the shell can besides: the end of the first sentence of the help.
    panel : str
        The group in the help.
    check : callable, optional
        Raises an error for a value, by the flag and the value.
    local : bool
        Whether it is about this machine, so that the server has no such option.
    """

    metavar: str
    help: str
    usual: str = ""
    flags: tuple[str, ...] = ()
    choices: Sequence[str] = ()
    suggestions: Sequence[str] = ()
    label: str = ""
    parameters: tuple[str, ...] = ()
    shell: str = ""
    panel: str = ""
    check: Callable[[str, Any], Any] | None = None
    local: bool = False

    @property
    def is_list(self) -> bool:
        """Whether it takes a list with commas."""
        return self.metavar.endswith(LIST)


def option(metavar: str, help: str, default: Any = None, *flags: str, **declared: Any) -> Any:
    """Declare an option with a value as a field of a record; ``declared`` is that of :class:`Declared`."""
    shown = f"{default:g}" if isinstance(default, float) else "" if default is None else str(default)
    usual = declared.pop("usual", shown)
    return field(default=default, metadata={"option": Declared(metavar, help, usual, flags, **declared)})


def flag(help: str, **declared: Any) -> Any:
    """Declare an option without a value, as :func:`option` does."""
    return field(default=False, metadata={"option": Declared("", help, **declared)})


def declared_of(one: Field[Any]) -> Declared:
    """Return what is declared of a field."""
    found: Declared = one.metadata["option"]
    return found


def spelled(name: str) -> str:
    """Return how the shell writes an option of this name."""
    return f"--{name.replace('_', '-')}"


def flag_of(one: Field[Any]) -> str:
    """Return how the shell writes a field."""
    return next((flag for flag in declared_of(one).flags if flag.startswith("--")), spelled(one.name))


def shell_help(declared: Declared) -> str:
    """Return the help of the command line: with what holds where the option is not given."""
    help = f"{declared.help.removesuffix('.')}{declared.shell}." if declared.shell else declared.help
    return f"{help} [{declared.usual}]" if declared.usual else help


def form_of(record: type[Any]) -> list[dict[str, Any]]:
    """Return the fields of a form, as JSON: those that are not about one machine.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Options:
    ...     level: float = option("SHARE", "Coverage.", 0.95)
    >>> form_of(Options)[0]["kind"], form_of(Options)[0]["default"]
    ('number', 0.95)
    """
    hints = get_type_hints(record)
    return [_field(one, hints[one.name]) for one in fields(record) if not declared_of(one).local]


def _field(one: Field[Any], hint: Any) -> dict[str, Any]:
    declared = declared_of(one)
    kinds = {kind.__name__ for kind in (get_args(hint) or (hint,)) if isinstance(kind, type)}
    kind = next((word for name, word in KINDS if name in kinds), "text")
    return {
        "name": one.name,
        "label": label_of(one),
        "kind": "choice" if declared.choices else kind,
        "choices": list(declared.choices),
        "suggestions": list(declared.suggestions),
        "parameters": list(declared.parameters),
        "default": None if one.default is MISSING else one.default,
        "usual": declared.usual,
        "help": declared.help,
    }


KINDS = (("bool", "flag"), ("int", "integer"), ("float", "number"))


def label_of(one: Field[Any]) -> str:
    """Return what the page calls a field."""
    return declared_of(one).label or one.name.replace("_", " ")


# ------------------------------------------------------------- given options


def given_options(options: Any) -> dict[str, Any]:
    """Return the options of a record that are neither None nor False."""
    return {name: value for name, value in vars(options).items() if value is not None and value is not False}


def only_for(what: str, options: Any, *names: str, hint: str = "Leave it out.") -> None:
    """Raise an error for options that would be ignored.

    Raises
    ------
    ParameterError
    """
    for one in fields(options):
        if one.name in names and one.name in given_options(options):
            raise ParameterError(flag_of(one), allowed=f"applies only to {what}", hint=hint)


def as_arguments(*records: Any) -> list[str]:
    """Return the command-line arguments that give these options: only those that are not the default."""
    arguments: list[str] = []
    for options in records:
        for one in fields(options):
            value = getattr(options, one.name)
            if value != one.default:
                arguments += [flag_of(one)] if value is True else [flag_of(one), _as_text(value)]
    return arguments


def _as_text(value: Any) -> str:
    """Return a value as the command line has it; names that contain a comma are quoted."""
    if not isinstance(value, tuple):
        return str(value)
    if not all(isinstance(one, str) for one in value):
        return "x".join(map(str, value))
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return text.getvalue()
