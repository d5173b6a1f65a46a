"""Access by token or by its cookie; repeated wrong tokens of one address are delayed."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

from gramian.service.cookies import get_cookie, name_of
from gramian.service.problems import busy

PASS = "gramian_pass"  # name of the cookie that replaces the token
PASS_SECONDS = 86400  # that a cookie is valid
PASSES = 10_000  # valid ones, at most
FREE = 10  # wrong tokens of one address without delay
DELAY = 1.0  # seconds
PENDING = 8  # delayed tokens of one address at a time
FORGOTTEN = 300.0  # seconds after the last wrong token
ADDRESSES = 10_000  # with wrong tokens, at most


def same(given: str, wanted: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


@dataclass
class _Guesses:
    """Wrong tokens of one address, the time of the last one, and the number of delayed ones."""

    wrong: int = 0
    last: float = 0.0
    pending: int = 0


class Access:
    """Checks tokens, and cookies, which replace the token for a day or until the logout.

    After some wrong tokens, the server checks further ones of the same address with a delay, and only a few
    at a time. Somebody with the right token waits about a second. The cookie is too long to be guessed, and
    is never delayed.

    Parameters
    ----------
    token : str or None
        None admits everybody.
    clock, sleep : callable
    """

    def __init__(
        self,
        token: str | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.token, self._clock, self._sleep = token, clock, sleep
        self._guesses: dict[str, _Guesses] = {}
        self._passes: dict[str | None, float] = {}  # names of cookies, and when they end, in this order

    def issue_pass(self) -> str:
        """Return a new cookie."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        self._passes[name_of(cookie)] = now + PASS_SECONDS
        for old in [one for one, end in self._passes.items() if end <= now] or list(self._passes)[:-PASSES]:
            del self._passes[old]
        return cookie

    def revoke_pass(self, scope: Scope) -> None:
        """End the validity of the cookie of a request."""
        self._passes.pop(name_of(get_cookie(scope, PASS)), None)

    async def may_enter(self, scope: Scope) -> bool:
        """Return whether a request has the token or its cookie, or needs none.

        Raises
        ------
        Refusal
            429 after too many wrong tokens.
        """
        if self.token is None or self._passes.get(name_of(get_cookie(scope, PASS)), 0.0) > self._clock():
            return True
        kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and await self.is_token(scope, given.strip())

    async def is_token(self, scope: Scope, given: str) -> bool:
        """Return whether a text is the token; raises as :meth:`may_enter`."""
        if self.token is None:
            return True
        address = network_of(scope)
        await self._delay(address)
        right = same(given, self.token)
        if not right:
            guesses = self._guesses.pop(address, None) or _Guesses()
            guesses.wrong, guesses.last = guesses.wrong + 1, self._clock()
            self._guesses[address] = guesses  # moved to the end
            if len(self._guesses) > ADDRESSES:
                del self._guesses[next(iter(self._guesses))]
        return right

    async def _delay(self, address: str) -> None:
        guesses = self._guesses.get(address)
        if guesses is None or guesses.wrong < FREE:
            return
        if not guesses.pending and self._clock() - guesses.last > FORGOTTEN:
            del self._guesses[address]
            return
        if guesses.pending >= PENDING:
            raise busy("Too many wrong tokens from your address", 1)
        guesses.pending += 1
        try:
            await self._sleep(DELAY)
        finally:
            guesses.pending -= 1


def network_of(scope: Scope) -> str:
    """Return the address of a client; for IPv6 its network, since one machine has many addresses.

    Examples
    --------
    >>> [network_of({"client": (host, 1)}) for host in ("192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1:2:3:4")]
    ['192.0.2.1', '192.0.2.1', '2001:db8::/64']
    """
    host = str((scope.get("client") or ("",))[0])
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((int(address) >> 64 << 64, 64)))
    return host
