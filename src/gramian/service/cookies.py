"""Cookies that scripts cannot read, other sites cannot send, and other ports do not share."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

DEFAULT_PORTS = {"http": "80", "https": "443"}


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
