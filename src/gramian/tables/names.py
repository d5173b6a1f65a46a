"""Names of files: printing and sorting them, and recognising pictures and stores by name."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from gramian.errors import FileError

METADATA = ("zarr.json", ".zarray", ".zgroup")  # of a Zarr store
# How documents begin that may look like text.
DOCUMENTS = {
    b"%pdf-": "a PDF document",
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"{\\rtf": "a text document",
}
COPY = "copy the table in it into a spreadsheet, and save that as .xlsx or .csv"
GENES = r"ENS[A-Z]*[GTP]\d+(\.\d+)?|AT[1-5CM]G\d{5}.*|\w+_[asx]?_?at|ILMN_\d+|[NX][MR]_\d+.*|cg\d{7,8}"
GENES += r"|(gene|otu|asv|probe|feature)[-_ ]?\d+"
_ELEMENT = (
    "A[cglmrstu]|B[aehikr]?|C[adeflmorsu]?|D[bsy]|E[rsu]|F[emr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[aru]|M[dgnot]"
)
_ELEMENT += "|N[abdeiop]?|Os?|P[abdmortu]?|R[abehnu]|S[bcegimnr]?|T[abcehilm]|U|V|W|Xe|Yb?|Z[nr]"
ELEMENTS = rf"(?:(?:{_ELEMENT})\d*)+(?i:[ _-](?:err|error|sd|rsd|lod|ppm|%|\+/-|±).*)?"
PICTURE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".gif", ".tif", ".tiff", ".webp",
)  # fmt: skip


def refuse_document(head: bytes, source: str) -> None:
    """Raise an error for a document, which only looks like text."""
    begins = head[:64].lstrip().lower()
    for start, what in DOCUMENTS.items():
        if begins.startswith(start):
            raise FileError(f"{source} is not a table: it is {what}. {COPY.capitalize()}.")


def readable(name: str) -> str:
    """Return a printable form of a file name of any bytes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    # A control character in a name could rewrite what a terminal shows.
    return re.sub("[\0-\x1f\x7f-\x9f]", "\ufffd", text)


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key that puts 2.pgm before 10.pgm.

    Examples
    --------
    >>> sorted(["s10/1.pgm", "s2/10.pgm", "s2/9.pgm"], key=natural_key)
    ['s2/9.pgm', 's2/10.pgm', 's10/1.pgm']
    """
    pieces = re.split("([0-9]+)", name)
    numbers = [(len(piece.lstrip("0")), piece.lstrip("0")) for piece in pieces[1::2]]
    return (*(x for pair in zip(pieces[::2], [*numbers, (0, "")], strict=True) for x in pair), name)


def is_picture(name: str) -> bool:
    """Say whether a file is named like a picture."""
    return PurePosixPath(name).suffix.lower() in PICTURE_SUFFIXES


def is_hidden(name: str) -> bool:
    """Say whether a path of an archive or folder is hidden, or added by macOS."""
    names = PurePosixPath(name).parts
    return any(piece.startswith(".") and piece not in (".", "..") for piece in names) or ("__MACOSX" in names)


def is_zarr(folder: Path) -> bool:
    """Say whether a folder is a Zarr store, of one array or of a group of them."""
    return folder.suffix.lower() == ".zarr" or any((folder / name).is_file() for name in METADATA)


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder with nothing else in it, in natural order; else none."""
    with suppress(OSError):
        visible = [path for path in folder.iterdir() if not path.name.startswith((".", "_"))]
        if all(path.suffix.lower() == ".parquet" for path in visible):
            return sorted(visible, key=lambda path: natural_key(path.name))
    return []


def base_name(path: str) -> str:
    """Return the name of a file or folder without its place, and without ``::KEY``.

    Examples
    --------
    >>> base_name("data/flowers.npz::X")
    'flowers.npz'
    """
    return os.path.basename(path.partition("::")[0].rstrip("/\\")) or path


def are_variables(texts: Sequence[str]) -> bool:
    """Say whether texts that name rows are genes, probes, or chemical elements, which samples have.

    Examples
    --------
    >>> [are_variables(names) for names in (["Mg", "Mg Err", "SiO2"], ["B", "C", "F"], ["gene_1"])]
    [True, False, True]
    """
    there = [text.strip() for text in texts if text.strip()]
    elements = bool(there) and all(re.fullmatch(ELEMENTS, text) for text in there)
    several = any(re.match("[A-Z][a-z]", text) for text in there)  # single letters name other things too
    return (elements and several) or all(re.fullmatch(GENES, text, re.IGNORECASE) for text in there)
