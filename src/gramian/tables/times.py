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
SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
GREGORIAN, FARTHEST = 1583, 2e11  # the first year of the usual calendar; seconds
CALENDARS = ("", "standard", "gregorian", "proleptic_gregorian")
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


def times_since(values: npt.NDArray[Any], units: str, calendar: str) -> tuple[str, ...] | None:
    """Return times that a file counts in units since a time, as text; None for what is none, or of no year.

    Examples
    --------
    >>> times_since(np.array([0.0, 31.0]), "days since 1990-1-1", "standard")
    ('1990-01-01', '1990-02-01')
    """
    found = re.match(r"(day|hour|minute|second)s? since (\d+)-(\d+)-(\d+)[T ]?(?:(\d+):(\d+))?", units)
    seconds = values * SECONDS[found[1]] if found else np.array(np.inf)
    most = np.abs(seconds).max(initial=0.0)
    if not found or int(found[2]) < GREGORIAN or calendar.lower() not in CALENDARS or not most < FARTHEST:
        return None
    try:
        year, month, day, hour, minute = (int(part or 0) for part in found.groups()[1:])
        begin = datetime(year, month, day, hour, minute)
    except ValueError:
        return None
    times = np.datetime64(begin) + np.rint(seconds).astype("m8[s]")
    return tuple(np.datetime_as_string(times, "D" if (seconds % SECONDS["day"] == 0).all() else "s").tolist())


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
