"""What an operation is: the verbs of the shell, the server and its page, each written once as a function.

The function takes frozen options and data, and returns a frozen :class:`Result`. It prints nothing and knows
nothing of commands or of HTTP: these are made of the declarations here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any, Literal, Protocol, get_type_hints

from gramian.errors import ParameterError
from gramian.options import Declared, form_of


@dataclass(frozen=True)
class Input:
    """A model or data that an operation takes.

    Attributes
    ----------
    name : str
        The parameter of the function.
    kind : {"model", "data", "meta", "faces", "gallery", "text"}
        A fitted model; rows; metadata, which are joined to the rows; pictures of faces; people; or just a
        text.
    metavar, help : str
    option : bool
        Whether the shell has it as an option.
    required : bool
    whole : bool
        Of a monitor the monitor itself, and not the model that it watches.
    streamed : bool or callable
        Whether rows may stay in their file; perhaps by the options.
    how : callable, optional
        More keywords for the reader, by the options.
    usual : str
        What holds without it.
    label : str
        What the page calls it, by default its name.
    many : bool
        Whether several may be given, as a sequence.
    access : {"read", "change", "create"}
        What happens to a gallery; one that is created is given as its path.
    """

    name: str
    kind: Literal["model", "data", "meta", "faces", "gallery", "text"]
    metavar: str
    help: str
    option: bool = False
    required: bool = True
    whole: bool = False
    streamed: bool | Callable[[Any], bool] = False
    how: Callable[[Any], dict[str, Any]] | None = None
    usual: str = ""
    label: str = ""
    many: bool = False
    access: Literal["read", "change", "create"] = "read"

    @property
    def declared(self) -> Declared:
        """The same as an option."""
        return Declared(self.metavar, self.help, self.usual)


MODEL = Input("model", "model", "MODEL", "A .gramian file, or a folder written by fit.")
WHOLE_MODEL = replace(MODEL, whole=True)
DATA = Input(
    *("data", "data", "DATA"),
    "A table (.csv, .tsv, .xlsx, .parquet, .npy, .npz, .mat, .h5, .zarr, ...; FILE::NAME where there are "
    "several), a folder or .zip of pictures, or -.",
)
LARGE_DATA = replace(DATA, streamed=True)
META = Input(
    *("meta", "meta", "FILE"),
    "A table of metadata, such as batch, sex and age, joined by row names or order.",
    option=True,
    required=False,
    usual="none",
)


@dataclass(frozen=True)
class Out:
    """A file that the shell writes of a result.

    Attributes
    ----------
    kind : {"table", "rows", "figure", "figures", "model", "file"}
        The first table of the result, its rows, its first figure or all in a folder, its model, or its
        content.
    metavar, help : str
    default : str or None
        None writes nothing unless the option is given.
    usual : str
        What holds without it.
    name : str
    ends : tuple of str
        What the name may end in.
    writes : str
        For the message about another name, such as "stability draws a figure".
    key : {"files", "out"}
        Its name in JSON: a list of all files, or the one file.
    required : bool
    listing : str
        Of rows that may be pictures: the table in their folder.
    beside : bool
        Whether the text goes to standard error in any case.
    """

    kind: Literal["table", "rows", "figure", "figures", "model", "file"]
    metavar: str
    help: str
    default: str | None = None
    name: str = "out"
    ends: tuple[str, ...] = ()
    writes: str = ""
    key: Literal["files", "out"] = "files"
    required: bool = False
    usual: str = ""
    listing: str = ""
    beside: bool = False


@dataclass(frozen=True)
class Asked:
    """How a verb was called, for results that repeat it.

    Attributes
    ----------
    model : str
        The file or folder of the model.
    versions : mapping of str to str
        Those that wrote the model.
    reading : mapping of str to object, or None
        The arguments of :func:`gramian.scan`; None for data that are not from a file.
    """

    model: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Blocks:
    """Rows of a result, block by block, so that they need not fit into memory.

    Attributes
    ----------
    table : gramian.data.table.Table
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
    """What an operation found.

    Attributes
    ----------
    text : object
        The answer for a person; a callable if it is known only once the rows were written. Each surface
        words its parts that are marked, as those of a message.
    facts : mapping of str to object, or callable
        The answer for a program, as values for JSON.
    notes : sequence of str
        Sentences beside the answer.
    tables : mapping of str to columns
    figures : mapping of str to callable
        By the name of the function of ``gramian.plots`` that draws; called without arguments it returns
        the chart or picture.
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
    fit : mapping of str to str
        The options of a fit that the result proposes.
    fitted : gramian.report.fitted.Fitted, optional
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
    fit: Mapping[str, str] = field(default_factory=dict)
    fitted: Any = None


class Reader(Protocol):
    """How a surface opens what it was given: the files of a command line, the uploads of a visitor."""

    def model(self, asked: Input) -> Any:
        """Return a fitted model, whole; None if it was not given."""

    def data(self, asked: Input, model: Any, limit: int | None, **how: Any) -> Any:
        """Return rows for a model, within a limit of bytes or None for whole in memory; None if not given."""

    def faces(self, asked: Input, model: Any, **how: Any) -> Any:
        """Return pictures of faces, in the size of a model."""

    def gallery(self, asked: Input, model: Any) -> Any:
        """Return the gallery of a model."""

    def text(self, asked: Input) -> Any:
        """Return what was given."""

    def asked(self) -> Asked:
        """Return how the verb was called, once everything was opened."""


@dataclass(frozen=True)
class Operation:
    """A verb: its function, what it takes, and what is written of its result.

    Attributes
    ----------
    name : str
        As in the shell and in URLs.
    function : callable
        Takes the options and the inputs by name; returns a :class:`Result`.
    inputs : tuple of Input
    outs : tuple of Out
    check : callable, optional
        Raises an error for options and models, before data are read; takes the options and the models.
    application : str
        The module that must be installed.
    doing : str
        What is going on, for a line of progress.
    needs_label : bool
        Whether rows without labels are refused, before they are read.
    shell_only : bool
        Whether it is about files of this machine.
    adds_earlier_rows : bool
        Whether it takes a monitor with ``lags`` as it is. Others get rows with the columns of earlier rows.
    heeds : callable
        Says of a :class:`gramian.analysis.proposals.Proposal` whether it makes sense for this verb.
    """

    name: str
    function: Callable[..., Result]
    inputs: tuple[Input, ...]
    outs: tuple[Out, ...] = ()
    check: Callable[..., Any] | None = None
    application: str = "gramian.pca"
    doing: str = "computing"
    needs_label: bool = False
    shell_only: bool = False
    adds_earlier_rows: bool = False
    heeds: Callable[[Any], bool] = lambda one: True

    def __call__(self, options: Any, **inputs: Any) -> Result:
        """Return the result for models and tables."""
        return self.function(options, **inputs)

    @cached_property
    def options(self) -> type[Any]:
        """The record of its options."""
        found: type[Any] = get_type_hints(self.function)["options"]
        return found

    @cached_property
    def _says_how_called(self) -> bool:
        return "asked" in signature(self.function).parameters

    @property
    def help(self) -> str:
        """What it does: a sentence, and paragraphs."""
        return self.function.__doc__ or ""

    @property
    def summary(self) -> str:
        """The first sentence of the help."""
        return " ".join(self.help.split("\n\n")[0].split())

    def form(self) -> list[dict[str, Any]]:
        """Return the fields of its form, as JSON."""
        return form_of(self.options)

    def require_label(self, there: bool) -> None:
        """Raise an error where labels are needed and there are none.

        Raises
        ------
        ParameterError
        """
        if self.needs_label and not there:
            way = "Name its column with label, or its file with labels_from."
            raise ParameterError("label", problem=f"{self.name} needs a label.", hint=way)

    def opened(self, options: Any, reader: Reader) -> dict[str, Any]:
        """Return the inputs, opened by a surface: the models first, then what is read for them.

        Raises
        ------
        GramianError
        """
        from gramian.analysis.components import expanded, mapping_of, reader_of

        def of(kind: str) -> list[Input]:
            return [one for one in self.inputs if one.kind == kind]

        given, opened = {one.name: reader.text(one) for one in of("text")}, {}
        for one in of("model"):
            opened[one.name] = model = reader.model(one)
            model = model if self.adds_earlier_rows else expanded(model)[0]
            given[one.name] = model if one.whole or model is None else mapping_of(model)
        if self.check is not None:
            self.check(options, *(mapping_of(given[one.name]) for one in of("model")))
        model, whole = given.get(MODEL.name), opened.get(MODEL.name)
        for one in of("gallery"):
            given[one.name] = reader.gallery(one, model)
        for one in of("data"):
            streamed = one.streamed(options) if callable(one.streamed) else one.streamed
            limit = limit_of(options, model) if streamed else None
            how = {} if one.how is None else one.how(options)
            read = reader.data(one, None if whole is None else reader_of(whole), limit, **how)
            self.require_label(read is None or read.labels is not None)
            given[one.name] = read if self.adds_earlier_rows else expanded(whole, read)[1]
        for one in of("faces"):
            given[one.name] = reader.faces(one, model, **({} if one.how is None else one.how(options)))
        if self._says_how_called:
            given["asked"] = reader.asked()
        return given


def limit_of(options: Any, model: Any) -> int:
    """Return the bytes of working memory, by the options or else by the model."""
    from gramian.analysis.components import mapping_of
    from gramian.arrays import memory_limit_bytes

    if hasattr(options, "memory_limit") or model is None:
        return memory_limit_bytes(getattr(options, "memory_limit", None))
    return memory_limit_bytes(getattr(mapping_of(model), "memory_limit", None))


def operation(
    *inputs: Input, name: str = "", outs: Sequence[Out] = (), **declared: Any
) -> Callable[[Callable[..., Result]], Operation]:
    """Declare a function as an operation."""

    def declare(function: Callable[..., Result]) -> Operation:
        known = name or re.sub("_$", "", function.__name__).replace("_", "-")
        return Operation(known, function, inputs, tuple(outs), **declared)

    return declare
