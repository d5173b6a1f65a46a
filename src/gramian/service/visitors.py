"""Visitors with separate items, which are deleted after some time without a visit."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gramian.service.cookies import name_of
from gramian.service.item_storage import ItemStorage
from gramian.service.jobs import Job
from gramian.service.problems import busy
from gramian.service.settings import Limits

COOKIE = "gramian_visitor"
REMEMBERED = 365 * 86400  # seconds; the items are deleted much earlier
VISITOR = re.compile("[0-9a-f]{64}")  # name of a visitor's folder
# Seconds after which a visitor may be replaced by a new one if there are too many:
NEW = 10.0  # one who never returned the cookie
AWAY = 600.0  # one who returned it


@dataclass(eq=False)
class Visitor:
    """Somebody with items on this server.

    Attributes
    ----------
    name : str
    storage : ItemStorage
    network : str
        Their network; empty while unknown.
    returned : bool
        Whether they returned the cookie.
    jobs : dict of str to Job
    """

    name: str
    storage: ItemStorage
    network: str = ""
    returned: bool = True
    jobs: dict[str, Job] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether they have a running fit."""
        return any(job.running for job in self.jobs.values())

    @property
    def away(self) -> float:
        """The seconds since their last visit."""
        with suppress(FileNotFoundError):
            return time.time() - self.storage.folder.stat().st_mtime
        return float("inf")

    def touch(self) -> None:
        """Record a visit."""
        with suppress(FileNotFoundError):  # they were just removed
            os.utime(self.storage.folder)


class Visitors:
    """All visitors, identified by a cookie. The server stores only its hash."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._known: dict[str, Visitor] = {}
        self.deleted: set[str] = set()  # ids of the items of visitors who were removed
        for name in self._names():
            self._visitor(name).storage.tidy()

    def _visitor(self, name: str, network: str = "", returned: bool = True) -> Visitor:
        known = self._known.get(name)  # another thread may remove it
        if known is not None:
            return known
        storage = ItemStorage(self.folder / name, most=self.limits.items, bytes=self.limits.visitor_bytes)
        return self._known.setdefault(name, Visitor(name, storage, network, returned))

    def find(self, cookie: str | None, network: str = "") -> Visitor | None:
        """Return the visitor with a cookie, or None."""
        name = name_of(cookie)
        if name is None:
            return None
        if not self.is_here(name):
            self._known.pop(name, None)  # something else removed their folder
            return None
        visitor = self._visitor(name)
        visitor.returned, visitor.network = True, visitor.network or network
        visitor.touch()
        return visitor

    def make(self, network: str = "") -> tuple[Visitor, str]:
        """Return a new visitor and their cookie.

        Parameters
        ----------
        network : str
            Their network.

        Raises
        ------
        Refusal
            429 with too many visitors.
        """
        cookie = secrets.token_urlsafe(32)
        return self.enter(str(name_of(cookie)), network, returned=False), cookie

    def enter(self, name: str, network: str = "", returned: bool = True) -> Visitor:
        """Return a visitor without items.

        Raises
        ------
        Refusal
            429 with too many visitors.
        """
        names = self._names()
        if len(names) >= self.limits.visitors:
            leaving = self._leaving([self._visitor(one) for one in names], network)
            if leaving is None:
                raise busy("There are too many visitors", round(NEW))
            self._remove(leaving)
        return self._visitor(name, network, returned)

    def _leaving(self, visitors: list[Visitor], network: str) -> Visitor | None:
        """Return the visitor to remove for a new one, so that no network can lock others out."""
        idle = sorted((one for one in visitors if not one.running), key=lambda one: one.away, reverse=True)
        once = next((one for one in idle if not one.returned and one.away > NEW), None)
        sizes = Counter(one.network for one in visitors if one.network)
        largest = max(sizes, key=lambda one: sizes[one], default=network)
        crowd = None
        if sizes[largest] > sizes[network] + 1:
            crowd = next((one for one in idle if one.network == largest), None)
        return once or crowd or next((one for one in idle if one.away > AWAY), None)

    def remove_idle(self) -> None:
        """Remove visitors without a recent visit."""
        for name in self._names():
            visitor = self._visitor(name)
            if visitor.away > self.limits.idle_seconds and not visitor.running:
                self._remove(visitor)

    def _remove(self, visitor: Visitor) -> None:
        self._known.pop(visitor.name, None)
        self.deleted |= visitor.storage.clear()

    @property
    def known(self) -> list[Visitor]:
        """Visitors since the start of the server."""
        return list(self._known.values())

    @property
    def count(self) -> int:
        """The number of visitors with items."""
        return len(self._names())

    def is_here(self, name: str) -> bool:
        """Return whether a visitor has items."""
        folder = self.folder / name
        return folder.is_dir() and not folder.is_symlink()

    def _names(self) -> list[str]:
        names: list[str] = []
        with suppress(FileNotFoundError):  # a cleaner of temporary folders removed it
            names = os.listdir(self.folder)
        return [name for name in names if VISITOR.fullmatch(name) and self.is_here(name)]
