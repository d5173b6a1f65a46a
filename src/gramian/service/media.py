"""Media types of bodies and responses, and the temporary files that carry them."""

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
from gramian.service.schemas import Refusal, disk_full

JSON = "application/json"
PICTURES = {"image/png": ".png", "image/jpeg": ".jpg", "application/zip": ".zip"}
TABLES = {
    JSON: ".json",
    "application/x-ndjson": ".ndjson",
    "application/vnd.apache.parquet": ".parquet",
    "application/x-npy": ".npy",
    "text/csv": ".csv",
}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ROWS = TABLES | PICTURES  # for transform and the like
FACES = {JSON: ".json", "application/x-npy": ".npy", "application/x-npz": ".npz"} | PICTURES
UPLOADS = {
    "data": ROWS | {"application/x-npz": ".npz", XLSX: ".xlsx", "application/octet-stream": ""},
    "model": {"application/octet-stream": ".gramian"},
    "gallery": {"application/octet-stream": ".gallery"},
}
FIGURES = {"json": JSON, "svg": "image/svg+xml", "png": "image/png", "csv": "text/csv"}
INLINE = 1 << 20  # bytes; a larger response is sent from its file


def body_schema(kinds: Mapping[str, str], required: bool = True) -> dict[str, Any]:
    """Return the OpenAPI description of a body."""
    content: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    if JSON in content:
        content[JSON] = {"schema": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}}
    return {"requestBody": {"required": required, "content": content}}


def produces(*kinds: str) -> dict[str, Any]:
    """Return the OpenAPI description of a response."""
    return {"response_class": Response, "responses": {200: {"content": {kind: {} for kind in kinds}}}}


@asynccontextmanager
async def received(request: Request, kinds: Mapping[str, str], folder: Path) -> AsyncIterator[Path]:
    """Receive a body into a temporary file whose suffix gives its kind.

    Raises
    ------
    Refusal
        415 for an unsupported kind, 400 for an empty body, 507 for a full disk.
    """
    path = folder / f"{secrets.token_hex(16)}{_suffix(request, kinds)}"
    try:
        with open(path, "xb") as file:
            async for chunk in request.stream():
                file.write(chunk)
            size = file.tell()
        if not size:
            raise _empty()
        yield path
    except OSError as error:
        if error.errno in FULL:
            raise disk_full() from error
        raise
    finally:
        path.unlink(missing_ok=True)


async def received_json(request: Request, kinds: Mapping[str, str]) -> str | None:
    """Receive a small body of JSON, a character for each byte; None of another kind. Raises as `received`."""
    if _suffix(request, kinds) != TABLES[JSON]:
        return None
    if not (body := await request.body()):
        raise _empty()
    return body.decode("latin-1")


def _suffix(request: Request, kinds: Mapping[str, str]) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        text = "This Content-Type is not supported here."
        raise Refusal(415, text, f"Send Content-Type: {', or '.join(kinds)}.")
    return kinds[kind]


def _empty() -> Refusal:
    return Refusal(400, "The body is empty.", "Send the data as the body.")


def accepted_type(request: Request) -> str:
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
    raise Refusal(406, "Rows cannot be sent in this format.", f"Accept: {', or '.join(TABLES)}.")


@asynccontextmanager
async def output_path(folder: Path, suffix: str = "") -> AsyncIterator[Path]:
    """Yield a path for a worker to write to; after an error all files of this name are removed."""
    path = folder / f"{secrets.token_hex(16)}{suffix}"
    try:
        yield path
    except BaseException:
        for left in folder.glob(f"{path.name}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        raise


def send_file(path: Path, kind: str, filename: str | None = None) -> Response:
    """Send a file that a worker wrote, perhaps as a download, and remove it."""
    headers = {} if filename is None else {"Content-Disposition": f'attachment; filename="{filename}"'}
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
