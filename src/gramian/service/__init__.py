"""Answers other programs and browsers over HTTP; ``gramian serve`` starts it.

Models, data and fits of each visitor apart; parsing and fitting in processes of their own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gramian.errors import MissingExtraError

if TYPE_CHECKING:
    from gramian.service.app import create_app
    from gramian.service.settings import Limits

__all__ = ["Limits", "create_app"]


def __getattr__(name: str) -> Any:
    # Loaded when first used: the processes that work for a server need no server.
    if name not in __all__:
        raise AttributeError(f"module 'gramian.service' has no attribute {name!r}")
    try:
        found = import_module("gramian.service.app" if name == "create_app" else "gramian.service.settings")
    except ModuleNotFoundError as error:
        raise MissingExtraError("app", error.name or "fastapi", "the server") from error
    return getattr(found, name)
