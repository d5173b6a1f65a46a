"""A file and the part of it to read: checked at once, read later."""

import io
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import IO, Any, get_args, get_type_hints

from gramian.core.checks import check_choice, check_integer, counted, listed, names_in
from gramian.errors import InputTypeError, ParameterError
from gramian.tables import reading
from gramian.tables.choose import choose
from gramian.tables.files import Location, locate
from gramian.tables.labels import NO_LABEL
from gramian.tables.metadata import LabelPlace, locate_labels
from gramian.tables.names import readable
from gramian.tables.preview import Preview, preview
from gramian.tables.source import damage
from gramian.tables.table import Expected, Table
from gramian.tables.treatment import TRANSFORMED


@dataclass(frozen=True)
class Scan(reading.ReadingOptions):
    """A file, folder or stream, and the part of it to read when it is needed.

    The path and the arguments are checked at once; the content is read by :meth:`Scan.read`.

    Parameters
    ----------
    path : str, path, list of paths or binary file
        A table: delimited text (.csv, .tsv, .txt, .dat, .data, also with .gz), .xlsx, .parquet, .npy, .npz,
        .mat, .h5, .h5ad, .nc, .zarr or .bed (PLINK), with ``"FILE::NAME"`` for one array or sheet of
        several; a picture, a folder or .zip of pictures, a list of pictures, or a binary stream whose format
        follows from its content.
    rows : slice or str, optional
        Rows of the file, counted from 0: ``"0:100"``, ``"10:"``, ``":50"``, ``"::2"``, or a slice. For
        pictures, those in natural order of their paths.
    exclude : list of str or int, array of int, or comma-separated str, optional
        Rows to leave out: names, numbers counted from 0, or ``"COLUMN=VALUE"`` for all rows of a group. A
        number counts where no row has that name. The group is of a column of the file, used or not, of
        labels, or with ``transpose`` of a row of the file. ``"COLUMN="`` are those without a value.
    columns : list of str or comma-separated str, optional
        The columns to use, in this order; ``"@FILE"`` lists them, one a line. Columns without names are known
        by position, counted from 0: ``["0", "3"]``.
    drop : list of str or comma-separated str, optional
        Columns to leave out; also ``"@FILE"``.
    id : str, optional
        Column to use as row names, as they are written: 007 stays 007. By default a first column without a
        name or of unique text is.
    label : str, list of str or comma-separated str, optional
        Column to take out as labels, numbers or text; of several, the others are metadata. They are numbers
        where each is written in one way, so that 01 and 1 differ; one that is empty or NA is none. Of
        several, the first sets the labels, and the others become metadata.
    weights : str, optional
        Column to take out as weights of the rows, as ``sample_weight`` of PCA, KernelPCA and Whitener.
    transpose : bool, default False
        Swap rows and columns after choosing them, as for genes x samples.
    transform : {"log", "log1p", "sqrt", "logcpm", "clr"}, optional
        Transform the numbers: ``"log"`` for positive amounts over powers of ten, ``"log1p"`` or ``"sqrt"``
        for counts, ``"logcpm"`` for counts whose rows have unequal sums (log(1 + 1e6 x / sum)), ``"clr"``
        for parts of a whole. That is after choosing and transposing, before missing values are treated:
        log(1 + x) or square roots, of numbers that are not negative; logarithms or centred log-ratios, those
        of each row minus their mean, of positive numbers. A model transforms the numbers of new files alike;
        arrays are taken as they are.
    missing : {"error", "mean", "drop-rows", "drop-columns", "em", "iterative"}, optional
        What to do with missing values; ``"em"`` and ``"iterative"`` are for a PCA, which imputes. By default
        they raise an error, but PCA maps new rows from their observed entries; inf always raises one. "em"
        and "iterative" leave them in for :class:`gramian.PCA` to impute, and leave out rows without any
        value.
    size : "WIDTHxHEIGHT" or (width, height), optional
        Resize pictures.
    na_values : list of str or numbers, dict of column to such, or comma-separated str, optional
        Texts that stand for a missing value in delimited text, in addition to an empty field, NA,
        NaN, null, ? and the like: ``["-", "."]``. A number matches in any spelling: "-999" also as -999.0,
        "inf" also as Infinity. Tables without text take numbers only. ``"COLUMN=VALUE"``, or in Python
        ``{"age": ["99"]}``, is about one column.
    header : int, optional
        The line of the header in delimited text, or the row of a sheet, counted from 1 as an editor shows it;
        0 if there is none. By default it is found: what stands above it is left out, and a row of units
        next to it becomes ``units`` of the table.
    skip_footer : int, optional
        Number of last lines to leave out. By default blank ones and notes ("Source: ...") are.
    skip_after_header : int, optional
        Number of lines below the header to leave out. By default units, kinds of columns and texts of
        questions are found; a number that is given takes their place.
    pivot : "ID,VARIABLE,VALUE" or list of str, optional
        Columns of a long table: it becomes a table with a row for each id and a column for each variable.
        Where years are columns, as in tables of countries and indicators, VALUE is one of them, as
        "Country Name,Indicator Name,2015"; without VALUE there is a row for each id and year.
    answers : list of str or comma-separated str, optional
        Answers in words of one ordered scale, the lowest first: columns that hold nothing else, in large or
        small letters, become 1, 2, 3, ... The table is read into memory.
    below_limit : {"missing", "half"}, optional
        Entries beyond a limit of detection, such as "<0.5" and ">100", are missing by default; with "half"
        they are half of a lower limit, or an upper limit.
    slips : {"read", "missing"}, optional
        Cells of a column of numbers that are none, at most one in twenty, and most likely meant as one:
        "7,9" beside 7.1, "O.5", "12.3.", "12 kg". By default an error names them; "read" takes them as meant.
    corrections : dict of (row, column) to number, list of str or comma-separated str, optional
        Other numbers for single cells, ``"ROW:COLUMN=VALUE"``; without VALUE the cell is missing. In Python
        also ``{("W122", "ash"): 2.5, (17, "ash"): None}``. Rows are named or numbered as in ``exclude``. They
        are the numbers of the file, before any transform.
    labels_from : path, optional
        Labels from another file: ``"FILE"``, ``"FILE:COLUMN"`` or ``"FILE.npz::KEY"``. They go to rows of
        the same name where both files name their rows, otherwise by order, one for each row. Of a FILE of
        several columns all are joined: the first one whose values repeat labels the rows, the others become
        metadata, and rows without an entry stay without.

    Raises
    ------
    FileError
        If the file is missing or its format is not supported.
    ParameterError
        If an argument is malformed or contradicts another one.
    InputTypeError
        If an argument is of another type.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "heights.csv"
    >>> _ = file.write_text("name,height,weight,sex\\nAnn,1.7,60,f\\nBob,1.8,80,m\\n")
    >>> table = Scan(file, label="sex").read()
    >>> table.values.tolist(), table.row_names, table.labels.tolist()
    ([[1.7, 60.0], [1.8, 80.0]], ('Ann', 'Bob'), ['f', 'm'])
    """

    path: Any
    _place: Location | tuple[Path, ...] | IO[bytes] = field(init=False, repr=False, compare=False)
    _labels: LabelPlace | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check(name, value))
        _check_together(self)
        object.__setattr__(self, "_place", _check_path(self.path))
        labels = None if self.labels_from is None else locate_labels(self.labels_from)
        object.__setattr__(self, "_labels", labels)

    @property
    def options(self) -> reading.ReadingOptions:
        """The options of reading without the path."""
        return reading.ReadingOptions(**{name: getattr(self, name) for name in HINTS})

    @property
    def repeatable(self) -> bool:
        """Whether it can be read more than once, as a stream or a pipe cannot."""
        source = self._place
        return isinstance(source, tuple) or (isinstance(source, Location) and source.is_stored)

    def preview(self, most: int | None = None) -> Preview | None:
        """Look at the columns before any has a use; None for pictures.

        Parameters
        ----------
        most : int, optional
            Bytes of a large file that are looked at.

        Returns
        -------
        Preview or None
            The columns, without their values.
        """
        source = self._place
        if isinstance(source, Location | tuple):
            return preview(source, self.options, most)
        if not source.seekable():
            source = io.BytesIO(source.read())
            for name in ("path", "_place"):
                object.__setattr__(self, name, source)
        begin = source.tell()
        result = preview(source, self.options, most)
        source.seek(begin)
        return result

    def open(self, limit: int | None, expected: Expected | None = None) -> Table:
        """Read the chosen part, or leave it in its file if it is large.

        Parameters
        ----------
        limit : int
            Bytes of working memory. What takes more than a quarter of it is read block by block later on: the
            table's values are then a :class:`gramian.tables.stored.StoredRows`. None reads all.
        expected : Expected, optional
            As for :meth:`read`, which raises the same errors.

        Returns
        -------
        Table
            Numbers, names, labels and metadata.
        """
        table = choose(self._place, self.options, self._labels, limit, expected)
        key = getattr(self._place, "key", None)
        options, lasting = _asked(table.origin.reading, self._labels), _lasting(table, key)
        given = {name: self.options.given[name] for name in reading.OWN if name in self.options.given}
        given = {
            name: reading.slice_text(value) if isinstance(value, slice) else value
            for name, value in given.items()
        }
        return replace(table, origin=replace(table.origin, asked=options, reading=lasting, own=given))

    def read(self, expected: Expected | None = None) -> Table:
        """Read the chosen part into memory.

        Parameters
        ----------
        expected : Expected, optional
            What a fitted model expects of new data: the file may have its columns in another order, and more.

        Returns
        -------
        Table
            Finite numbers with their names, labels and notes.

        Raises
        ------
        FileError
            If the file is empty, truncated, damaged, or of another kind than its name says.
        DataError
            If it cannot be a table of numbers, or holds NaN without ``missing``, or inf.
        ParameterError
            If the chosen rows or columns do not exist.
        MissingExtraError
            If the library for its format is not installed: Pillow, python-calamine or h5py.
        """
        return self.open(None, expected)


scan = Scan
# The values of options that have a few words, as their types state them.
HINTS = get_type_hints(reading.ReadingOptions)
CHOICES = {
    name: words for name, hint in HINTS.items() for kind in get_args(hint) if (words := get_args(kind))
}


def _check_path(path: Any) -> Location | tuple[Path, ...] | IO[bytes]:
    if isinstance(path, str | os.PathLike):
        return locate(os.fsdecode(path))
    if hasattr(path, "read"):
        return path  # type: ignore[no-any-return]
    if not isinstance(path, list | tuple) or not all(isinstance(item, str | os.PathLike) for item in path):
        what = f"path is a {type(path).__name__}. Allowed are a path, a list of paths of pictures"
        hint = "Arrays and frames need no scan: pass them to fit as they are."
        raise InputTypeError(f"{what}, and a binary file.", hint)
    if not path:
        raise ParameterError("path", path, "names no picture", "Give at least one path.")
    return tuple(locate(os.fsdecode(item)).path for item in path)


def _check_rows(_: str, rows: Any) -> slice:
    """Make a slice of "start:stop:step"; what it selects is known only when reading."""
    how = 'Write a range such as "0:100", "10:", ":50" or "0:100:2".'
    if isinstance(rows, str):
        match = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?", rows, re.ASCII)
        if match is None:
            raise ParameterError("rows", rows, "is not understood", how)
        rows = slice(*(None if bound is None else int(bound) for bound in match.groups()))
    if not isinstance(rows, slice):
        raise InputTypeError(f"rows is a {type(rows).__name__}.", f"{how} A slice is allowed too.")
    if rows.step is not None:
        check_integer("the step of rows", rows.step, advice=how)
    return rows


def _check_names(name: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        names = names_in(names)
    if not isinstance(names, list | tuple) or not names or not all(map(_is_name, names)):
        raise ParameterError(name, names, "holds no names", f'Give some, such as {name}="a,b".')
    return tuple(names)


def _check_pivot(name: str, names: Any) -> tuple[str, ...]:
    checked = _check_names(name, names)
    if not 2 <= len(checked) == len({*checked}) <= 3:
        how = 'Give the columns of ids, of variables and of values: pivot="ID,VARIABLE,VALUE".'
        raise ParameterError("pivot", checked, "is not three columns, or two where years are columns", how)
    return checked


def _check_corrections(name: str, cells: Any) -> tuple[str, ...]:
    """Return entries ROW:COLUMN=VALUE, also of a mapping with tuples of row and column."""
    if isinstance(cells, Mapping):
        keys = [":".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in cells]
        values = ["" if value in NO_LABEL else value for value in map(str, cells.values())]
        cells = [f"{key}={value}" for key, value in zip(keys, values, strict=True)]
    entries = _check_names(name, cells)
    for entry in entries:
        cell, _, value = entry.rpartition("=")
        try:
            well = ":" in cell and math.isfinite(float(value or 0))
        except ValueError:
            well = False
        if not well:
            how = "Write ROW:COLUMN=VALUE, where VALUE is a number, or nothing for a missing value."
            raise ParameterError("corrections", entry, "is not understood", how)
    return entries


def _check_columns(name: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) and names.startswith("@") and len(names) > 1:
        names = read_names(names[1:])
    return _check_names(name, names)


def _as_texts(entries: Any) -> Any:
    """Write numbers among entries as text, and those of columns as COLUMN=VALUE; names are checked later."""
    if isinstance(entries, Mapping):
        lists = {name: [some] if isinstance(some, str) else _as_texts(some) for name, some in entries.items()}
        return [f"{name}={value}" for name, some in lists.items() for value in some or ()]
    if entries is None or isinstance(entries, str):
        return entries
    entries = entries.tolist() if hasattr(entries, "tolist") else entries
    entries = entries if isinstance(entries, list | tuple) else [entries]
    return [str(entry) if isinstance(entry, Real) else entry for entry in entries]


def _check_name(parameter: str, name: Any) -> str:
    if not _is_name(name):
        raise ParameterError(parameter, name, "is not a name", "Name one column, or leave it out.")
    return name  # type: ignore[no-any-return]


def _check_label(name: str, label: Any) -> str | tuple[str, ...]:
    """Return one name as it is, and several as a tuple."""
    several = isinstance(label, list | tuple) or (isinstance(label, str) and "," in label)
    if not several:
        return _check_name(name, label)
    names = _check_names(name, label)
    return reading.one_name(names[0]) if len(names) == 1 else names


def _is_name(name: Any) -> bool:
    # Bytes of a command line that are no text are no name either.
    return isinstance(name, str) and name != "" and name == name.encode("utf-8", "ignore").decode()


def check_size(size: Any) -> tuple[int, int] | None:
    """Return (width, height) of ``"WIDTHxHEIGHT"`` or of two integers; None stays None.

    Raises
    ------
    ParameterError, InputTypeError
        For anything else.

    Examples
    --------
    >>> check_size("92x112")
    (92, 112)
    """
    if size is None:
        return None
    how = 'Give width and height in pixels: size="92x112".'
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d{1,9})\s*[xX]\s*(\d{1,9})\s*", size, re.ASCII)
        if match is None:
            raise ParameterError("size", size, "is not understood", how)
        size = (int(match[1]), int(match[2]))
    try:
        width, height = size
        return check_integer("width", width), check_integer("height", height)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"size={size!r} is not two integers of at least 1.", how) from error


def _lasting(table: Table, key: str | None) -> dict[str, Any]:
    """Return the options that new rows of the same kind of file need too, with the array or sheet.

    Which rows were read, and what was corrected in them, is no such option. Columns are known by the names
    of the features, and what fills missing values by the model, where there are such.
    """
    options = dict(table.origin.reading) | {"key": key} | dict.fromkeys(reading.OWN)
    if table.feature_names is not None and not options["transpose"]:
        options |= {"columns": None, "drop": None}
    if options["missing"] != "drop-rows":
        options["missing"] = None
    if not isinstance(options["labels_from"], str):
        options["labels_from"] = None
    chosen = {name: value for name, value in options.items() if value is not None and value is not False}
    return {name: _plain(value) for name, value in chosen.items()}


def _plain(value: Any) -> Any:
    """Return an option without what its names remember."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return str(value) if isinstance(value, str) else value


def _asked(options: Mapping[str, Any], labels_from: LabelPlace | None) -> tuple[str, ...]:
    """Return the chosen options as clauses; notes describe what was done with missing values."""
    scan = reading.ReadingOptions(**options)
    size, (label, *further) = scan.size or (0, 0), scan.label_columns or (scan.label,)
    others = f", {listed(further)} as metadata" if further else ""
    of_years = " and year" if scan.pivot and len(scan.pivot) == 2 else ""
    sentences = {
        "rows": f"rows {reading.slice_text(scan.rows or slice(None))} were used, counted from 0",
        "exclude": f"rows were left out: {listed(scan.exclude or ())}",
        "columns": f"the columns {listed(scan.columns or ())} were used",
        "drop": f"{listed(scan.drop or ())} {'was' if len(scan.drop or ()) == 1 else 'were'} left out",
        "id": f"row names were taken from column {scan.id!r}",
        "label": f"{label!r} was used as labels{others}",
        "weights": f"rows were weighted by column {scan.weights!r}",
        "labels_from": f"labels were joined from {labels_from}",
        "transpose": "rows and columns were swapped",
        "transform": TRANSFORMED.get(str(scan.transform), ""),
        "size": f"pictures were resized to {size[0]} x {size[1]} pixels (width x height)",
        "na_values": f"missing values were written as {listed(scan.na_values or ())}",
        "header": f"the header was line {scan.header}" if scan.header else "no line was a header",
        "skip_footer": f"{counted(scan.skip_footer or 0, 'last line was', 'last lines were')} left out",
        "skip_after_header": f"{counted(scan.skip_after_header or 0, 'line')} below the header left out",
        "pivot": f"rows of one {(scan.pivot or ('id',))[0]!r}{of_years} became one row",
        "answers": f"{listed(scan.answers or ())} became 1 to {len(scan.answers or ())}",
        "below_limit": f"entries below a limit were read as {scan.below_limit}",
        "slips": f"slips in columns of numbers were {'read as meant' if scan.slips == 'read' else 'missing'}",
        "corrections": f"cells were corrected: {listed(scan.corrections or ())}",
    }
    return tuple(sentences[name] for name in scan.given if name in sentences)


def _check_together(scan: Scan) -> None:
    for name, allowed in CHOICES.items():
        if (value := getattr(scan, name)) is not None:
            check_choice(name, value, allowed)
    named = (scan.id, *scan.label_columns, scan.weights)
    used = [*(scan.columns or ()), *(scan.drop or ()), *filter(None, named)]
    twice = [name for name, count in Counter(used).items() if count > 1]
    if twice:
        names = ", ".join(reading.COLUMN_OPTIONS[:-1])
        why = f"{names} and weights name {listed(twice)} more than once."
        hint = "A column has one use: name it once."
        raise ParameterError("columns", problem=why, hint=hint)
    for name in ("weights", "label") if scan.transpose else ():
        if getattr(scan, name) is not None:
            problem = "names a column of the file, which is a row after transpose"
            raise ParameterError(name, allowed=problem, hint="Give labels of the new rows by labels_from.")
    if scan.label is not None and scan.labels_from is not None:
        problem = "names a column of the file, and labels_from another file"
        raise ParameterError("label", allowed=problem, hint="Leave out one of them.")


# -------------------------------------------------------- lists of names


def read_names(path: str) -> list[str]:
    """Read a list of names; empty lines do not count.

    Raises
    ------
    FileError
        If it cannot be read, or is not UTF-8 text.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "features.txt"
    >>> _ = file.write_text("height\\nweight\\n")
    >>> read_names(str(file))
    ['height', 'weight']
    """
    from gramian.tables.strings import as_written

    with damage(readable(path)):
        text = Path(path).read_bytes().decode("utf-8-sig")
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return as_written([line for line in lines if line]).to_pylist()  # type: ignore[no-any-return]


# What is checked of options, and made of them, where they are given.
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "rows": _check_rows,
    "label": _check_label,
    "size": lambda _, size: check_size(size),
    "pivot": _check_pivot,
    "answers": _check_names,
    "corrections": _check_corrections,
    **dict.fromkeys(("exclude", "na_values"), lambda name, entries: _check_names(name, _as_texts(entries))),
    **dict.fromkeys(("columns", "drop"), _check_columns),
    **dict.fromkeys(("id", "weights"), _check_name),
    **dict.fromkeys(
        ("header", "skip_footer", "skip_after_header"), lambda name, n: check_integer(name, n, 0)
    ),
}
