"""The options that several commands share, as records whose fields are the options."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer

from gramian.checks import check_choice, check_seed
from gramian.errors import ParameterError


def option(flag: str, metavar: str, help: str) -> Any:
    """Declare an option with a value; what its default is, the help text says."""
    return typer.Option(flag, metavar=metavar, help=help, show_default=False)


def out(metavar: str, help: str) -> Any:
    """Declare where results go."""
    return typer.Option("--out", "-o", metavar=metavar, help=help, show_default=False)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table (.csv, .tsv, .xlsx, .parquet, .npy, .npz, .mat, .h5, .zarr, ...; FILE::NAME where "
        "there are several), a folder or .zip of pictures, or -.",
        show_default=False,
    ),
]
ModelFile = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A .gramian file, or a folder written by fit.", show_default=False),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Write the result as JSON to standard output.")]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="Start of the random numbers. [0]",
        show_default=False,
        callback=lambda value: check_seed("--seed", value),
    ),
]
Text = str | None
Device = Annotated[
    Text,
    option("--device", "NAME", "A GPU to compute on: cuda or cuda:1; cpu is PyTorch on the host. [the host]"),
]
MemoryLimit = Annotated[
    Text,
    option(
        "--memory-limit",
        "BYTES",
        "Working memory, such as 4GB: a larger table is read piece by piece. [80 % of the machine's]",
    ),
]


@dataclass(frozen=True)
class Reading:
    """Which part of the data is read, and how."""

    rows: Annotated[
        Text, option("--rows", "A:B", "Rows A to B-1, counted from 0; also A:, :B and A:B:STEP.")
    ] = None
    columns: Annotated[
        Text,
        option("--columns", "A,B,..", "Columns to use, by name or position; @FILE lists them, one a line."),
    ] = None
    drop: Annotated[Text, option("--drop", "A,B,..", "Columns to leave out; also @FILE.")] = None
    id: Annotated[Text, option("--id", "COLUMN", "Column that names the rows.")] = None
    label: Annotated[
        Text,
        option(
            "--label", "COLUMN", "Column to set aside as labels; may hold text. With --transpose, the row."
        ),
    ] = None
    labels_from: Annotated[
        Text,
        option(
            "--labels-from",
            "FILE[:COLUMN]",
            "Labels from another file, by row names or order.",
        ),
    ] = None
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Swap rows and columns, as for genes x samples.")
    ] = False
    missing: Annotated[
        Text, option("--missing", "HOW", "Missing values: mean, drop-rows or drop-columns.")
    ] = None
    size: Annotated[Text, option("--size", "WxH", "Resize pictures to this size.")] = None
    na_values: Annotated[
        Text, option("--na-values", "A,B,..", "What else stands for a missing value in text, such as -.")
    ] = None

    @property
    def labelled(self) -> bool:
        """Whether the rows have labels."""
        return self.label is not None or self.labels_from is not None

    def inputs(self, data: str) -> list[str]:
        """Name what is read: the data, and the files of labels and of names where there are such."""
        lists = [names[1:] for names in (self.columns, self.drop) if names and names.startswith("@")]
        if self.labels_from is None:
            return [data, *lists]
        file, _, _ = self.labels_from.rpartition(":")
        return [data, *lists, self.labels_from, file.removesuffix(":")]


@dataclass(frozen=True)
class Model:
    """What is computed: the parameters of ``gramian.PCA``, or with a kernel of ``gramian.KernelPCA``."""

    kernel: Annotated[
        Text,
        option(
            "--kernel",
            "KERNEL",
            "Kernel PCA, by a name such as rbf or an expression such as 'rbf(sigma=2) + 0.5*linear'; "
            "see gramian kernels table. PCA without it.",
        ),
    ] = None
    components: Annotated[
        Text,
        option(
            "--components",
            "K",
            "A number such as 10, an explained variance ratio such as 0.95, or a rule: parallel, cv, "
            "and for PCA mle, sign-flip, gavish-donoho. [all]",
        ),
    ] = None
    max_rmse: Annotated[
        float | None,
        option(
            "--max-rmse",
            "NUMBER",
            "PCA: as many components as keep the root-mean-square error of an entry at or below this.",
        ),
    ] = None
    gamma: Annotated[
        Text,
        option(
            "--gamma",
            "NUMBER",
            "Factor of rbf, poly, laplacian, sigmoid, chi2; scale: 1 / (columns * variance of all entries); "
            "median: by the median distance of rows. [1 / columns; 1 for chi2]",
        ),
    ] = None
    degree: Annotated[int | None, option("--degree", "NUMBER", "Power of poly. [3]")] = None
    coef0: Annotated[float | None, option("--coef0", "NUMBER", "Constant of poly and sigmoid. [1]")] = None
    no_center: Annotated[bool, typer.Option("--no-center", help="Do not subtract the mean.")] = False
    scale: Annotated[
        Text, option("--scale", "HOW", "PCA: unit (variance 1), pareto or genotype. [as they are]")
    ] = None
    whiten: Annotated[bool, typer.Option("--whiten", help="PCA: scores of variance 1.")] = False
    ddof: Annotated[int | None, option("--ddof", "NUMBER", "PCA: variances divide by rows - ddof. [1]")] = (
        None
    )
    solver: Annotated[
        Text,
        option(
            "--solver",
            "NAME",
            "PCA: full, covariance, gram, krylov; kernel PCA: dense, krylov. For many columns of PCA "
            "frequent-directions, for many rows of kernel PCA nystroem or random-features, which "
            "approximate. [auto]",
        ),
    ] = None
    landmarks: Annotated[
        int | None,
        option("--landmarks", "NUMBER", "Landmarks of nystroem, or number of random features. [1000]"),
    ] = None
    landmark_rule: Annotated[
        Text,
        option(
            "--landmark-rule", "HOW", "Landmarks of nystroem: rpcholesky, uniform or kmeans. [rpcholesky]"
        ),
    ] = None
    tol: Annotated[
        float | None,
        option("--tol", "NUMBER", "Bound on residuals over the largest eigenvalue. [1e-6; 1e-5 in float32]"),
    ] = None
    seed: Seed = 0
    memory_limit: Annotated[
        Text,
        option(
            "--memory-limit",
            "BYTES",
            "Working memory, such as 4GB; the data and the results come on top. [80 % of the machine's]",
        ),
    ] = None
    device: Device = None
    repair: Annotated[
        Text,
        option("--repair", "HOW", "Kernel PCA: clip sets negative eigenvalues to 0. [refuse them]"),
    ] = None
    preimage: Annotated[
        Text,
        option(
            "--preimage", "HOW", "Kernel PCA, the way back: fixed-point, gradient or ridge. [by the kernel]"
        ),
    ] = None


@dataclass(frozen=True)
class Engine:
    """Who computes: this process, or Dask."""

    engine: Annotated[
        Text,
        option("--engine", "NAME", "dask: work on a .zarr or .parquet in chunks, by the threads of Dask."),
    ] = None
    scheduler: Annotated[
        Text, option("--scheduler", "ADDRESS", "Have --engine dask use this cluster: tcp://HOST:8786.")
    ] = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have what is computed inside computed so.

        Raises
        ------
        ParameterError
            For another engine, or a scheduler without Dask.
        """
        if self.engine is None:
            only_for("--engine dask", self, "scheduler")
            yield
            return
        check_choice("--engine", self.engine, ("dask",))
        from gramian.rows.chunks import cluster

        with cluster(self.scheduler):
            yield


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its record parameters as options of their own.

    The command is called with the records, made of what was given.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        inner = get_type_hints(kind, include_extras=True)
        records[name] = (kind, [field.name for field in fields(kind)])
        parameters += [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=inner[f.name]
            )
            for f in fields(kind)
        ]

    @wraps(command)
    def spread_command(**given: Any) -> None:
        made = {name: kind(**{f: given.pop(f) for f in names}) for name, (kind, names) in records.items()}
        with made["engine"].at_work() if "engine" in made else nullcontext():
            command(**given, **made)

    spread_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in parameters}
    del spread_command.__wrapped__
    return spread_command


def help_alone(context: typer.Context) -> None:
    """Answer a group of commands that was called without one."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def flag(name: str) -> str:
    """Return how an option is written."""
    return f"--{name.replace('_', '-')}"


def only_for(what: str, options: Any, *names: str) -> None:
    """Refuse options that were given and belong to something else: they would be ignored.

    Raises
    ------
    ParameterError
    """
    for name in names:
        if getattr(options, name) is not None and getattr(options, name) is not False:
            raise ParameterError(f"{flag(name)} belongs to {what}. Leave it out, or ask for that.")


def as_arguments(options: Any) -> list[str]:
    """Return the command-line arguments that give these options: only those that are not the default.

    Examples
    --------
    >>> as_arguments(Reading(rows="0:5", transpose=True))
    ['--rows', '0:5', '--transpose']
    """
    hints = get_type_hints(type(options), include_extras=True)
    arguments: list[str] = []
    for field in fields(options):
        value = getattr(options, field.name)
        if value == field.default:
            continue
        flag = next(
            part.default for part in get_args(hints[field.name]) if isinstance(part, typer.models.OptionInfo)
        )
        arguments += [str(flag)] if value is True else [str(flag), str(value)]
    return arguments
