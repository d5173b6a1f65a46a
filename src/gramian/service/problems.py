"""A request that is not answered as it was asked: a status, what is wrong, and what to do about it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse


class Problem(BaseModel):
    """What a request that failed gets as JSON."""

    error: str
    what_to_do: str | None = None


class Refusal(Exception):
    """Ends a request with a status and a :class:`Problem`."""

    def __init__(
        self, status: int, error: str, what_to_do: str | None = None, retry_after: int | None = None
    ) -> None:
        # What clients wrote may be quoted, and need not be text that can be sent.
        error = error.encode("utf-8", "replace").decode()
        super().__init__(error)
        self.status, self.problem = status, Problem(error=error, what_to_do=what_to_do)
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}

    def response(self) -> JSONResponse:
        """Return what the client gets."""
        return JSONResponse(self.problem.model_dump(exclude_none=True), self.status, self.headers)


def busy(what: str, seconds: int) -> Refusal:
    """Return what is said while there is no room."""
    return Refusal(429, f"{what}.", f"Ask again in {seconds} s.", seconds)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems that a route may answer with, for its description."""
    everywhere = (400, 401, 403, 404, 408, 413, 422, 429, 507)
    return {status: {"model": Problem} for status in (*everywhere, *statuses)}
