"""The server: an HTTP API and pages for browsers; ``gramian serve`` starts it.

Every visitor has their own models, data and fits. Parsing and fitting run in worker processes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gramian.errors import MissingExtraError

if TYPE_CHECKING:
    from gramian.service.app import create_app
    from gramian.service.settings import Limits

__all__ = ["Limits", "create_app"]


def __getattr__(name: str) -> Any:
    # Loaded when first used: workers do not need the server.
    if name not in __all__:
        raise AttributeError(f"module 'gramian.service' has no attribute {name!r}")
    try:
        result = import_module("gramian.service.app" if name == "create_app" else "gramian.service.settings")
    except ModuleNotFoundError as error:
        raise MissingExtraError("app", error.name or "fastapi", "the server") from error
    return getattr(result, name)
