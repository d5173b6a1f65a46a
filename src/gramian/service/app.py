"""Creates the application, starts it and shuts it down."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from gramian.base.model_file import BEGINNING
from gramian.checks import duration, shown
from gramian.errors import FileError
from gramian.service.api import api
from gramian.service.guard import Guard, is_for_people
from gramian.service.logs import Metrics
from gramian.service.pages import machines, page, people
from gramian.service.schemas import Kind, Problem, Refusal
from gramian.service.sessions import State
from gramian.service.settings import LOOPBACK, Limits, Settings
from gramian.service.storage import Item, locked, prepare_store
from gramian.version import __version__

SWEEP = 30.0  # seconds between two removals of idle visitors


def create_app(
    *sources: str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    token: str | None = None,
    hosts: Sequence[str] = (),
    behind_proxy: bool | Sequence[str] = False,
    limits: Limits | None = None,
    api_only: bool = False,
) -> FastAPI:
    """Return an ASGI application with an HTTP API and pages for browsers.

    Parameters
    ----------
    *sources : str or Path
        Read-only models, galleries and data shared with all visitors.
    store : str or Path, optional
        A folder for shared models, which survive a restart: new, empty, or an earlier store. By default all
        models are deleted when the server stops.
    token : str, optional
        The secret of the visitors, at least 16 characters; by default ``GRAMIAN_TOKEN``. Without a token the
        server answers only this machine.
    hosts : sequence of str
        Further host names of the server. They need a token.
    behind_proxy : bool or sequence of str, default=False
        Whether an HTTPS proxy is in front, on this machine or at these addresses and networks. The server
        trusts ``X-Forwarded-Proto`` and ``X-Forwarded-For`` of this proxy only. It needs a token.
    limits : Limits, optional
    api_only : bool, default=False
        Serve no pages for people.

    Raises
    ------
    FileError
        If a source or the store cannot be used, for example because the folder contains other files.
    ParameterError
        If the token is too short or missing, or a proxy address is invalid.

    Examples
    --------
    >>> create_app(api_only=True).title
    'gramian'
    """
    token = token or os.environ.get("GRAMIAN_TOKEN") or None
    proxies = LOOPBACK if behind_proxy is True else tuple(behind_proxy or ())
    settings = Settings(token, tuple(hosts), proxies, None, api_only, limits or Limits())
    items, metrics = [item_of(os.fspath(source)) for source in sources], Metrics()
    if store is not None:
        settings = replace(settings, store=prepare_store(store))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with _root(settings.store) as root:
            state = app.state.gramian = State(settings, root, items, metrics)
            sweeping = asyncio.create_task(_sweep(state))
            try:
                await state.begin()
                yield
            finally:
                sweeping.cancel()
                await asyncio.wait([sweeping])
                await state.end()

    app = FastAPI(
        title="gramian",
        version=__version__,
        description="PCA and kernel PCA over HTTP.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        lifespan=lifespan,
    )
    # include_router would look for the route of each request twice, in wrappers around the routes.
    for router in (api, machines) if api_only else (api, machines, people):
        app.router.routes.extend(router.routes)
    for kind in (HTTPException, RequestValidationError, ClientDisconnect):
        app.add_exception_handler(kind, _refused)
    app.add_middleware(Guard, settings=settings, metrics=metrics)
    if settings.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.proxies))
    return app


def item_of(source: str) -> Item:
    """Return a source of the command line as an item; its name and first bytes give the kind.

    Raises
    ------
    FileError
        If it does not exist.
    """
    path = Path(source)
    kind: Kind = "data"
    if (path / "model.gramian").is_file():
        path /= "model.gramian"
    if path.suffix == ".gramian":
        kind = "model"
    elif path.is_file():
        with open(path, "rb") as file:
            kind = "gallery" if file.read(64).startswith(BEGINNING, 8) else "data"
    if not path.exists() and "::" in source:
        path = Path(source.rpartition("::")[0])
    if not path.exists():
        raise FileError(f"{source}: no such file or folder. Check the name.")
    return Item(
        id=secrets.token_hex(16),
        kind=kind,
        name=shown(re.split(r"[/\\]", source.rstrip("/\\"))[-1])[:200],  # JSON needs valid UTF-8
        created=path.stat().st_mtime,
        bytes=path.stat().st_size if path.is_file() else 0,
        file=os.path.abspath(path if kind != "data" else source),
        whose="given",
    )


@contextmanager
def _root(store: Path | None) -> Iterator[Path]:
    """Yield the folder of all items: the store, or a temporary one."""
    if store is None:
        with tempfile.TemporaryDirectory(prefix="gramian-", ignore_cleanup_errors=True) as temporary:
            yield prepare_store(temporary)
    else:
        with locked(store):
            yield store


async def _sweep(state: State) -> None:
    while True:
        await asyncio.sleep(min(SWEEP, state.settings.limits.idle_seconds))
        state.sessions.remove_idle()
        await state.forget()


# ------------------------------------------------------------------ errors


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # the client is gone
    settings, shows = request.app.state.gramian.settings, is_for_people(request.scope)
    if isinstance(error, RequestValidationError):
        wrong = error.errors()[:5]
        texts = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)
        advice = "GET /api/v1/openapi.json describes the parameters."
        field = next((one for one in wrong[0]["loc"][1:2] if isinstance(one, str)), None)
        error = Refusal(404 if shows else 422, texts, advice, field=field)
    assert isinstance(error, HTTPException)
    if not isinstance(error, Refusal):
        headers, error = error.headers or {}, Refusal(error.status_code, str(error.detail))
        error.headers |= headers
    if settings.api_only or not shows:
        return error.response()
    problem = error.problem
    if error.status == 404:
        idle = duration(settings.limits.idle_seconds)
        advice = (
            f"Uploads and models are deleted {idle} after your last visit. Only your browser can see them."
        )
        problem = Problem(error="Page not found.", what_to_do=advice)
    return page("problem.html", error.status, problem=problem)
