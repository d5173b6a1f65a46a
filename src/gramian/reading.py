"""Options of reading data, declared once for Python, the command line and HTTP."""

from dataclasses import dataclass, field
from typing import Any, Literal

MissingPolicy = Literal["error", "mean", "drop-rows", "drop-columns", "em", "iterative"]
IMPUTED = ("em", "iterative")  # what PCA does with missing values that reading leaves in


class Remembered(str):
    """A name from the reading of the fitted data; in a file that lacks it, it is left out."""


def reading_option(metavar: str, help: str, shell: str = "", default: Any = None) -> Any:
    """Declare an option: its effect, and what the command line adds, both without a full stop."""
    return field(default=default, metadata={"metavar": metavar, "help": help, "shell": shell})


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options of reading: which part of the data, and how."""

    rows: Any = reading_option("A:B", "Rows A to B-1, counted from 0; also A:, :B and A:B:STEP")
    columns: Any = reading_option(
        "A,B,..", "Columns to use, by name or position", "; @FILE lists them, one per line"
    )
    drop: Any = reading_option("A,B,..", "Columns to leave out", "; also @FILE")
    id: Any = reading_option("COLUMN", "Column that names the rows")
    label: Any = reading_option(
        "A,B,..",
        "Column of labels, numbers or text; of several, the others are metadata",
        "; with --transpose a row",
    )
    labels_from: Any = reading_option("FILE[:COLUMN]", "Labels from another file, by row names or order")
    weights: Any = reading_option("COLUMN", "Column of row weights for a fit: how often each row counts")
    transpose: bool = reading_option("", "Swap rows and columns, as for genes x samples", default=False)
    missing: MissingPolicy | None = reading_option(
        "HOW",
        "Missing values: error, mean, drop-rows or drop-columns; for PCA also em or iterative, which impute",
    )
    unmatched: Literal["error", "leave-out"] | None = reading_option(
        "HOW",
        "New genotypes with variants that are absent or of unclear allele: error or leave-out",
    )
    size: Any = reading_option("WxH", "Resize pictures to this size")
    na_values: Any = reading_option("A,B,..", "Further marks of missing values in text, such as -")
