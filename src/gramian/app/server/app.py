"""Creates the application, checks every request before it, and listens."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gramian.app.server.fields import Refusal
from gramian.app.server.pages import page, pages
from gramian.app.server.routes import api, sends_body
from gramian.app.server.state import LOG, Item, Limits, State, given_item, store_folder
from gramian.core.checks import amount, counted
from gramian.core.package import __version__
from gramian.errors import FULL, ParameterError, reason

SHORTEST_TOKEN = 16  # characters
STATIC = "/static/"  # paths without a token
READS = ("GET", "HEAD", "OPTIONS")
SENDS_DATA = ("/api/v1/data", "/api/v1/models")
SMALL, MOST_DIGITS = 1 << 20, 20  # bytes of a request without data; digits of a length
SMALLER = "Send a smaller file, or fewer rows or columns."
DEFAULT_PORTS = {"http": "80", "https": "443"}
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


def create_app(
    *sources: str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
    hosts: Sequence[str] = (),
    limits: Limits | None = None,
) -> FastAPI:
    """Return an ASGI application for one person, with pages and an HTTP API.

    Parameters
    ----------
    *sources : str or Path
        Read-only models and data.
    store : str or Path, optional
        A folder for uploads and models, which survive a restart: new, empty, or an earlier store. By default
        they are in a temporary folder, which goes with the server.
    token : str, optional
        The secret of at least 16 characters that every request needs: in the query of an address, which sets
        a cookie, or as ``Authorization: Bearer``. Without a token only this machine is answered.
    hosts : sequence of str
        Further host names of the server, such as a proxy's. They need a token.
    limits : Limits, optional

    Raises
    ------
    FileError
        If a source does not exist, or the store cannot be used.
    ParameterError
        If the token is too short, or missing.

    Examples
    --------
    >>> create_app().title
    'gramian'
    """
    if token is not None and len(token) < SHORTEST_TOKEN:
        short = f"has {counted(len(token), 'character')}; at least {SHORTEST_TOKEN} are required"
        raise ParameterError("token", allowed=short, hint="Leave it out: one is made.")
    if token is None and (other := [name for name in hosts if not is_loopback(name)]):
        missing = f"is missing, but the host {other[0]} admits other machines"
        raise ParameterError("token", allowed=missing, hint="Give one.")
    items, limits = [given_item(os.fspath(source)) for source in sources], limits or Limits()
    folders = ExitStack()
    root = None if store is None else folders.enter_context(store_folder(store))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with folders:
            if (folder := root) is None:
                temporary = tempfile.TemporaryDirectory(prefix="gramian-", ignore_cleanup_errors=True)
                folder = folders.enter_context(store_folder(folders.enter_context(temporary)))
            state = app.state.gramian = State(folder, items, limits)
            try:
                state.given = [await _described(state, item) for item in items]
                yield
            finally:
                await state.end()

    app = FastAPI(
        title="gramian",
        version=__version__,
        description="PCA and kernel PCA over HTTP.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        lifespan=lifespan,
        exception_handlers=dict.fromkeys((HTTPException, RequestValidationError, ClientDisconnect), _answer),
    )
    app.include_router(api)
    app.include_router(pages)
    app.mount(STATIC, StaticFiles(packages=[("gramian.app", "page")]))
    app.add_middleware(Guard, token=token, hosts=hosts, limits=limits)
    return app


async def _described(state: State, item: Item) -> Item:
    """Return an item of the command line with its facts, or with why it cannot be read."""
    try:
        facts = await state.describe(item)
    except Refusal as refusal:
        facts = {"error": refusal.detail}
        LOG.warning(f"{item.name}: {refusal.detail}")
    return item.with_facts(facts, item.bytes)


async def _answer(request: Request, error: Exception) -> Response:
    """Return what a failed request answers: its text, on a page for a browser that wanted one."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # the client is gone
    if isinstance(error, RequestValidationError):
        problems = error.errors()[:5]
        texts = (f"{'.'.join(map(str, problem['loc'][1:]))}: {problem['msg']}" for problem in problems)
        error = Refusal(422, f"{'; '.join(texts)}. GET /api/v1/openapi.json describes the parameters.")
    if not isinstance(error, HTTPException):
        LOG.error("a request failed", exc_info=error)
        full = isinstance(error, OSError) and error.errno in FULL
        text = "The disk is full. Delete something." if full else "The server failed; its log says why."
        error = Refusal(507 if full else 500, text)
    wanted = "" if request.scope["path"].startswith("/api/") else request.headers.get("accept", "")
    if "text/html" in wanted:
        return page("problem.html", error.status_code, text=error.detail)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def is_loopback(host: str) -> bool:
    """Return whether a name or address belongs to the loopback.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("[::1]")
    (True, True, False, True)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return a host that is written as an address."""
    with suppress(ValueError):
        return ip_address(host.strip("[]"))
    return None


# ------------------------------------------------------------------ before every request


class Guard:
    """Checks host, origin, token and size of every request, and adds headers to every answer.

    Parameters
    ----------
    app : ASGI application
    token : str or None
        None admits everybody on this machine.
    hosts : sequence of str
    limits : Limits
    """

    def __init__(self, app: ASGIApp, token: str | None, hosts: Sequence[str], limits: Limits) -> None:
        self.app, self.token, self.limits = app, token, limits
        self.pass_ = secrets.token_urlsafe(32)  # the value of the cookie that replaces the token
        self._names = {name.lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request, began = Request(scope), False
        limit = self.limits.upload_bytes if scope["path"].startswith(SENDS_DATA) else SMALL
        too_large = Refusal(413, f"This is more than the limit of {amount(limit)}. {SMALLER}")
        announced = request.headers.get("content-length", "")
        fits = announced.isdecimal() and len(announced) < MOST_DIGITS and int(announced) <= limit
        taken, done = 0, not sends_body(request.headers)

        async def limited() -> Message:
            nonlocal taken, done
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit and not done:
                raise too_large
            done = done or not message.get("more_body", False)
            return message

        async def guarded(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began, result = True, MutableHeaders(scope=message)
                result.update(HEADERS)
                if scope["path"].startswith(STATIC) and message["status"] == 200:
                    result["Cache-Control"] = "private, max-age=600"
                if not (done or fits):  # a client that sends a body with an end may send it before it reads
                    result["Connection"] = "close"
            await send(message)

        try:
            answer = self._checked(request) or self.app
            if announced and not fits:
                raise too_large
            await answer(scope, limited, guarded)
        except Exception as error:
            if began:
                raise
            await (await _answer(request, error))(scope, receive, guarded)

    def _checked(self, request: Request) -> Response | None:
        """Return an answer that sets the cookie, or None where the request may pass.

        Raises
        ------
        Refusal
        """
        headers, path, reads = request.headers, request.scope["path"], request.method in READS
        hosts, origin = headers.getlist("host"), headers.get("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            text = "This Host is not a name of this server."
            raise Refusal(400, f"{text} Use its address, or add it with --allow-host.")
        # A link may lead here from anywhere.
        site = "none" if reads else headers.get("sec-fetch-site", "none")
        if (origin is not None and not _same(origin, hosts[0])) or site not in ("same-origin", "none"):
            text = "Requests from pages of other origins are not allowed. A proxy must pass on Host."
            raise Refusal(403, text)
        if self.token is None:
            host, port = request.scope.get("server") or ("", None)
            if port is not None and not is_loopback(host):
                raise Refusal(403, "This server has no token, so it answers only this machine.")
            return None
        cookie = f"gramian_{hosts[0].rpartition(':')[2]}"  # browsers share cookies between ports
        if path.startswith(STATIC) or _equal(request.cookies.get(cookie, ""), self.pass_):
            return None
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _equal(bearer.strip(), self.token):
            return None
        if reads and _equal(request.query_params.get("token", ""), self.token):
            answer = RedirectResponse("/" + path.lstrip("/\\"), 303)
            secure = headers.get("x-forwarded-proto") == "https"  # a proxy's
            answer.set_cookie(cookie, self.pass_, httponly=True, samesite="strict", secure=secure)
            return answer
        text = "This server requires its token: open the address that it printed, or enter the token."
        raise Refusal(401, text, **{"WWW-Authenticate": "Bearer"})

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.lower().rpartition(":")
        name = name if port.isdecimal() else host.lower()
        # DNS rebinding needs a name; an IP address is safe.
        with_token = self.token is not None and _address(name) is not None
        return with_token or is_loopback(name) or name in self._names


def _equal(text: str, secret: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode("utf-8", "replace"))


def _same(origin: str, host: str) -> bool:
    """Return whether an origin is that of a host, perhaps behind a proxy with TLS."""
    scheme, _, name = origin.lower().partition("://")
    return scheme in DEFAULT_PORTS and name == host.lower().removesuffix(f":{DEFAULT_PORTS[scheme]}")


# ------------------------------------------------------------------ listening


class Listener(uvicorn.Server):
    """Listens, and reports its address when it is ready.

    Parameters
    ----------
    app : ASGI application
    host : str
    port : int
        0 for a free one.
    ready : callable
        Receives the URL.

    Raises
    ------
    ParameterError
        If the address is not available.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, ready: Callable[[str], object]) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            text = f"port={port} is not available at {host}: {reason(error)}. Choose another one."
            raise ParameterError("port", problem=text) from error
        # Accepted sockets inherit it. Without it a body would wait until the client acknowledges the head.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}/"
        self._ready = ready
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
        super().__init__(config)

    def listen(self) -> None:
        """Answer requests until the server is stopped."""
        with self._socket:
            try:
                self.run([self._socket])
            except SystemExit as error:  # uvicorn uses other exit codes
                raise SystemExit(1) from error

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready(self.url)
