"""Items on disk: models, galleries and data, in the folders of a store that bears the server's marker.

An item is a file, a file with all its facts, and a description that names both. The description is written
last and atomically: after a crash the old state is there, and perhaps files that no description names. The
next start removes those. The server removes only names that it chose itself, and never follows a link.
Anybody may have changed a description on disk, so it is checked.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gramian.checks import amount
from gramian.errors import FULL, FileError, ParameterError, shortened
from gramian.service.bodies import check_depth, strict_json
from gramian.service.logs import LOG
from gramian.service.schemas import ID, PLURALS, Kind, Reading, Refusal
from gramian.store import atomic
from gramian.store.atomic import as_file_error, as_path, atomic_write, sync_folder

LONGEST_FACTS = 4 << 20  # bytes of the facts of an item
LONGEST_DESCRIPTION = 256 << 10  # bytes; the longest URL, which sets the reading options, is shorter
UNFINISHED = 60.0  # seconds; an older file without a description is left over from a crash
FILE = r"[0-9a-f]{32}-[0-9a-f]{8}(\.[a-z0-9]{1,10})?"
TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")
OWN = re.compile(rf"{FILE}|[0-9a-f]{{32}}\.json|{TEMPORARY.pattern}")
# Bodies, responses and temporary files of libraries; the JavaScript of Vega.
WORK = re.compile(rf"[0-9a-f]{{32}}[a-z0-9.-]{{0,40}}|{TEMPORARY.pattern}|vega\.js")
MARKER, VERSION, FOLDERS = ".gramian-store", 1, ("models", "visitors", "work")

# ------------------------------------------------------------------ records


class Stored(BaseModel):
    """Is read strictly: every field is known, of its type, and finite."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class ModelSummary(Stored):
    """What lists show of a model."""

    kind: str = Field(max_length=100)
    n_components: int | None = None
    n_features: int | None = None
    n_samples: int | None = None


class Summary(Stored):
    """What lists show of an item: sizes, and why it cannot be used."""

    rows: int | None = None
    columns: int | None = None
    picture_shape: tuple[int, ...] | None = Field(default=None, max_length=8)
    model: ModelSummary | None = None
    people_count: int | None = None
    problem: str | None = Field(default=None, max_length=200)
    error: str | None = Field(default=None, max_length=200)

    def plain(self) -> dict[str, Any]:
        """Return the known fields for JSON."""
        return self.model_dump(mode="json", exclude_none=True)


class Item(Stored):
    """A model, a gallery or data on the server. It cannot be changed, only replaced.

    Attributes
    ----------
    id, kind, name
    created : float
        Seconds since 1970.
    bytes : int
    file : str
        Its name in the folder; for an item of the command line its path.
    details : str
        All facts: the name of their file; for an item of the command line the facts themselves, as JSON.
    owner : str or None
        The visitor who added it.
    summary : Summary
    reading : Reading
        Which part of data is read, and how.
    whose : {"yours", "kept", "given"}
        A visitor's own, shared through ``--store``, or from the command line. It is not written to disk.
    """

    id: str = Field(pattern=ID)
    kind: Kind
    name: str = Field(min_length=1, max_length=200)
    created: float = Field(ge=0)
    bytes: int = Field(ge=0)
    file: str
    details: str = "{}"
    owner: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    summary: Summary = Summary()
    reading: Reading = Reading()
    whose: Literal["yours", "kept", "given"] = "yours"

    def payload(self, folder: Path) -> dict[str, Any]:
        """Return what a worker needs to open it, as a new dict."""
        given = self.whose == "given"
        return payload(Path(self.file) if given else folder / self.file, self.name, self.reading, given)


def payload(path: Path, name: str, reading: Reading | None = None, given: bool = False) -> dict[str, Any]:
    """Return what a worker needs to open a file: a body, an item, or a source of the command line."""
    part = {"path": str(path), "name": name, "kind": path.suffix, "given": given, "reading": {}}
    return part if reading is None else read_as(part, reading)


def read_as(part: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """Change how a worker reads a file, perhaps to another sheet of it.

    Raises
    ------
    Refusal
        422 for a sheet of a file that is no workbook.
    """
    options = reading.options()
    if (sheet := options.pop("sheet", None)) is not None:
        if part["kind"] not in ("", ".xlsx"):
            raise Refusal(422, "Only workbooks (.xlsx) have sheets.", "Leave it out.", field="sheet")
        path, name = (part[one].partition("::")[0] for one in ("path", "name"))
        part |= {"path": f"{path}::{sheet}", "name": f"{name}::{sheet}", "given": True}
    part["reading"] |= options
    return part


def summary_of(kind: Kind, facts: dict[str, Any]) -> Summary:
    """Return the summary of an item with these facts.

    Raises
    ------
    ValueError
        If the facts are of other types.
    """
    if "error" in facts:
        return Summary(error=shortened(facts["error"]))
    if kind == "gallery":
        return Summary(people_count=len(facts.get("people", ())))
    if kind == "model":
        model = facts.get("model", {})
        return Summary(model=ModelSummary(**{name: model.get(name) for name in ModelSummary.model_fields}))
    shape, problem = facts.get("picture_shape"), facts.get("problem")
    return Summary(
        rows=facts.get("rows"),
        columns=facts.get("columns"),
        picture_shape=None if shape is None else tuple(shape),
        problem=None if problem is None else shortened(problem),
    )


# ------------------------------------------------------------------ items in a folder


class ItemStorage:
    """A folder of items.

    Parameters
    ----------
    folder : Path
    whose : {"yours", "kept"}
    most, bytes : int, optional
        Limits on the number of items and on their bytes.
    """

    def __init__(
        self,
        folder: Path,
        whose: Literal["yours", "kept"] = "yours",
        most: float = math.inf,
        bytes: float = math.inf,
    ) -> None:
        self.folder, self.whose, self.most, self.bytes = folder, whose, most, bytes
        self._skipped: set[str] = set()
        folder.mkdir(mode=0o700, exist_ok=True)

    def items(self, kind: Kind | None = None) -> list[Item]:
        """Return all items, the oldest first; only short descriptions are read."""
        items = [item for id in _ids(dict(self._own())) if (item := self._item(id)) is not None]
        return sorted((i for i in items if kind in (None, i.kind)), key=lambda item: item.created)

    def get(self, kind: Kind, id: str) -> Item | None:
        """Return one item, or None."""
        item = self._item(id) if re.fullmatch(ID, id) else None
        return item if item is not None and item.kind == kind else None

    def facts(self, item: Item) -> dict[str, Any]:
        """Return all facts of an item; its summary where they cannot be read."""
        try:
            facts = strict_json(self._read(item.details, LONGEST_FACTS))
            check_depth(facts)
            if not isinstance(facts, dict):
                raise ValueError("it is not an object")
            return facts
        except (OSError, RecursionError, ValueError) as error:
            self._warn(item.details, error)
            return item.summary.plain()

    def _own(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files that the server wrote, with their sizes and times."""
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                if OWN.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        yield entry.name, entry.stat(follow_symlinks=False)

    def _item(self, id: str) -> Item | None:
        """Return an item whose description this version wrote, and which names files of its own."""
        name = f"{id}.json"
        try:
            item = Item.model_validate_json(self._read(name, LONGEST_DESCRIPTION))
            files = item.file, item.details
            if item.id != id or not all(one.startswith(id) and re.fullmatch(FILE, one) for one in files):
                raise ValueError("it names files of another item")
        except (OSError, ValueError) as error:
            if os.path.lexists(self.folder / name):
                self._warn(name, error)
            return None
        file = self.folder / item.file
        here = file.is_file() and not file.is_symlink()
        return item.model_copy(update={"whose": self.whose}) if here else None

    def _read(self, name: str, longest: int) -> bytes:
        path = self.folder / name
        if path.is_symlink() or not path.is_file():
            raise ValueError("it is not a file")
        if path.stat().st_size > longest:
            raise ValueError(f"it is longer than {longest:,} bytes")
        return path.read_bytes()

    def _warn(self, name: str, error: Exception) -> None:
        if name not in self._skipped:
            self._skipped.add(name)
            why = " ".join(str(error).split())[:300]
            LOG.warning(f"{self.folder / name} was skipped and left in place: {why}")

    # ------------------------------------------------------------ changes

    def check_space(self, more: int, replaced: Item | None = None) -> None:
        """Raise unless one item of some more bytes fits, perhaps in place of another.

        Raises
        ------
        Refusal
            413 for a visitor's own storage, 507 for the shared one.
        """
        sizes = {name: stat.st_size for name, stat in self._own()}
        for name in () if replaced is None else _names(replaced):
            sizes.pop(name, None)
        if len(_ids(sizes)) < self.most and sum(sizes.values()) + more <= self.bytes:
            return
        if self.whose == "yours":
            text = f"You may store at most {self.most} items with {amount(self.bytes)} in total."
            raise Refusal(413, text, "Delete an item first.")
        raise Refusal(
            507,
            f"The store is full: it takes at most {self.most:,} models with {amount(self.bytes)} in total.",
            "Delete one of yours, or upload it privately with keep=false.",
        )

    def put(
        self,
        source: Path,
        kind: Kind,
        name: str,
        facts: dict[str, Any],
        instead: Item | None = None,
        owner: str | None = None,
    ) -> Item:
        """Move a file into the storage, perhaps in place of an item, which keeps its id and its owner.

        The name of the file begins with the id of a new item, so workers that have seen it are known.

        Raises
        ------
        Refusal
            If there is no space, or the facts are too long; then nothing has changed.
        """
        id = source.name[:32] if instead is None else instead.id
        stem = f"{id}-{secrets.token_hex(4)}"
        item = Item(
            id=id,
            kind=kind,
            name=name,
            created=time.time(),
            bytes=source.stat().st_size,
            file=f"{stem}{source.suffix}",
            details=f"{stem}.facts",
            owner=owner if instead is None else instead.owner,
            summary=summary_of(kind, facts),
            reading=Reading(**facts.get("reading", {})),
            whose=self.whose,
        )
        text = json.dumps(facts, allow_nan=False).encode()
        if len(text) > LONGEST_FACTS:
            raise Refusal(413, "Its names are too long in total.", "Give columns or people shorter names.")
        self.check_space(item.bytes + len(text), instead)
        description = item.model_dump_json(exclude_defaults=True, exclude={"whose"}).encode()
        try:
            with open(source, "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(source, self.folder / item.file)
            # The description names the facts, so it comes last.
            for file_name, content in ((item.details, text), (f"{id}.json", description)):
                with atomic_write(self.folder / file_name, mode=0o600) as file:
                    file.write(content)
        except OSError as error:
            self._unlink(item.details)
            with suppress(OSError):  # it may be another visitor's item, which stays as it was
                os.replace(self.folder / item.file, source)
            full = isinstance(error, FileError) or error.errno in FULL
            why = "the server's disk is full" if full else "the server could not write to its disk"
            raise Refusal(507, f"Nothing was saved: {why}.", "The previous state is unchanged.") from error
        sync_folder(self.folder)
        if instead is not None:
            self._unlink(instead.file, instead.details)
        return item

    def _unlink(self, *names: str) -> None:
        for name in names:
            path = self.folder / name
            if OWN.fullmatch(name) and not path.is_symlink():
                path.unlink(missing_ok=True)

    def remove(self, item: Item) -> None:
        """Remove an item and its files."""
        self._unlink(*_names(item))

    def clear(self) -> set[str]:
        """Remove all items, and the folder if nothing else is in it; return their ids."""
        names = [name for name, _ in self._own()]
        self._unlink(*names)
        with suppress(OSError):
            self.folder.rmdir()
        return set(_ids(names))

    def tidy(self) -> None:
        """Remove files left over from a crash.

        A description that cannot be read may come from a newer version: it stays, and so do its files.
        """
        files, items = dict(self._own()), self.items()
        named = {name for item in items for name in _names(item)}
        unread = set(_ids(files)) - {item.id for item in items}
        for name, about in files.items():
            left = name not in named and name[:32] not in unread
            if left and time.time() - about.st_mtime > UNFINISHED:
                self._unlink(name)


def _names(item: Item) -> tuple[str, str, str]:
    return f"{item.id}.json", item.file, item.details


def _ids(names: Iterable[str]) -> list[str]:
    """Return the ids of the items that have a description among these files."""
    return [name.removesuffix(".json") for name in names if name.endswith(".json")]


class VisibleItems:
    """The items that a visitor can see: their own, the shared ones, and those of the command line."""

    def __init__(self, own: ItemStorage | None, shared: ItemStorage | None, sources: Sequence[Item]) -> None:
        self._folders = [folder for folder in (own, shared) if folder is not None]
        self._sources = sources

    def items(self, kind: Kind) -> list[Item]:
        """Return all items of a kind."""
        stored = [item for folder in self._folders for item in folder.items(kind)]
        return [item for item in self._sources if item.kind == kind] + stored

    def find(self, kind: Kind, id: str) -> tuple[Item, ItemStorage | None]:
        """Return an item and its storage, None for an item of the command line.

        Raises
        ------
        Refusal
            404 for an unknown item and for another visitor's.
        """
        for item in self._sources:
            if item.kind == kind and item.id == id:
                return item, None
        for folder in self._folders:
            if (stored := folder.get(kind, id)) is not None:
                return stored, folder
        raise Refusal(
            404,
            f"You have no {kind} with this id. It was deleted, or it is another visitor's.",
            f"GET /api/v1/{PLURALS[kind]} lists yours. Send the cookie that you received with the upload.",
        )

    def payload(self, kind: Kind, id: str) -> dict[str, Any]:
        """Return what a worker needs to open an item."""
        item, storage = self.find(kind, id)
        return item.payload(Path() if storage is None else storage.folder)

    def with_facts(self, kind: Kind, id: str) -> tuple[Item, dict[str, Any]]:
        """Return an item and all its facts in a new dict; raises as :meth:`find`."""
        item, storage = self.find(kind, id)
        return item, json.loads(item.details) if storage is None else storage.facts(item)


# ------------------------------------------------------------------ the store


def prepare_store(store: str | os.PathLike[str]) -> Path:
    """Create a store, or check an existing one; return its absolute path.

    Raises
    ------
    ParameterError
        If the name is empty.
    FileError
        If the folder holds other files, cannot be written to, or another server uses it.
    """
    place = as_path(store)
    if not os.fspath(store).strip():
        raise ParameterError(
            "store", os.fspath(store), "is not a folder name", "Name a folder, or leave out --store."
        )
    root = Path(os.path.realpath(place))
    if os.path.lexists(root) and not root.is_dir():
        raise FileError(f"store {shortened(store)} is not a folder. Name a new or an empty folder.")
    with as_file_error(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(root), as_file_error(root):
        if os.path.lexists(root / MARKER):
            check_marker(root / MARKER)
        elif others := [name for name in sorted(os.listdir(root)) if not TEMPORARY.fullmatch(name)]:
            raise FileError(
                f"store {root} contains {shortened(others[0])} but no {MARKER}, so it is not a store. "
                "Name a new or an empty folder."
            )
        _fill(root)
    return root


def check_marker(marker: Path) -> None:
    """Raise a FileError unless a file marks a store that this version can use."""
    try:
        if marker.is_symlink() or not marker.is_file():  # opening a pipe would block
            raise ValueError("it is not a regular file")
        content = json.loads(marker.read_bytes())
        if content["format"] != "gramian-store" or not isinstance(content["version"], int):
            raise ValueError("it has another format")
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise FileError(
            f"{marker} is damaged ({error}). Restore it from a backup, or name another folder."
        ) from error
    if content["version"] > VERSION:
        raise FileError(
            f"store {marker.parent} was written by a newer gramian (version {content['version']}; this one "
            f"supports {VERSION}). Upgrade with pip install -U gramian, or name another folder."
        )


def _fill(root: Path) -> None:
    """Create what is missing in a store."""
    for folder in (root, *(root / name for name in FOLDERS)):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise FileError(f"{folder} is not a folder of the store. Move it elsewhere.")
        folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(f"store {folder} is write-protected. Make it writable, or name another folder.")
    if not (root / MARKER).exists():
        with atomic_write(root / MARKER, mode=0o600) as file:
            file.write(json.dumps({"format": "gramian-store", "version": VERSION}).encode())


def _is_private(folder: Path) -> bool:
    """Return whether only the user of this process can enter a folder."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    own = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)
    return own and stat.S_ISDIR(found.st_mode)


def restored(root: Path, temporary: bool) -> bool:
    """Return whether a temporary store was created again, because another program removed parts of it.

    Raises
    ------
    FileError
        If another store is not whole, or another user has taken the name of a temporary one.
    """
    if all(os.path.isdir(os.path.join(root, name)) for name in FOLDERS) and (
        not temporary or _is_private(root)
    ):
        return False
    if not temporary:
        raise FileError(f"{root} is not whole. Restore it, and restart the server.")
    with as_file_error(root):
        root.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(root):
            raise FileError(f"{root} is not the server's folder. Restart the server.")
        _fill(root)
    return True


def locked(root: Path) -> AbstractContextManager[None]:
    """Lock a store against other servers. The lock ends with the process.

    Raises
    ------
    FileError
        If another server uses the store.
    """
    return atomic.locked(root, f"store {root} is in use by another server. Stop it, or name another folder.")


def empty_work(folder: Path) -> None:
    """Remove the server's own temporary files."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not WORK.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.is_file(follow_symlinks=False):
                os.unlink(entry)
