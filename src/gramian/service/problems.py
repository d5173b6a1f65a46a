"""A request that fails: a status, what is wrong, and what to do about it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse


class Problem(BaseModel):
    """The JSON of a failed request."""

    error: str
    what_to_do: str | None = None
    field: str | None = Field(default=None, description="The parameter or option that is wrong, if one is.")


class Refusal(Exception):
    """Ends a request with a status and a :class:`Problem`."""

    def __init__(
        self,
        status: int,
        error: str,
        what_to_do: str | None = None,
        retry_after: int | None = None,
        field: str | None = None,
    ) -> None:
        # It may quote the client, whose text may not be valid UTF-8.
        error = error.encode("utf-8", "replace").decode()
        super().__init__(error)
        self.status, self.problem = status, Problem(error=error, what_to_do=what_to_do, field=field)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse(self.problem.model_dump(exclude_none=True), self.status, self.headers)


def busy(what: str, seconds: int) -> Refusal:
    """Return the refusal of a busy server."""
    return Refusal(429, f"{what}.", f"Try again in {seconds} s.", seconds)


def disk_full() -> Refusal:
    """Return the refusal of a server whose disk is full."""
    return Refusal(507, "The server's disk is full.", "Try again later.")


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems of a route, for its OpenAPI description."""
    everywhere = (400, 401, 403, 404, 408, 413, 422, 429, 507)
    return {status: {"model": Problem} for status in (*everywhere, *statuses)}
