"""What a table suggests before a fit: uses of columns, what to leave out, scaling, missing values, kernel."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln, ndtri

from gramian.core.checks import check_choice, counted, first_few, percent, slices
from gramian.core.records import FloatArray, Members
from gramian.errors import DataError, GramianError
from gramian.statistics import imputation, units
from gramian.statistics.associations import associated
from gramian.tables.cells import is_number
from gramian.tables.codes import codes_of
from gramian.tables.column_features import chance, tokens
from gramian.tables.long import YEAR
from gramian.tables.metadata import as_metadata
from gramian.tables.names import are_variables
from gramian.tables.preview import MOST_GROUPS, WIDEST, Column, Preview
from gramian.tables.reading import ReadingOptions, one_name
from gramian.tables.roles import Role, is_date, preview_of, roles_of
from gramian.tables.scan import Scan
from gramian.tables.table import Table
from gramian.tables.treatment import with_transform

Method = Literal["pca", "kernel-pca"]
METHODS: tuple[Method, ...] = ("pca", "kernel-pca")
PLURALS = {
    "holes": "columns that miss many values",
    "copy": "copies",
    "text": "columns of text",
    "odd": "odd columns",
}
LARGEST = 1e100  # number that distances are computed of
FEWEST = 10  # rows from which integers that count rows, or differ in all rows, are no coincidence
MOST_ODD = 5  # columns beside those along an axis, or answers
# Columns of one scale, its largest number, times which others go beyond it.
RATED, HIGHEST, BEYOND = 5, 11, 3.0
FEW_GROUPS, NEARLY = 8, 0.75  # as many as colours tell apart; share of the best label that is as good
FEW_ROWS = 5  # of each group of a label with more groups
# Kinds of labels, the best first; roles of numbers that name groups.
TEXTS, CODES, MANY, PAIRS, TIMES = range(5)
GROUPING = ("code", "identifier", "counter", "place", "time")
# Shares of missing entries from which a column stays only if others determine it, and leaves.
HOLES, MOST_HOLES = 0.3, 0.6
DETERMINED = 0.3  # correlation with another column from which it says something about what is missing
ENTRIES, NOTHING = 1 << 22, 1e-12  # correlations at a time; product of norms of what is constant
INFINITE = ["inf", "-inf"]  # what the option na_values calls them
MARKED = 0.05  # largest share of texts among numbers that stand for missing values
ORDINARY = 10  # times as many columns in which a code is a value like others, from which it is none
COPY, COPIED = 9, 3  # digits in which a column is another one, in any unit; its fewest distinct values
# Skewness and ratio of the ends of the median column, and share of columns that logarithms improve.
SKEWED, DECADES, BETTER = 2.0, 100.0, 0.8
COUNTED = ("log1p", "logcpm")  # transforms of counts; the second one brings rows to one depth
DEEP_ROWS, DEEPER, FOLLOWED = 4, 1.5, 0.5  # rows, ratio of their sums and r2 with PC1 from which depth counts
IMPUTED = 20_000  # entries on which the number of components that impute is chosen
MOST_IMPUTING = 8
MOST_SHOWN, MOST_NAMED = 8, 12  # columns in a question; names of those to leave out in a line
# Of samples beside a table: their suffixes, how many files are looked at, and bytes of one.
SHEETS, MOST_SHEETS, LARGEST_SHEET = (".csv", ".tsv", ".txt", ".xlsx"), 20, 1 << 20
KNOWN = {field.name for field in fields(ReadingOptions)}
ADDED = ("drop", "na_values", "exclude")  # to what a user chose


GENES = re.compile("genes?|geneid|symbol|ensembl|probe(set)?|transcript|otu|asv|protein|peptide|locus|taxon")
BLOCKS = ("lfq", "maxlfq", "intensity", "abundance", "quantity", "area")  # of proteins, the best first
SAMPLES = r"(sample|gsm|[sed]rr|tcga|patient|cell|ctrl|control|treated|tumou?r|normal|wt|ko)[-_. ]?\w*\d.*"


@dataclass(frozen=True)
class Proposal:
    """A choice that a table suggests; nothing applies it unless its reader does.

    Attributes
    ----------
    option : str
        An option of :func:`gramian.scan` ("id", "label", "labels_from", "drop", "missing", "transform",
        "transpose", "pivot", "answers", "na_values", "slips", "exclude"), or a parameter of
        :class:`gramian.PCA` or :class:`gramian.KernelPCA` ("scale", "n_components", "kernel", "gamma").
    value : object
        Its value: a column, ``"drop-rows"``, ``"unit"``, True, a number.
    why : str
        The reason, as a clause.
    evidence : mapping of str to object
        The numbers that decided, as values for JSON. Of a column to leave out, ``reason`` is its role,
        "copy", "remainder", "empty" or "holes". ``automatic`` row names are those that a reader takes anyway.
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
    doubtful : tuple of Role
        Columns that stay, and may be no measures: the reader decides.
    alone : str
        The only column that stays, of several; else "".
    """

    items: tuple[Proposal, ...] = ()
    doubtful: tuple[Role, ...] = ()
    alone: str = ""

    @property
    def reading(self) -> dict[str, Any]:
        """Options of :func:`gramian.scan`."""
        result: dict[str, Any] = {}
        for option, value in ((one.option, one.value) for one in self.items if one.option in KNOWN):
            if option == "drop":
                result.setdefault("drop", []).append(value)
            else:
                result[option] = one_name(value) if option == "label" else value
        return result

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of :class:`gramian.PCA` or :class:`gramian.KernelPCA`."""
        return {proposal.option: proposal.value for proposal in self.items if proposal.option not in KNOWN}

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
        return replace(self, items=tuple(filter(keep, self.items)))

    @property
    def active(self) -> Proposals:
        """Those that change something: without row names that a reader takes anyway."""
        return self.only(lambda proposal: not proposal.evidence.get("automatic"))

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
        for name in ADDED:
            if name in found:
                found[name] = [*(getattr(reading, name) or ()), *found[name]]
        return found

    def lines(self) -> list[str]:
        """Return a line each; columns that are left out for one kind of reason share a line."""
        kinds: dict[Any, list[Proposal]] = {}
        for at, proposal in enumerate(self.items):
            kind = proposal.evidence["reason"] if proposal.option == "drop" else at
            kinds.setdefault(kind, []).append(proposal)
        return [_together(kind, some) for kind, some in kinds.items()]

    def question(self) -> str:
        """Return which columns may be no measures, or that one is left, in one line; else ""."""
        if self.alone:
            texts = sum(one.evidence.get("reason") == "text" for one in self)
            instead = "Code text as 0 and 1, or use multiple correspondence analysis." if texts > 1 else ""
            return f'Only "{self.alone}" is left to analyse. {instead}'.rstrip()
        names = first_few(self.doubtful, lambda role: f'"{role.name}" ({role.otherwise}?)', most=MOST_SHOWN)
        return f"Kept, but look at {names}." if names else ""

    def __str__(self) -> str:
        lines = self.lines() or ["Nothing is proposed."]
        return "\n".join([*lines, *filter(None, [self.question()])])


def _together(kind: Any, drops: Sequence[Proposal]) -> str:
    """Return the line of a proposal, or of columns that are left out for one kind of reason."""
    if len(drops) == 1:
        return drops[0].line()
    names = [proposal.value for proposal in drops[:MOST_NAMED]]
    more = f" and {len(drops) - len(names):,} more" if len(drops) > len(names) else ""
    return f"drop={names!r}{more}: {len(drops):,} {PLURALS.get(kind, kind + 's')}, as {drops[0].why}"


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
        return with_sheet(of_scan(data, method), data)
    # Rows of a table that was read have their names and labels.
    chosen = ReadingOptions(id="", labels_from="") if isinstance(data, Table) else None
    return proposals(preview_of(data), method, chosen)


def of_scan(scan: Scan, method: Method, parameters: Mapping[str, Any] | None = None) -> Proposals:
    """Return what a file suggests besides the options and parameters that are chosen already."""

    def again(**more: Any) -> Preview | None:
        return preview_of(replace(scan, **more))

    return proposals(preview_of(scan), method, scan.options, parameters or {}, again)


def with_sheet(found: Proposals, scan: Scan) -> Proposals:
    """Return proposals with labels from the sheet of samples in the folder of a table of genes x samples."""
    read = vars(scan) | found.reading
    is_file = isinstance(scan.path, str | os.PathLike) and os.path.isfile(scan.path)
    if not is_file or not read["transpose"] or read["labels_from"] or read["label"]:
        return found
    seen, gone = preview_of(scan), (read["id"], *(read["drop"] or ()))
    columns = () if seen is None else seen.columns
    samples = [column.name for column in columns if column.sample is not None and column.name not in gone]
    near = [path for path in sorted(Path(scan.path).parent.glob("*")) if path.suffix in SHEETS]
    for path in near[:MOST_SHEETS]:
        with suppress(GramianError, OSError):
            if path.stat().st_size > LARGEST_SHEET or path.samefile(scan.path):
                continue
            sheet = as_metadata(path).keyed(samples)
            texts = [values for values in sheet.columns.values() if values.dtype.kind != "f"]
            groups = any(1 < len({*values.tolist()}) <= len(samples) / 2 for values in texts)
            groups &= "PC1" not in sheet.columns  # scores of an earlier fit
            if groups and {*samples}.issubset(sheet.row_names or ()):
                why = f"a table beside it names all {len(samples):,} samples, and groups of them"
                return replace(found, items=(*found, Proposal("labels_from", str(path), why)))
    return found


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
    >>> lines = ["bird,sex,mass,year", *(f"a{i},{'fm'[i % 2]},{i * i % 7},{2007 + i % 3}" for i in range(12))]
    >>> table = preview(io.BytesIO("\\n".join(lines).encode()))
    >>> for proposal in proposals(table):
    ...     print(proposal.option, proposal.value, "because", proposal.why)
    id bird because "bird" has another text in every row
    label sex because "sex" names 2 groups of rows
    drop year because "year" looks like a time: its name says so and it lies within 2007 to 2009, as years do
    """
    reading, parameters = reading or ReadingOptions(), parameters or {}
    if seen is None or seen.genotypes:
        return Proposals(tuple(_kernel(None, parameters)) if method == "kernel-pca" else ())
    seen = replace(seen, marks={}, slips={}, odd_rows=(), answers=((), ())) if again is None else seen
    items, changed = list[Proposal](), dict[str, Any]()
    # Each is sought in the table that those before have changed.
    for finders in ((_slips, _marks), (_odd_rows,), (_answers,), (_long,)):
        found = [proposal for find in finders if (proposal := find(seen, reading)) is not None]
        more = {proposal.option: proposal.value for proposal in found}
        more |= {name: (*(getattr(reading, name) or ()), *more[name]) for name in ADDED if name in more}
        other = again(**changed, **more) if found and again is not None else None
        items += found
        if other is not None or "na_values" in more:
            seen, reading, changed = other or seen, replace(reading, **more), changed | more
            if "pivot" in more:
                reading = replace(reading, id=more["pivot"][0], labels_from="")  # nothing else names rows
    if set(INFINITE) & set(reading.na_values or ()):
        seen = replace(seen, columns=tuple(map(_with_infinite_missing, seen.columns)))
    table = _Table(seen, method, reading, parameters)
    return Proposals((*items, *table.proposals()), table.doubtful, table.alone)


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
        self.doubtful: tuple[Role, ...] = ()
        self.alone, self.block = "", _block(self.free)
        self.roles = {role.name: role for role in roles_of(seen)}
        totals = [role for role in self.roles.values() if "total" in (role.role, role.otherwise)]
        copies = _copies([one for one in self.free if one.sample is not None]) if totals else ()
        copied = {name for copy in copies for name in (copy.value, copy.evidence["of"])}  # no sums
        plain = (replace(role, role="measure", otherwise="") for role in totals if role.name in copied)
        self.roles |= {role.name: role for role in plain}
        self.no_measure = {
            column.name: (role.role, role.why)
            for column in self.free
            if column.name not in self.block
            and (role := self.roles[column.name]).role != "measure"
            and column.sample is not None
            # Of columns without names, or of some rows, some are constant by chance.
            if role.role != "constant" or not column.distinct or (seen.whole and seen.named)
        }
        self.names_rows = self._id() if reading.id is None else None
        self.swaps = not reading.transpose and self._is_swapped()

    def proposals(self) -> Iterator[Proposal]:
        """Yield what is proposed."""
        swapped = bool(self.swaps or self.reading.transpose)
        uses = list(self._uses(swapped))
        yield from uses
        used = {self.reading.id, *(use.value for use in uses if use.option in ("id", "label"))}
        drops, left, whole = self._left_out(used, swapped)
        if self.wanted is None:
            self.alone = left[0].name if len(left) == 1 < self.seen.width else ""
            kept = [self.roles[candidate.name] for candidate in left if not self.alone]
            doubts = [role.role if role.name in self.no_measure else role.otherwise for role in kept]
            doubted = zip(kept, doubts, strict=True)
            self.doubtful = tuple(replace(role, otherwise=doubt) for role, doubt in doubted if doubt)
        if not left:
            yield from _kernel(None, self.parameters) if self.method == "kernel-pca" else ()
            return
        yield from drops
        transform = self._transform(left, swapped, whole) if self.reading.transform is None else None
        yield from [transform] if transform else []
        counts = transform is not None and transform.value in COUNTED
        left = left if transform is None or counts else _transformed(left, transform.value)
        unit, deviations = None, None
        if not swapped and not whole and self.reading.transform is None:
            unit, deviations = self._units(left, counts)
        deviations = deviations if unit else None
        yield from self._missing(left, deviations, swapped)
        yield from [unit] if unit else []
        if self.method == "kernel-pca":
            yield from _kernel(None if swapped else _sample(left, deviations), self.parameters)

    def _uses(self, swapped: bool) -> Iterator[Proposal]:
        """Yield what rows are, and which columns name or label them."""
        names_rows = self.names_rows
        if self.swaps and names_rows is not None:
            why = f'"{names_rows.value}" names genes, elements or the like, and samples are usually rows'
            yield Proposal("transpose", True, why, {"rows": self.rows, "columns": self.seen.width})
        if names_rows is not None:
            yield names_rows
        used = {self.reading.id if names_rows is None else names_rows.value}
        free = self.reading.label is None and self.reading.labels_from is None and not swapped
        if free and (label := self._label(used)) is not None:
            yield label

    def _left_out(self, used: set[Any], swapped: bool) -> tuple[list[Proposal], list[Column], dict[str, Any]]:
        """Return the columns to leave out, those that stay, and evidence that these are parts of a whole."""
        candidates = [column for column in self.free if column.name not in used]
        drops = [] if self.wanted is not None else list(self._drops(candidates))
        numbers = [one for one in candidates if one.sample is not None and one.distinct]
        numbers = [one for one in numbers if self.wanted is None or one.name in self.wanted]
        reasons = {drop.value: drop.evidence["reason"] for drop in drops}
        left = [candidate for candidate in numbers if candidate.name not in reasons]
        # Text cannot stay; numbers do where nothing else would be left, last those that name rows.
        for sure in ({"holes"}, {*reasons.values()} - {"identifier", "counter"}, {*reasons.values()}):
            left = left or [candidate for candidate in numbers if reasons[candidate.name] in sure]
        stay = {column.name for column in left}
        drops = [drop for drop in drops if drop.value not in stay]
        summed = self.seen.named and self.wanted is None and not swapped and self.rows >= FEWEST
        sums, whole = _sums(left) if summed else ([], dict[str, Any]())
        gone = {total.value for total in sums}
        return drops + sums, [candidate for candidate in left if candidate.name not in gone], whole

    def _transform(self, left: Sequence[Column], swapped: bool, whole: Mapping[str, Any]) -> Proposal | None:
        """Return the transform that counts, parts of a whole, or skewed amounts need."""
        if not self.block and _are_counts(left):
            samples = _sample(left).T if swapped else _sample(left)
            why, evidence = "whole numbers without an upper end, and skewed: counts", depth_effect(samples)
            deep = evidence["ratio"] >= DEEPER and evidence["r2"] >= FOLLOWED
            if deep:
                why += (
                    f". Sums of rows differ {evidence['ratio']:.3g}-fold, and decide PC1 of their logarithms "
                    f"(r2 = {evidence['r2']:.2f}) unless they are brought to one depth"
                )
            evidence["largest"] = max(column.high or 0.0 for column in left)
            return Proposal("transform", COUNTED[deep], why, evidence)
        plain = self.every and self.rows >= FEWEST
        if plain and whole:
            why = f"columns are parts of a whole and sum to {whole['sum']}"
            why += "; zeros have no log-ratio" if whole["zeros"] else ""
            return Proposal("transform", "sqrt" if whole["zeros"] else "clr", why, whole)
        if not plain or not (skewed := _wants_logarithms(left)):
            return None
        why = f"positive, over powers of ten, and skewed: {skewed['skewness']:.2g} in the median column"
        return Proposal("transform", "log", why, skewed)

    # ------------------------------------------------------------ uses of columns

    def _id(self) -> Proposal | None:
        """Return the column that names the rows."""
        free = [column for column in self.free if self.wanted is None or column.name not in self.wanted]
        if sum(column.sample is not None for column in free) == 1:  # which is what there is to analyse
            free = [column for column in free if column.sample is None or column.name == self.seen.row_names]
        texts = [one for one in free if one.sample is None and one.distinct == self.rows]
        texts = [one for one in texts if max(map(len, one.first)) < WIDEST]
        for column in free:
            # Names say more than numbers that a program wrote beside the rows.
            if column.name == self.seen.row_names and not (column.counts and texts and self.rows >= FEWEST):
                what = "text" if column.sample is None else "number"
                why = "counts the rows" if column.counts else f"has another {what} in every row"
                facts = _facts(column) | {"automatic": True}
                return Proposal("id", column.name, f"{self._called(column)} {why}", facts)
        best: list[tuple[int, int, Column, str]] = []
        for index, column in enumerate(free if self.rows >= FEWEST else []):
            kind, why = self.no_measure.get(column.name, ("", ""))
            differ = column.distinct == self.rows
            if among_numbers(column):
                continue
            if column.sample is None and not is_date(column):
                if differ or (index == 0 and 2 * column.distinct > self.rows):
                    best.append((0, index, column, f"has {column.distinct:,} texts in {self.rows:,} rows"))
            elif differ and (is_date(column) or kind == "time"):
                best.append((2, index, column, "is a time, another one in every row"))
            elif differ and kind in ("identifier", "counter"):
                best.append((1, index, column, why))
        if not best:
            return None
        _, _, column, why = min(best, key=lambda candidate: candidate[:2])
        return Proposal("id", column.name, f"{self._called(column)} {why}", _facts(column))

    def _label(self, used: set[str | None]) -> Proposal | None:
        """Return the column whose groups are few: text, a code, or zeros and ones; times come last."""
        most, best = min(MOST_GROUPS, self.rows // 2), []
        numbers = [column for column in self.free if self.roles[column.name].role == "measure"]
        pairs = [column for column in numbers if column.whole and column.distinct == 2 and self.seen.named]
        for index, column in enumerate(self.free):
            role = self.roles[column.name]
            if column.name in used or (self.wanted is not None and column.name in self.wanted):
                continue
            if column.sample is None and not among_numbers(column):
                rank = TIMES if is_date(column) else TEXTS if column.distinct <= most else MANY
            elif role.role in GROUPING:
                rank = TIMES if role.role == "time" else CODES
            elif 2 * len(pairs) <= len(numbers) <= 2 * units.FEW and column in pairs:
                rank = PAIRS
            else:
                continue
            few = self.rows // FEW_ROWS if rank == MANY else most
            if 2 <= column.distinct <= few and 2 * column.missing <= self.rows:
                doubt = role.confidence if rank == PAIRS else 0.0
                best.append(((rank, column.distinct > FEW_GROUPS, doubt, index), column))
        if not best:
            return None
        first = min(key for key, _ in best)
        tied = [column for key, column in best if key[:3] == first[:3]]
        shares = list(map(self._explained_share, tied)) if len(tied) > 1 else [0.0]
        least = NEARLY * max(shares)  # the first one that explains nearly as much as the best
        column = next(column for column, share in zip(tied, shares, strict=True) if share >= least)
        why = f'"{column.name}" names {column.distinct} groups of rows'
        return Proposal("label", column.name, why, _facts(column))

    def _explained_share(self, column: Column) -> float:
        """Return the mean share of the variance of measures that groups explain beyond chance."""
        measures = [one for one in filter(_has_some, self.free) if self.roles[one.name].role == "measure"]
        if column.texts is None or not measures:
            return 0.0
        X = _sample(measures)
        _, at, sizes = np.unique(column.texts, return_inverse=True, return_counts=True)
        groups = np.where(sizes[at] >= FEW_ROWS, column.texts, "")  # one wild row is no group
        found = associated(groups, np.nan_to_num(X - np.nanmean(X, axis=0)))
        if isinstance(found, str):
            return 0.0
        return max(0.0, float(np.mean(found.r2)) - (found.levels - 1) / (found.rows - 1))

    def _drops(self, columns: Sequence[Column]) -> Iterator[Proposal]:
        """Yield the columns that are no measurement, or have none."""
        numbers: list[Column] = []
        measures = (column for column in self.free if column.sample is not None)
        others = [column for column in measures if column.name not in self.no_measure]
        holes = [column for column in others if HOLES < column.missing / self.rows <= MOST_HOLES]
        determined = _determined(holes, others)
        for column in columns:
            kind, why = self.no_measure.get(column.name, ("", ""))
            share = column.missing / self.rows
            if is_date(column):
                kind, why = "time", "holds dates or times"
            elif column.sample is None:
                odd = among_numbers(column)
                # The text may be further down than the first entries.
                such = "" if is_number(odd) else f', such as "{odd}"'
                kind, why = "text", f"holds text among numbers{such}" if odd else "holds text"
            elif self.block and column.name not in self.block:
                kind = "other column"
                why = f"is none of {len(self.block)} columns such as {_quoted(self.block[:1])}"
            elif not kind and share > HOLES and self.seen.whole and self.rows >= FEWEST:
                kind = "" if column.name in determined else "holes"
                why = f"has no value in {percent(share)} of the rows"
            if kind:
                yield Proposal("drop", column.name, f"{self._called(column)} {why}", _facts(column, kind))
            else:
                numbers.append(column)
        yield from self._beside_a_block(numbers)
        if self.seen.named and self.rows >= FEWEST:
            yield from _copies(numbers)

    def _beside_a_block(self, numbers: Sequence[Column]) -> Iterator[Proposal]:
        """Yield the few columns beside many that are neighbours on an axis, or answers of one scale."""
        names = {column.name for column in numbers}
        stems = ["" if is_number(column.name) else column.name.rstrip("0123456789") for column in numbers]
        most = max(stems, key=Counter(stems).__getitem__, default="")
        some = [column for column, stem in zip(numbers, stems, strict=True) if stem == most]
        along, what = {column.name for column in some}, "columns along an axis"
        axis = len(some) >= units.AXIS and units.column_axis([column.name for column in some]) is not None
        if not axis and not (some and units.neighbours(_sample(some))):  # R names a spectrum X1, X2, ...
            along, what = _of_one_scale(numbers)
        if self.seen.named and 0 < len(names - along) <= min(MOST_ODD, len(along) - 1):
            for column in (column for column in numbers if column.name not in along):
                why = f'"{column.name}" is none of the {len(along):,} {what}'
                yield Proposal("drop", column.name, why, _facts(column, "odd"))

    def _is_swapped(self) -> bool:
        """Return whether rows are genes, and columns samples."""
        name = self.names_rows.value if self.names_rows else None
        column = next((column for column in self.free if column.name == name), None)
        numbers = [column for column in self.free if column.sample is not None]
        numbers = [column for column in numbers if not self.block or column.name in self.block]
        if column is None or column.sample is not None or len(numbers) < 3:
            return False
        genes = are_variables(column.first) or bool(self.block)
        # "symbol" names shares too, and "Probe" is German for sample: samples have one unit.
        genes |= any(map(GENES.fullmatch, tokens(column.name))) and self._units(numbers)[0] is None
        samples = sum(bool(re.fullmatch(SAMPLES, column.name, re.IGNORECASE)) for column in numbers)
        return bool(genes or (samples > 0.8 * len(numbers) and self.rows > 2 * len(numbers)))

    # ------------------------------------------------------------ numbers

    def _called(self, column: Column) -> str:
        return f'"{column.name}"' if self.seen.named else f"column {column.name}"

    def _units(
        self, used: Sequence[Column], counts: bool = False
    ) -> tuple[Proposal | None, FloatArray | None]:
        """Return unit variance if columns have different units, of counts by their names; and deviations."""
        deviations = [column.deviation for column in used]
        if not self.every or None in deviations or self.parameters.get("center") is False:
            return None, None
        values = np.array(deviations, dtype=np.float64)
        names = {self._called(column): column.name for column in used}
        called, given = [*names], [column.unit for column in used]
        sample, why, evidence = _sample(used), "", dict[str, Any]()
        if not counts:
            why, evidence = units.unit_difference(called, values, sample, given)
        ratio = float(values.max() / (values.min() or 1.0))
        threefold = ratio >= units.THRICE and self.seen.named
        if not why and threefold and units.different_quantities(called, sample):
            why = f"deviations of columns differ {ratio:,.0f}-fold, and nothing says that they share a unit"
            evidence = {"columns": [], "ratio of deviations": ratio}
        if not why and values.all() and (beyond := units.beyond_answers(sample))[1]:
            first = beyond[0]
            evidence = {"columns": [called[j] for j in beyond[1]], "ratio of deviations": ratio}
            go = "goes" if len(beyond[1]) == 1 else "go"
            why = f"{first_few(evidence['columns'], str)} {go} beyond the answers of {called[first]}"
            why += f", {used[first].low:g} to {used[first].high:g}"
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
            yield _imputing(_sample(used, deviations, IMPUTED), self.rows)

    def _can_impute(self, used: Sequence[Column]) -> bool:
        parameters = self.parameters
        number = parameters.get("n_components", 2)
        whole = isinstance(number, int) and 1 <= number < min(self.rows - 1, len(used))
        plainly = parameters.get("center") is not False
        solver = parameters.get("solver") in (None, "auto", "covariance", "krylov")
        return self.every and whole and plainly and solver and len(used) >= 3 and self.rows >= FEWEST


# ---------------------------------------------------------------- rules for one column


def _of_one_scale(columns: Sequence[Column]) -> tuple[set[str], str]:
    """Return the columns of answers, whole numbers up to a small one, if others are far beyond."""
    ranges = {column.name: (column.low or 0.0, column.high or 0.0) for column in columns if column.whole}
    (low, high), count = Counter(ranges.values()).most_common(1)[0] if ranges else ((0.0, 0.0), 0)
    beyond = [column.low for column in columns if (column.high or 0.0) > BEYOND * high]
    no_counts = low == 1 or all(least is not None and least > high for least in beyond)  # counts begin at 0
    if count < RATED or low not in (0, 1) or not low + 1 < high <= HIGHEST or not (beyond and no_counts):
        return set(), ""
    found = {name for name, ends in ranges.items() if low <= ends[0] <= ends[1] <= high}
    return found, f"columns of whole numbers from {low:.0f} to {high:.0f}"


def among_numbers(column: Column) -> str:
    """Return an entry of a column of text that is hardly one; "" unless most entries look like numbers."""
    shown = [text for text in column.first if text] if column.kind == "text" and not is_date(column) else []
    # <=20 and >40 beside 20-40 are groups.
    odd = [text for text in shown if not is_number(text) or text[:2] in ("<=", ">=")]
    return (odd or shown or [""])[0] if 2 * len(odd) < len(shown) else ""


def correlations(x: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the correlations of a vector with columns; 0 with constant ones."""
    x, Y = (array / (np.abs(array).max(axis=0, keepdims=True) + (array == 0).all(axis=0)) for array in (x, Y))
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    norms = np.sqrt((x @ x) * (Y**2).sum(axis=0))
    return np.asarray(np.divide(x @ Y, norms, out=np.zeros(Y.shape[1]), where=norms > 0))


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
    X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
    X *= np.sign(X[np.abs(X).round(COPY).argmax(axis=0), np.arange(X.shape[1])])
    firsts = dict[bytes, int]()
    for j, (x, there) in enumerate(zip(X.T.round(COPY) + 0.0, ~holes.T, strict=True)):
        if (first := firsts.setdefault(x.tobytes() + there.tobytes(), j)) == j:
            continue
        ways = gammaln(len(x) + 1) - gammaln(np.unique(sample[:, j], return_counts=True)[1] + 1).sum()
        if ways < np.log(100 * len(some) ** 2):  # of ordering its values: sparse counts agree by chance
            continue
        column, original = some[j], some[first].name
        same = np.array_equal(sample[:, first], sample[:, j], equal_nan=True)
        how, more = ("the same as", "") if same else ("a multiple of", ", plus a constant")
        why = f'"{column.name}" is {how} "{original}"{more}'
        yield Proposal("drop", column.name, why, {**_facts(column, "copy"), "of": original})


def _sums(columns: Sequence[Column]) -> tuple[list[Proposal], dict[str, Any]]:
    """Return columns to leave out that follow from a sum; or of columns that all are parts, the evidence."""
    if len(columns) < 3 or units.neighbours(sample := _sample(columns)):
        return [], {}
    sizes, drops = np.nansum(sample, axis=0), list[Proposal]()
    out, used = set[int](), set[int]()
    for equation in units.sums(sample):
        about = "" if equation.exact else "about "
        if equation.total is not None and len(equation.parts) == len(columns):
            zeros = sum(each.low == 0 for each in columns)
            return [], {"sum": f"{about}{equation.total:.6g}", "zeros": zeros}
        at = max(equation.parts, key=lambda j: sizes[j]) if equation.column is None else equation.column
        rest = sorted({*equation.parts} - {at})
        if at in out or (out & {*rest} and (at in used or equation.total is not None)):
            continue  # what it follows from was left out itself
        out, used = out | {at}, used | {*rest}
        names = ("the sum of " if len(rest) > 1 else "") + _quoted(columns[j].name for j in rest)
        how = names if equation.total is None else f"{equation.total:.6g} minus {names}"
        kind = "total" if equation.total is None else "remainder"
        facts = _facts(columns[at], kind) | {"of": [columns[j].name for j in rest]}
        drops.append(Proposal("drop", columns[at].name, f'"{columns[at].name}" is {about}{how}', facts))
    return drops, {}


def _wants_logarithms(columns: Sequence[Column]) -> dict[str, float]:
    """Return how skewed positive columns are that logarithms make more normal, or nothing."""
    if len(columns) < 2 or not all((column.low or 0.0) > 0 and column.distinct > 1 for column in columns):
        return {}
    sample = _sample(columns)
    skewness = float(np.median(_skewness(sample / np.nanmax(sample, axis=0))))
    ends = float(np.median([column.high / column.low for column in columns if column.high and column.low]))
    if skewness <= SKEWED or ends < DECADES or units.same_range(sample) or units.neighbours(sample):
        return {}
    better = np.mean([_normality(np.log(x)) > _normality(x) for x in sample[:: 1 + len(sample) // 250].T])
    return {"skewness": skewness, "ratio": ends} if better >= BETTER else {}


def _normality(x: FloatArray) -> float:
    """Return the correlation of the ordered values with normal scores (Shapiro and Francia 1972)."""
    x = np.sort(x[np.isfinite(x)])
    return float(correlations(ndtri((np.arange(len(x)) + 0.625) / (len(x) + 0.25)), x[:, None])[0])


def _transformed(columns: Sequence[Column], kind: Any) -> list[Column]:
    X = with_transform(Table(_sample(columns)), kind).values
    deviations = np.nanstd(X, axis=0, ddof=1).tolist()
    changed = zip(columns, X.T, deviations, strict=True)
    return [replace(column, sample=x, deviation=s) for column, x, s in changed]


def _block(columns: Sequence[Column]) -> list[str]:
    """Return the columns of one quantity of proteins, of several of each sample; none in other tables."""
    blocks: dict[str, dict[str, str]] = {}
    for name in (column.name for column in columns if column.sample is not None):
        for cut in re.finditer(r"[\s._]+", name):
            blocks.setdefault(name[: cut.start()].casefold(), {})[name[cut.end() :]] = name
    alike = Counter(frozenset(block) for block in blocks.values())
    several = {head: some for head, some in blocks.items() if len(some) >= 3 and alike[frozenset(some)] > 1}

    def rank(prefix: str) -> tuple[int, int]:
        found = [BLOCKS.index(word) for word in tokens(prefix) if word in BLOCKS]
        return min(found, default=len(BLOCKS)), -len(several[prefix])

    best = min(several, key=rank, default="")
    return list(several[best].values()) if set(BLOCKS).intersection(tokens(best)) else []


def _has_some(column: Column) -> bool:
    return column.sample is not None and bool(np.isfinite(column.sample).any())


def _determined(columns: Sequence[Column], others: Sequence[Column]) -> set[str]:
    """Return those columns of whose entries another column says something, whose holes are at its mean."""
    columns, others = ([*filter(_has_some, some)] for some in (columns, others))
    if not columns or len(others) < 2:
        return set()
    result, index = set(), {other.name: k for k, other in enumerate(others)}
    X, Y = (_sample(some) for some in (columns, others))
    X, Y = (array / np.nanmax(np.abs(array), axis=0).clip(np.finfo(np.float64).tiny) for array in (X, Y))
    X, Y = X - np.nanmean(X, axis=0), Y - np.nanmean(Y, axis=0)
    there, known = np.isfinite(X).astype(np.float64), np.isfinite(Y).astype(np.float64)
    X, Y = np.nan_to_num(X), np.nan_to_num(Y)
    for batch in slices(len(columns), max(1, ENTRIES // len(others))):
        both = there[:, batch].T @ known  # rows
        sums, squares = there[:, batch].T @ Y / both.clip(1), there[:, batch].T @ Y**2
        norms = np.sqrt((X[:, batch] ** 2).sum(axis=0)[:, None] * (squares - both * sums**2).clip(0))
        between = np.abs(X[:, batch].T @ Y - X[:, batch].T @ known * sums)
        r = np.divide(between, norms, out=np.zeros_like(norms), where=norms > NOTHING)
        for column, rows, r_of, n in zip(columns[batch], there[:, batch].sum(axis=0), r, both, strict=True):
            r_of[index.get(column.name, slice(0))] = 0.0
            tests = int((n > 0).sum()) - (column.name in index)
            if rows >= FEWEST and tests and r_of.max() > max(DETERMINED, chance(rows, tests)):
                result.add(column.name)
    return result


def _are_counts(columns: Sequence[Column]) -> bool:
    """Return whether all columns are whole, not negative, and most of them skewed without an upper end."""
    varying = [column for column in columns if column.distinct > 1]
    if len(varying) < 2 or not all(column.whole and (column.low or 0.0) >= 0 for column in varying):
        return False
    flags = [column.distinct == 2 and column.low == 0 and column.high == 1 for column in varying]
    others = [column.low == 0 for column, flag in zip(varying, flags, strict=True) if not flag]
    if any(flags) and 2 * sum(others) < len(others):  # where few counts are ever above 1, others are ever 0
        return False
    sample = _sample(varying)
    sample = sample[:, np.nanmin(sample, axis=0) < np.nanmax(sample, axis=0)]  # of some rows, or finite
    if not sample.size:
        return False
    if units.same_range(sample) and np.nanmax(sample) <= 255:  # pixels and ratings
        return False
    mean, high = np.nanmean(sample, axis=0), np.nanmax(sample, axis=0)
    lopsided = _skewness(sample / high) > 1
    open_ended = (high >= 20) & (high >= 3 * mean) & (np.nanmin(sample, axis=0) < mean / 3)
    if (lopsided & open_ended).mean() >= 2 / 3:
        return True
    # Genes in the columns, and few samples: their levels are skewed, and not each of them.
    there = sample[np.isfinite(sample)]
    skewed = _skewness(there / there.max()) > 2 and there.max() >= 20
    return len(varying) > units.FEW and skewed and not units.neighbours(sample)


def depth_effect(counts: FloatArray) -> dict[str, float]:
    """Return how much the sums of rows differ, and the r2 of their logarithms with PC1 of log(1 + x).

    Parameters
    ----------
    counts : ndarray of shape (n, d)
        Not negative; rows with missing values are left out.
    """
    counts = counts[np.isfinite(counts).all(axis=1)]
    counts = counts[counts.sum(axis=1) > 0]
    if len(counts) < DEEP_ROWS or counts.shape[1] <= units.FEW:
        return {"ratio": 1.0, "r2": 0.0}
    depths, logs = np.log(counts.sum(axis=1)), np.log1p(counts)
    logs -= logs.mean(axis=0)
    first = np.linalg.eigh(logs @ logs.T)[1][:, -1]
    r = float(correlations(first, depths[:, None])[0])
    return {"ratio": float(np.exp(np.ptp(depths))), "r2": r * r}


def _skewness(X: FloatArray) -> Any:
    """Return the skewness of each column, 0 of a constant one."""
    C = X - np.nanmean(X, axis=0)
    squares, cubes = np.nanmean(C**2, axis=0), np.nanmean(C**3, axis=0)
    return np.divide(cubes, squares**1.5, out=np.zeros_like(cubes), where=squares > 0)


def _marks(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return what stands for missing values in columns of numbers: few texts, codes, and infinity."""
    wanted, few, chosen = _free(seen, reading), max(1, MARKED * seen.rows), set(reading.na_values or ())
    free = [column for column in seen.columns if column.name in wanted]
    texts = [name for name, some in seen.marks.items() if name in wanted and sum(some.values()) <= few]
    times = sum((Counter(seen.marks[name]) for name in texts), Counter[str]())
    but = " and ".join(f'"{text}" ({counted(n, "time")})' for text, n in times.items())
    clauses, found, block = [(texts, "are", f"numbers but for {but}")], [*times], _block(free)
    zeros = [column.name for column in free if column.name in block and column.low == 0 and "0" not in chosen]
    if zeros:
        clauses.append((zeros, "have", '0, which means "not measured" in tables of proteins'))
        found.append("0")
    for code, names in _codes(free, chosen).items():
        elsewhere = _have(code, [column for column in free if column.name not in names])
        if len(elsewhere) > ORDINARY * len(names):
            continue
        but = f" (a value like others in {_quoted(elsewhere)})" if elsewhere else ""
        apart = "apart from all other values, as a code of missing ones"
        clauses.append((names, "have", f"{code}, {apart}{but}"))
        found += [f"{name}={code}" for name in names] if elsewhere else [code]
    infinite = [] if chosen.intersection(INFINITE) else [(column.name, column.infinite) for column in free]
    beyond = {name: int(np.bitwise_count(bits).sum()) for name, bits in infinite if bits is not None}
    clauses.append(([*beyond], "have", counted(sum(beyond.values()), "infinite value")))
    of_one = {"are": "is", "have": "has"}
    sentences = (
        f"{_quoted(some)} {of_one[verb] if len(some) == 1 else verb} {what}"
        for some, verb, what in clauses
        if some
    )
    found += INFINITE if beyond else ()
    columns = list(dict.fromkeys(name for some, *_ in clauses for name in some))
    return Proposal("na_values", found, "; ".join(sentences), {"columns": columns}) if found else None


def _slips(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return that cells of columns of numbers are read as what they are most likely meant to be."""
    wanted = _free(seen, reading)
    cells = [(name, *cell) for name, some in seen.slips.items() if name in wanted for cell in some]
    if not cells or reading.slips is not None:
        return None
    row = "row {} of " if seen.whole else ""
    told = [f'"{text}" in {row.format(at)}"{name}" is most likely {meant}' for name, at, text, meant in cells]
    why = first_few(told, str, most=MOST_SHOWN)
    return Proposal("slips", "read", why, {"columns": list(dict.fromkeys(name for name, *_ in cells))})


def _free(seen: Preview, reading: ReadingOptions) -> set[str]:
    """Return columns that may be numbers."""
    wanted = {column.name for column in seen.columns} if reading.columns is None else set(reading.columns)
    return wanted.difference(reading.label_columns, (reading.id, reading.weights), reading.drop or ())


def _odd_rows(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return rows that are no cases: sums and means of others, and quality controls."""
    if not seen.odd_rows or reading.transpose or reading.pivot or _long(seen, reading):
        return None
    if _Table(seen, "pca", reading, {}).swaps:  # rows would be others
        return None
    why = first_few(seen.odd_rows, lambda row: f'"{row[1]}" {row[2]}', most=MOST_SHOWN)
    entries = [f"{name}={value}" for name, value, _ in seen.odd_rows]
    return Proposal("exclude", entries, why, {"columns": list({name: None for name, *_ in seen.odd_rows})})


def _codes(columns: Sequence[Column], chosen: Collection[str]) -> dict[str, list[str]]:
    """Return numbers that stand for missing values, and their columns."""
    found: dict[str, list[str]] = {}
    for column in columns:
        for code in (f"{number:.12g}" for number in codes_of(column)):
            if not {code, f"{column.name}={code}"}.intersection(chosen):
                found.setdefault(code, []).append(column.name)
    return found


def _have(code: str, columns: Iterable[Column]) -> list[str]:
    """Return the columns that have a number."""
    return [one.name for one in columns if one.sample is not None and (one.sample == float(code)).any()]


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
    if seen.long is None or any(getattr(reading, option) for option in chosen):
        return None
    id, variable, value = seen.long
    why = f'each row has one value, of the variable that "{variable}" names'
    if YEAR.fullmatch(value):
        (year,) = (column for column in seen.columns if column.name == value)
        why = (
            f'each row has a variable that "{variable}" names, and a column for each year. {value} has most'
            f' values, in {percent(1 - year.missing / seen.rows)} of rows; "{id},{variable}" takes all years'
        )
    return Proposal("pivot", list(seen.long), why, {"columns": list(seen.long)})


def _answers(seen: Preview, reading: ReadingOptions) -> Proposal | None:
    """Return the ordered answers in words that several columns have."""
    (order, names), chosen = seen.answers, ("columns", "answers", "transpose", "pivot")
    free = {*names} - {*reading.label_columns, reading.id, *(reading.drop or ())}
    if len(free) < 2 or any(getattr(reading, option) for option in chosen):
        return None
    why = f"{len(names)} columns, such as {_quoted(names[:1])}, hold answers of one scale: 1 to {len(order)}"
    return Proposal("answers", list(order), why, {"columns": list(names)})


def _imputing(X: FloatArray, rows: int) -> Proposal:
    """Return the number of components that predicts held-out entries best, but 2 for a plane."""
    some = f" on {len(X):,} of {rows:,} rows" if len(X) < rows else ""
    X = X[~np.isnan(X).all(axis=1)]
    size = float(np.nanmax(np.abs(X))) or 1.0
    X = X / size
    most = min(min(X.shape) - 2, MOST_IMPUTING if X.shape[1] <= MOST_GROUPS else MOST_IMPUTING // 2)
    held_out = imputation.HeldOut(X, np.random.default_rng(0))
    best, errors = imputation.choose_count(held_out, max(1, most), "em")
    number = max(best, min(2, X.shape[1] - 1))
    why = f"cross-validation{some} predicts held-out entries best with {counted(best, 'component')}"
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
    if sample is not None and not np.nanmax(np.abs(sample), initial=0.0) > LARGEST:
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
