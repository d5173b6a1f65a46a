"""Runs an application with uvicorn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gramian.errors import ParameterError, reason

TICK = 10.0  # seconds; an idle connection is closed after one or two of them


class PromptProtocol(H11Protocol):
    """Closes connections that never complete the head of a request."""

    _seen: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio does not set it for sockets of create_server. Without it the body of a response would wait
        # until the client has acknowledged the head.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ticking = self.loop.call_later(TICK, self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ticking.cancel()
        super().connection_lost(exc)

    def _tick(self) -> None:
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self._seen == (self.cycle,):
            self.transport.close()
            return
        self._seen = (self.cycle,) if waits else None
        self._ticking = self.loop.call_later(TICK, self._tick)


class Server(uvicorn.Server):
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
            why = f"is not available: {reason(error)}"
            raise ParameterError("--host", f"{host} --port {port}", why, "Choose another one.") from error
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}/"
        self._ready = ready
        super().__init__(
            uvicorn.Config(
                app,
                http=PromptProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=3,
            )
        )

    def listen(self) -> None:
        """Answer requests until the server is stopped."""
        with self._socket:
            try:
                self.run([self._socket])
            except SystemExit as error:  # uvicorn uses other exit codes
                raise SystemExit(1) from error

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready(self.url)
