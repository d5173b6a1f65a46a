"""Each visitor's things apart from all others', until nobody has come for a while."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gramian.service.jobs import Job
from gramian.service.problems import Refusal, busy
from gramian.service.settings import Limits
from gramian.service.shelves import Shelf

COOKIE = "gramian_visitor"
REMEMBERED = 365 * 86400  # seconds that a browser keeps the cookie: what it stands for goes long before


@dataclass(eq=False)
class Visitor:
    """Somebody who keeps something here."""

    shelf: Shelf
    jobs: dict[str, Job] = field(default_factory=dict)

    def touch(self) -> None:
        """Take note that they were here."""
        os.utime(self.shelf.folder)

    def check_room(self, limits: Limits, more: int) -> None:
        """Refuse what would be too much.

        Raises
        ------
        Refusal
        """
        items = self.shelf.items()
        if len(items) >= limits.items or sum(item.bytes for item in items) + more > limits.visitor_bytes:
            raise Refusal(
                413,
                f"You may keep {limits.items} things of together {limits.visitor_bytes:,} bytes.",
                "Delete something first.",
            )


class Visitors:
    """All visitors, told apart by a cookie of which only a hash is kept."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._known: dict[str, Visitor] = {}
        for name in self._names():
            Shelf(folder / name).tidy()

    def find(self, cookie: str | None) -> Visitor | None:
        """Return who has a cookie; None for nobody who keeps anything."""
        name = "" if cookie is None else hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
        if not name or not (self.folder / name).is_dir():
            return None
        visitor = self._known.setdefault(name, Visitor(Shelf(self.folder / name)))
        visitor.touch()
        return visitor

    def make(self) -> tuple[Visitor, str]:
        """Return a new visitor, and the cookie.

        Raises
        ------
        Refusal
            429 if there are too many.
        """
        if len(self._names()) >= self.limits.visitors:
            raise busy("There are too many visitors", 60)
        cookie = secrets.token_urlsafe(32)
        name = hashlib.sha256(cookie.encode()).hexdigest()
        self._known[name] = Visitor(Shelf(self.folder / name))
        return self._known[name], cookie

    def remove_idle(self) -> None:
        """Remove the things of those who were not here for long."""
        for name in self._names():
            with suppress(FileNotFoundError):
                idle = time.time() - (self.folder / name).stat().st_mtime
                running = name in self._known and any(j.running for j in self._known[name].jobs.values())
                if idle > self.limits.idle_seconds and not running:
                    self._known.pop(name, None)
                    shutil.rmtree(self.folder / name, ignore_errors=True)

    @property
    def known(self) -> list[Visitor]:
        """Those who came since the server was started."""
        return list(self._known.values())

    @property
    def count(self) -> int:
        """How many keep something."""
        return len(self._names())

    def _names(self) -> list[str]:
        return [name for name in os.listdir(self.folder) if re.match(r"^[0-9a-f]{64}$", name)]
