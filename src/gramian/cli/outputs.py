"""Where results go: checked before any work."""

import os
from pathlib import Path

from gramian.errors import FileError, ParameterError

__all__ = ["check_file", "check_not_input", "check_place", "is_model_file"]

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
    named_folder = out.endswith(("/", os.sep)) or Path(out).is_dir()
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
    if path.is_dir():
        raise FileError(f"{out} is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise FileError(f"{out} cannot be written: there is no folder {path.parent}. Create it first.")
    _check_access(path if path.exists() else path.parent, out)


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to.

    Raises
    ------
    FileError
        If it is a file, or the folder that it would be made in is protected.
    """
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise FileError(f"{existing} is a file, so there is no folder {folder}. Choose another name.")
    _check_access(existing, str(folder))


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
        place = Path(name.rpartition("::")[0] if "::" in name and not Path(name).exists() else name)
        if name != "-" and place.exists() and Path(out).exists() and os.path.samefile(place, Path(out)):
            raise ParameterError(f"-o {out} is what is read. Choose another name for the output.")
