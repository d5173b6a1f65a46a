"""Outputs of commands: checked before any work, written and printed."""

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from gramian.core.checks import shown_lines
from gramian.core.progress import say
from gramian.errors import FileError, ParameterError

# The suffix of a name that asks for a file, which a results folder is not; run.2024 is a folder.
FILE_SUFFIX = r"\.[a-z]\w*"


def is_model_file(out: str) -> bool:
    """Say whether ``-o`` of fit asks for a model file rather than for a results folder.

    Raises
    ------
    ParameterError
        For the name of another kind of file, and for standard output.
    """
    if out == "-":
        raise ParameterError("-o", "-", "is for tables; fit writes a .gramian file or a folder", "Name one.")
    named_folder = out.endswith(("/", os.sep)) or os.path.isdir(out)
    suffix = Path(out).suffix.lower()
    if suffix == ".gramian" and not named_folder:
        return True
    if re.fullmatch(FILE_SUFFIX, suffix) and not named_folder:
        allowed = ": fit writes a model, whose name ends in .gramian, or a folder of results"
        raise ParameterError("-o", out, allowed, f"For a folder of that name write {out}/.")
    return False


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises
    ------
    FileError
        If it is a file, or the folder that it would be made in is protected.
    """
    from gramian.core.atomic import as_file_error

    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if existing.is_symlink() and not existing.exists():
        raise FileError(f"{existing} is a link to what is not there. Remove it, or choose another name.")
    with as_file_error(folder), suppress(FileNotFoundError, NotADirectoryError):
        os.stat(folder)
    if not existing.is_dir():
        raise FileError(f"{existing} is a file, so there is no folder {folder}. Choose another name.")
    if not os.access(existing, os.W_OK):
        raise FileError(f"{folder} cannot be written: {existing} is write-protected. Choose another place.")


def check_out(
    out: str,
    *inputs: str,
    as_json: bool = False,
    ends: Sequence[str] = (),
    writes: str = "",
    name: str = "-o",
) -> None:
    """Refuse a file that cannot be written or is an input, and standard output where JSON goes there.

    Parameters
    ----------
    out : str
    *inputs : str
        As of :func:`check_not_input`.
    as_json : bool
    ends : sequence of str
        What the name may end in; anything if empty.
    writes : str
        What the command writes, such as "stability writes a figure".
    name : str
        The option.

    Raises
    ------
    FileError, ParameterError
    """
    from gramian.core.atomic import check_writable

    if ends and (suffix := Path(out).suffix.lower()) not in ends:
        printed = " A browser prints an .html file as .pdf." if suffix == ".pdf" and ".html" in ends else ""
        advice = f"Name a file that ends in {' or '.join(ends)}.{printed}"
        raise ParameterError(name, out, f": {writes}", advice)
    if out != "-":
        check_writable(out)
        check_not_input(out, *inputs)
    elif as_json:
        allowed = "and -o - both write to standard output"
        raise ParameterError("--json", allowed=allowed, hint="Name a file with -o.")


def rows_target(out: str, as_json: bool, *inputs: str, listing: str = "") -> tuple[Any, str]:
    """Return where rows are written, and "pictures" for a folder of PNG files or the format of a table.

    Parameters
    ----------
    out : str
    as_json : bool
    *inputs : str
    listing : str
        The table in a folder of pictures; other folders are refused. Without it a table is written.

    Raises
    ------
    FileError, ParameterError
        If it cannot be written there, or the name is of no table.
    """
    from gramian.report.pictures import check_picture_folder
    from gramian.report.tables import format_of
    from gramian.tables.formats.zarr import require_zarr

    if listing:
        if out == "-":
            problem = "Pictures are written as PNG files into a folder."
            raise ParameterError("-o", out, problem=problem, hint="Name it with -o.")
        folder = Path(out)
        check_place(folder)
        check_not_input(out, *inputs, replaced=list(folder.rglob("*")))
        check_picture_folder(folder, listing)
        return folder, "pictures"
    kind = "csv" if out == "-" else format_of(out)
    check_out(out, *inputs, as_json=as_json)
    if kind == "zarr":
        require_zarr(f"writing {out}")
    if out != "-":
        return out, kind
    return (_Terminal() if sys.stdout.isatty() else sys.stdout.buffer), kind


def check_pictures(table: Any, out: str) -> None:
    """Refuse a table whose rows cannot be written as pictures.

    Raises
    ------
    ParameterError
    """
    if not table.in_memory or table.picture_shape is None:
        why = "is a table" if table.in_memory else "is too large for one"
        allowed = f"names a folder of pictures, but {table.source} {why}"
        raise ParameterError("-o", out, allowed, "Name a .csv, .parquet, .npy or .zarr file instead.")


def write_content(name: str | Path, content: Any) -> None:
    """Write a file at once, or not at all; or to standard output."""
    from gramian.core.atomic import atomic_write

    if name == "-":
        sys.stdout.write(content.decode())
        return
    with atomic_write(name) as file:
        file.write(content)


def check_results(folder: Path, *inputs: str) -> None:
    """Refuse a folder that results cannot be written to.

    Raises
    ------
    GramianError
    """
    from gramian.report.results import check_folder, own_files

    check_place(folder)
    check_folder(folder)
    check_not_input(str(folder), *inputs, replaced=[folder / name for name in own_files(folder)])


def write_results(folder: Path, result: Any, report: bool) -> list[str]:
    """Write the folder of the results of a fit, and return the names of the files."""
    from gramian.report import results

    written = results.write_results(folder, result.fitted, report)
    for note in written.notes:
        say(f"gramian: {note}")
    return [str(folder / name) for name in written.files]


class _Terminal:
    """Writes a table to a terminal, with control characters as escapes; files and pipes keep them."""

    def write(self, content: bytes) -> None:
        sys.stdout.write(shown_lines(content.decode("utf-8", "surrogateescape")))


def check_not_input(out: str, *inputs: str, replaced: Sequence[Path] = ()) -> None:
    """Refuse to write over what is read, under whatever name.

    Parameters
    ----------
    out : str
    *inputs : str
        Files and folders, perhaps with ``::KEY``, and ``-`` for standard input.
    replaced : sequence of Path
        Files in the folder ``out`` that may be replaced or removed.

    Raises
    ------
    ParameterError
        If an input is the output, one of these files, or a folder of them in the output.
    """
    inside = {folder for path in replaced for folder in path.parents if folder.is_relative_to(out)}
    for name in inputs:
        if _is_same(name, Path(out)):
            advice = "Choose another name for the output."
            raise ParameterError("-o", out, "is an input of this command", advice)
        for path in (*replaced, *inside):
            if _is_same(name, path):
                raise ParameterError("-o", out, f"would replace the input {path}", "Choose another folder.")


def _is_same(name: str, path: Path) -> bool:
    """Return whether an input is a file or folder; pipes and devices may be read and written at once."""
    file = name.rpartition("::")[0] if "::" in name and not os.path.exists(name) else name
    try:
        same = os.path.samefile(sys.stdin.fileno() if name == "-" else file, path)
        return same and (path.is_file() or path.is_dir())
    except (AttributeError, OSError, ValueError):  # not there; standard input may be closed, or no file
        return False


def answer(as_json: bool, facts: Any, text: object, file: TextIO | None = None) -> None:
    """Print a result: facts as JSON, or text, which may go to another stream."""
    if as_json:
        print_json(facts)
    else:
        print(shown_lines(text), file=file)


def print_json(facts: Any) -> None:
    """Print valid JSON, in ASCII: it is the same in every encoding, and controls no terminal."""
    from gramian.core.checks import plain

    text = json.dumps(plain(facts), indent=2, allow_nan=False)
    print(text.replace("\x7f", "\\u007f"))
