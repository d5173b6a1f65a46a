"""Where models, galleries and tables are kept, under names that the server makes.

An item is a file, a file with all facts of it, and a description that names both. The description is written
last and at once: a crash leaves what was there before, and perhaps files that no description names, which the
next start removes. The server only removes names that it made itself, and never follows a link.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gramian.checks import amount
from gramian.errors import FULL, FileError
from gramian.service.descriptions import (
    FILE,
    LONGEST_FACTS,
    Description,
    Summary,
    read_description,
    read_facts,
    summary_of,
)
from gramian.service.logs import LOG
from gramian.service.problems import Refusal
from gramian.service.schemas import ID, PLURALS, Kind, Reading
from gramian.store.atomic import atomic_write, sync_folder

Whose = Literal["yours", "kept", "given"]
UNFINISHED = 60.0  # seconds after which a file without a description is none that is being saved
TEMPORARY = re.compile(r"\.gramian-[0-9a-f]{16}\.tmp")
OWN = re.compile(rf"{FILE}|[0-9a-f]{{32}}\.json|{TEMPORARY.pattern}")


@dataclass(frozen=True)
class Item:
    """Something that is kept. Nothing in it can be changed.

    Attributes
    ----------
    id : str
    kind : {"model", "gallery", "data"}
    name : str
        What a person calls it.
    created : float
        Seconds since 1970.
    bytes : int
    file : str
        Its name in the folder; the path of what the server was started with.
    summary : Summary
        What a list says of it.
    reading : Reading
        Which part of data is read, and how.
    details : str
        All facts: the name of their file; of what the server was started with the facts themselves, as JSON.
    owner : str or None
        The visitor who put it there.
    whose : {"yours", "kept", "given"}
        A visitor's own, everybody's by ``--store``, or what the server was started with.
    """

    id: str
    kind: Kind
    name: str
    created: float
    bytes: int
    file: str
    summary: Summary = field(default_factory=Summary)
    reading: Reading = field(default_factory=Reading)
    details: str = "{}"
    owner: str | None = None
    whose: Whose = "yours"

    def part(self, folder: Path) -> dict[str, Any]:
        """Return what a process must know of it, in a new dict."""
        given = self.whose == "given"
        path = Path(self.file) if given else folder / self.file
        reading = self.reading.model_dump(exclude_defaults=True)
        known = {"path": str(path), "name": self.name, "kind": path.suffix, "given": given}
        return known | {"reading": reading}


class Shelf:
    """A folder of items.

    Parameters
    ----------
    folder : Path
    whose : {"yours", "kept"}
    most, bytes : int, optional
        How many items it takes, and how many bytes.
    """

    def __init__(
        self, folder: Path, whose: Whose = "yours", most: float = math.inf, bytes: float = math.inf
    ) -> None:
        self.folder, self.whose, self.most, self.bytes = folder, whose, most, bytes
        self._odd: set[str] = set()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def items(self, kind: Kind | None = None) -> list[Item]:
        """Return what is kept, the oldest first; only short descriptions are read."""
        known = [item for id in _ids(dict(self._own())) if (item := self._read(id)) is not None]
        return sorted((i for i in known if kind in (None, i.kind)), key=lambda item: item.created)

    def get(self, kind: Kind, id: str) -> Item | None:
        """Return one item, or None."""
        item = self._read(id) if re.fullmatch(ID, id) else None
        return item if item is not None and item.kind == kind else None

    def facts(self, item: Item) -> dict[str, Any]:
        """Return all that is known of an item; its summary where that cannot be read."""
        try:
            return read_facts(self.folder / item.details)
        except (OSError, ValueError) as error:
            self._warn(item.details, error)
            return item.summary.plain()

    def _own(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the files that the server made, with what the system knows of them."""
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                if OWN.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        yield entry.name, entry.stat(follow_symlinks=False)

    def _read(self, id: str) -> Item | None:
        path = self.folder / f"{id}.json"
        try:
            description = read_description(path, id)
        except (OSError, ValueError) as error:
            if os.path.lexists(path):
                self._warn(path.name, error)
            return None
        file = self.folder / description.file
        if file.is_symlink() or not file.is_file():
            return None
        return self._item(description)

    def _item(self, description: Description) -> Item:
        return Item(
            whose=self.whose, **{name: getattr(description, name) for name in Description.model_fields}
        )

    def _warn(self, name: str, error: Exception) -> None:
        if name not in self._odd:
            self._odd.add(name)
            why = " ".join(str(error).split())[:300]
            LOG.warning(f"{self.folder / name} is skipped, and stays: {why}")

    # ------------------------------------------------------------ changes

    def check_room(self, more: int, instead: Item | None = None) -> None:
        """Raise unless there is room for one item of some more bytes, perhaps instead of another.

        Raises
        ------
        Refusal
            413 for a visitor's own shelf, 507 for everybody's.
        """
        sizes = {name: stat.st_size for name, stat in self._own()}
        if instead is not None:
            for name in (f"{instead.id}.json", instead.file, instead.details):
                sizes.pop(name, None)
        if len(_ids(sizes)) < self.most and sum(sizes.values()) + more <= self.bytes:
            return
        if self.whose == "yours":
            text = f"You may keep {self.most} things of together {self.bytes:,} bytes."
            raise Refusal(413, text, "Delete something first.")
        raise Refusal(
            507,
            f"The store takes {self.most:,} models of together {amount(self.bytes)}: "
            "there is no room for another.",
            "Delete one that you put there, or upload it for yourself with keep=false.",
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
        """Take a file in, perhaps instead of what an item was, whose owner stays.

        Raises
        ------
        Refusal
            If there is no room, or the description is too long; then nothing has changed.
        """
        id = secrets.token_hex(16) if instead is None else instead.id
        stem = f"{id}-{secrets.token_hex(4)}"
        description = Description(
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
        )
        text = json.dumps(facts, allow_nan=False).encode()
        if len(text) > LONGEST_FACTS:
            raise Refusal(413, "There is too much to say of it.", "Give columns or people shorter names.")
        self.check_room(description.bytes + len(text), instead)
        try:
            with open(source, "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(source, self.folder / description.file)
            self._describe(description, text)
        except OSError as error:
            self._unlink(description.details)
            with suppress(OSError):  # it may be another visitor's item, which stays as it was
                os.replace(self.folder / description.file, source)
            full = isinstance(error, FileError) or error.errno in FULL
            why = "there is no room on the server's disk" if full else "the server's disk refused it"
            raise Refusal(507, f"Nothing was saved: {why}.", "What was there before is unchanged.") from error
        sync_folder(self.folder)
        if instead is not None:
            self._unlink(instead.file, instead.details)
        return self._item(description)

    def _describe(self, description: Description, facts: bytes) -> None:
        """Write all facts, and then the description, which names them."""
        for name, text in (
            (description.details, facts),
            (f"{description.id}.json", description.model_dump_json(exclude_defaults=True).encode()),
        ):
            with atomic_write(self.folder / name, mode=0o600) as file:
                file.write(text)

    def _unlink(self, *names: str) -> None:
        for name in names:
            path = self.folder / name
            if OWN.fullmatch(name) and not path.is_symlink():
                path.unlink(missing_ok=True)

    def remove(self, item: Item) -> None:
        """Remove an item and its files."""
        self._unlink(f"{item.id}.json", item.file, item.details)

    def clear(self) -> None:
        """Remove all items, and the folder if nothing else is in it."""
        self._unlink(*(name for name, _ in self._own()))
        with suppress(OSError):
            self.folder.rmdir()

    def tidy(self) -> None:
        """Remove what a crash has left.

        A description that cannot be read may be of a newer version: it stays, and so do its files.
        """
        files = dict(self._own())
        ids = _ids(files)
        items = self.items()
        names = {f"{id}.json" for id in ids} | {name for item in items for name in (item.file, item.details)}
        unread = set(ids) - {item.id for item in items}
        for name, stat in files.items():
            theirs = name in names or name[:32] in unread
            if not theirs and time.time() - stat.st_mtime > UNFINISHED:
                self._unlink(name)


def _ids(names: Iterable[str]) -> list[str]:
    """Return the ids of the items that are described in files of these names."""
    return [name.removesuffix(".json") for name in names if name.endswith(".json")]


@dataclass(frozen=True)
class Reach:
    """What a visitor can see: what is theirs, what is everybody's, and what the server was started with."""

    own: Shelf | None
    kept: Shelf | None
    given: Sequence[Item]

    @property
    def shelves(self) -> Iterable[Shelf]:
        """Those that can be changed."""
        return [shelf for shelf in (self.own, self.kept) if shelf is not None]

    def items(self, kind: Kind) -> list[Item]:
        """Return all of a kind."""
        given = [item for item in self.given if item.kind == kind]
        return [*given, *(item for shelf in self.shelves for item in shelf.items(kind))]

    def find(self, kind: Kind, id: str) -> tuple[Item, Shelf | None]:
        """Return an item and where it is.

        Raises
        ------
        Refusal
            404 for what is not there, and for what is another visitor's.
        """
        for item in self.given:
            if item.kind == kind and item.id == id:
                return item, None
        for shelf in self.shelves:
            if (item_there := shelf.get(kind, id)) is not None:
                return item_there, shelf
        raise Refusal(
            404,
            f"You have no {kind} of this id.",
            f"GET /api/v1/{PLURALS[kind]} lists what you have. It is yours by the cookie that came "
            "with the answer to what you sent: send that along.",
        )

    def part(self, kind: Kind, id: str) -> dict[str, Any]:
        """Return what a process must know of an item."""
        item, shelf = self.find(kind, id)
        return item.part(Path() if shelf is None else shelf.folder)

    def described(self, kind: Kind, id: str) -> tuple[Item, dict[str, Any]]:
        """Return an item, and all that is known of it in a new dict; as :meth:`find`."""
        item, shelf = self.find(kind, id)
        return item, json.loads(item.details) if shelf is None else shelf.facts(item)
