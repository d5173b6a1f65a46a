"""Where models, galleries and tables are kept, under names that the server makes.

What is kept is a file and a description beside it. The description is written last and at once, and names the
file: a crash leaves what was there before, and perhaps a file without a name, which is removed later.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gramian.errors import FULL, FileError
from gramian.service.problems import Refusal
from gramian.store.atomic import atomic_write, sync_folder

Kind = Literal["model", "gallery", "data"]
Kinds = Literal["models", "galleries", "data"]
PLURALS: dict[Kind, Kinds] = {"model": "models", "gallery": "galleries", "data": "data"}
LONGEST = 4 << 20  # bytes of a description: all of a visitor's are read when they are listed
UNFINISHED = 60.0  # seconds after which a file without a description is none that is being saved
ID = r"^[0-9a-f]{32}$"


@dataclass(frozen=True)
class Item:
    """Something that is kept.

    Attributes
    ----------
    id : str
    kind : {"model", "gallery", "data"}
    name : str
        What a person calls it.
    created : float
        Seconds since 1970.
    bytes : int
    facts : dict
        What was found in it.
    file : str
        Its name in the folder.
    whose : {"yours", "kept", "given"}
        A visitor's own, everybody's by ``--store``, or what the server was started with.
    """

    id: str
    kind: Kind
    name: str
    created: float
    bytes: int
    facts: dict[str, Any]
    file: str
    whose: str = "yours"

    def part(self, folder: Path) -> dict[str, Any]:
        """Return what a process must know of it."""
        given = self.whose == "given"
        path = Path(self.file) if given else folder / self.file
        told = {"path": str(path), "name": self.name, "kind": path.suffix, "given": given}
        return told | {"reading": self.facts.get("reading", {})}


class Shelf:
    """A folder of items."""

    def __init__(self, folder: Path, whose: str = "yours") -> None:
        self.folder, self.whose = folder, whose
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def items(self, kind: Kind | None = None) -> list[Item]:
        """Return what is kept, the oldest first."""
        found = [item for path in self.folder.glob("*.json") if (item := self._read(path)) is not None]
        return sorted((i for i in found if kind in (None, i.kind)), key=lambda item: item.created)

    def get(self, kind: Kind, id: str) -> Item | None:
        """Return one item, or None."""
        item = self._read(self.folder / f"{id}.json") if re.match(ID, id) else None
        return item if item is not None and item.kind == kind else None

    def _read(self, path: Path) -> Item | None:
        with suppress(OSError, ValueError, TypeError):
            item = Item(**json.loads(path.read_bytes()), whose=self.whose)
            if (self.folder / item.file).is_file():
                return item
        return None

    def put(
        self, source: Path, kind: Kind, name: str, facts: dict[str, Any], instead: Item | None = None
    ) -> Item:
        """Take a file in, perhaps instead of what an item was.

        Raises
        ------
        Refusal
            If the disk is full, or the description too long; then nothing has changed.
        """
        id = secrets.token_hex(16) if instead is None else instead.id
        file = f"{id}-{secrets.token_hex(4)}{source.suffix}"
        item = Item(id, kind, name, time.time(), source.stat().st_size, facts, file)
        told = asdict(item)
        del told["whose"]
        description = json.dumps(told).encode()
        if len(description) > LONGEST:
            raise Refusal(413, "There is too much to say of it.", "Give columns or people shorter names.")
        try:
            with open(source, "rb") as opened:
                os.fsync(opened.fileno())
            os.replace(source, self.folder / file)
            with atomic_write(self.folder / f"{id}.json", mode=0o600) as described:
                described.write(description)
        except OSError as error:
            (self.folder / file).unlink(missing_ok=True)
            full = isinstance(error, FileError) or error.errno in FULL
            why = "there is no room on the server's disk" if full else "the server's disk refused it"
            raise Refusal(507, f"Nothing was saved: {why}.", "What was there before is unchanged.") from error
        sync_folder(self.folder)
        if instead is not None:
            (self.folder / instead.file).unlink(missing_ok=True)
        return replace(item, whose=self.whose)

    def remove(self, item: Item) -> None:
        """Remove an item and its file."""
        (self.folder / f"{item.id}.json").unlink(missing_ok=True)
        (self.folder / item.file).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove what a crash has left."""
        known = {name for item in self.items() for name in (item.file, f"{item.id}.json")}
        for path in self.folder.iterdir():
            if path.name not in known and time.time() - path.stat().st_mtime > UNFINISHED:
                path.unlink(missing_ok=True)


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
            if (found := shelf.get(kind, id)) is not None:
                return found, shelf
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
