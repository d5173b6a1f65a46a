"""Settings of a server: access and limits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

from gramian import arrays, checks
from gramian.errors import ParameterError

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SHORTEST_TOKEN = 16  # characters
LOOPBACK = ("127.0.0.0/8", "::1")


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes
    ----------
    upload_bytes, upload_seconds : int, float
        Limits of one body.
    uploads : int
        Simultaneous uploads that take longer than a second. A visitor has at most a quarter of them, and the
        last quarter is for networks that have none.
    items, visitor_bytes : int
        Number and total size of the items of one visitor.
    visitors : int
        Visitors with items.
    idle_seconds : float
        Time after the last visit until a visitor's items are deleted.
    store_items, store_bytes : int
        Number and total size of shared models.
    workers, waiting, patience : int, int, float
        Worker processes, requests that may wait for one, and seconds that they wait. A visitor has at most a
        quarter of the processes, and at least one.
    worker_bytes, worker_seconds : int, float
        Working memory of a worker, and time of one request.
    fits, fit_bytes, fit_seconds : int, int, float
        Simultaneous fits, working memory and time of one fit.
    """

    upload_bytes: int = 256 << 20
    upload_seconds: float = 60.0
    uploads: int = 64
    items: int = 100
    visitor_bytes: int = 1 << 30
    visitors: int = 1000
    idle_seconds: float = 3600.0
    store_items: int = 1000
    store_bytes: int = 10 << 30
    workers: int = CORES
    waiting: int = 256
    patience: float = 5.0
    worker_bytes: int = 2 << 30
    worker_seconds: float = 30.0
    fits: int = max(1, CORES // 2)
    fit_bytes: int = field(default_factory=lambda: arrays.memory_limit_bytes(None) // 2)
    fit_seconds: float = 3600.0


@dataclass(frozen=True)
class Settings:
    """Access, store and limits.

    Attributes
    ----------
    token : str or None
        The secret of visitors; None to serve only this machine.
    hosts : tuple of str
        Host names of the server, besides those of the loopback.
    proxies : tuple of str
        Addresses of proxies whose ``X-Forwarded-Proto`` and ``X-Forwarded-For`` are trusted.
    store : Path or None
        The folder of shared models; None for a temporary folder.
    api_only : bool
        Whether to serve no pages.
    """

    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    store: Path | None = None
    api_only: bool = False
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            short = (
                f"has {checks.counted(len(self.token), 'character')}; at least {SHORTEST_TOKEN} are required"
            )
            advice = 'Create one: python -c "import secrets; print(secrets.token_urlsafe())"'
            raise ParameterError("token", allowed=short, hint=advice)
        named = [name for name in self.hosts if not is_loopback(name)]
        if self.token is None and (named or self.proxies):
            what = f"the host {named[0]}" if named else "a proxy"
            missing = f"is missing, but {what} admits other machines"
            raise ParameterError("token", allowed=missing, hint="Give one, or set GRAMIAN_TOKEN.")
        for address in self.proxies:
            try:
                ip_network(address, strict=False)
            except ValueError as error:
                advice = "Use its IP address or network, such as 127.0.0.1 or 10.0.0.0/8."
                raise ParameterError("behind_proxy", address, "is not an address", advice) from error


def is_loopback(host: str) -> bool:
    """Return whether a name or address belongs to the loopback.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("[::1]")
    (True, True, False, True)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
