"""What a gallery says about itself, checked when it is opened: nothing else in the file is used before."""

from __future__ import annotations

import os
import re
import sqlite3
from typing import Any

import numpy as np

from gramian.faces.schema import damaged, plainly
from gramian.faces.settings import are_variances, is_time, read_text

__all__ = ["REBUILD", "read_meta"]

META = {
    "fingerprint": str,
    "components": int,
    "variances": bytes,
    "shifts": bytes,
    "created": str,
    "settings": str,
}
REBUILD = "rebuild"  # the file is to be written anew, without its unused parts


def read_meta(path: str | os.PathLike[str], connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what a gallery says about itself, without what no gallery says.

    Raises
    ------
    FileError
        If something that every gallery has is missing, or is not what it can be.
    """
    wanted = (*META, "gramian", REBUILD)
    with plainly(path, 0.0):
        places = ", ".join("?" * len(wanted))
        rows = connection.execute(f"SELECT key, value FROM meta WHERE key IN ({places})", wanted)
        meta = dict(rows.fetchall())
    meta.setdefault("shifts", b"")  # galleries made before a model could know of them
    for key, kind in META.items():
        if not isinstance(meta.get(key), kind):
            raise damaged(path, f"its {key} is missing or malformed")
    wrong = _wrong(meta)
    if wrong:
        raise damaged(path, wrong)
    return meta


def _wrong(meta: dict[str, Any]) -> str:
    """Say what cannot be so, or nothing."""
    count = meta["components"]
    if not re.fullmatch("[0-9a-f]{64}", meta["fingerprint"]):
        return "its fingerprint is missing or malformed"
    if not is_time(meta["created"]):
        return f"the time when it was created is {meta['created'][:40]!r}"
    if count < 1:
        return f"it says that its vectors have {count} components"
    if len(meta["variances"]) != 8 * count:
        return "its variances are not one for each component"
    if not are_variances(np.frombuffer(meta["variances"], dtype="<f8")):
        return "its variances are not all numbers that a variance can be"
    if len(meta["shifts"]) not in (0, 4 * count**2):
        return "its covariance of shifts is not of the size of its vectors"
    if not np.isfinite(np.frombuffer(meta["shifts"], dtype="<f4")).all():
        return "its covariance of shifts holds NaN or infinity"
    try:
        read_text(meta["settings"], count)
    except ValueError as error:
        return f"its settings are {error}"
    return ""
