"""The options that several commands share, as records whose fields are the options."""

import csv
import inspect
import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, ClassVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from gramian.checks import check_choice, check_seed
from gramian.errors import ParameterError
from gramian.reading import MissingPolicy, ReadingOptions
from gramian.solvers.names import solver_names

# Groups of options in the help of a command, in this order.
READING, METHOD, OTHER, OUTPUT, LIMITS = (
    *("Reading the data", "The method", "Options", "Output", "Limits and hardware"),
)
PANELS = (READING, METHOD, OTHER, OUTPUT, LIMITS)
PANEL_OF = dict.fromkeys(("out", "as_json", "verbose"), OUTPUT)
PANEL_OF |= dict.fromkeys(("device", "memory_limit"), LIMITS)
# An option with such a metavar takes a list; if it is repeated, the lists are joined.
LIST = ",.."


class Command(TyperCommand):
    """A command whose help lists its options in groups."""

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
    """A group of commands, in which a flag that is not given is False."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options."""
        parameters = super().get_params(ctx)
        for parameter in parameters:
            # To convert None, typer would import Pydantic: a third of the time of a command's help.
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
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


def required(metavar: str, help: str, *flags: str, panel: str | None = None) -> Any:
    """Declare an option that must be given, for an annotation."""
    return typer.Option(*flags, metavar=metavar, help=help, show_default=False, rich_help_panel=panel)


def out(metavar: str, help: str) -> Any:
    """Declare where results go, where the option is required."""
    return required(metavar, help, "--out", "-o", panel=OUTPUT)


def argument(metavar: str, help: str) -> Any:
    """Declare a positional argument."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def option(
    metavar: str,
    help: str,
    default: Any = None,
    *flags: str,
    choices: Sequence[str] = (),
    suggestions: Sequence[str] = (),
) -> Any:
    """Declare an option with a value, spelled like the name of its parameter or field.

    It stands in place of the default; :func:`spread` turns it into an option. Other values than the choices
    are errors. A shell completes choices and suggestions; without any it completes names of files.
    """
    declared = {"metavar": metavar, "help": help, "flags": flags, "show_default": False}
    declared |= {"choices": choices, "autocompletion": _completion((*choices, *suggestions))}
    return field(default=default, metadata=declared)


def flag(help: str) -> Any:
    """Declare an option without a value, as :func:`option` does."""
    return field(default=False, metadata={"help": help, "flags": ()})


def _completion(choices: Sequence[str]) -> Callable[[str], list[str]] | None:
    """Return what completes the last of the names that stand between commas."""
    if not choices:
        return None

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in choices if name.startswith(last)]

    return complete


Data = Annotated[
    str,
    argument(
        "DATA",
        "A table (.csv, .tsv, .xlsx, .parquet, .npy, .npz, .mat, .h5, .zarr, ...; FILE::NAME where "
        "there are several), a folder or .zip of pictures, or -.",
    ),
]
ModelFile = Annotated[
    str,
    argument("MODEL", "A .gramian file, or a folder written by fit."),
]
JsonFlag = Annotated[
    bool,
    typer.Option("--json", help="Write the result as JSON to standard output.", rich_help_panel=OUTPUT),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="Seed of the random numbers. [0]",
        show_default=False,
        rich_help_panel=LIMITS,
        callback=lambda value: check_seed("--seed", value),
    ),
]
Text = str | None
TextList = list[str] | None
DEVICE = option(
    "NAME",
    "A GPU to compute on: cuda or cuda:1; cpu is PyTorch on the host. [the host]",
    suggestions=("cuda", "cpu"),
)
MEMORY_LIMIT = option(
    "BYTES", "Working memory, such as 4GB; larger tables are read in blocks. [80 % of the machine's]"
)
META = option("FILE", "A table of metadata, such as batch, sex and age, joined by row names or order. [none]")


@dataclass(frozen=True, kw_only=True)
class Reading(ReadingOptions):
    """Options of reading: which part of the data, and how."""

    panel: ClassVar[str] = READING

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return self.label is not None or self.labels_from is not None

    def label_names(self) -> list[str]:
        """Return the names of the columns, or the row, of labels."""
        if self.label is None or isinstance(self.label, tuple):
            return list(self.label or ())
        return [self.label] if self.transpose else [name.strip() for name in next(csv.reader([self.label]))]

    def refuse_several_labels(self) -> None:
        """Raise an error for several labels where one is predicted.

        Raises
        ------
        ParameterError
        """
        if len(self.label_names()) > 1:
            raise ParameterError(
                f"--label {self.label} names several columns, but one is predicted here. Name one, and leave "
                "out the others with --drop."
            )

    def inputs(self, data: str) -> list[str]:
        """Name what is read: the data, and the files of labels and of names where there are such."""
        lists = [names[1:] for names in (self.columns, self.drop) if names and names.startswith("@")]
        if self.labels_from is None:
            return [data, *lists]
        file, _, _ = self.labels_from.rpartition(":")
        return [data, *lists, self.labels_from, file.removesuffix(":")]


def _solvers(estimator: str, approximate: bool = False) -> str:
    return (" or " if approximate else ", ").join(solver_names(estimator, approximate))


@dataclass(frozen=True)
class Model:
    """Parameters of ``gramian.PCA``, or with a kernel of ``gramian.KernelPCA``."""

    panel: ClassVar[str] = METHOD

    kernel: Text = option(
        "KERNEL",
        "Kernel PCA, by a name such as rbf or an expression such as 'rbf(sigma=2) + 0.5*linear'; "
        "see gramian kernels table. PCA without it.",
    )
    components: Text = option(
        "K",
        "A number such as 10, an explained variance ratio such as 0.95, or a rule: parallel, cv, "
        "and for PCA mle, sign-flip, gavish-donoho. [all]",
    )
    max_rmse: float | None = option(
        "NUMBER", "PCA: the fewest components whose root-mean-square error of an entry is at most this."
    )
    gamma: Text = option(
        "NUMBER",
        "Factor of rbf, poly, laplacian, sigmoid, chi2; scale: 1 / (columns * variance of all entries); "
        "median: by the median distance of rows. [1 / columns; 1 for chi2]",
        suggestions=("scale", "median"),
    )
    degree: int | None = option("NUMBER", "Power of poly. [3]")
    coef0: float | None = option("NUMBER", "Constant of poly and sigmoid. [1]")
    no_center: bool = flag("Do not subtract the mean.")
    scale: Text = option(
        "HOW",
        "PCA: unit (variance 1), pareto (divides by the root of the standard deviation) "
        "or genotype (for allele counts). [as they are]",
        choices=("unit", "pareto", "genotype"),
    )
    whiten: bool = flag("PCA: scores of variance 1.")
    ddof: int | None = option("NUMBER", "PCA: variances divide by rows - ddof. [1]")
    solver: Text = option(
        "NAME",
        f"PCA: {_solvers('PCA')}; kernel PCA: {_solvers('KernelPCA')}. Approximate: {_solvers('PCA', True)} "
        f"for a PCA of many columns, {_solvers('KernelPCA', True)} for a kernel PCA of many rows. [auto]",
        suggestions=tuple(dict.fromkeys((*solver_names("PCA"), *solver_names("KernelPCA")))),
    )
    landmarks: int | None = option("NUMBER", "Landmarks of nystroem, or number of random features. [1000]")
    landmark_rule: Text = option(
        "HOW",
        "Landmarks of nystroem: rpcholesky, uniform or kmeans. [rpcholesky]",
        choices=("rpcholesky", "uniform", "kmeans"),
    )
    tol: float | None = option(
        "NUMBER", "Bound on residuals over the largest eigenvalue. [1e-6; 1e-5 in float32]"
    )
    seed: Seed = 0
    memory_limit: Text = option(
        "BYTES", "Working memory, such as 4GB, without data and results. [80 % of the machine's]"
    )
    device: Text = DEVICE
    repair: Text = option(
        "HOW", "Kernel PCA: clip sets negative eigenvalues to 0. [an error]", choices=("clip",)
    )
    preimage: Text = option(
        "HOW",
        "Kernel PCA, method of pre-images: fixed-point, gradient or ridge. [by the kernel]",
        choices=("auto", "fixed-point", "gradient", "ridge"),
    )


@dataclass(frozen=True)
class Engine:
    """Where to compute: in this process, or with Dask."""

    panel: ClassVar[str] = LIMITS

    engine: Text = option(
        "NAME", "dask: process a .zarr or .parquet in chunks, on threads of Dask.", choices=("dask",)
    )
    scheduler: Text = option("ADDRESS", "Cluster of --engine dask: tcp://HOST:8786.")

    def at_work(self) -> AbstractContextManager[Any]:
        """Return a context in which is computed there.

        Raises
        ------
        ParameterError
            For another engine, or a scheduler without Dask.
        """
        if self.engine is None:
            only_for("--engine dask", self, "scheduler")
            return nullcontext()
        from gramian.rows.chunks import cluster

        return cluster(self.scheduler)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the fields of a command's record parameters into options.

    The command is called with the records, and with repeated lists as one.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(_parameter(name, kind, parameter.default))
            continue
        inner = get_type_hints(kind, include_extras=True)
        records[name] = (kind, [one.name for one in fields(kind)])
        panel = getattr(kind, "panel", None)
        parameters += [_parameter(one.name, inner[one.name], one, panel) for one in fields(kind)]
    lists = [one.name for one in parameters if _is_list(one.annotation)]

    @wraps(command)
    def spread_command(**given: Any) -> None:
        given |= {name: _joined(spelled(name), given[name]) for name in lists}
        made = {name: kind(**{f: given.pop(f) for f in names}) for name, (kind, names) in records.items()}
        with made["engine"].at_work() if "engine" in made else nullcontext():
            command(**given, **made)

    spread_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in parameters}
    del spread_command.__wrapped__
    return spread_command


def _parameter(name: str, kind: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    """Return a parameter as typer reads it."""
    if isinstance(default, Field):
        declared: dict[str, Any] = dict(default.metadata)
        if "shell" in declared:  # declared for Python and HTTP too
            declared["help"] += f"{declared.pop('shell')}."
            kind = kind if kind is bool else Text
            declared = {"help": declared["help"]} if kind is bool else declared | {"show_default": False}
        flags = declared.pop("flags", ()) or (("--out", "-o") if name == "out" else (spelled(name),))
        if name == "missing":
            declared["autocompletion"] = _completion(get_args(MissingPolicy))
        if choices := declared.pop("choices", ()):
            declared["callback"] = lambda value: _checked(flags[0], value, choices)
        if declared:
            kind = TextList if declared.get("metavar", "").endswith(LIST) else kind
            declared.setdefault("rich_help_panel", PANEL_OF.get(name, panel))
            kind = Annotated[kind, typer.Option(*flags, **declared)]
        default = default.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _checked(option: str, value: str | None, choices: Sequence[str]) -> str | None:
    return None if value is None else check_choice(option, value, choices)


def _is_list(kind: Any) -> bool:
    """Say whether an option takes a list with commas."""
    return any(str(getattr(one, "metavar", "")).endswith(LIST) for one in get_args(kind)[1:])


def _joined(option: str, lists: list[str] | None) -> str | None:
    """Return the lists of a repeated option as one.

    Raises
    ------
    ParameterError
        For a file of names together with more names.
    """
    if lists and len(lists) > 1 and (files := [text for text in lists if text.startswith("@")]):
        raise ParameterError(
            f"{option} {files[0]} names all columns. Add the others to that file, or leave it out."
        )
    return ",".join(lists) if lists else None


def help_alone(context: typer.Context) -> None:
    """Print the help of a group of commands that was called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def spelled(name: str) -> str:
    """Return how an option is written."""
    return f"--{name.replace('_', '-')}"


def only_for(what: str, options: Any, *names: str) -> None:
    """Raise an error for options that would be ignored.

    Raises
    ------
    ParameterError
    """
    for name in names:
        if name in given_options(options):
            raise ParameterError(f"{spelled(name)} applies only to {what}. Leave it out.")


def given_options(options: Any) -> dict[str, Any]:
    """Return the options of a record that are neither None nor False."""
    return {name: value for name, value in vars(options).items() if value is not None and value is not False}


def as_arguments(*records: Any) -> list[str]:
    """Return the command-line arguments that give these options: only those that are not the default.

    Examples
    --------
    >>> as_arguments(Reading(rows="0:5", transpose=True))
    ['--rows', '0:5', '--transpose']
    """
    arguments: list[str] = []
    for options in records:
        for one in fields(options):
            value = getattr(options, one.name)
            if value != one.default:
                arguments += [spelled(one.name)] if value is True else [spelled(one.name), _as_text(value)]
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
