"""Options of reading data."""

from dataclasses import dataclass, fields
from typing import Any, Literal

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

    rows: Any = None
    exclude: Any = None
    columns: Any = None
    drop: Any = None
    id: Any = None
    label: Any = None
    labels_from: Any = None
    weights: Any = None
    transpose: bool = False
    transform: Transform | None = None
    missing: MissingPolicy | None = None
    unmatched: Literal["error", "leave-out"] | None = None
    size: Any = None
    na_values: Any = None
    header: int | None = None
    skip_footer: int | None = None
    pivot: Any = None
    below_limit: LimitPolicy | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are neither None nor False."""
        chosen = {one.name: getattr(self, one.name) for one in fields(ReadingOptions)}
        return {name: value for name, value in chosen.items() if value is not None and value is not False}

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
