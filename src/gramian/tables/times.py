"""Times that name rows: as numbers, in one zone, and whether the rows are in their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.tables.cells import is_date

TIME = re.compile(r"(\d{4}-\d\d-\d\d(?:[ T][\d:.]+)?)(Z|[+-]\d\d:?\d\d)?")  # of a row, and its zone
HOUR, SUNDAY, NIGHT = np.timedelta64(1, "h"), 3, 4  # days after 1970-01-01; hours of a day


def times_of(names: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.datetime64] | None:
    """Return the times that name rows, to a millisecond, of several zones as UTC; None where a name is none.

    Examples
    --------
    >>> times_of(["2024-05-01 10:00", "2024-05-01 10:05"])
    array(['2024-05-01T10:00:00.000', '2024-05-01T10:05:00.000'],
          dtype='datetime64[ms]')
    >>> np.diff(times_of(["2024-03-31T01:59+01:00", "2024-03-31T03:00+02:00"]))
    array([60000], dtype='timedelta64[ms]')
    >>> times_of(["31.12.2024 23:55", "01.01.2025 00:00"])[1]
    np.datetime64('2025-01-01T00:00:00.000')
    >>> times_of(["31.12.2024", "01.01.2025"])[1]
    np.datetime64('2025-01-01T00:00:00.000')
    >>> times_of(["W12", "W13"])
    """
    times = np.asarray(names)
    if times.dtype.kind == "M":
        return times.astype("M8[ms]")
    texts = [*map(str, names)]
    matches = [match for match in map(TIME.fullmatch, texts) if match]
    zones = {match[2] for match in matches}
    if not matches and texts and is_date(texts[0]):
        import pyarrow as pa  # which few names need

        from gramian.tables.strings import dates

        found = dates(pa.array(texts))
        return None if found is None else found[0].to_numpy(zero_copy_only=False).astype("M8[ms]")
    if not matches or len(matches) < len(texts) or (None in zones and len(zones) > 1):
        return None
    try:
        if len(zones) == 1:
            return np.array([match[1] for match in matches]).astype("M8[ms]")
        moments = [datetime.fromisoformat(match[0]).astimezone(UTC) for match in matches]
        return np.array([moment.replace(tzinfo=None) for moment in moments], dtype="M8[ms]")
    except (ValueError, OverflowError):  # digits that are no time
        return None


def set_back(times: npt.NDArray[np.datetime64]) -> npt.NDArray[np.intp]:
    """Return the rows at which a local clock is set back: by an hour, in the night to a Sunday.

    Examples
    --------
    >>> set_back(times_of(["2024-10-27 02:40", "2024-10-27 02:50", "2024-10-27 02:00", "2024-10-27 02:10"]))
    array([2])
    """
    steps = np.diff(times)
    rows = np.flatnonzero(steps < np.timedelta64(0)) + 1
    if not len(rows):
        return rows
    new, hour = times[rows] + HOUR, abs(steps[rows - 1] + HOUR) <= 2 * np.median(abs(steps))
    days = new.astype("M8[D]")
    sunday = (days.astype(np.int64) - SUNDAY) % 7 == 0
    chosen: npt.NDArray[np.intp] = rows[hour & sunday & (new - days < NIGHT * HOUR)]
    return chosen


def in_time(names: Sequence[Any] | None) -> bool:
    """Return whether times name all rows, in their order but where a clock is set back."""
    times = times_of(names or ())
    return times is not None and len(set_back(times)) == int((np.diff(times) < np.timedelta64(0)).sum())
