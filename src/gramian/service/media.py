"""What bodies are called on the way in and out."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from gramian.errors import FULL
from gramian.service.problems import Refusal

JSON = "application/json"
PICTURES = {"image/png": ".png", "image/jpeg": ".jpg", "application/zip": ".zip"}
TABLES = {
    JSON: ".json",
    "application/x-ndjson": ".ndjson",
    "application/vnd.apache.parquet": ".parquet",
    "application/x-npy": ".npy",
    "text/csv": ".csv",
}
ROWS = TABLES | PICTURES  # what models are applied to
FACES = {JSON: ".json", "application/x-npy": ".npy", "application/x-npz": ".npz"} | PICTURES
TAKEN = {
    "data": ROWS | {"application/x-npz": ".npz", "application/octet-stream": ""},
    "model": {"application/octet-stream": ".gramian"},
    "gallery": {"application/octet-stream": ".gallery"},
}
INLINE = 1 << 20  # bytes up to which an answer is sent from memory


def body_of(kinds: Mapping[str, str], required: bool = True) -> dict[str, Any]:
    """Return what the description of a route says of its body."""
    content: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    if JSON in content:
        content[JSON] = {"schema": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}}
    return {"requestBody": {"required": required, "content": content}}


@asynccontextmanager
async def received(request: Request, kinds: Mapping[str, str], folder: Path) -> AsyncIterator[Path]:
    """Receive a body into a file whose suffix says its kind, and which is gone afterwards.

    Raises
    ------
    Refusal
        415 for a kind that is not taken, 400 for an empty body, 507 for a full disk.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in kinds:
        raise Refusal(415, "This body is not taken here.", f"Send Content-Type: {', or '.join(kinds)}.")
    path = folder / f"{secrets.token_hex(16)}{kinds[given]}"
    try:
        with open(path, "xb") as file:
            async for chunk in request.stream():
                file.write(chunk)
            size = file.tell()
        if not size:
            raise Refusal(400, "The body is empty.", "Send the data as the body.")
        yield path
    except OSError as error:
        if error.errno in FULL:
            raise Refusal(507, "There is no room on the server's disk.", "Try again later.") from error
        raise
    finally:
        path.unlink(missing_ok=True)


def wanted(request: Request) -> str:
    """Return the first media type of Accept that rows can be sent in.

    Raises
    ------
    Refusal
        406 if there is none.
    """
    for part in request.headers.get("accept", "*/*").lower().split(","):
        kind = part.partition(";")[0].strip()
        if kind in TABLES or kind in ("*/*", "application/*"):
            return kind if kind in TABLES else JSON
    raise Refusal(406, "Rows are not sent in that form.", f"Accept: {', or '.join(TABLES)}.")


@asynccontextmanager
async def written(folder: Path, suffix: str = "") -> AsyncIterator[Path]:
    """Name a file for what a process writes; unless that ends well it is gone, and what was beside it."""
    path = folder / f"{secrets.token_hex(16)}{suffix}"
    try:
        yield path
    except BaseException:
        for left in folder.glob(f"{path.name}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        raise


def sent(path: Path, kind: str, called: str | None = None) -> Response:
    """Send a file that a process wrote, perhaps to be kept, which is gone afterwards."""
    headers = {} if called is None else {"Content-Disposition": f'attachment; filename="{called}"'}
    if os.path.getsize(path) > INLINE:
        return _SentOnce(path, headers=headers, media_type=kind)
    content = path.read_bytes()
    path.unlink()
    return Response(content, headers=headers, media_type=kind)


class _SentOnce(FileResponse):
    """Removes its file, however the sending ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.unlink(self.path)
