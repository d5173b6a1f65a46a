"""Text for tables of scores."""

from __future__ import annotations

__all__ = ["bar"]

EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(value: float, largest: float, width: int = 20) -> str:
    """Return a horizontal bar whose length is the share ``value / largest`` of ``width`` characters.

    Examples
    --------
    >>> bar(0.5, 1.0, width=8)
    '████'
    >>> bar(0.0, 1.0, width=8)
    ''
    """
    share = min(1.0, max(0.0, value / largest)) if largest > 0 else 0.0
    full, part = divmod(round(8 * width * share), 8)
    return ("█" * full + EIGHTHS[part]).rstrip()
