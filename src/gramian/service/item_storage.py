"""Folders of models, galleries and tables, under names that the server chooses.

An item is a file, a file with all its facts, and a description that names both. The description is written
last and atomically: after a crash the old state is there, and perhaps files that no description names. The
next start removes those. The server removes only names that it chose itself, and never follows a link.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gramian.checks import amount
from gramian.errors import FULL, FileError
from gramian.service.items import (
    FILE,
    LONGEST_FACTS,
    Item,
    Ownership,
    read_facts,
    read_item,
    summary_of,
)
from gramian.service.logs import LOG
from gramian.service.problems import Refusal
from gramian.service.schemas import ID, PLURALS, Kind, Reading
from gramian.store.atomic import atomic_write, sync_folder

UNFINISHED = 60.0  # seconds; an older file without a description is left over from a crash
TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")
OWN = re.compile(rf"{FILE}|[0-9a-f]{{32}}\.json|{TEMPORARY.pattern}")


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
        self, folder: Path, whose: Ownership = "yours", most: float = math.inf, bytes: float = math.inf
    ) -> None:
        self.folder, self.whose, self.most, self.bytes = folder, whose, most, bytes
        self._skipped: set[str] = set()
        folder.mkdir(mode=0o700, exist_ok=True)

    def items(self, kind: Kind | None = None) -> list[Item]:
        """Return all items, the oldest first; only short descriptions are read."""
        items = [item for id in _ids(dict(self._own())) if (item := self._read(id)) is not None]
        return sorted((i for i in items if kind in (None, i.kind)), key=lambda item: item.created)

    def get(self, kind: Kind, id: str) -> Item | None:
        """Return one item, or None."""
        item = self._read(id) if re.fullmatch(ID, id) else None
        return item if item is not None and item.kind == kind else None

    def facts(self, item: Item) -> dict[str, Any]:
        """Return all facts of an item; its summary where they cannot be read."""
        try:
            return read_facts(self.folder / item.details)
        except (OSError, ValueError) as error:
            self._warn(item.details, error)
            return item.summary.plain()

    def _own(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files that the server wrote, with their sizes and times."""
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                if OWN.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        yield entry.name, entry.stat(follow_symlinks=False)

    def _read(self, id: str) -> Item | None:
        path = self.folder / f"{id}.json"
        try:
            item = read_item(path, id, self.whose)
        except (OSError, ValueError) as error:
            if os.path.lexists(path):
                self._warn(path.name, error)
            return None
        file = self.folder / item.file
        return None if file.is_symlink() or not file.is_file() else item

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
        if replaced is not None:
            for name in (f"{replaced.id}.json", replaced.file, replaced.details):
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
        try:
            with open(source, "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(source, self.folder / item.file)
            # The description names the facts, so it comes last.
            for file_name, content in ((item.details, text), (f"{id}.json", item.description().encode())):
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
        self._unlink(f"{item.id}.json", item.file, item.details)

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
        files = dict(self._own())
        ids = _ids(files)
        items = self.items()
        names = {f"{id}.json" for id in ids} | {name for item in items for name in (item.file, item.details)}
        unread = set(ids) - {item.id for item in items}
        for name, stat in files.items():
            named = name in names or name[:32] in unread
            if not named and time.time() - stat.st_mtime > UNFINISHED:
                self._unlink(name)


def _ids(names: Iterable[str]) -> list[str]:
    """Return the ids of the items that have a description among these files."""
    return [name.removesuffix(".json") for name in names if name.endswith(".json")]


@dataclass(frozen=True)
class VisibleItems:
    """The items that a visitor can see: their own, the shared ones, and those of the command line."""

    own: ItemStorage | None
    shared: ItemStorage | None
    sources: Sequence[Item]

    def items(self, kind: Kind) -> list[Item]:
        """Return all items of a kind."""
        stored = [item for storage in self._storages() for item in storage.items(kind)]
        return [item for item in self.sources if item.kind == kind] + stored

    def find(self, kind: Kind, id: str) -> tuple[Item, ItemStorage | None]:
        """Return an item and its storage, None for an item of the command line.

        Raises
        ------
        Refusal
            404 for an unknown item and for another visitor's.
        """
        for item in self.sources:
            if item.kind == kind and item.id == id:
                return item, None
        for storage in self._storages():
            if (stored := storage.get(kind, id)) is not None:
                return stored, storage
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

    def _storages(self) -> list[ItemStorage]:
        return [storage for storage in (self.own, self.shared) if storage is not None]
