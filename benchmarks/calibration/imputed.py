"""To be written."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.rate import Rate


def rates(quick: bool) -> Iterator[Rate]:
    """Yield the rates."""
    yield from ()
