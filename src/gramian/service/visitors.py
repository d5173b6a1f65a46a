"""Each visitor's things apart from all others', until nobody has come for a while."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gramian.service.item_storage import ItemStorage
from gramian.service.jobs import Job
from gramian.service.problems import busy
from gramian.service.settings import Limits

COOKIE = "gramian_visitor"
REMEMBERED = 365 * 86400  # seconds that a browser keeps the cookie: what it stands for goes long before
VISITOR = re.compile("[0-9a-f]{64}")  # the name of a visitor's folder
# Seconds after which a visitor makes room for a newcomer, where as many are here as may be:
NEW = 10.0  # one who never sent the cookie back
AWAY = 600.0  # one who did


def name_of(cookie: str | None) -> str | None:
    """Return the name that a cookie stands for: its hash."""
    return None if cookie is None else hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


@dataclass(eq=False)
class Visitor:
    """Somebody who keeps something here.

    Attributes
    ----------
    name : str
    storage : ItemStorage
    network : str
        Where they came from; empty where the server does not know it yet.
    returned : bool
        Whether they sent the cookie back.
    jobs : dict of str to Job
    """

    name: str
    storage: ItemStorage
    network: str = ""
    returned: bool = True
    jobs: dict[str, Job] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether a fit of theirs is running."""
        return any(job.running for job in self.jobs.values())

    @property
    def away(self) -> float:
        """The seconds since their last visit."""
        with suppress(FileNotFoundError):
            return time.time() - self.storage.folder.stat().st_mtime
        return float("inf")

    def touch(self) -> None:
        """Take note that they were here."""
        with suppress(FileNotFoundError):  # they made room just now
            os.utime(self.storage.folder)


class Visitors:
    """All visitors, told apart by a cookie of which only a hash is kept."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._known: dict[str, Visitor] = {}
        for name in self._names():
            self._visitor(name).storage.tidy()

    def _visitor(self, name: str, network: str = "", returned: bool = True) -> Visitor:
        known = self._known.get(name)  # another thread may remove it
        if known is not None:
            return known
        storage = ItemStorage(self.folder / name, most=self.limits.items, bytes=self.limits.visitor_bytes)
        return self._known.setdefault(name, Visitor(name, storage, network, returned))

    def find(self, cookie: str | None, network: str = "") -> Visitor | None:
        """Return who has a cookie; None for nobody who keeps anything."""
        name = name_of(cookie)
        if name is None or not self.is_here(name):
            return None
        visitor = self._visitor(name)
        visitor.returned, visitor.network = True, visitor.network or network
        visitor.touch()
        return visitor

    def make(self, network: str = "") -> tuple[Visitor, str]:
        """Return a new visitor, and the cookie.

        Parameters
        ----------
        network : str
            Where they come from.

        Raises
        ------
        Refusal
            429 if there are too many.
        """
        cookie = secrets.token_urlsafe(32)
        return self.enter(str(name_of(cookie)), network, returned=False), cookie

    def enter(self, name: str, network: str = "", returned: bool = True) -> Visitor:
        """Return a visitor of a name who has nothing here yet.

        Raises
        ------
        Refusal
            429 if there are too many.
        """
        names = self._names()
        if len(names) >= self.limits.visitors:
            leaving = self._leaving([self._visitor(one) for one in names], network)
            if leaving is None:
                raise busy("There are too many visitors", round(NEW))
            self._remove(leaving)
        return self._visitor(name, network, returned)

    def _leaving(self, visitors: list[Visitor], network: str) -> Visitor | None:
        """Return who makes room for a newcomer from a network, so that no network can lock others out."""
        idle = sorted((one for one in visitors if not one.running), key=lambda one: one.away, reverse=True)
        once = next((one for one in idle if not one.returned and one.away > NEW), None)
        sizes = Counter(one.network for one in visitors if one.network)
        largest = max(sizes, key=lambda one: sizes[one], default=network)
        crowd = None
        if sizes[largest] > sizes[network] + 1:
            crowd = next((one for one in idle if one.network == largest), None)
        return once or crowd or next((one for one in idle if one.away > AWAY), None)

    def remove_idle(self) -> None:
        """Remove the things of those who were not here for long."""
        for name in self._names():
            visitor = self._visitor(name)
            if visitor.away > self.limits.idle_seconds and not visitor.running:
                self._remove(visitor)

    def _remove(self, visitor: Visitor) -> None:
        self._known.pop(visitor.name, None)
        visitor.storage.clear()

    @property
    def known(self) -> list[Visitor]:
        """Those who came since the server was started."""
        return list(self._known.values())

    @property
    def count(self) -> int:
        """How many keep something."""
        return len(self._names())

    def is_here(self, name: str) -> bool:
        """Say whether a visitor of a name keeps something."""
        folder = self.folder / name
        return folder.is_dir() and not folder.is_symlink()

    def _names(self) -> list[str]:
        return [name for name in os.listdir(self.folder) if VISITOR.fullmatch(name) and self.is_here(name)]
