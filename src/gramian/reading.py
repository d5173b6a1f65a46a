"""Options of reading data, declared once for Python, the command line and HTTP."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from gramian.options import READING, flag, option

LimitPolicy = Literal["missing", "half"]
MissingPolicy = Literal["error", "mean", "drop-rows", "drop-columns", "em", "iterative"]
Transform = Literal["log1p", "sqrt", "clr"]
COLUMN_OPTIONS = ("columns", "drop", "id", "label", "weights")
TEXT_OPTIONS = ("na_values", "header", "skip_footer", "below_limit")  # of text and sheets
IMPUTED = ("em", "iterative")  # what PCA does with missing values that reading leaves in


def one_name(name: str) -> str | tuple[str, ...]:
    """Return one name as an option that takes several has it: text with a comma would be more than one."""
    return (name,) if "," in name else name


class Remembered(str):
    """A name from the reading of the fitted data; in a file that lacks it, it is left out."""


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of reading: which part of the data, and how."""

    panel: ClassVar[str] = READING

    rows: Any = option("A:B", "Rows A to B-1, counted from 0; also A:, :B and A:B:STEP.")
    exclude: Any = option(
        "A,B,..",
        "Rows to leave out: names, numbers counted from 0, or COLUMN=VALUE for all rows of a group.",
        label="the rows to leave out",
    )
    columns: Any = option(
        "A,B,..", "Columns to use, by name or position.", shell="; @FILE lists them, one per line"
    )
    drop: Any = option(
        "A,B,..", "Columns to leave out.", label="the choice to leave out", shell="; also @FILE"
    )
    id: Any = option("COLUMN", "Column that names the rows.", label="the column of row names")
    label: Any = option(
        "A,B,..",
        "Column of labels, numbers or text; of several, the others are metadata.",
        shell="; with --transpose a row",
    )
    labels_from: Any = option(
        "FILE[:COLUMN]",
        "Labels from another file, by row names or order; without COLUMN all, the others as metadata.",
        label="file of labels",
    )
    weights: Any = option("COLUMN", "Column of row weights for a fit: how often each row counts.")
    transpose: bool = flag(
        "Swap rows and columns, as for genes x samples.", label="swapping rows and columns"
    )
    transform: Transform | None = option(
        "HOW",
        "Transform the numbers: log1p or sqrt for counts, clr for parts of a whole.",
        label="the transformation of the numbers",
        suggestions=get_args(Transform),
    )
    missing: MissingPolicy | None = option(
        "HOW",
        "Missing values: error, mean, drop-rows or drop-columns; for PCA also em or iterative, which impute.",
        label="missing values",
        suggestions=get_args(MissingPolicy),
    )
    unmatched: Literal["error", "leave-out"] | None = option(
        "HOW",
        "New genotypes with variants that are absent or of unclear allele: leave-out counts them as missing, "
        "or error.",
        usual="leave-out with a warning",
        label="unmatched variants",
        local=True,
    )
    size: Any = option("WxH", "Resize pictures to this size.", label="size of pictures")
    na_values: Any = option(
        "A,B,..", "Further marks of missing values in text, such as -.", label="marks of missing values"
    )

    header: int | None = option(
        "LINE",
        "Line of the header in text or a sheet, counted from 1; 0: there is none.",
        label="header line",
    )
    skip_footer: int | None = option(
        "COUNT", "Last lines of text or a sheet to leave out; 0: none.", label="last lines to leave out"
    )
    pivot: Any = option(
        "ID,VARIABLE,VALUE", "Columns of a long table, which becomes one row for each ID.", label="long table"
    )
    below_limit: LimitPolicy | None = option(
        "HOW",
        "Entries beyond a limit of detection, such as <0.5: missing or half of the limit.",
        label="entries below a limit",
        suggestions=get_args(LimitPolicy),
    )

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns of labels in the file."""
        if self.label is None or self.transpose:
            return ()
        return self.label if isinstance(self.label, tuple) else (self.label,)

    @property
    def groups(self) -> tuple[str, ...]:
        """What ``exclude`` says of columns of the file: COLUMN=VALUE."""
        return () if self.transpose else tuple(entry for entry in self.exclude or () if "=" in entry)

    @property
    def label_row(self) -> str | None:
        """Name of the row of the file that labels its columns, where it will be transposed."""
        return self.label if self.transpose else None
