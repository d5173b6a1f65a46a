"""What a table suggests before a fit: uses of columns, what to leave out, scaling, missing values, kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from scipy import special

from gramian.core.checks import check_choice, counted, first_few, percent
from gramian.core.records import FloatArray, Members
from gramian.errors import DataError
from gramian.statistics import imputation
from gramian.statistics.units import FEW, neighbours, same_range, unit_difference
from gramian.tables.as_rows import to_rows
from gramian.tables.cells import is_moment, is_number, units_of
from gramian.tables.names import are_variables
from gramian.tables.preview import Column, Preview, of_array, of_columns
from gramian.tables.reading import ReadingOptions, one_name
from gramian.tables.scan import Scan
from gramian.tables.stored import StoredRows
from gramian.tables.table import RowsRequest, Table

Method = Literal["pca", "kernel-pca"]
METHODS: tuple[Method, ...] = ("pca", "kernel-pca")
LOOK = 32 << 20  # bytes of a large file that are looked at
FEWEST = 10  # rows from which integers that count rows, or differ in all rows, are no coincidence
NAMING = 20  # rows from which consecutive integers without a telling name may name the rows
LEVEL = 0.01  # of a test
MOST_GROUPS, FEW_GROUPS = 20, 8  # groups of a label; as many as colours tell apart
HOLES = 0.3  # share of missing entries from which a column is left out
INFINITE = ["inf", "-inf"]  # what the option na_values calls them
MARKED = 0.05  # largest share of texts among numbers that stand for missing values
COPY, COPIED = 1e-10, 3  # deviation from a column that another one determines; its fewest distinct values
NEAR = 1e-8  # difference of products of such columns with a vector
IMPUTED = 20_000  # entries on which the number of components that impute is chosen
MOST_IMPUTING = 8
MOST_SHOWN = 8  # columns to leave out, each with a line of its own
KNOWN = {one.name for one in fields(ReadingOptions)}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\S+", text))


YEARS = (1000, 2200)
YEAR_WORDS = _words("year years yr jahr date datum annee année anno ano año")
# Parts of a date; those of the second line only where another column is a date too.
PARTS = {"month": 12, "monat": 12, "quarter": 4, "quartal": 4, "weekday": 7, "wochentag": 7}
SMALL_PARTS = {"day": 31, "tag": 31, "hour": 24, "stunde": 24, "minute": 60, "week": 53}
ID_WORDS = _words("id ids identifier nr no number nummer code rownames")
OF_AMOUNTS = _words("of per von pro de par")  # "number of rooms" counts, "price index per month" measures
ALONE = _words("index key barcode patient subject participant")  # telling where a name says nothing else
NAME_WORDS = _words("name names label title") | ID_WORDS | ALONE
CLASS_WORDS = _words(
    "class classes group target cluster species type label category klasse gruppe art typ diagnosis"
)
TELLING_WORDS = ID_WORDS | ALONE | YEAR_WORDS | CLASS_WORDS | set(PARTS)  # of columns that measure nothing
GENE_WORDS = _words(
    "gene genes geneid symbol ensembl probe probeset transcript otu asv protein peptide locus taxon"
)
SAMPLES = r"(sample|gsm|[sed]rr|tcga|patient|cell|ctrl|control|treated|tumou?r|normal|wt|ko)[-_. ]?\w*\d.*"


@dataclass(frozen=True)
class Proposal:
    """A choice that a table suggests; nothing applies it unless its reader does.

    Attributes
    ----------
    option : str
        An option of :func:`gramian.scan` ("id", "label", "drop", "missing", "transform", "transpose",
        "pivot", "na_values"), or a parameter of :class:`gramian.PCA` or :class:`gramian.KernelPCA` ("scale",
        "n_components", "kernel", "gamma").
    value : object
        Its value: a column, ``"drop-rows"``, ``"unit"``, True, a number.
    why : str
        The reason, as a clause.
    evidence : mapping of str to object
        The numbers that decided, as values for JSON. Of a column to leave out, ``reason`` is one of "text",
        "date", "identifier", "constant", "copy", "groups", "empty", "holes". ``automatic`` row names are
        those that a reader takes without being asked.
    """

    option: str
    value: Any
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def line(self) -> str:
        """Return the choice and the reason."""
        value = one_name(self.value) if self.option in ("label", "drop") else self.value
        value = list(value) if isinstance(value, tuple) else value
        return f"{self.option}={value!r}: {self.why}"

    def __str__(self) -> str:
        return self.line()


@dataclass(frozen=True)
class Proposals(Members[Proposal]):
    """What a table suggests, in the order in which it applies.

    Attributes
    ----------
    items : tuple of Proposal
        In the order in which they are applied.
    """

    items: tuple[Proposal, ...] = ()

    @property
    def reading(self) -> dict[str, Any]:
        """Options of :func:`gramian.scan`."""
        result: dict[str, Any] = {}
        for one in self.items:
            if one.option == "drop":
                result.setdefault("drop", []).append(one.value)
            elif one.option in KNOWN:
                result[one.option] = one_name(one.value) if one.option == "label" else one.value
        return result

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of :class:`gramian.PCA` or :class:`gramian.KernelPCA`."""
        return {one.option: one.value for one in self.items if one.option not in KNOWN}

    def only(self, keep: Callable[[Proposal], bool]) -> Proposals:
        """Return some of them.

        Parameters
        ----------
        keep : callable
            Says of a proposal whether it stays.

        Returns
        -------
        Proposals
            Those that stay.
        """
        return Proposals(tuple(filter(keep, self.items)))

    @property
    def active(self) -> Proposals:
        """Those that change something: without row names that a reader takes anyway."""
        return self.only(lambda one: not one.evidence.get("automatic"))

    def merged(self, reading: ReadingOptions) -> dict[str, Any]:
        """Return the options of reading that change something, with columns that a user leaves out.

        Parameters
        ----------
        reading : ReadingOptions
            What the user chose.

        Returns
        -------
        dict
            Arguments of :func:`gramian.scan`.
        """
        found = self.active.reading
        for name in ("drop", "na_values"):
            if name in found:
                found[name] = [*(getattr(reading, name) or ()), *found[name]]
        return found

    def lines(self) -> list[str]:
        """Return a line each; of many columns to leave out, those after the eighth share one."""
        drops = [one for one in self.items if one.option == "drop"]
        rest = drops[MOST_SHOWN:] if len(drops) > MOST_SHOWN + 1 else []
        lines = [one.line() for one in self.items if one not in rest]
        if rest:
            lines.append(f"drop={[one.value for one in rest]!r}: for such reasons too")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "Nothing is proposed."


def propose(data: Any, method: Method = "pca") -> Proposals:
    """Return what a table suggests before it is fitted; nothing is applied.

    Parameters
    ----------
    data : path, Scan, data frame, Table or array of shape (n_samples, n_features)
        Options of a :func:`gramian.scan` are kept, and what they leave open is proposed. Of a file of more
        than 32 MB the first rows are looked at, and in plain text some below them.
    method : {"pca", "kernel-pca"}
        What will be fitted.

    Returns
    -------
    Proposals
        A sequence of :class:`Proposal`. ``reading`` has the options of :func:`gramian.scan`, and
        ``parameters`` those of :class:`gramian.PCA` or :class:`gramian.KernelPCA`.

    Examples
    --------
    >>> from importlib.resources import files
    >>> found = propose(files("gramian") / "examples" / "penguins.csv")
    >>> found.reading
    {'label': 'species', 'drop': ['island', 'sex', 'year'], 'missing': 'drop-rows'}
    >>> found.parameters
    {'scale': 'unit'}
    >>> print(found[-1])
    scale='unit': "body_mass_g" has 99.96 % of the variance because of its scale
    """
    check_choice("method", method, METHODS)
    if isinstance(data, str | os.PathLike):
        data = Scan(data)
    if isinstance(data, Scan):
        return of_scan(data, method)
    # Rows of a table that was read have their names and labels.
    chosen = ReadingOptions(id="", labels_from="") if isinstance(data, Table) else None
    return proposals(_in_memory(data), method, chosen)


def of_scan(scan: Scan, method: Method, parameters: Mapping[str, Any] | None = None) -> Proposals:
    """Return what a file suggests besides the options and parameters that are chosen already."""

    def again(**more: Any) -> Preview | None:
        return replace(scan, **more).preview(LOOK)

    return proposals(scan.preview(LOOK), method, scan.options, parameters or {}, again)


def proposals(
    seen: Preview | None,
    method: Method = "pca",
    reading: ReadingOptions | None = None,
    parameters: Mapping[str, Any] | None = None,
    again: Callable[..., Preview | None] | None = None,
) -> Proposals:
    """Return what a preview suggests; for pictures and genotypes, which have one unit, only a kernel.

    Parameters
    ----------
    seen : Preview or None
        None for pictures.
    method : {"pca", "kernel-pca"}
    reading : ReadingOptions, optional
        What is chosen already: such columns have a use, and such options are not proposed.
    parameters : mapping of str to object, optional
        Parameters of the model that are chosen already.
    again : callable, optional
        Returns a preview of the table with further options of reading, for a table that is long or has texts
        that stand for missing values.

    Examples
    --------
    >>> import io
    >>> from gramian.tables.preview import preview
    >>> lines = ["bird,sex,mass,year", *(f"a{i},{'fm'[i % 2]},{i * i},{2007 + i % 3}" for i in range(12))]
    >>> table = preview(io.BytesIO("\\n".join(lines).encode()))
    >>> for proposal in proposals(table):
    ...     print(proposal.option, proposal.value, "because", proposal.why)
    id bird because "bird" has another text in every row
    label sex because "sex" names 2 groups of rows
    drop year because "year" looks like a year
    """
    reading, parameters = reading or ReadingOptions(), parameters or {}
    if seen is None or seen.genotypes or reading.label_row is not None:
        return Proposals(tuple(_kernel(None, parameters)) if method == "kernel-pca" else ())
    marks = _marks(replace(seen, marks={}) if again is None else seen, reading)
    if marks is not None:
        reading = replace(reading, na_values=(*(reading.na_values or ()), *marks.value))
        again = None if again is None else partial(again, na_values=reading.na_values)
        rest = proposals((again and again()) or seen, method, reading, parameters, again)
        return Proposals((marks, *rest))
    if set(INFINITE) & set(reading.na_values or ()):
        seen = replace(seen, columns=tuple(map(_with_infinite_missing, seen.columns)))
    long = _long(seen, reading)
    if long is not None and again is not None and (pivoted := again(pivot=long.value)) is not None:
        reading = replace(reading, pivot=long.value, id=long.value[0])
        rest = proposals(pivoted, method, reading, parameters)
        return Proposals((long, *(one for one in rest if one.option != "label")))
    table = _Table(seen, method, reading, parameters)
    return Proposals((*([] if long is None else [long]), *table.proposals()))


class _Table:
    """A table and the use of each of its columns; it takes what :func:`proposals` takes."""

    def __init__(
        self, seen: Preview, method: Method, reading: ReadingOptions, parameters: Mapping[str, Any]
    ) -> None:
        self.seen, self.method, self.reading, self.parameters = seen, method, reading, parameters
        self.rows, self.every = seen.rows, seen.width == len(seen.columns) and seen.whole
        taken = {*reading.label_columns, reading.id, reading.weights, *(reading.drop or ())}
        self.free = [column for column in seen.columns if column.name not in taken]
        self.wanted = None if reading.columns is None else set(reading.columns)
        numbers = [column for column in self.free if column.sample is not None and column.distinct]
        runs = [j for j, one in enumerate(numbers) if self.rows >= NAMING and is_run(one, self.rows)]
        runs = [j for j in runs if is_unrelated(_sample(numbers), j)]
        unnamed = runs[0] if len(runs) == 1 else None  # several are measurements without signal
        empty = [one.name for one in self.free if one.sample is not None and not one.distinct]
        self.no_measure = dict.fromkeys(empty, ("empty", "holds no value"))
        for j, column in enumerate(numbers):
            kind, why = no_measurement(column, self.rows, named=seen.named)
            measured = column.unit or units_of([column.name])[0]
            if not kind and j == unnamed and not measured:
                kind, why = "identifier", NAMES_ROWS
            if kind and (kind != "constant" or (seen.whole and seen.named)):
                self.no_measure[column.name] = kind, why
        if any(kind == "date" for kind, _ in self.no_measure.values()):
            parts = [column.name for column in numbers if _is_part(column, SMALL_PARTS)]
            self.no_measure = dict.fromkeys(parts, ("date", "is a part of a date")) | self.no_measure

    def proposals(self) -> Iterator[Proposal]:
        """Yield what is proposed."""
        names_rows = self._id() if self.reading.id is None else None
        swap = not self.reading.transpose and self._is_swapped(names_rows)
        swapped = swap or self.reading.transpose
        if swap and names_rows is not None:
            why = f'"{names_rows.value}" names genes, elements or the like, and samples are usually rows'
            yield Proposal("transpose", True, why, {"rows": self.rows, "columns": self.seen.width})
        if names_rows is not None:
            yield names_rows
        used = {self.reading.id if names_rows is None else names_rows.value}
        free = self.reading.label is None and self.reading.labels_from is None and not swapped
        if free and (label := self._label(used)) is not None:
            yield label
            used.add(label.value)
        candidates = [column for column in self.free if column.name not in used]
        drops = [] if self.wanted is not None else list(self._drops(candidates))
        out = {one.value for one in drops}
        left = [one for one in candidates if one.name not in out and one.sample is not None]
        left = [one for one in left if self.wanted is None or one.name in self.wanted]
        if not left:  # text cannot stay, but numbers do where nothing else would be left
            left = [one for one in candidates if one.sample is not None and one.distinct]
            drops = [one for one in drops if one.value not in {column.name for column in left}]
        if not left:
            yield from _kernel(None, self.parameters) if self.method == "kernel-pca" else ()
            return
        yield from drops
        counts = self.reading.transform is None and _are_counts(left)
        if counts:
            evidence = {"largest": max(column.high or 0.0 for column in left)}
            why = "whole numbers without an upper end, and skewed: counts"
            yield Proposal("transform", "log1p", why, evidence)
        units, deviations = None, None
        if not swapped and not counts and self.reading.transform is None:
            units, deviations = self._units(left)
        deviations = deviations if units else None
        yield from self._missing(left, deviations, swapped)
        if units is not None:
            yield units
        if self.method == "kernel-pca":
            yield from _kernel(None if swapped else _sample(left, deviations), self.parameters)

    # ------------------------------------------------------------ uses of columns

    def _id(self) -> Proposal | None:
        """Return the column that names the rows."""
        free = [column for column in self.free if self.wanted is None or column.name not in self.wanted]
        for column in free:
            if column.name == self.seen.row_names:
                what = "text" if column.sample is None else "number"
                why = "counts the rows" if column.counts else f"has another {what} in every row"
                facts = _facts(column) | {"automatic": True}
                return Proposal("id", column.name, f"{self._called(column)} {why}", facts)
        best: list[tuple[int, int, Column, str]] = []
        for place, column in enumerate(free if self.rows >= FEWEST else []):
            kind, why = self.no_measure.get(column.name, ("", ""))
            differ = column.distinct == self.rows
            words = words_of(column.name)
            if among_numbers(column):
                continue
            if column.sample is None and not is_date(column):
                telling = words & NAME_WORDS and not column.missing and 2 * column.distinct > self.rows
                if (differ and place == 0) or telling:
                    best.append((0, place, column, f"has {column.distinct:,} texts in {self.rows:,} rows"))
            elif differ and (is_date(column) or kind == "date"):
                best.append((2, place, column, "is a date, another one in every row"))
            elif kind == "identifier" or (kind == "counter" and _tells_id(words)):
                best.append((1, place, column, why))
        if not best:
            return None
        _, _, column, why = min(best, key=lambda one: one[:2])
        return Proposal("id", column.name, f"{self._called(column)} {why}", _facts(column))

    def _label(self, used: set[str | None]) -> Proposal | None:
        """Return the column whose groups are few; years that repeat come last."""
        most, best = min(MOST_GROUPS, self.rows // 2), []
        for place, column in enumerate(self.free):
            kind, _ = self.no_measure.get(column.name, ("", ""))
            date = is_date(column) or kind == "date"
            text = column.sample is None and not among_numbers(column)
            if column.name in used or (self.wanted is not None and column.name in self.wanted):
                continue
            if 2 <= column.distinct <= most and (text or kind == "groups" or _is_year(column)):
                named = bool(words_of(column.name) & CLASS_WORDS)
                best.append(((date, not named, column.distinct > FEW_GROUPS, place), column))
        if not best:
            return None
        _, column = min(best, key=lambda one: one[0])
        why = f'"{column.name}" names {column.distinct} groups of rows'
        return Proposal("label", column.name, why, _facts(column))

    def _drops(self, columns: Sequence[Column]) -> Iterator[Proposal]:
        """Yield the columns that are no measurement, or have none."""
        numbers = []
        for column in columns:
            kind, why = self.no_measure.get(column.name, ("", ""))
            share = column.missing / self.rows
            if is_date(column):
                kind, why = "date", "holds dates or times"
            elif column.sample is None:
                odd = among_numbers(column)
                # The text may be further down than the first entries.
                such = "" if is_number(odd) else f', such as "{odd}"'
                kind, why = "text", f"holds text among numbers{such}" if odd else "holds text"
            elif not kind and share > HOLES and self.seen.whole and self.rows >= FEWEST:
                kind, why = "holes", f"has no value in {percent(share)} of the rows"
            if kind:
                yield Proposal("drop", column.name, f"{self._called(column)} {why}", _facts(column, kind))
            else:
                numbers.append(column)
        if self.seen.named and self.rows >= FEWEST:
            yield from _copies(numbers)

    def _is_swapped(self, names_rows: Proposal | None) -> bool:
        """Return whether rows are genes, and columns samples."""
        column = next((one for one in self.free if names_rows and one.name == names_rows.value), None)
        numbers = [one for one in self.free if one.sample is not None]
        if column is None or column.sample is not None or len(numbers) < 3:
            return False
        genes = are_variables(column.first)
        # "symbol" names shares too, and "Probe" is German for sample: samples have one unit.
        genes |= bool(words_of(column.name) & GENE_WORDS) and self._units(numbers)[0] is None
        samples = sum(bool(re.fullmatch(SAMPLES, one.name, re.IGNORECASE)) for one in numbers)
        return bool(genes or (samples > 0.8 * len(numbers) and self.rows > 2 * len(numbers)))

    # ------------------------------------------------------------ numbers

    def _called(self, column: Column) -> str:
        return f'"{column.name}"' if self.seen.named else f"column {column.name}"

    def _units(self, used: Sequence[Column]) -> tuple[Proposal | None, FloatArray | None]:
        """Return unit variance if columns have different units, and the deviations of the columns."""
        deviations = [column.deviation for column in used]
        if not self.every or None in deviations or self.parameters.get("center") is False:
            return None, None
        values = np.array(deviations, dtype=np.float64)
        names = {self._called(column): column.name for column in used}
        why, evidence = unit_difference(list(names), values, _sample(used), [one.unit for one in used])
        if not why:
            return None, values
        evidence["columns"] = [names[name] for name in evidence["columns"]]
        return Proposal("scale", "unit", why, evidence), values

    def _missing(
        self, used: Sequence[Column], deviations: FloatArray | None, swapped: bool
    ) -> Iterator[Proposal]:
        """Yield what is done about missing values, and the number of components that impute them."""
        if self.reading.missing is not None or not any(column.missing for column in used):
            return
        total = sum(column.missing for column in used)
        holes = [np.unpackbits(column.holes, count=self.rows) for column in used if column.holes is not None]
        any_hole, empty = np.logical_or.reduce(holes), np.logical_and.reduce(holes)
        evidence = {"missing": total, "share": total / (self.rows * len(used))}
        evidence |= {"rows": int(any_hole.sum()), "empty rows": int(empty.sum())}
        if self.every and not swapped and empty.any() and np.array_equal(empty, any_hole):
            many = counted(int(empty.sum()), "row has no measurement", "rows have no measurement")
            yield Proposal("missing", "drop-rows", many, evidence)
            return
        where = first_few([self._called(column) for column in used if column.missing], most=4)
        why = f"{counted(total, 'value is', 'values are')} missing in {where}"
        few = swapped and bool((len(used) - np.sum(holes, axis=0) < 2).any()) if holes else False
        if few or swapped or self.method == "kernel-pca" or not self._can_impute(used):
            # Filled with the mean of one value, a row that becomes a column would be constant.
            yield Proposal("missing", "drop-columns" if few else "mean", why, evidence)
            return
        yield Proposal("missing", "em", why, evidence)
        if "n_components" not in self.parameters:
            yield _imputing(_sample(used, deviations, IMPUTED))

    def _can_impute(self, used: Sequence[Column]) -> bool:
        asked = self.parameters
        number = asked.get("n_components", 2)
        whole = isinstance(number, int) and 1 <= number < min(self.rows - 1, len(used))
        plainly = asked.get("center") is not False and asked.get("max_rmse") is None
        solver = asked.get("solver") in (None, "auto", "covariance", "krylov")
        return self.every and whole and plainly and solver and len(used) >= 3 and self.rows >= FEWEST


# ---------------------------------------------------------------- rules for one column


@lru_cache(1 << 14)
def words_of(name: str) -> frozenset[str]:
    """Return the words in the name of a column.

    Examples
    --------
    >>> sorted(words_of("sampleId_2"))
    ['id', 'sample']
    """
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[^\W\d_]+", parts.casefold()))


def is_date(column: Column) -> bool:
    """Return whether a column of text holds dates or times."""
    shown = [text for text in column.first if text]
    return column.kind == "date" or (column.kind == "text" and bool(shown) and all(map(is_moment, shown)))


def among_numbers(column: Column) -> str:
    """Return an entry of a column of text that is hardly one; "" unless most entries look like numbers."""
    shown = [text for text in column.first if text and column.kind == "text" and not is_date(column)]
    # <=20 and >40 beside 20-40 are groups.
    odd = [text for text in shown if not is_number(text) or text[:2] in ("<=", ">=")]
    return (odd or shown or [""])[0] if 2 * len(odd) < len(shown) else ""


def no_measurement(column: Column, rows: int, named: bool = True) -> tuple[str, str]:
    """Return what a column of numbers is if it is no measurement, and why, as a clause; else "".

    Parameters
    ----------
    column : Column
    rows : int
    named : bool
        Whether its name says something.
    """
    words = words_of(column.name) if named else frozenset[str]()
    if column.kind == "constant":
        return "constant", "is the same in all rows"
    if column.counts and rows >= FEWEST:
        return "counter", "counts the rows"
    if not column.whole:
        return "", ""
    if _is_year(column):
        return "date", "looks like a year"
    if _is_part(column, PARTS):
        return "date", "is a part of a date"
    if named and column.sample is not None and _are_days(column):
        return "date", "looks like a date"
    if _tells_id(words) and column.distinct == rows >= FEWEST:
        return "identifier", "looks like an identifier: every row has another number"
    if words & CLASS_WORDS and 2 <= column.distinct <= min(MOST_GROUPS, rows // 5):
        return "groups", f"numbers {column.distinct} groups of rows"
    return "", ""


def _are_whole(column: Column, low: float, high: float) -> bool:
    """Return whether a column holds whole numbers between two."""
    ends = column.low, column.high
    return column.whole and None not in ends and low <= ends[0] <= ends[1] <= high  # type: ignore[operator]


def _is_year(column: Column) -> bool:
    return _are_whole(column, *YEARS) and bool(words_of(column.name) & YEAR_WORDS)


def _is_part(column: Column, parts: Mapping[str, int]) -> bool:
    largest = max((most for word, most in parts.items() if word in words_of(column.name)), default=0)
    return _are_whole(column, 0, largest) and (column.high or 0) > 1


def _are_days(column: Column) -> bool:
    """Return whether numbers are days as 20240131."""
    assert column.sample is not None
    there = column.sample[~np.isnan(column.sample)]
    months, days = there // 100 % 100, there % 100
    years = (there >= 1000 * 18_001) & (there < 1000 * 21_001)
    return bool(years.all() and ((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())


NAMES_ROWS = "counts the rows in another order and relates to no other column"


def _tells_id(words: AbstractSet[str]) -> bool:
    """Return whether the words of a name say that a column names rows."""
    return bool(words) and (words <= ALONE or bool(words & ID_WORDS and not words & OF_AMOUNTS))


def is_run(column: Column, rows: int) -> bool:
    """Return whether a column holds consecutive whole numbers, in any order."""
    ends = column.whole and column.distinct == rows and column.low is not None and column.high is not None
    return bool(ends and column.high - column.low == rows - 1)  # type: ignore[operator]


def is_unrelated(values: FloatArray, j: int) -> bool:
    """Return whether a column without gaps correlates with no other one, of two at least, beyond chance."""
    if values.shape[1] < 3:
        return False
    others = np.delete(values, j, axis=1)
    others = np.where(np.isnan(others), np.nanmean(others, axis=0), others)
    return float(np.abs(correlations(values[:, j], others)).max()) < chance(len(values), others.shape[1])


def correlations(x: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the correlations of a vector with columns; 0 with constant ones."""
    x, Y = (one / (np.abs(one).max(axis=0, keepdims=True) + (one == 0).all(axis=0)) for one in (x, Y))
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    norms = np.sqrt((x @ x) * (Y**2).sum(axis=0))
    return np.asarray(np.divide(x @ Y, norms, out=np.zeros(Y.shape[1]), where=norms > 0))


def chance(n: int, tests: int) -> float:
    """Return a correlation that so many independent columns exceed in 1 of 100 tables (Fisher's z)."""
    return float(np.tanh(-special.ndtri(LEVEL / (2 * tests)) / np.sqrt(max(n - 3, 1))))


# ---------------------------------------------------------------- rules for several columns


def _copies(columns: Sequence[Column]) -> Iterator[Proposal]:
    """Yield columns that an earlier one determines exactly: equal, or in another unit."""
    some = [column for column in columns if column.distinct >= COPIED and column.deviation]
    if len(some) < 2:
        return
    sample = _sample(some)
    holes, X = np.isnan(sample), sample / np.nanmax(np.abs(sample), axis=0)
    X = X - np.nanmean(X, axis=0)
    X = np.where(holes, 0.0, X)
    norms = np.sqrt((X**2).sum(axis=0))
    X, out = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0), dict[int, int]()
    # Columns that agree, up to their sign, have nearly the same product with any vector.
    products = np.abs(np.random.default_rng(0).standard_normal(len(X)) @ X)
    order = np.argsort(products, kind="stable")
    ends = np.flatnonzero(np.diff(products[order]) > NEAR) + 1
    for group in map(np.sort, np.split(order, ends)):
        for i, first in enumerate(group[:-1].tolist()):
            later, one = group[i + 1 :], X[:, first]
            equal = np.abs(X[:, later] - np.sign(one @ X[:, later]) * one[:, None]).max(axis=0) <= COPY
            equal &= (holes[:, later] == holes[:, [first]]).all(axis=0)
            if first not in out:
                out |= {j: first for j in later[equal].tolist() if j not in out}
    for j, first in sorted(out.items()):
        column, of = some[j], some[first].name
        same = np.array_equal(sample[:, first], sample[:, j], equal_nan=True)
        how = "is the same as" if same else "is a multiple of, plus a constant:"
        why = f'"{column.name}" {how} "{of}"'
        yield Proposal("drop", column.name, why, {**_facts(column, "copy"), "of": of})


def _are_counts(columns: Sequence[Column]) -> bool:
    """Return whether all columns are whole, not negative, and most of them skewed without an upper end."""
    varying = [column for column in columns if column.distinct > 1]
    if not varying or not all(one.whole and one.low is not None and one.low >= 0 for one in varying):
        return False
    sample = _sample(varying)
    sample = sample[:, np.nanmin(sample, axis=0) < np.nanmax(sample, axis=0)]  # of some rows, or finite
    if not sample.size:
        return False
    if same_range(sample) and np.nanmax(sample) <= 255:  # pixels and ratings
        return False
    mean, high = np.nanmean(sample, axis=0), np.nanmax(sample, axis=0)
    lopsided = _skewness(sample / high) > 1
    open_ended = (high >= 20) & (high >= 3 * mean) & (np.nanmin(sample, axis=0) < mean / 3)
    if (lopsided & open_ended).mean() >= 2 / 3:
        return True
    # Genes in the columns, and few samples: their levels are skewed, and not each of them.
    there = sample[np.isfinite(sample)]
    skewed = _skewness(there / there.max()) > 2 and there.max() >= 20
    return len(varying) > FEW and skewed and not neighbours(sample)


def _skewness(X: FloatArray) -> Any:
    """Return the skewness of each column, 0 of a constant one."""
    C = X - np.nanmean(X, axis=0)
    squares, cubes = np.nanmean(C**2, axis=0), np.nanmean(C**3, axis=0)
    return np.divide(cubes, squares**1.5, out=np.zeros_like(cubes), where=squares > 0)


def _marks(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return what stands for missing values in columns that are used as numbers: few texts, and infinity."""
    used = {*reading.label_columns, reading.id, reading.weights, *(reading.drop or ())}
    most, wanted = max(1, MARKED * seen.rows), seen.marks if reading.columns is None else reading.columns
    free = {name: some for name, some in seen.marks.items() if name in wanted and name not in used}
    found = {name: some for name, some in free.items() if sum(some.values()) <= most}
    beyond = {
        one.name: int(np.bitwise_count(one.infinite).sum())
        for one in ([] if set(INFINITE) & set(reading.na_values or ()) else seen.columns)
        if one.infinite is not None and one.name not in used
        if reading.columns is None or one.name in reading.columns
    }
    if not found and not beyond:
        return None
    texts = list(dict.fromkeys(text for some in found.values() for text in some))
    times = [sum(some.get(text, 0) for some in found.values()) for text in texts]
    but = " and ".join(f'"{text}" ({counted(n, "time")})' for text, n in zip(texts, times, strict=True))
    are = "is" if len(found) == 1 else "are"
    why = [f"{_quoted(found)} {are} numbers but for {but}"] if found else []
    if beyond:
        have, many = "has" if len(beyond) == 1 else "have", sum(beyond.values())
        why.append(f"{_quoted(beyond)} {have} {counted(many, 'infinite value')}")
        texts += INFINITE
    return Proposal("na_values", texts, "; ".join(why), {"columns": [*found, *beyond]})


def _quoted(names: Iterable[str]) -> str:
    return first_few(list(names), lambda name: f'"{name}"')


def _with_infinite_missing(column: Column) -> Column:
    if column.infinite is None or column.holes is None:
        return column
    missing = column.missing + int(np.bitwise_count(column.infinite).sum())
    return replace(column, holes=column.holes | column.infinite, missing=missing, infinite=None)


def _long(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return the pivot of a table that names a variable in each row."""
    chosen = ("columns", "id", "label", "drop", "weights", "transpose", "pivot")
    if seen.long is None or any(getattr(reading, one) for one in chosen):
        return None
    why = f'each row has one value, of the variable that "{seen.long[1]}" names'
    return Proposal("pivot", list(seen.long), why, {"columns": list(seen.long)})


def _imputing(X: FloatArray) -> Proposal:
    """Return the number of components that predicts held-out entries best, but 2 for a plane."""
    X = X[~np.isnan(X).all(axis=1)]
    size = float(np.nanmax(np.abs(X))) or 1.0
    X = X / size
    most = min(min(X.shape) - 2, MOST_IMPUTING if X.shape[1] <= MOST_GROUPS else MOST_IMPUTING // 2)
    held_out = imputation.HeldOut(X, np.random.default_rng(0))
    best, errors = imputation.choose_count(held_out, max(1, most), "em")
    number = max(best, min(2, X.shape[1] - 1))
    why = f"cross-validation predicts held-out entries best with {counted(best, 'component')}"
    why += "; a plane needs 2" if number > best else ""
    evidence = {"best": best, "errors": {str(k): size * float(error) for k, error in errors.items()}}
    return Proposal("n_components", number, why, evidence | {"rows": len(X)})


def _kernel(sample: FloatArray | None, parameters: Mapping[str, Any]) -> Iterator[Proposal]:
    """Yield a kernel, and its width by rows in the units of the fit."""
    if "kernel" not in parameters:
        yield Proposal("kernel", "rbf", "a smooth kernel for numbers, whose width is the choice that matters")
    if "gamma" in parameters or parameters.get("kernel", "rbf") != "rbf":
        return
    why, evidence = "distances between rows set the width", dict[str, Any]()
    if sample is not None:
        from gramian.kernels.widths import median_distance

        X = np.where(np.isnan(sample), np.nanmean(sample, axis=0), sample)
        with suppress(DataError):  # all rows are equal, or too far apart
            evidence = {"value": 0.5 / median_distance(X) ** 2, "rows": len(X)}
            why = f"the median distance between rows sets the width (gamma {evidence['value']:.3g})"
    yield Proposal("gamma", "median", why, evidence)


# ---------------------------------------------------------------- what is looked at


def _facts(column: Column, reason: str = "") -> dict[str, Any]:
    facts = {"distinct": column.distinct, "missing": column.missing}
    return {"reason": reason} | facts if reason else facts


def _sample(columns: Iterable[Column], deviations: FloatArray | None = None, entries: int = 0) -> FloatArray:
    """Return values of some rows, over the deviations of columns; fewer for at most so many entries."""
    X = np.column_stack([column.sample for column in columns if column.sample is not None])
    X = X if deviations is None else X / np.where(deviations > 0, deviations, 1.0)
    return np.asarray(X[:: max(1, -(-X.size // entries)) if entries else 1])


def _in_memory(data: Any) -> Preview | None:
    """Return a preview of a table in memory; of one that is stored, of its first rows."""
    if isinstance(data, Table):
        if data.picture_shape is not None:
            return None
        names, values = data.feature_names, data.values
        stored = isinstance(values, StoredRows)
        values = values[: max(1, LOOK // (8 * values.shape[1]))] if stored else values
        preview = of_array(np.asarray(values) if stored else values, names, not stored)
        return replace(preview, genotypes=data.alleles is not None)
    if not hasattr(data, "collect") and hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__"):
        from gramian.tables.columns import frame_columns

        return of_columns(frame_columns(data), True)
    rows = to_rows(data, RowsRequest())
    return None if rows.picture_shape is not None else of_array(rows.in_memory(), rows.feature_names)
