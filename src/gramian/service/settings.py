"""What a server allows: who may enter, and how much of everything."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

from gramian.arrays import memory_limit_bytes
from gramian.checks import counted
from gramian.errors import ParameterError

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SHORTEST_TOKEN = 16  # characters
LOOPBACK = ("127.0.0.0/8", "::1")


@dataclass(frozen=True)
class Limits:
    """How much a server takes and gives.

    Attributes
    ----------
    upload_bytes, upload_seconds : int, float
        Of one body.
    uploads : int
        Bodies that are received at the same time.
    items, visitor_bytes : int
        Models, galleries and tables of one visitor, and their bytes.
    visitors : int
        Visitors who keep something.
    idle_seconds : float
        After which a visitor's things are removed.
    store_items, store_bytes : int
        Models that are kept for everybody, and their bytes on disk.
    workers, waiting, patience : int, int, float
        Processes that parse and apply, requests that may wait for one, and for how many seconds.
    worker_bytes, worker_seconds : int, float
        Working memory of such a process, and the time for one request.
    fits, fit_bytes, fit_seconds : int, int, float
        Fits at the same time, working memory of one, and its time.
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
    fit_bytes: int = field(default_factory=lambda: memory_limit_bytes(None) // 2)
    fit_seconds: float = 3600.0


@dataclass(frozen=True)
class Settings:
    """Who may enter, where models are kept, and the limits.

    Attributes
    ----------
    token : str or None
        What a visitor from another machine must know; None lets nobody in from there.
    hosts : tuple of str
        Names of the machine under which it may be called, beside those of the loopback.
    proxies : tuple of str
        Addresses of proxies whose ``X-Forwarded-Proto`` and ``X-Forwarded-For`` are taken for true.
    store : Path or None
        Where models are kept; None for a folder that is removed in the end.
    api_only : bool
        Whether there is no page for people.
    """

    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    store: Path | None = None
    api_only: bool = False
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ParameterError(
                f"The token has {counted(len(self.token), 'character')}, and {SHORTEST_TOKEN} or more are "
                'needed. Make one: python -c "import secrets; print(secrets.token_urlsafe())"'
            )
        named = [name for name in self.hosts if not is_loopback(name)]
        if self.token is None and (named or self.proxies):
            what = f"hosts={named}" if named else "behind_proxy"
            raise ParameterError(
                f"{what} lets other machines in, and there is no token. Pass token=, or set GRAMIAN_TOKEN."
            )
        for address in self.proxies:
            try:
                ip_network(address, strict=False)
            except ValueError as error:
                raise ParameterError(
                    f"The proxy {address!r} is not an address. Give its IP address or network, such as "
                    "127.0.0.1 or 10.0.0.0/8."
                ) from error


def is_loopback(host: str) -> bool:
    """Say whether a name or address is this machine's own.

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
