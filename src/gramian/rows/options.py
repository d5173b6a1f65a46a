"""What can be asked of a file that is read, declared once: for Python, the shell and HTTP."""

from dataclasses import dataclass, field
from typing import Any, Literal


def _option(metavar: str, help: str, shell: str = "", default: Any = None) -> Any:
    """Declare an option: ``help`` is what it does, and ``shell`` what the command line has beyond that."""
    return field(default=default, metadata={"metavar": metavar, "help": help, "shell": shell})


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Which part of the data is read, and how."""

    rows: Any = _option("A:B", "Rows A to B-1, counted from 0; also A:, :B and A:B:STEP.")
    columns: Any = _option("A,B,..", "Columns to use, by name or position", "; @FILE lists them, one a line.")
    drop: Any = _option("A,B,..", "Columns to leave out", "; also @FILE.")
    id: Any = _option("COLUMN", "Column that names the rows.")
    label: Any = _option(
        "COLUMN",
        "Column to set aside as labels; may hold text. With transpose, the row.",
    )
    labels_from: Any = _option("FILE[:COLUMN]", "Labels from another file, by row names or order.")
    transpose: bool = _option("", "Swap rows and columns, as for genes x samples.", default=False)
    missing: Literal["mean", "drop-rows", "drop-columns"] | None = _option(
        "HOW", "Missing values: mean, drop-rows or drop-columns."
    )
    size: Any = _option("WxH", "Resize pictures to this size.")
    na_values: Any = _option("A,B,..", "What else stands for a missing value in text, such as -.")
