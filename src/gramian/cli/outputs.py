"""Where results go, checked before any work, and how they are printed."""

import codecs
import json
import os
import sys
from pathlib import Path
from typing import Any

from gramian.errors import FileError, ParameterError, reason, shortened

__all__ = [
    "TABLES",
    "check_file",
    "check_not_input",
    "check_place",
    "component_table",
    "is_model_file",
    "model_lines",
    "print_json",
    "table_target",
]

TABLES = (".csv", ".parquet", ".npy")
LISTED = 10

# Names that ask for a file, which a results folder is not.
FILE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npy", ".npz", ".json", ".png", ".svg", ".md", ".zip")


def is_model_file(out: str) -> bool:
    """Say whether ``-o`` of fit asks for a model file rather than for a results folder.

    Raises
    ------
    ParameterError
        For the name of another kind of file, and for standard output.
    """
    if out == "-":
        raise ParameterError("-o - is for tables; fit writes a .gramian file or a folder. Name one.")
    named_folder = out.endswith(("/", os.sep)) or os.path.isdir(out)
    suffix = Path(out).suffix.lower()
    if suffix == ".gramian" and not named_folder:
        return True
    if suffix in FILE_SUFFIXES and not named_folder:
        raise ParameterError(
            f"-o {out}: fit writes a model, named .gramian, or a folder of results. "
            f"For a folder of that name write {out}/."
        )
    return False


def check_file(out: str) -> None:
    """Refuse a file that cannot be written.

    Raises
    ------
    FileError
        If it is a folder, or its folder is not there or protected.
    """
    path = Path(out)
    if os.path.isdir(out):
        raise FileError(f"{out} is a folder. Name a file in it.")
    if out.endswith(("/", os.sep)):
        raise FileError(f"{shortened(out)} names a folder. Name a file: leave out the {out[-1]} at the end.")
    _check_name(path)
    if not path.parent.is_dir():
        raise FileError(f"{out} cannot be written: there is no folder {path.parent}. Create it first.")
    _check_access(path if os.path.exists(path) else path.parent, out)


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises
    ------
    FileError
        If it is a file, or the folder that it would be made in is protected.
    """
    existing = folder
    while not os.path.exists(existing):
        _check_name(existing)
        if existing.is_symlink():
            raise FileError(
                f"{existing} is a link to {os.readlink(existing)}, which is not there, so there is no folder "
                f"{folder}. Choose another name, or remove the link."
            )
        existing = existing.parent
    if not os.path.isdir(existing):
        raise FileError(f"{existing} is a file, so there is no folder {folder}. Choose another name.")
    _check_access(existing, str(folder))


def table_target(out: str, as_json: bool, *inputs: str) -> tuple[Any, str]:
    """Return where a table goes and of which kind it is.

    Raises
    ------
    FileError, ParameterError
        If it cannot be written there, or the name is of no table.
    """
    from gramian.report.tables import format_of

    if out == "-":
        if as_json:
            raise ParameterError("--json and -o - both write to standard output. Name a file with -o.")
        return sys.stdout.buffer, "csv"
    kind = format_of(out)
    check_file(out)
    check_not_input(out, *inputs)
    return out, kind


def _check_name(path: Path) -> None:
    """Refuse a name that no file can have."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    except OSError as error:
        raise FileError(
            f"{shortened(path)} cannot be written: {reason(error)}. Choose another name for it."
        ) from error


def _check_access(path: Path, out: str) -> None:
    if not os.access(path, os.W_OK):
        raise FileError(f"{out} cannot be written: {path} is write-protected. Choose another place.")


def check_not_input(out: str, *inputs: str) -> None:
    """Refuse to write over what is read.

    Raises
    ------
    ParameterError
        If the output is one of the inputs.
    """
    for name in inputs:
        place = name.rpartition("::")[0] if "::" in name and not os.path.exists(name) else name
        if name != "-" and os.path.exists(place) and os.path.exists(out) and os.path.samefile(place, out):
            raise ParameterError(f"-o {out} is what is read. Choose another name for the output.")


def print_json(facts: Any) -> None:
    """Print what is valid JSON in every encoding: names as they are in UTF-8, escaped in any other."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    readable = codecs.lookup(encoding).name == "utf-8"
    print(json.dumps(facts, indent=2, ensure_ascii=not readable, allow_nan=False))


def model_lines(model: Any) -> list[str]:
    """Return what is said of every fitted model: components, plan, certificate."""
    return [*component_table(model), "", str(model.plan_), "", str(model.certificate_)]


def component_table(model: Any, count: int = LISTED) -> list[str]:
    """Return the first components as lines of a text table."""
    from gramian.report.facts import component_facts

    facts = component_facts(model)
    lines = [f"{'':8}{'eigenvalue':>14}{'std. dev.':>14}{'share':>10}{'sum':>10}"]
    columns = [
        facts[name] for name in ("component", "eigenvalue", "standard deviation", "share", "cumulative")
    ]
    for name, value, deviation, *shares in list(zip(*columns, strict=True))[:count]:
        parts = "".join(f"{'-' if share is None else f'{100 * share:.2f} %':>10}" for share in shares)
        lines.append(f"{name:8}{value:14.6g}{deviation:14.6g}{parts}")
    if model.n_components_ > count:
        lines.append(f"... and {model.n_components_ - count} more")
    return lines
