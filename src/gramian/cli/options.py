"""The options that several commands share, as records whose fields are the options."""

import csv
import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import partial, wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from gramian.checks import check_choice
from gramian.errors import ParameterError
from gramian.operations.operation import DATA, MODEL
from gramian.options import (
    LIMITS,
    OTHER,
    OUTPUT,
    PANELS,
    READING,
    Declared,
    declared_of,
    shell_help,
    spelled,
)
from gramian.reading import ReadingOptions

PANEL_OF = dict.fromkeys(("out", "as_json", "verbose"), OUTPUT)
PANEL_OF |= dict.fromkeys(("device", "memory_limit"), LIMITS)


class Command(TyperCommand):
    """A command whose help lists its options in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _spared(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the groups of options."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS)}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                positional = parameter.param_type_name == "argument"
                panel = getattr(parameter, "rich_help_panel", None) or OTHER
                groups["Arguments" if positional else panel].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        return _spared(super().get_params(ctx))


@dataclass(frozen=True)
class _AsItIs:
    """Takes values that have their type; leaves others to typer, which imports Pydantic to convert any."""

    convert: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter."""
        kind, many = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        if type(value) is kind or (kind == list[str] and {*map(type, value)} == {str}):
            return value
        return self.convert().coerce(value, param=param, ctx=ctx)


def _spared(parameters: list[Any]) -> list[Any]:
    """Let parameters import Pydantic, a tenth of the time of a small fit, only where a value is converted."""
    for parameter in parameters:
        convert = getattr(parameter, "get_runtime_param", None)
        if inspect.ismethod(convert):
            parameter.get_runtime_param = partial(_AsItIs, convert)
    return parameters


class Application(typer.Typer):
    """A group of commands with ``-h`` and grouped options."""

    def __init__(self, add_completion: bool = False) -> None:
        super().__init__(
            cls=Group,
            rich_markup_mode=None,
            add_completion=add_completion,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Add a command as typer does, with the fields of its records as options."""
        add = super().command(name, cls=Command, **settings)
        return lambda function: add(spread(function))

    def add_command(self, name: str, function: Callable[..., Any]) -> None:
        """Add a command whose parameters typer reads as they are."""
        super().command(name, cls=Command)(function)


def argument(metavar: str, help: str) -> Any:
    """Declare a positional argument."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def _completion(choices: Sequence[str]) -> Callable[[str], list[str]] | None:
    """Return what completes the last of the names that stand between commas."""
    if not choices:
        return None

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in choices if name.startswith(last)]

    return complete


Data = Annotated[str, argument(DATA.metavar, DATA.help)]
ModelFile = Annotated[str, argument(MODEL.metavar, MODEL.help)]
JsonFlag = Annotated[
    bool,
    typer.Option("--json", help="Write the result as JSON to standard output.", rich_help_panel=OUTPUT),
]
AsIsFlag = Annotated[
    bool,
    typer.Option(
        "--as-is",
        help="Take everything literally: apply nothing that the data suggest.",
        rich_help_panel=READING,
    ),
]
Text = str | None
TextList = list[str] | None


@dataclass(frozen=True, kw_only=True)
class Reading(ReadingOptions):
    """Options of reading: which part of the data, and how."""

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return self.label is not None or self.labels_from is not None

    def label_names(self) -> list[str]:
        """Return the names of the columns, or the row, of labels."""
        if self.label is None or isinstance(self.label, tuple):
            return list(self.label or ())
        return [self.label] if self.transpose else [name.strip() for name in next(csv.reader([self.label]))]

    def inputs(self, data: str) -> list[str]:
        """Name what is read: the data, and the files of labels and of names where there are such."""
        lists = [names[1:] for names in (self.columns, self.drop) if names and names.startswith("@")]
        if self.labels_from is None:
            return [data, *lists]
        file, _, _ = self.labels_from.rpartition(":")
        return [data, *lists, self.labels_from, file.removesuffix(":")]


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the fields of a command's record parameters into options; the command gets the records."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if isinstance(hints[name], type) and is_dataclass(hints[name]):
            records[name] = hints[name]
            parameters += spread_parameters({name: hints[name]})[0]
        else:
            parameters.append(parameter_as(name, hints[name], parameter.default))
    made = spread_parameters(records)[1]

    @wraps(command)
    def spread_command(**given: Any) -> None:
        given |= made(given)
        with given["engine"].at_work() if "engine" in given else nullcontext():
            command(**given)

    spread_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in parameters}
    del spread_command.__wrapped__
    return spread_command


def spread_parameters(
    records: dict[str, type[Any]],
) -> tuple[list[inspect.Parameter], Callable[[dict[str, Any]], dict[str, Any]]]:
    """Return the fields of records as parameters, and what takes them out of what was given as records."""
    parameters, lists = [], []
    for record in records.values():
        hints = get_type_hints(record)
        for one in fields(record):
            parameters.append(parameter_as(one.name, hints[one.name], one, getattr(record, "panel", None)))
            if declared_of(one).is_list:
                lists.append(one.name)

    def made(given: dict[str, Any]) -> dict[str, Any]:
        given |= {name: _joined(spelled(name), given[name]) for name in lists}
        return {
            name: record(**{one.name: given.pop(one.name) for one in fields(record)})
            for name, record in records.items()
        }

    return parameters, made


def parameter_as(name: str, kind: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """Return a parameter as typer reads it."""
    if isinstance(default, Field):
        return parameter_of(name, kind, default.default, declared_of(default), panel)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def parameter_of(
    name: str, kind: Any, default: Any, declared: Declared, panel: str | None = None
) -> inspect.Parameter:
    """Return what is declared of an option as a parameter that typer reads."""
    flags = declared.flags or (("--out", "-o") if name == "out" else (spelled(name),))
    about: dict[str, Any] = {"help": shell_help(declared)}
    if declared.metavar:
        about |= {"metavar": declared.metavar, "show_default": False}
        about["autocompletion"] = _completion((*declared.choices, *declared.suggestions))
    about["rich_help_panel"] = declared.panel or PANEL_OF.get(name, panel)
    if (check := declared.check) is not None:
        about["callback"] = lambda value: None if value is None else check(flags[0], value)
    elif declared.choices:
        about["callback"] = lambda value: value and check_choice(flags[0], value, declared.choices)
    given = {kind, *get_args(kind)}
    plain = next((one for one in (bool, int, float) if one in given), str)
    kind = TextList if declared.is_list or list[str] in given else plain
    kind = kind if kind in (bool, TextList) or (default is not None and default is not ...) else kind | None
    default = inspect.Parameter.empty if default is ... else default
    return parameter_as(name, Annotated[kind, typer.Option(*flags, **about)], default)


def _joined(option: str, lists: list[str] | None) -> str | None:
    """Return the lists of a repeated option as one.

    Raises
    ------
    ParameterError
        For a file of names together with more names.
    """
    if lists and len(lists) > 1 and (files := [text for text in lists if text.startswith("@")]):
        raise ParameterError(
            option, files[0], "names all columns", "Add the others to that file, or leave it out."
        )
    return ",".join(lists) if lists else None


def help_alone(context: typer.Context) -> None:
    """Print the help of a group of commands that was called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
