"""How a delimited text is laid out: separator, title, header, units, and notes below the table.

A plain file is recognised by its first twelve lines; more are looked at where these are no plain table.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gramian.core.checks import counted
from gramian.errors import DataError, ParameterError, shortened
from gramian.tables import cells
from gramian.tables.reading import NO_OPTIONS, ReadingOptions

# Headers that R, pandas and spreadsheets give to a column of row names. "" is the commonest.
INDEX_NAMES = ("", "rownames", "row.names", "row_names", "unnamed: 0", "__index_level_0__")
SAMPLE_LINES, MORE_LINES = 12, 200
SAMPLE_BYTES, MORE_BYTES = 1 << 24, 1 << 20
NO_HEADER = "the file has no header line, so columns are numbered from 0"
LAST_LINES, NEXT_LINES = 20, 6  # that may be notes; those below a blank line that show another table
SHOWN = (10, 30, 24)  # lines, fields and letters that a preview shows
# Earlier wins where two separators explain the text equally well: a tab is never part of a value by
# accident, a space often is.
_SEPARATORS = ("\t", ";", "|", ",", " ")
_LINE = rb"[^\r\n]*(?:\r\n|\n|\r|\Z)"
_AXIS = 5  # fewest steps of an even axis
_TITLE = 2  # cells of a title above it, such as one with a link
_DESCRIBES = re.compile(r"\S+\s.*|\{.*\}|u?int\d*|integer|float\d*|double|numeric|string|text")
_MOST_PLACES = 60  # columns whose entries decide where a table begins
_NOTE = re.compile(
    r"\W*(?:sources?|notes?|footnotes?|remarks?|legend|key|data (?:from|by|source)|last updated|copyright|"
    r"quellen?|anmerkung(?:en)?|hinweise?|stand|legende|remarques?|légende|nota|fuente|fonte)\b|"
    r"[*†‡§©#¹²³]|\(c\)",
    re.IGNORECASE,
)  # fmt: skip

_END = re.compile(
    r"\W*(?:end|eof|ende|fin)?(?: of (?:file|data|table))?\W*|[\W_]+", re.IGNORECASE
)  # of a table


class Line(NamedTuple):
    """One line of fields, which takes several lines of the file where a field holds line ends.

    Attributes
    ----------
    number : int
        Of the line where it begins, counted from 1.
    end : int
        Number of lines up to its end.
    fields : tuple of str
    """

    number: int
    end: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Attributes
    ----------
    separator : str
    names : tuple of str or None
        Its header, if it has one.
    n_fields : int
    skipped : int
        Number of lines before the first row.
    header : int
        The line of the header, counted from 1; 0 if there is none.
    units : tuple of str or None
        One for each column, "" where there is none.
    descriptions : tuple of str
        Texts of a line below the header, such as questions; none if there is no such line.
    notes : tuple of str
        What a reader of the table should know: what was left out, and why.
    plain : bool
        Whether the table begins at once.
    """

    separator: str
    names: tuple[str, ...] | None
    n_fields: int
    skipped: int = 0
    header: int = 0
    units: tuple[str, ...] | None = None
    descriptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    plain: bool = True


def detect_layout(
    data: bytes, source: str, reading: ReadingOptions = NO_OPTIONS, most: int = SAMPLE_LINES
) -> Layout:
    """Find comments, the separator, the header and the first row in the first lines.

    Parameters
    ----------
    data : bytes
        The first lines, in UTF-8.
    source : str
    reading : ReadingOptions
        With what is known of the header, and texts that stand for a missing value.
    most : int
        Number of lines to look at.

    Raises
    ------
    DataError
        If there is no line with anything in it.
    ParameterError
        If there is no such line.

    Examples
    --------
    >>> lines = "# by hand", "Plants of 2020", "", "x;y", "cm;kg", "1,5;2", "2,5;3"
    >>> layout = detect_layout("\\n".join(lines).encode(), "memory")
    >>> layout.names, layout.header, layout.units, layout.skipped
    (('x', 'y'), 4, ('cm', 'kg'), 5)
    """
    match = re.match(rb"(?:#" + _LINE + rb")*", data)
    comments = [line.lstrip(b"# \t") + b"\n" for line in match[0].splitlines()] if match else []
    rows = data[len(first_lines(data, len(comments))) :]

    def split(count: int, above: bytes | None) -> tuple[list[Line], str]:
        last = max(most, known_lines(reading) - count)
        pieces = ((above or b"") + rows)[:SAMPLE_BYTES].split(b"\n", last)[:last]
        text = b"\n".join(pieces).decode("utf-8", errors="replace")
        separator = _separator(text, last, reading.na_values or ())
        lines = split_lines(text, separator, last, count)
        if text.strip() and not any("".join(line.fields).strip() for line in lines):
            why = f"it begins with a field of more than {csv.field_size_limit()} characters"
            raise DataError(f"{source} has no rows: {why}.")
        return lines, separator

    return _below_comments(comments, split, source, reading, "line")


def layout_of_rows(rows: Sequence[Sequence[str]], source: str, reading: ReadingOptions) -> Layout:
    """Find the same in the rows of a sheet; see :func:`detect_layout`."""
    comments = [*itertools.takewhile(lambda row: row[:1] and row[0].startswith("#"), rows)]

    def split(count: int, above: Sequence[str] | None) -> tuple[list[Line], str]:
        last = max(MORE_LINES, known_lines(reading) - count)
        every = itertools.chain([] if above is None else [above], rows[len(comments) :])
        return [Line(at, at, (*row,)) for at, row in enumerate(itertools.islice(every, last), count + 1)], ","

    above = [[row[0].lstrip("# \t"), *row[1:]] for row in comments]
    return _below_comments(above, split, source, reading, "row")


def known_lines(reading: ReadingOptions) -> int:
    """Return how many lines show the header and the rows below it, where options say where it is."""
    return (reading.header or 0) + (reading.skip_after_header or 0) + SAMPLE_LINES


def _below_comments(
    comments: Sequence[Any],
    split: Callable[[int, Any], tuple[list[Line], str]],
    source: str,
    reading: ReadingOptions,
    word: str,
) -> Layout:
    """Return the layout of the lines below comments, of which one may be the header, as it is asked for."""
    header = reading.header

    def found(count: int, above: Any = None) -> Layout:
        return _Table(*split(count, above), source, reading, word).layout(count)

    if header and header <= len(comments):
        return found(header - 1, comments[header - 1])
    layout = found(len(comments))
    if comments and header is None:
        lines, _ = split(len(comments) - 1, comments[-1])
        fields = lines[0].fields if lines else ()
        plink = bool(fields) and fields[0].startswith(("FID", "IID"))  # titles, also above text alone
        if (layout.names is None or plink) and len(fields) == layout.n_fields:
            return found(len(comments) - 1, comments[-1])
    return layout


def first_lines(data: bytes, count: int) -> bytes:
    """Return so many lines from the beginning."""
    match = re.match(rb"(?:%b){%d}" % (_LINE, count), data)
    return match[0] if match else data


def _separator(text: str, most: int, na_values: Sequence[str]) -> str:
    """Return the separator that explains some lines best."""
    best = 0.0, ","
    split = {
        separator: [line.fields for line in split_lines(text, separator, most) if line.fields]
        for separator in _SEPARATORS
    }
    even = {
        separator
        for separator, rows in split.items()
        if rows and len(rows[0]) > 1 and len({*map(len, rows)}) == 1
    }
    for separator, rows in split.items():
        if separator == " " and even & {*"\t;|"}:  # spaces are part of values
            continue
        # Where another separator explains all lines, this one does not begin below the first.
        below = even and len(rows[:1] and rows[0]) < 2
        score = 0.0 if below else _score(rows, separator, na_values)
        if score > best[0] + 1e-9:
            best = score, separator
    return best[1]


def split_lines(text: str, separator: str, most: int = SAMPLE_LINES, offset: int = 0) -> list[Line]:
    """Return the lines of a text, without the last one if a quoted field in it has been cut."""
    if separator == " ":
        text = collapse_spaces(text.encode()).decode()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines: list[Line] = []
    start = offset
    # A field beyond the limit of the csv module ends the sample early.
    with contextlib.suppress(csv.Error):
        for fields in itertools.islice(reader, most):
            lines.append(Line(start + 1, offset + reader.line_num, (*fields,)))
            start = offset + reader.line_num
    return lines[:-1] if text.count('"') % 2 and len(lines) > 2 else lines


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Return how many fields the rows of the table have: those of most fields together."""
    counts = Counter(map(len, rows))
    return max(counts, key=lambda length: (counts[length] > 1, counts[length] * length), default=0)


def _score(rows: Sequence[Sequence[str]], separator: str, na_values: Sequence[str]) -> float:
    """Say how well a separator explains the rows: even lengths, and numbers between separators."""
    body = rows[1:] or rows
    width = _width(body)
    if width < 2:
        return 0.0
    table = [row for row in body if len(row) == width]
    missing = {*cells.MISSING_TOKENS, *na_values}
    fields = [field for field in map(str.strip, itertools.chain(*table)) if field not in missing]
    numbers = sum(map(bool, map(cells.number_form(separator).fullmatch, fields)))
    return len(table) / len(body) * (0.05 + numbers / max(1, len(fields)))


class _Place(NamedTuple):
    """Where a table is: the indices of its header, of the first row, and of what belongs to the header.

    Attributes
    ----------
    header : int or None
    first : int
    units : int or None
        The row of units.
    group : int or None
        The upper part of the header.
    """

    header: int | None
    first: int
    units: int | None = None
    group: int | None = None


class _Table:
    """Where a table is among the first lines of a text.

    Attributes
    ----------
    lines : list of Line
    texts : list of list of str
        What the fields of each line hold.
    filled : list of int
        The lines that hold anything.
    fields : list of tuple of str
        The fields of each line, below a name for each column.
    width : int
        Number of fields of its rows.
    typed : list of int
        Columns whose entries are mostly numbers or dates.
    """

    def __init__(
        self, lines: list[Line], separator: str, source: str, reading: ReadingOptions, word: str
    ) -> None:
        self.lines, self.separator, self.source, self.word = lines, separator, source, word
        self.reading, self.na_values = reading, reading.na_values or ()
        self._kinds = partial(cells.kinds, separator=separator, na_values=self.na_values)
        self.texts = [[*filter(None, map(str.strip, line.fields))] for line in lines]
        self.filled = [index for index, texts in enumerate(self.texts) if texts]
        if not self.filled:
            raise DataError(f"{source} has no rows: there is no text in it.")
        rows = [lines[index].fields for index in self.filled]
        self.width = width = self._ragged_width(rows) or _width(rows[1:] or rows)
        # R writes no name for the names of rows.
        self.fields = [(*[""] * (len(line.fields) == width - 1), *line.fields) for line in lines]
        body = [row for row in rows[(len(rows) + 1) // 3 :] if len(row) == width] or rows
        self.places = range(0, width, -(-width // _MOST_PLACES))
        columns = itertools.zip_longest(*[row[: width : self.places.step] for row in body], fillvalue="")
        kinds, n = self._kinds(itertools.chain(*columns)), len(body)
        some = [kinds[start : start + n] for start in range(0, len(kinds), n)]
        every = zip(self.places, some, strict=False)
        self.typed = [at for at, held in every if held.count("number") > held.count("text")]

    def _ragged_width(self, rows: Sequence[tuple[str, ...]]) -> int:
        """Return the width of a header at the top and of the row below it if a later row has another; else 0.

        Such a table is one with a wrong row, which the reader names, rather than lines above another table.
        """
        width = len(rows[0])
        odd = next((at for at, row in enumerate(rows) if len(row) != width), 0)
        if odd < 2 or width < 2 or self.filled[odd] != self.filled[odd - 1] + 1:
            return 0
        title, first, other = (self._kinds(rows[at]) for at in (0, 1, odd))
        alike = first[0] == other[0] and "number" in first and "number" in other
        return width if alike and "number" not in title else 0

    def _typed_kinds(self, index: int) -> list[str]:
        """Return what a line holds in the columns of numbers; nothing of a shorter line."""
        fields = self.fields[index]
        return [] if len(fields) < self.width else self._kinds(map(fields.__getitem__, self.typed))

    def layout(self, comments: int) -> Layout:
        """Return how the lines below comments are laid out, with what is asked for of the header."""
        header, skip = self.reading.header, self.reading.skip_after_header
        found = self._found() if header is None else self._requested(header)
        if skip is not None and found.header is not None:
            end = self.lines[found.header].end + skip
            first = next((i for i in self.filled if self.lines[i].number > end), len(self.lines))
            found = found._replace(first=first, units=found.units if first > (found.units or 0) else None)
        at, first = found.header, found.first
        around = [index for index in self.filled if index < first and index not in found]
        above = [index for index in around if at is None or index < at]
        below = around[len(above) :]
        names = None if at is None else self._names(at, found.group)
        n_fields = self.width if names is None else len(names)
        plain = not (around or found.units or found.group) and bool(self.typed) and header is None
        units = None
        if found.units is not None:
            units = tuple(map(cells.unit_of, (*self.fields[found.units], *[""] * n_fields)[:n_fields]))
        told = next((index for index in below if self._describes(index)), None)
        below = [index for index in below if index != told]
        notes: tuple[str, ...] = () if names else (NO_HEADER,)
        notes += self._said(found, above, below) if header is None else ()
        if told is not None:
            notes += (f"{self.word} {self.lines[told].number} describes the columns: {self._quoted(told)}",)
        if comments:
            many = counted(comments, "comment line was", "comment lines were")
            notes += (f"{many} left out at the top",)
        return Layout(
            self.separator,
            names,
            n_fields,
            self.lines[first - 1].end if first else 0,
            header=0 if at is None else self.lines[at].number,
            units=units,
            descriptions=() if told is None else tuple(field.strip() for field in self.fields[told]),
            notes=notes,
            plain=plain and {len(self.fields[index]) for index in self.filled} == {n_fields},
        )

    def _describes(self, index: int) -> bool:
        """Say whether a line has texts of several words for most columns."""
        texts = [re.fullmatch(r"[^{]\S*\s.*", field, re.DOTALL) for field in self.texts[index]]
        return 2 * sum(map(bool, texts)) > len(texts)

    def _requested(self, header: int) -> _Place:
        """Return the place of a table whose header is in a line, 0 for none."""
        if header == 0:
            return _Place(None, next((i for i in self.filled if self._is_row(i)), self.filled[0]))
        for index in self.filled:
            if self.lines[index].number == header:
                return self._below(index)
        problem = f"{self.word} {header} of {self.source} is empty or does not exist"
        raise ParameterError("header", header, f": {problem}", "Count lines from 1, as an editor shows them.")

    def _is_row(self, index: int) -> bool:
        return len(self.lines[index].fields) == self.width and len(self.texts[index]) >= min(2, self.width)

    def _below(self, at: int) -> _Place:
        """Return the place of a table whose header is known."""
        after = next((index for index in self.filled if index > at), len(self.lines))
        units = after if after < len(self.lines) and self._is_units(after) else None
        first = after if units is None else units + 1
        while first < len(self.lines) - 1 and self._goes_on(first, at, units):
            first += 1
        above = [index for index in self.filled if index < at]
        if units is None and above and self._is_units(above[-1]):
            units = above.pop()
        return _Place(at, first, units, above[-1] if above and self._is_upper(above[-1], at) else None)

    def _goes_on(self, index: int, at: int, units: int | None) -> bool:
        """Say whether a line belongs to the header above: kinds below units, or the axis in another unit."""
        found = self._typed_kinds(index)
        texts = found.count("text")
        kinds = units is not None or (texts > 1 and all(map(_DESCRIBES.fullmatch, self.texts[index])))
        return (kinds and texts > 0 and "number" not in found) or self._is_other_axis(index, at)

    def _is_other_axis(self, index: int, at: int) -> bool:
        """Say whether a line has the numbers of a header in another unit: linear, or one over the other."""
        if any(len(self._steps(self.fields[i])) < _AXIS for i in (index, at)):
            return False
        values, other = (np.array([float(self.fields[i][j]) for j in self.typed]) for i in (at, index))
        if not values.all() or not other.all():
            return False
        return any(abs(np.corrcoef(values, y)[0, 1]) > 1 - 1e-6 for y in (other, 1 / other))

    def _found(self) -> _Place:
        """Return the place of the table that the lines show."""
        first = next((index for index in self.filled if self._begins(index)), None)
        if first is None:  # nothing but text
            rows = [index for index in self.filled if self._is_row(index) or self._names_less(index)]
            start = (rows or self.filled)[0]
            named = len(self.filled) > 1 or not self.typed
            return _Place(start, start + 1) if named else _Place(None, start)
        above = [index for index in self.filled if index < first]
        units = [index for index in above if self._is_units(index)]
        names = [index for index in above if index not in units and self._may_name(index)] or units
        names = [index for index in names if len(self.fields[index]) == self.width] or names
        if not names:
            rows = [*itertools.takewhile(self._is_row, reversed(above))]
            return _Place(None, rows[-1] if rows else first)
        blank = max((i for i in range(first) if i not in self.filled and i < names[-1]), default=-1)
        names = [index for index in names if index > blank]
        at = max(names, key=lambda index: (len(set(self.texts[index])), -index))
        for upper, lower in itertools.pairwise(above):
            if at in (upper, lower) and lower not in units and self._is_upper(upper, lower):
                at = lower
        return self._below(at)

    def _begins(self, index: int) -> bool:
        """Say whether a line is the first row: it has numbers where the rows below have them."""
        kinds = self._typed_kinds(index)
        numbers, is_row = kinds.count("number"), len(self.lines[index].fields) == self.width
        if not numbers or kinds.count("text") > numbers or not is_row:
            return False
        below = [self.lines[line].fields for line in self.filled if line > index]
        fields, rows = self.lines[index].fields, [row for row in below if len(row) == self.width]
        if named := [line for line in self.filled if line < index and self._may_name(line)]:
            axis = len(self.typed) > _TITLE and self._is_axis(fields, rows)
            axis &= all(len(self.texts[line]) <= _TITLE for line in named)
            return not (axis or any(self._is_other_axis(index, line) for line in named))
        if not rows:
            return True
        if fields[0].strip().casefold() in INDEX_NAMES and not any(
            cells.is_missing(row[0], self.na_values) for row in rows
        ):
            return False
        odd = [at for at, kind in zip(self.typed, kinds, strict=True) if kind == "text"]
        if any("text" not in self._kinds([row[at] for row in rows]) for at in odd):
            return False
        return not (self._is_axis(fields, rows) or self._are_shares(fields, rows))

    def _is_axis(self, fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Say whether numbers name columns: years or wavelengths in order, above rows that are in none."""
        if len(self.typed) < 3 or not (steps := self._steps(fields)):
            return False
        even = max(steps) - min(steps) <= 1e-3 * abs(max(steps))
        if even and self._are_years(fields):
            return not any(map(self._are_years, rows))
        rows = rows[1:] if len(rows) > 1 and self._steps(rows[0]) else rows  # the axis in another unit
        return len(steps) >= (_AXIS if even else 20) and not any(map(self._steps, rows))

    def _are_years(self, fields: Sequence[str]) -> bool:
        return all(re.fullmatch(r"1[5-9]\d\d|2[01]\d\d", fields[index].strip()) for index in self.typed)

    def _steps(self, fields: Sequence[str]) -> list[float]:
        """Return the steps between numbers that rise or fall from column to column; none if these are not."""
        try:
            numbers = [*map(float, map(fields.__getitem__, self.typed))]
        except (ValueError, IndexError):  # of a line that is shorter
            return []
        steps = [late - early for early, late in itertools.pairwise(numbers)]
        return steps if steps and (min(steps) > 0 or max(steps) < 0) else []

    def _are_shares(self, fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
        """Say whether numbers such as 5 % or <18 name columns, above numbers without such signs."""

        def signed(row: Sequence[str]) -> Iterator[bool]:
            return (cells.digits_of(row[index]) not in ("", row[index].strip()) for index in self.typed)

        return all(signed(fields)) and not any(any(signed(row)) for row in rows)

    def _names_less(self, index: int) -> bool:
        """Say whether a line is a header of R, which has a name less than the rows have fields."""
        others = [self.lines[line].fields for line in self.filled if line > index]
        return bool(others) and all(len(row) == len(self.lines[index].fields) + 1 for row in others)

    def _names_one(self, index: int) -> bool:
        """Say whether a line names one column beside names of rows, which R writes as 1, 2, 3 or text."""
        first = [self.lines[line].fields[0] for line in self.filled if line > index]
        numbered = first == [str(number) for number in range(1, len(first) + 1)]
        return len(self.lines[index].fields) == 2 or numbered or not any(map(cells.is_number, first))

    def _may_name(self, index: int) -> bool:
        """Say whether a line may name the columns: it has text above numbers, and not in one field alone."""
        fields = self.fields[index]
        if len(self.lines[index].fields) == self.width - 1 and not self._names_less(self.filled[0]):
            return False
        if fields and len(fields) == self.width and fields[0].strip().casefold() in INDEX_NAMES:
            return len(self.texts[index]) > 1 or (self.width == 2 and self._names_one(index))
        texts = self._typed_kinds(index).count("text")
        years = len(fields) == self.width and (self._is_axis(fields, []) or self._are_shares(fields, []))
        return (texts > 0 or years) and len(self.texts[index]) >= min(2, self.width)

    def _is_units(self, index: int) -> bool:
        """Say whether a line holds units of the columns, such as kg or (mm)."""
        fields = [field.strip() for field in self.fields[index]]
        if len(fields) != self.width:
            return False
        typed = [fields[index] for index in self.typed if not cells.NOTHING.fullmatch(fields[index])]
        kinds = zip(typed, self._kinds(typed), strict=True)
        units = [text for text, kind in kinds if kind == "text" and cells.is_unit(text)]
        if not units or 5 * len(units) < 3 * len(typed):
            return False
        # Beside numbers stands nothing, or what the line is: a row of labels has a name.
        beside = [fields[at] for at in self.places if at not in self.typed and fields[at]]
        return all(re.match(cells.OF_UNITS, text) for text in beside)

    def _is_upper(self, upper: int, lower: int) -> bool:
        """Say whether a line is the upper part of a header, with names of groups of columns."""
        first, two = ([field.strip() for field in self.fields[index]] for index in (upper, lower))
        if not len(first) == len(two) == self.width or min(len(self.texts[i]) for i in (upper, lower)) < 2:
            return False
        pairs = list(zip(first, two, strict=True))
        return all(a or b for a, b in pairs) and any(b and not a for a, b in pairs)

    def _names(self, at: int, group: int | None) -> tuple[str, ...]:
        """Return the names of the columns; those that occur twice with the name of their group."""
        names = [name.strip() for name in self.fields[at]]
        if group is None:
            return tuple(names)
        counts, result, above = Counter(names), list[str](), ""
        for name, upper in zip(names, self.fields[group], strict=True):
            above = upper.strip() or above
            result.append(above if not name else f"{above} {name}" if counts[name] > 1 else name)
        return tuple(result)

    def _said(self, position: _Place, above: Sequence[int], below: Sequence[int]) -> tuple[str, ...]:
        """Say what stands around the header, and was left out."""
        at, word = position.header, self.word
        where = "" if at is None else f"{word} {self.lines[at].number}"
        notes = []
        if above:
            it = "it" if where else "the table"
            many = counted(len(above), f"{word} above {it} was", f"{word}s above {it} were")
            found = f"the header was found in {where}; " if where else ""
            notes.append(f"{found}{many} left out: {self._quoted(above[0])}")
        if position.units is not None:
            notes.append(f"units were read from {word} {self.lines[position.units].number}")
        if below:
            many = counted(len(below), f"{word} below the header was", f"{word}s below the header were")
            notes.append(f"{many} left out: {self._quoted(below[0])}")
        if at is not None and len(self.typed) > 2 and self._steps(self.fields[at]):
            notes.append(f"the numbers in {where} were read as names of columns")
        return tuple(notes)

    def _quoted(self, index: int) -> str:
        return repr(shortened(", ".join(self.texts[index]), 60))


def shown_lines(lines: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the first lines as a preview shows them: the first fields of each, cut short."""
    most, fields, letters = SHOWN
    some = [line[:fields] for line in lines[:most]]
    if max(map(len, itertools.chain(*some)), default=0) <= letters:
        return tuple(map(tuple, some))
    return tuple(tuple(shortened(field, letters) for field in line) for line in some)


def collapse_spaces(data: bytes) -> bytes:
    """Make one space of every run of blanks outside quotes, and none at the ends of a line."""
    data = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", data)
    if b'"' not in data:
        return re.sub(rb"[ \t]+", b" ", data)
    return re.sub(rb'"[^"]*"|[ \t]+', lambda m: m[0] if m[0][:1] == b'"' else b" ", data)


# -------------------------------------------------------------- notes below a table


def notes_below(rows: Sequence[Sequence[str] | None], separator: str, width: int) -> int:
    """Return how many of the last lines of a text are no rows: blank ones, and notes in one field.

    Parameters
    ----------
    rows : sequence of sequence of str or None
        The fields of each, as :func:`fields_of` returns them.
    separator : str
    width : int
        Number of columns.

    Examples
    --------
    >>> notes_below([["a", "1", "2"], ["b", "3", "4"], [], ["Source: our own"]], ",", 3)
    2
    >>> notes_below([["a", "1", "2"], ["b", "3"]], ",", 3)
    0
    """
    start = len(rows)
    while start and is_note(rows[start - 1], separator, width, apart=True):
        start -= 1
    # Below a blank line a word is a note; without one it may be the rest of a row that begins with text.
    end = next((index for index in range(start, len(rows)) if rows[index] == []), len(rows))
    begin = [row[0] for row in rows[:start] if row is not None and len(row) == width]
    apart = set(cells.kinds(begin, separator)) == {"number"}
    while end > start and is_note(rows[end - 1], separator, width, apart=apart):
        end -= 1
    return len(rows) - end


def begins_table(rows: Sequence[Sequence[str] | None], separator: str, names: Sequence[str] | None) -> bool:
    """Say whether lines below a blank one begin another table: perhaps a title, then a header, and a row.

    Examples
    --------
    >>> begins_table([["Annual"], ["", "a", "b"], ["1990", "1", "2"]], ",", ("", "a", "b"))
    True
    >>> begins_table([["Women"], ["1990", "1", "2"], ["1991", "3", "4"]], ",", ("", "a", "b"))
    False
    """
    filled = (row or [] for row in rows)
    some = [*itertools.dropwhile(lambda row: sum(map(bool, row)) < 2, filled)][:2]
    if len(some) < 2 or len(some[0]) != len(some[1]):
        return False
    header, first = ([cells.is_number(field, separator) for field in row] for row in some)
    words = all(some[0][1:]) and not any(header) and not any(map(cells.is_missing, some[0][1:]))
    return any(first) and (words or [*some[0]] == [*(names or ())])


def fields_of(line: bytes, separator: str) -> list[str] | None:
    """Return the fields of a line, none of a blank one; None if a quoted field goes on in other lines."""
    text = line.decode("utf-8", errors="replace").strip("\r\n")
    if not text.strip(f" \t{separator}"):
        return []
    if text.count('"') % 2 or len(text) > csv.field_size_limit():
        return None
    return next(csv.reader([text], delimiter=separator), [])


def is_note(fields: Sequence[str] | None, separator: str, width: int, *, apart: bool) -> bool:
    """Say whether a line below a table is blank or a note."""
    filled = [field.strip() for field in fields or () if field.strip()]
    if not filled:
        return fields is not None
    if width < 2 or cells.is_number(filled[0], separator) or cells.is_date(filled[0]):
        return False
    marked = _NOTE.match(filled[0]) is not None or _END.fullmatch(filled[0]) is not None
    if len(filled) > 1:
        numbers = any(cells.is_number(field, separator) for field in filled[1:])
        return marked and not (numbers and len(fields or ()) >= width)
    return marked or apart or len(filled[0].split()) > 3
