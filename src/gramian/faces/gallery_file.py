"""The open file of a gallery: who may use its connection when, and what is left to do from last time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

from gramian.errors import FileError, ParameterError
from gramian.faces.creating import remove_leftovers
from gramian.faces.meta import REBUILD, read_meta
from gramian.faces.schema import connect, plainly, transaction
from gramian.store.atomic import as_path

__all__ = ["GalleryFile"]


class GalleryFile:
    """One connection, used by one thread at a time, every refusal in plain words.

    Parameters
    ----------
    path : str or path-like
    read_only : bool
    timeout : float
        Seconds to wait while another process changes the file.

    Attributes
    ----------
    meta : dict
        What the gallery said about itself when it was opened.
    guard : RLock
        Held by whoever uses the connection.

    Raises
    ------
    FileError
        As :func:`gramian.faces.schema.connect`.
    ParameterError
        For a time that nobody can wait.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool, timeout: float) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, Real) or not 0 <= float(timeout) <= 3600:
            raise ParameterError(f"timeout={timeout!r} must be a number of seconds from 0 to 3600.")
        self.path: Path = as_path(path)
        self.read_only: bool = read_only
        self.timeout: float = float(timeout)
        self.guard: AbstractContextManager[Any] = threading.RLock()
        self.connection: sqlite3.Connection = connect(path, read_only=read_only, timeout=self.timeout)
        try:
            self.meta: dict[str, Any] = read_meta(path, self.connection)
            if not read_only:
                remove_leftovers(Path(os.path.realpath(self.path)).parent)
                if REBUILD in self.meta:
                    self.rebuild()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; may be called again."""
        with self.guard:
            self.connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for questions."""
        with self.guard, plainly(self.path, self.timeout):
            yield self.connection

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for a change, which is made as a whole or not at all."""
        if self.read_only:
            raise FileError(f"{self.path} was opened for reading only. Open it again without read_only.")
        with self.reading() as connection, transaction(connection):
            yield connection

    def want_rebuild(self) -> None:
        """Note, inside of a change, that the file is to be rebuilt, now or by the next who opens it."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, 1)", (REBUILD,))

    def rebuild(self) -> None:
        """Write the file anew without its unused parts.

        Where another program moved rows without overwriting them, copies of them are left there.
        """
        with self.reading() as connection:
            connection.execute("VACUUM")
            connection.execute("DELETE FROM meta WHERE key = ?", (REBUILD,))

    def version(self) -> tuple[int, int]:
        """Return what changes whenever the file does, by this connection or by another process."""
        with self.reading() as connection:
            return int(connection.execute("PRAGMA data_version").fetchone()[0]), connection.total_changes
