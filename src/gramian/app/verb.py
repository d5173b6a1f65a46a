"""What a verb is: a function with annotated parameters, of which shell, server and page are made.

Positional parameters are what a verb works on, keywords are its options, and
``-> Annotated[Result, Output(...)]`` says which files can be written of its result. The docstring explains
them in the sections Parameters and Files, as ``name : METAVAR, default: what holds where it is not given``.
Only the standard library is imported here, so that ``gramian --help`` answers at once.
"""

import csv
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Self, Union, get_args, get_origin

from gramian.core.checks import check_choice, check_seed, names_in
from gramian.errors import ParameterError

# Groups of options in the help of a command, in this order.
READING, METHOD, OTHER, OUTPUT, LIMITS = PANELS = (
    *("Reading the data", "The method", "Options", "Output", "Limits and hardware"),
)
IN_FOLDER = ("report", "loadings", "format")  # options of a folder of results
PANEL_OF = dict.fromkeys(("out", "as_json", "verbose", *IN_FOLDER), OUTPUT) | {"as_is": READING}
PANEL_OF |= dict.fromkeys(("memory_limit", "random_state"), LIMITS)
ROOT = Path(__file__).parents[1]


class Option(NamedTuple):
    """An annotation of an option, or of an argument that is text; plain types need none.

    Attributes
    ----------
    metavar : str
        What stands for its value; by default as in the docstring, or its choices.
    help : str
        By default as in the docstring, or the first sentence where the function is ``documented``.
    usual : str
        What holds where it is not given; by default as in the docstring, or the default.
    short : str
        Its short form in the shell.
    suggestions : sequence of str
        Values that a shell completes and a page lists, besides those of its type.
    check : callable, optional
        Raises an error for a name and a value, before data are read.
    local : bool
        Whether it is about this machine, so that the server has no such option.
    """

    metavar: str = ""
    help: str = ""
    usual: str = ""
    short: str = ""
    suggestions: Sequence[str] = ()
    check: Callable[[str, Any], Any] | None = None
    local: bool = False


class Input(NamedTuple):
    """An annotation of a model or data that a verb takes.

    Attributes
    ----------
    kind : {"model", "data", "meta", "faces", "gallery"}
        A fitted model; rows; metadata, which are joined to the rows; pictures of faces; or people.
    metavar, help, usual : str
        As of :class:`Option`.
    whole : bool
        Of a monitor the monitor itself, and not the model that it watches.
    streamed : bool or callable
        Whether rows may stay in their file; perhaps by the options.
    imputes : bool
        Whether missing values may be left in, for a fit of a PCA.
    required : bool
        Whether files of pictures that are missing are an error; of a single file, damaged ones too.
    many : bool
        Whether several may be given, as a sequence.
    needed : callable
        Whether, by the values of options and the model, those of the fit are read where none are given.
    access : {"read", "change"}
        What happens to a gallery; one that may be changed or created is given as its path.
    """

    kind: Literal["model", "data", "meta", "faces", "gallery"]
    metavar: str = ""
    help: str = ""
    usual: str = ""
    whole: bool = False
    streamed: bool | Callable[[Mapping[str, Any]], bool] = False
    imputes: bool = False
    required: bool = False
    many: bool = False
    needed: Callable[[Mapping[str, Any], Any], bool] = lambda *_: False
    access: Literal["read", "change"] = "read"


class Of(NamedTuple):
    """An annotation of a parameter that is the result of a function, whose options are those of the verb."""

    function: Callable[..., Any]


class Output(NamedTuple):
    """An annotation of the result: a file that the shell writes of it.

    Attributes
    ----------
    kind : {"table", "rows", "figure", "figures", "model", "file", "results"}
        The first table of the result, its rows, its first figure or all in a folder, its model, its content,
        or its model or a folder of all results.
    metavar, help, usual : str
        Those in the docstring.
    default : str or None
        None writes nothing unless the option is given.
    name : str
    ends : tuple of str
        What the name may end in.
    key : {"files", "out"}
        Its name in JSON: a list of all files, or the one file.
    required : bool
    listing : str
        Of rows that may be pictures: the table in their folder.
    beside : bool
        Whether the text goes to standard error in any case.
    """

    kind: Literal["table", "rows", "figure", "figures", "model", "file", "results"]
    metavar: str = ""
    help: str = ""
    usual: str = ""
    default: str | None = None
    name: str = "out"
    ends: tuple[str, ...] = ()
    key: Literal["files", "out"] = "files"
    required: bool = False
    listing: str = ""
    beside: bool = False


class Context(NamedTuple):
    """How a verb was called, for results that repeat it: the argument ``context`` of a verb.

    Attributes
    ----------
    model : str
        The file or folder of the model.
    reading : mapping of str to object, or None
        The arguments of :func:`gramian.scan`; None for data that are not from a file.
    command : sequence of str
        The command line of the shell.
    out : str
        The file that was asked for.
    """

    model: str = ""
    reading: Mapping[str, Any] | None = None
    command: Sequence[str] = ()
    out: str = ""


@dataclass(frozen=True)
class Blocks:
    """Rows of a result, block by block, so that they need not fit into memory.

    Attributes
    ----------
    table : gramian.tables.table.Table
        The rows that they belong to.
    blocks : iterator of (slice, ndarray)
    names : sequence of str or None
        Of the columns; None for PC1, PC2, ...
    more : callable
        Returns further columns, known once all blocks have passed.
    pictures : callable, optional
        Writes them into a folder of pictures, and may return the number of files.
    """

    table: Any
    blocks: Iterator[tuple[slice, Any]]
    names: Sequence[str] | None
    more: Callable[[], dict[str, Any]] = dict
    pictures: Callable[[Path], int | None] | None = None


@dataclass(frozen=True)
class Result:
    """What a verb found.

    Attributes
    ----------
    text : object
        The answer for a person; a callable if it is known only once the rows were written.
    facts : mapping of str to object, or callable
        The answer for a program, as values for JSON.
    notes : sequence of str
        Sentences beside the answer.
    tables : mapping of str to columns
    figures : mapping of str to callable
        By the name of the function of ``gramian.figures`` that draws; called without arguments it returns
        its axes.
    rows : Blocks, optional
    content : bytes or callable, optional
        A file; a callable if it is made only for whoever wants it.
    model : fitted estimator, optional
    alarm : bool
        Whether what was asked for did not hold: exit code 3.
    unanswered : bool
        Whether a question is left open: exit code 1.
    written : str
        What is said of the file behind its name.
    fit : mapping of str to object
        The options of a fit that the result proposes.
    fitted : gramian.report.facts.Fitted, optional
        What a folder of results is written from.
    """

    text: Any = ""
    facts: Any = field(default_factory=dict)
    notes: Sequence[str] = ()
    tables: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    rows: Blocks | None = None
    content: Any = None
    model: Any = None
    alarm: bool = False
    unanswered: bool = False
    written: str = ""
    fit: Mapping[str, Any] = field(default_factory=dict)
    fitted: Any = None


# ------------------------------------------------------------------ what many verbs take

TABLES = (".csv", ".parquet", ".npy", ".zarr")
FIGURES = (".svg", ".png", ".pdf")
FIGURE = Output("figure", ends=FIGURES)
ELSEWHERE = "an option of another function, which this one needs too"
TABLE_TEXT = (
    "A table (.csv, .tsv, .xlsx, .parquet, .npy, .npz, .h5, .nc, .zarr, ...; FILE::NAME where there are "
    "several), a folder or .zip of pictures, or -."
)
META_TEXT = "A table of metadata, such as batch, sex and age, joined by row names or order."
LIMIT_TEXT = "Working memory, such as 4GB; larger tables are read in blocks."
MODEL = Input("model", "MODEL", "A .gramian file, or a folder written by fit.")
DATA = Input("data", "DATA", TABLE_TEXT)
Model = Annotated[Any, MODEL]
WholeModel = Annotated[Any, MODEL._replace(whole=True)]
Data = Annotated[Any, DATA]
LargeData = Annotated[Any, DATA._replace(streamed=True)]
# A surface joins it to the rows.
Meta = Annotated[Any, Input("meta", "FILE", META_TEXT, usual="none")]
Seed = Annotated[int, Option("NUMBER", "Seed of the random numbers.", check=check_seed)]
MemoryLimit = Annotated[str | None, Option("BYTES", LIMIT_TEXT, "80 % of the machine's", local=True)]


def check_count(name: str, value: Any) -> None:
    """Raise an error for what is neither a number from 1 nor a share between 0 and 1."""
    if isinstance(value, int | float) and not (value >= 1 if isinstance(value, int) else 0 < value < 1):
        advice = "Give a number such as 10, or a share between 0 and 1 such as 0.95."
        raise ParameterError(name, value, "is out of range", advice)


# ------------------------------------------------------------------ parameters


LISTS = {list[str], list[int]}


class Parameter(NamedTuple):
    """A parameter of a verb, as every surface needs it.

    Attributes
    ----------
    name : str
    kind : type
        Its annotation without what is declared.
    default : object
        ``inspect.Parameter.empty`` where it is required.
    about : Option, Input or Of
    function : callable
        Whose parameter it is.
    positional : bool
    kinds : set of type
        The types of its values.
    choices : sequence of str
        The texts among its values; no others are allowed where it has no other type.
    """

    name: str
    kind: Any
    default: Any
    about: Any
    function: Callable[..., Any]
    positional: bool = False
    kinds: Set[Any] = frozenset({str})
    choices: Sequence[str] = ()

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is inspect.Parameter.empty

    @property
    def is_choice(self) -> bool:
        """Whether its values are a few texts."""
        return bool(self.choices) and len(self.kinds - {NoneType}) == 1

    @property
    def metavar(self) -> str:
        """What stands for its value in the shell; "" for a flag."""
        return self.about.metavar or ("" if self.kind is bool else "|".join(self.choices))

    @property
    def usual(self) -> str:
        """What holds where it is not given."""
        default = "" if self.required or self.default is None or self.kind is bool else self.default
        return self.about.usual or (f"{default:g}" if isinstance(default, float) else str(default))

    @property
    def help(self) -> str:
        """What it does, in sentences."""
        text = self.about.help or _documented(self.name, self.function)
        missing = [choice for choice in self.choices if choice not in f"{text} {self.metavar}"]
        return (
            f"{text} {'One of' if self.is_choice else 'Or'} {', '.join(self.choices)}." if missing else text
        )

    def value(self, text: Any) -> Any:
        """Return a value that a surface has as text as Python has it.

        Raises
        ------
        ParameterError
        """
        if "," in self.metavar and list[str] in self.kinds:
            lists = [text] if isinstance(text, str) else text or ()
            return [name for names in lists for name in names_in(names)]
        if not isinstance(text, str) or str in self.kinds:
            return text
        if text == "none" and NoneType in self.kinds:
            return None
        if list[int] in self.kinds:
            numbers = text.split(",")
            if not all(number.strip().isdecimal() and int(number) for number in numbers):
                advice = "Give a whole number such as 10, or several, such as 2,5,10."
                raise ParameterError(self.name, text, "is not understood", advice)
            return sorted({int(number) for number in numbers})
        for number in (int, float):
            if number in self.kinds:
                with suppress(ValueError):
                    return number(text)
        return text

    def check(self, value: Any) -> None:
        """Raise an error for a value that is not allowed."""
        if self.is_choice and value is not None:
            check_choice(self.name, value, self.choices)
        elif isinstance(value, str) and not ({str, *LISTS, *self.choices} & {*self.kinds, value}):
            number = "a number" if float in self.kinds else "a whole number"
            names = f"neither {number} nor one of {', '.join(self.choices)}"
            raise ParameterError(self.name, value, f"is {names if self.choices else f'not {number}'}")
        if isinstance(self.about, Option) and self.about.check is not None and value is not None:
            self.about.check(self.name, value)


@cache
def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return what is declared of the parameters of a function; others are not for surfaces."""
    result, texts = [], _sections(inspect.cleandoc(function.__doc__ or ""))
    for name, parameter in inspect.signature(function).parameters.items():
        if isinstance(parameter.annotation, str):
            raise TypeError(f"{function.__module__} must not import annotations from __future__.")
        about: Any = next(iter(getattr(parameter.annotation, "__metadata__", [Option()])))
        kind = parameter.annotation
        kind = kind.__origin__ if get_origin(kind) is Annotated else kind
        if name == "context" or not isinstance(about, Option | Input | Of):
            continue
        if name in texts:
            about = about._replace(**texts[name])
        positional = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        types = {*get_args(kind)} if get_origin(kind) in (Union, UnionType) else {kind}
        choices = next((get_args(each) for each in types if get_origin(each) is Literal), ())
        default = parameter.default
        result.append(Parameter(name, kind, default, about, function, positional, types, choices))
    return result


def _sections(text: str) -> dict[str, dict[str, Any]]:
    """Return the metavar, usual and help of each parameter and file of a docstring, where they are there."""
    found: dict[str, dict[str, Any]] = {}
    for section in re.findall(r"^(?:Parameters|Files)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.S | re.M):
        entries = re.findall(r"^([\w, *]+?)(?: : (.*))?\n((?:(?:    .*)?\n)+)", f"{section}\n", re.M)
        for names, kind, lines in entries:
            metavar, _, usual = f", {kind}".partition(", default: ")
            plain = re.sub(r":\w+:`~?([\w.]+)`|``(.*?)``", r"\1\2", " ".join(lines.split()))
            about = {"metavar": metavar[2:], "usual": usual, "help": plain}
            about = {name: value for name, value in about.items() if value}
            found |= dict.fromkeys(names.split(", "), about)
    return found


def _documented(name: str, function: Callable[..., Any]) -> str:
    """Return the first sentence about a parameter where its function says that it is documented.

    Of several places the first is taken. A parameter that only one of them has is said to be of that one.
    """
    documented = getattr(function, "settings", {}).get("documented", {})
    found = {what: texts[name] for what, source in documented.items() if name in (texts := docstring(source))}
    if not found:
        raise TypeError(f"The docstring of {function.__qualname__} says nothing of {name}.")
    what, text = next(iter(found.items()))
    return text if len(found) == len(documented) or not what else f"{what}: {text[0].lower()}{text[1:]}"


@cache
def docstring(path: str) -> dict[str, str]:
    """Return the first sentence of each parameter in the docstring of a class or function.

    It is read from the source, because importing an estimator takes ten times as long.

    Parameters
    ----------
    path : str
        Module and name, such as "gramian.models.pca.estimator:PCA".

    Examples
    --------
    >>> docstring("gramian.models.pca.estimator:PCA")["ddof"]
    'Variances divide by n_samples - ddof, or the sum of the weights less ddof.'
    """
    module, _, name = path.partition(":")
    source = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text(encoding="utf-8")
    whole = re.search(rf'^(?:class|def) {name}\b.*?"""(.*?)"""', source, re.DOTALL | re.MULTILINE)
    assert whole is not None, path
    texts = _sections(inspect.cleandoc(whole[1]))
    return {name: re.split(r"(?<=[.])\s+(?=[A-Z\"])", about["help"])[0] for name, about in texts.items()}


def model_path(model: str) -> Path:
    """Return the path of the model file; for a folder that fit wrote, of the one inside."""
    inside = Path(model) / "model.gramian"
    return inside if inside.exists() else Path(model)


# ------------------------------------------------------------------ verbs


def about(**settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say of a function what its signature does not: settings of :class:`Verb`, and where it is documented.

    Parameters
    ----------
    **settings : object
        ``documented`` has the places of docstrings by what a parameter is of; see :func:`docstring`.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        function.settings = settings  # type: ignore[attr-defined]
        return function

    return declare


Names = list[str] | None


@about(documented={"": "gramian.tables.scan:Scan"}, panel=READING)
def reading(
    *,
    rows: Annotated[str | None, Option("A:B")] = None,
    exclude: Annotated[Names, Option("A,B,..")] = None,
    columns: Annotated[Names, Option("A,B,..")] = None,
    drop: Annotated[Names, Option("A,B,..")] = None,
    id: Annotated[str | None, Option("COLUMN")] = None,
    label: Annotated[Names, Option("A,B,..")] = None,
    labels_from: Annotated[str | None, Option("FILE[:COLUMN]", local=True)] = None,
    weights: Annotated[str | None, Option("COLUMN")] = None,
    transpose: Annotated[bool, Option()] = False,
    transform: Annotated[Literal["log", "log1p", "sqrt", "logcpm", "clr"] | None, Option()] = None,
    missing: Annotated[
        Literal["error", "mean", "drop-rows", "drop-columns", "em", "iterative"] | None, Option()
    ] = None,
    size: Annotated[str | None, Option("WxH")] = None,
    na_values: Annotated[Names, Option("A,COLUMN=B,..")] = None,
    header: Annotated[int | None, Option("LINE")] = None,
    skip_footer: Annotated[int | None, Option("COUNT")] = None,
    skip_after_header: Annotated[int | None, Option("COUNT")] = None,
    pivot: Annotated[Names, Option("ID,VARIABLE[,VALUE]")] = None,
    answers: Annotated[Names, Option("A,B,..")] = None,
    below_limit: Annotated[Literal["missing", "half"] | None, Option()] = None,
    slips: Annotated[Literal["read", "missing"] | None, Option()] = None,
    corrections: Annotated[Names, Option("ROW:COLUMN=VALUE,..")] = None,
) -> Any:
    """Choose which part of data is read, and how."""


@dataclass(frozen=True)
class Verb:
    """A verb: its function, and what a surface asks of it.

    Attributes
    ----------
    name : str
        As in the shell and in URLs.
    function : callable
        Takes models, tables and options by name; returns a :class:`Result`.
    check : callable, optional
        Raises an error for options and models, before data are read; takes the options and the models.
    doing : str
        What is going on, for a line of progress.
    needs_label : bool
        Whether rows without labels are refused, before they are read.
    shell_only : bool
        Whether it is about files of this machine.
    heeds : callable
        Says of a :class:`gramian.answers.proposals.Proposal` whether it makes sense for this verb.
    documented : mapping of str to str
        As of :func:`about`.
    """

    name: str
    function: Callable[..., Any]
    check: Callable[..., Any] | None = None
    doing: str = "computing"
    needs_label: bool = False
    shell_only: bool = False
    heeds: Callable[[Any], bool] = lambda proposal: True
    documented: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str, module: str) -> Self:
        """Return the verb of a name, whose function a module has; what computes is imported when it runs."""
        functions, word = vars(import_module(module)), name.split()[-1].replace("-", "_")
        function = functions.get(word) or functions[f"{word}_"]
        return cls(name, function, **getattr(function, "settings", {}))

    @property
    def help(self) -> str:
        """What it does: a sentence, and paragraphs."""
        return re.split(r"\n+\w+\n---", inspect.cleandoc(self.function.__doc__ or ""))[0]

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return " ".join(self.help.split("\n\n")[0].split())

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        """The models and data that it takes."""
        return tuple(param for param in parameters_of(self.function) if isinstance(param.about, Input))

    @cached_property
    def parts(self) -> dict[str, Callable[..., Any]]:
        """The functions whose results it takes, by the names of its parameters."""
        found = parameters_of(self.function)
        return {param.name: param.about.function for param in found if isinstance(param.about, Of)}

    @cached_property
    def options(self) -> dict[str, Parameter]:
        """The options of the verb and of the functions whose results it takes, without those of reading."""
        functions = (*self.parts.values(), self.function)
        found = [param for function in functions for param in parameters_of(function)]
        return {param.name: param for param in found if isinstance(param.about, Option)}

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The files that can be written of its result."""
        texts = _sections(inspect.cleandoc(self.function.__doc__ or ""))
        returned = getattr(inspect.signature(self.function).return_annotation, "__metadata__", ())
        return tuple(output._replace(**texts.get(output.name, {})) for output in returned)

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return options as Python has them, checked, of texts that were given."""
        result = {}
        for name, value in arguments.items():
            if (param := self.options.get(name)) is not None:
                result[name] = param.value(value)
                param.check(result[name])
        return result

    def require_label(self, there: bool) -> None:
        """Raise an error where labels are needed and there are none.

        Raises
        ------
        ParameterError
        """
        if self.needs_label and not there:
            way = "Name its column with label, or its file with labels_from."
            raise ParameterError("label", problem=f"{self.name} needs a label.", hint=way)

    def built(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results of the functions whose results it takes."""
        return {name: function(**_taken(function, values)) for name, function in self.parts.items()}

    def opened(self, values: Mapping[str, Any], read: Callable[..., Any]) -> dict[str, Any]:
        """Return the inputs, as a surface reads them: the models first, then what is read for them.

        Parameters
        ----------
        values : mapping of str to object
            The options.
        read : callable
            Reads an input: takes its :class:`Parameter`, the model that it is for or None, the bytes of rows
            from which they stay in their file or None. Returns None for one that is not given.

        Raises
        ------
        GramianError
        """
        from gramian.statistics.components import mapping_of

        self.built(values)  # which refuses options that do not go together
        opened: dict[str, Any] = {}
        model = None
        for param in self.inputs:
            if param.about.kind == "model":
                found = read(param, None, None)
                opened[param.name] = found if param.about.whole or found is None else mapping_of(found)
                model = opened[param.name] if model is None else model
        if self.check is not None:
            models = [mapping_of(opened[param.name]) for param in self.inputs if param.about.kind == "model"]
            self.check(values, *models)
        for param in sorted(self.inputs, key=lambda param: param.about.kind != "gallery"):
            kind = param.about.kind
            if kind == "data":
                streamed = param.about.streamed
                streamed = streamed(values) if callable(streamed) else streamed
                limit = self._limit(values, model) if streamed else None
                table = read(param, None if model is None else mapping_of(model), limit)
                self.require_label(table is None or table.labels is not None)
                opened[param.name] = table
            elif kind in ("gallery", "faces"):
                opened[param.name] = read(param, model, None)
        return opened

    def _limit(self, values: Mapping[str, Any], model: Any) -> int:
        """Return the bytes of working memory, by the options or else by the model."""
        from gramian.core.arrays import memory_limit_bytes
        from gramian.statistics.components import mapping_of

        of_options = "memory_limit" in self.options or model is None
        limit = values.get("memory_limit") if of_options else getattr(mapping_of(model), "memory_limit", None)
        return memory_limit_bytes(limit)

    def __call__(
        self, values: Mapping[str, Any], opened: Mapping[str, Any], context: Context = Context()
    ) -> Any:
        """Return the result for options and inputs."""
        whole = {**values, **opened, **self.built(values), "context": context}
        return self.function(**_taken(self.function, whole))


def _taken(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some values that a function takes."""
    return {name: values[name] for name in inspect.signature(function).parameters if name in values}


def form_field(param: Parameter) -> dict[str, Any]:
    """Return a field of a form, as JSON."""
    kinds = (("flag", bool), ("integer", int), ("number", float))
    plain = next((word for word, kind in kinds if kind in param.kinds), "text")
    return {
        "name": param.name,
        "kind": "choice" if param.is_choice else plain if len(param.kinds - {NoneType}) == 1 else "text",
        "choices": list(param.choices) if param.is_choice else [],
        "suggestions": [*param.about.suggestions, *([] if param.is_choice else param.choices)],
        "default": None if param.required else param.default,
        "usual": param.usual,
        "help": param.help,
    }


# ------------------------------------------------------------- given options


def only_for(what: str, values: Mapping[str, Any], *names: str, hint: str = "Leave it out.") -> None:
    """Raise an error for options that would be ignored.

    Raises
    ------
    ParameterError
    """
    for name in names:
        if (value := values.get(name)) is not None and value is not False:
            raise ParameterError(name, allowed=f"applies only to {what}", hint=hint)


def require_model(suits: bool, problem: str, hint: str = "") -> None:
    """Raise an error for a model that a verb cannot take.

    Raises
    ------
    ParameterError
    """
    if not suits:
        raise ParameterError("model", problem=problem, hint=hint)


def as_arguments(values: Mapping[str, Any]) -> list[str]:
    """Return the command-line arguments that give these options.

    Examples
    --------
    >>> as_arguments({"n_components": 2, "center": False, "drop": ["a", "b, c"], "scale": None})
    ['--n-components', '2', '--no-center', '--drop', 'a,"b, c"', '--scale', 'none']
    """
    arguments: list[str] = []
    for name, value in values.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            arguments.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            arguments += [flag, _as_text(value)]
    return arguments


def _as_text(value: Any) -> str:
    """Return a value as the command line has it; names that contain a comma are quoted."""
    if not isinstance(value, tuple | list):
        return "none" if value is None else str(value)
    if not all(isinstance(item, str) for item in value):
        return ("x" if isinstance(value, tuple) else ",").join(map(str, value))
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return text.getvalue()
