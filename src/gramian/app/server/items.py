"""Models, galleries and data on disk, each in a folder of its own that appears and goes as a whole.

Anybody may have changed a store meanwhile, so descriptions are checked, and no link is followed.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gramian.app.server.fields import ID, KINDS, Kind, Reading, Refusal
from gramian.core.atomic import as_file_error, as_path, atomic_write, locked
from gramian.core.checks import amount, counted
from gramian.errors import FileError, ParameterError, shortened
from gramian.models.model_file import BEGINNING

LOG = logging.getLogger("gramian.app.server")
LONGEST = 8 << 20  # bytes of a description
MARKER, CONTENT = ".gramian-store", b'{"format": "gramian-store", "version": 2}'
METHODS = {"KernelPCA": "Kernel PCA", "FaceSpace": "Eigenfaces", "Whitener": "Whitening"}


class Item(BaseModel):
    """A model, a gallery or data. Its description is read strictly.

    Attributes
    ----------
    id, kind, name
    created : float
        Seconds since 1970.
    bytes : int
    suffix : str
        Of its file.
    about : str
        What lists say of it.
    reading : Reading
        Which part of data is read, and how.
    facts : dict
    given : bool
        Whether the server was started with it: it is read-only.
    path : str
        Its file.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    id: str = Field(pattern=ID)
    kind: Kind
    name: str = Field(min_length=1, max_length=200)
    created: float = Field(ge=0)
    bytes: int = Field(ge=0)
    suffix: str = Field(default="", pattern=r"^(\.[a-z0-9]{1,10})?$")
    about: str = Field(default="", max_length=400)
    reading: Reading = Reading()
    facts: dict[str, Any] = {}
    given: bool = False
    path: str = Field(default="", exclude=True)

    def part(self) -> dict[str, Any]:
        """Return what a process needs to open it, as a new dict."""
        return part_of(self.path, self.name, self.suffix, self.reading, self.given)


def part_of(
    path: str, name: str, suffix: str, reading: Reading | None = None, given: bool = False
) -> dict[str, Any]:
    """Return what a process needs to open a file: a body, an item, or a source of the command line."""
    part = {"path": path, "name": name, "kind": suffix, "given": given, "reading": {}}
    return part if reading is None else read_as(part, reading)


def read_as(part: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Change how a file is read, perhaps to another sheet of it."""
    options = reading.options()
    if (sheet := options.pop("sheet", None)) is not None:
        path, name = (part[one].partition("::")[0] for one in ("path", "name"))
        part |= {"path": f"{path}::{sheet}", "name": f"{name}::{sheet}", "given": True}
    part["reading"] |= options
    return part


def summary(kind: Kind, facts: dict[str, Any], size: int) -> str:
    """Return the kind and size of an item in words."""
    if "error" in facts:
        return shortened(facts["error"])
    if kind == "gallery":
        return counted(len(facts["people"]), "person", "people")
    if kind == "data":
        what = "picture" if facts.get("picture_shape") else "row"
        return ", ".join([*([counted(facts["rows"], what)] if "rows" in facts else []), amount(size)])
    model = facts["model"]
    known = METHODS.get(model["kind"], model["kind"])
    count = model.get("n_components")
    return str(known) if count is None else f"{known}, {counted(count, 'component')}"


class Items:
    """All items: those of the command line, and those in the folder of results.

    Parameters
    ----------
    root : Path
        A folder from :func:`store_folder`.
    given : sequence of Item
        Items of the command line.
    """

    def __init__(self, root: Path, given: Sequence[Item]) -> None:
        self.root, self.work, self.given = root, root / "work", list(given)
        self._skipped: set[str] = set()
        self.empty_work()

    def empty_work(self) -> None:
        """Remove the server's own temporary files, such as those of a server that was killed."""
        for path in self.work.iterdir():
            if re.match(r"[0-9a-f]{32}|vega\.js$", path.name):
                _remove(path)

    def new_path(self, suffix: str = "") -> Path:
        """Return the path of a new temporary file."""
        return self.work / f"{secrets.token_hex(16)}{suffix}"

    def all(self, kind: Kind) -> list[Item]:
        """Return all items of a kind, the oldest first."""
        ids = [path.name for path in (self.root / "items").iterdir()]
        found = [item for id in ids if (item := self._read(id)) is not None]
        every = [*self.given, *sorted(found, key=lambda item: item.created)]
        return [item for item in every if item.kind == kind]

    def find(self, kind: Kind, id: str) -> Item:
        """Return an item.

        Raises
        ------
        Refusal
            404 if there is none.
        """
        item = next((one for one in self.given if one.id == id), None) or self._read(id)
        if item is not None and item.kind == kind:
            return item
        plural = next(one for one in KINDS if KINDS[one] == kind)
        raise Refusal(404, f"There is no {kind} with this id. GET /api/v1/{plural} lists all.")

    def _read(self, id: str) -> Item | None:
        folder = self.root / "items" / id
        described = folder / "item.json"
        try:
            if not re.fullmatch(ID, id) or not folder.is_dir():
                return None
            if described.stat().st_size > LONGEST:
                raise ValueError("its description is too long")
            item = Item.model_validate_json(described.read_bytes())
            file = folder / f"content{item.suffix}"
            if item.id != id or item.given or not file.is_file():
                raise ValueError("it is not a description of this item")
            if any(path.is_symlink() for path in (folder, described, file)):
                raise ValueError("it is a link")
            return item.model_copy(update={"path": str(file)})
        except (OSError, ValueError) as error:
            if id not in self._skipped:
                self._skipped.add(id)
                why = " ".join(str(error).split())[:300]
                LOG.warning(f"{folder} was skipped and left in place: {why}")
            return None

    def put(self, source: Path, kind: Kind, name: str, facts: dict[str, Any]) -> Item:
        """Move a file into a new item.

        Raises
        ------
        Refusal
            507 if the disk is full; nothing has changed then.
        """
        size = source.stat().st_size
        item = Item(
            id=secrets.token_hex(16),
            kind=kind,
            name=name,
            created=time.time(),
            bytes=size,
            suffix=source.suffix,
            about=summary(kind, facts, size),
            reading=Reading(**facts.get("reading", {})),
            facts=facts,
        )
        building, folder = self.new_path(), self.root / "items" / item.id
        try:
            building.mkdir(mode=0o700)
            os.replace(source, building / f"content{item.suffix}")
            with atomic_write(building / "item.json", mode=0o600) as opened:
                opened.write(item.model_dump_json(exclude_defaults=True).encode())
            with open(building / f"content{item.suffix}", "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(building, folder)
        except (OSError, FileError) as error:
            raise Refusal(507, f"Nothing was saved: {error}") from error
        finally:
            _remove(building)
        return item.model_copy(update={"path": str(folder / f"content{item.suffix}")})

    def remove(self, item: Item) -> None:
        """Remove an item.

        Raises
        ------
        Refusal
            403 for one of the command line.
        """
        if item.given:
            raise Refusal(403, "This item is read-only: the server was started with it.")
        gone = self.new_path()
        os.replace(self.root / "items" / item.id, gone)
        _remove(gone)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# ------------------------------------------------------------------ the folder of results


@contextmanager
def store_folder(store: str | os.PathLike[str]) -> Iterator[Path]:
    """Create or check a folder of results; yield its absolute path while this process has it alone.

    Raises
    ------
    ParameterError
        If the name is empty.
    FileError
        If the folder holds other files, cannot be written to, or another server uses it.
    """
    root = Path(os.path.realpath(as_path(store)))
    if not os.fspath(store).strip():
        raise ParameterError("store", os.fspath(store), "is not a folder name", "Name a folder.")
    if os.path.lexists(root) and not root.is_dir():
        raise FileError(f"store {shortened(store)} is not a folder. Name a new or an empty folder.")
    with as_file_error(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root, f"store {root} is in use by another server. Stop it, or name another folder."):
        with as_file_error(root):
            _prepare(root)
        yield root


def _prepare(root: Path) -> None:
    """Check the marker of a store, or make one of an empty folder."""
    marker = root / MARKER
    if os.path.lexists(marker):
        # A link may lead elsewhere, and opening a pipe would block.
        if marker.is_symlink() or not marker.is_file() or marker.read_bytes() != CONTENT:
            raise FileError(
                f"store {root} was written by another version of gramian, or {MARKER} is damaged. "
                "Name another folder."
            )
    elif others := sorted(os.listdir(root)):
        raise FileError(
            f"store {root} contains {shortened(others[0])} but no {MARKER}, so it is not a store. "
            "Name a new or an empty folder."
        )
    for folder in (root, root / "items", root / "work"):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or not os.access(folder, os.W_OK | os.X_OK):
            problem = f"store {folder} is a link or write-protected"
            raise FileError(f"{problem}. Make it a folder of your own, or name another store.")
    if not marker.exists():
        with atomic_write(marker, mode=0o600) as file:
            file.write(CONTENT)


def given_item(source: str) -> Item:
    """Return a source of the command line; its name and first bytes give the kind.

    Raises
    ------
    FileError
        If it does not exist.
    """
    path, kind = Path(source), "data"
    if (path / "model.gramian").is_file():
        path /= "model.gramian"
    if path.suffix == ".gramian":
        kind = "model"
    elif path.is_file():
        with open(path, "rb") as file:
            kind = "gallery" if file.read(64).startswith(BEGINNING, 8) else "data"
    file_of = path if path.exists() or "::" not in source else Path(source.rpartition("::")[0])
    if not file_of.exists():
        raise FileError(f"{source}: no such file or folder. Check the name.")
    name = re.split(r"[/\\]", source.rstrip("/\\"))[-1].encode("utf-8", "replace").decode()
    return Item(
        id=secrets.token_hex(16),
        kind=kind,  # type: ignore[arg-type]
        name=name[:200],
        created=file_of.stat().st_mtime,
        bytes=file_of.stat().st_size if file_of.is_file() else 0,
        given=True,
        path=os.path.abspath(path if kind != "data" else source),
    )
