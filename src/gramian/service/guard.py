"""Wraps the application: checks host, origin, token, size and time of every request, and logs it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gramian.checks import amount
from gramian.errors import FULL
from gramian.service.logs import LOG, Metrics
from gramian.service.schemas import Refusal, busy, disk_full
from gramian.service.settings import Settings, is_loopback

SESSION = "gramian_visitor"  # name of the cookie of a session
PASS = "gramian_pass"  # name of the cookie that replaces the token
PASS_SECONDS = 86400  # that a cookie is valid
PASSES = 10_000  # valid ones, at most
FREE = 10  # wrong tokens of one address without delay
DELAY = 1.0  # seconds
PENDING = 8  # delayed tokens of one address at a time
FORGOTTEN = 300.0  # seconds after the last wrong token
ADDRESSES = 10_000  # with wrong tokens, at most
DEFAULT_PORTS = {"http": "80", "https": "443"}
OPEN = ("/healthz", "/api/v1/login")  # paths without a token, besides those under STATIC
STATIC = "/static/"
REST_SECONDS = 1.0
QUICK = 1.0  # seconds; only a body that takes longer counts as an upload in progress
READS = ("GET", "HEAD", "OPTIONS")
SMALLER = "Send a smaller file, or fewer rows or columns."
SMALL = 1 << 20  # bytes of a request without data
SENDS_DATA = tuple(f"/api/v1/{what}" for what in ("data", "models", "galleries", "faces"))
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}

# ------------------------------------------------------------------ cookies


def cookie_name(scope: Scope, name: str) -> str:
    """Return the name of a cookie with the port, since browsers share cookies between ports.

    Examples
    --------
    >>> cookie_name({"type": "http", "scheme": "http", "headers": [(b"host", b"localhost:8765")]}, "name")
    'name_8765'
    >>> cookie_name({"type": "http", "scheme": "https", "headers": [(b"host", b"pca.example")]}, "name")
    '__Host-name_443'
    """
    port = Headers(scope=scope).get("host", "").rpartition(":")[2]
    prefix = "__Host-" if scope["scheme"] == "https" else ""
    return f"{prefix}{name}_{port if port.isdecimal() else DEFAULT_PORTS.get(scope['scheme'], '')}"


def get_cookie(scope: Scope, name: str) -> str | None:
    """Return the value of a cookie set by :func:`set_cookie`, or None."""
    return HTTPConnection(scope).cookies.get(cookie_name(scope, name))


def name_of(cookie: str | None) -> str | None:
    """Return the hash of a secret cookie: all that the server keeps of it, and the name of its visitor."""
    return None if cookie is None else hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


def set_cookie(scope: Scope, name: str, value: str, seconds: int) -> None:
    """Set a cookie with the response."""
    text = f"{cookie_name(scope, name)}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}"
    if scope["scheme"] == "https":
        text += "; Secure"
    scope.setdefault("state", {}).setdefault("cookies", []).append(text)


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


# ------------------------------------------------------------------ tokens


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
        right = hmac.compare_digest(*(text.encode("utf-8", "replace") for text in (given, self.token)))
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


# ------------------------------------------------------------------ requests


def is_for_people(scope: Scope) -> bool:
    """Return whether a browser requests a page."""
    return not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


class Guard:
    """Wraps a whole application. It answers HEAD as GET, without waiting for the body."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics, self.access = app, settings, metrics, Access(settings.token)
        self._slow: dict[_Body, tuple[str, str]] = {}  # uploads in progress, with visitor and network
        own = [] if settings.token is None else [socket.gethostname()]
        self._names = {name.lower() for name in (*settings.hosts, *own)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers, began, status = Headers(scope=scope), time.perf_counter(), 0
        head, inner = scope["method"] == "HEAD", scope
        body = _Body(receive, headers, self.settings.limits.upload_seconds, partial(self._admit, scope))

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, result = message["status"], MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    result[name] = value
                if scope["path"].startswith(STATIC) and message["status"] == 200:
                    result["Cache-Control"] = "private, max-age=600"
                await body.read_rest()
                if not body.done:
                    result["Connection"] = "close"  # the rest of the body is not read
                for cookie in scope.get("state", {}).get("cookies", ()):
                    result.append("Set-Cookie", cookie)
                await send(message)
                if head:
                    await send({"type": "http.response.body"})
            elif not head:
                await send(message)

        try:
            await self._check(scope, headers)
            body.limit = self._limit(scope["path"], headers)
            inner = {**scope, "method": "GET"} if head else scope
            await self.app(inner, body, guarded)
        except Refusal as refusal:
            await refusal.response()(scope, receive, guarded)
        except Exception as error:
            LOG.exception("failed")
            if status:
                raise
            if isinstance(error, OSError) and error.errno in FULL:
                answer = disk_full()
            else:
                answer = Refusal(500, "Internal server error. The server's log has the details.")
            await answer.response()(scope, receive, guarded)
        finally:
            self._slow.pop(body, None)
            scope["route"] = inner.get("route")
            self.metrics.note(scope, status or 500, time.perf_counter() - began)

    # ------------------------------------------------------------ access

    async def _check(self, scope: Scope, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            raise Refusal(
                400,
                "This Host is not a name of this server.",
                "Use its address, or add the name with --allow-host (hosts of create_app).",
            )
        origin = headers.get("origin")
        foreign = origin is not None and origin.lower() != _origin(scope["scheme"], hosts[0])
        if scope["method"] not in READS:  # a link may lead here from anywhere
            foreign |= headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if foreign:
            raise Refusal(
                403,
                "Requests from pages of other origins are not allowed.",
                "Behind an HTTPS proxy, start the server with --behind-proxy. The proxy must pass Host and "
                "X-Forwarded-Proto.",
            )
        if self.settings.token is None:
            server = scope.get("server")
            if server is not None and server[1] is not None and not is_loopback(server[0]):
                raise Refusal(
                    403,
                    "This server has no token, so it answers only this machine.",
                    "Start it with --token or GRAMIAN_TOKEN (token of create_app).",
                )
        state = scope.setdefault("state", {})
        state["access"] = self.access
        if scope["path"] in OPEN or scope["path"].startswith(STATIC):
            return
        state["entered"] = await self.access.may_enter(scope)
        if not state["entered"] and scope["path"] != "/":  # the login page
            login = is_for_people(scope) and not self.settings.api_only
            advice = "Send the header Authorization: Bearer TOKEN, or log in."
            refusal = Refusal(303 if login else 401, "This server requires a token.", advice)
            refusal.headers |= {"Location": "/"} if login else {"WWW-Authenticate": "Bearer"}
            raise refusal

    def _is_ours(self, host: str) -> bool:
        name = host.lower().rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host.lower()
        if is_loopback(name) or name in self._names:
            return True
        # DNS rebinding needs a name; an IP address is safe.
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self.settings.token is not None

    # ------------------------------------------------------------ size

    def _admit(self, scope: Scope, body: _Body) -> None:
        """Admit a slow upload if the visitor has few; the last ones are for networks that have none."""
        most, network = self.settings.limits.uploads, network_of(scope)
        session = scope["app"].state.gramian.sessions.get(name_of(get_cookie(scope, SESSION)))
        name = network if session is None else session.name  # any cookie can be made up
        now = [who for one, who in self._slow.items() if not one.done]
        shared = most - most // 4 if any(one[1] == network for one in now) else most
        if sum(one[0] == name for one in now) >= max(1, most // 4) or len(now) >= shared:
            raise busy("Too many slow uploads at the same time", 1)
        self._slow[body] = name, network

    def _limit(self, path: str, headers: Headers) -> int:
        limit = self.settings.limits.upload_bytes if path.startswith(SENDS_DATA) else SMALL
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limit:
            raise Refusal(413, f"This is {amount(int(length))}, and the limit is {amount(limit)}.", SMALLER)
        return limit


class _Body:
    """Passes a body on, and enforces limits on its bytes and time; a slow one must be admitted."""

    def __init__(
        self, receive: Receive, headers: Headers, seconds: float, admit: Callable[[_Body], None]
    ) -> None:
        self._receive, self._admit, self._admitted = receive, admit, False
        self._quick, self._until = (time.monotonic() + end for end in (min(QUICK, seconds), seconds))
        self._taken, self.limit = 0, SMALL
        self.done = not sends_body(headers)

    async def __call__(self) -> Message:
        if self.done:  # only a disconnect follows a body
            return await self._receive()
        try:
            async with asyncio.timeout((self._until if self._admitted else self._quick) - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            if self._admitted:
                raise Refusal(408, "The data took too long to arrive.", "Try again, or send less.") from None
            self._admit(self)
            self._admitted = True
            return await self()
        self._taken += len(message.get("body", b""))
        if self._taken > self.limit:
            raise Refusal(413, f"This is more than the limit of {amount(self.limit)}.", SMALLER)
        self.done = not message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        """Read the rest of a small body, so that a client that is still sending sees the response."""
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(REST_SECONDS):
                while not self.done and self._taken < SMALL:
                    await self()


def _origin(scheme: str, host: str) -> str:
    """Return the origin of a host as browsers write it: without a default port."""
    return f"{scheme}://{host.removesuffix(':' + DEFAULT_PORTS.get(scheme, ''))}".lower()


def sends_body(headers: Headers) -> bool:
    """Return whether a request has a body."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
