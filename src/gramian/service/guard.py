"""Checks host, origin, token, size and time of every request, and sets security headers."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gramian.checks import amount
from gramian.errors import FULL
from gramian.service.access import Access, network_of
from gramian.service.cookies import DEFAULT_PORTS, get_cookie, name_of
from gramian.service.logs import LOG
from gramian.service.problems import Refusal, disk_full
from gramian.service.settings import Settings, is_loopback
from gramian.service.visitors import COOKIE

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


def is_for_people(scope: Scope) -> bool:
    """Return whether a browser requests a page."""
    return not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


def _no_token(shows: bool) -> Refusal:
    """Return the refusal for a program, or for a browser, which is redirected to the login."""
    refusal = Refusal(
        303 if shows else 401,
        "This server requires a token.",
        "Send the header Authorization: Bearer TOKEN, or log in.",
    )
    refusal.headers |= {"Location": "/"} if shows else {"WWW-Authenticate": "Bearer"}
    return refusal


class Guard:
    """Wraps a whole application."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app, self.settings, self.access = app, settings, Access(settings.token)
        self._slow: dict[_Body, tuple[str, str]] = {}  # uploads in progress, with visitor and network
        own = [] if settings.token is None else [socket.gethostname()]
        self._names = {name.lower() for name in (*settings.hosts, *own)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers, started = Headers(scope=scope), False
        body = _Body(receive, headers, self.settings.limits.upload_seconds, partial(self._admit, scope))

        async def guarded(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                result = MutableHeaders(scope=message)
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

        try:
            await self._check(scope, headers)
            body.limit = self._limit(scope["path"], headers)
            await self.app(scope, body, guarded)
        except Refusal as refusal:
            await refusal.response()(scope, receive, guarded)
        except Exception as error:
            LOG.exception("failed")
            if started:
                raise
            if isinstance(error, OSError) and error.errno in FULL:
                answer = disk_full()
            else:
                answer = Refusal(500, "Internal server error. The server's log has the details.")
            await answer.response()(scope, receive, guarded)
        finally:
            self._slow.pop(body, None)

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
            raise _no_token(shows=is_for_people(scope) and not self.settings.api_only)

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
        name = name_of(get_cookie(scope, COOKIE))
        if name is None or not scope["app"].state.gramian.visitors.is_here(name):
            name = network  # any cookie can be made up
        now = [who for one, who in self._slow.items() if not one.done]
        shared = most - most // 4 if any(one[1] == network for one in now) else most
        if sum(one[0] == name for one in now) >= max(1, most // 4) or len(now) >= shared:
            text = "Too many slow uploads at the same time. Try again later."
            raise HTTPException(429, text, {"Retry-After": "1"})
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
                text = "The data took too long to arrive. Try again, or send less."
                raise HTTPException(408, text) from None
            self._admit(self)
            self._admitted = True
            return await self()
        self._taken += len(message.get("body", b""))
        if self._taken > self.limit:
            raise HTTPException(413, f"This is more than the limit of {amount(self.limit)}. {SMALLER}")
        self.done = not message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        """Read the rest of a small body, so that a client that is still sending sees the response."""
        with suppress(TimeoutError, HTTPException):
            async with asyncio.timeout(REST_SECONDS):
                while not self.done and self._taken < SMALL:
                    await self()


class Head:
    """Wraps an application: answers HEAD as GET, without waiting for the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})

        asked = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, head)
        finally:
            scope["route"] = asked.get("route")  # for the log


def _origin(scheme: str, host: str) -> str:
    """Return the origin of a host as browsers write it: without a default port."""
    return f"{scheme}://{host.removesuffix(':' + DEFAULT_PORTS.get(scheme, ''))}".lower()


def sends_body(headers: Headers) -> bool:
    """Return whether a request has a body."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
