"""Arrays in a file: which one to read, and whether it can be a table or labels."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gramian.arrays import memory_limit_bytes
from gramian.checks import amount, first_few
from gramian.errors import DataError, FileError, GramianError, MemoryLimitError, reason

Use = Literal["table", "labels"]

_KEYS_SHOWN = 12
TEXT = 64  # bytes of a short text of any length


@dataclass(frozen=True)
class Header:
    """An array in a file: the shape and dtype in its header, and a function that reads it.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        That of str for text of any length.
    read : callable
        Returns it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[], npt.NDArray[Any]]

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def fits(self, use: Use) -> bool:
        """Say whether its shape and kind are those of a table or of labels."""
        if use == "table":
            return len(self.shape) in (2, 3) and self.dtype.kind in "buif"
        return (
            sum(length != 1 for length in self.shape) <= 1 <= len(self.shape) and self.dtype.kind in "buifU"
        )

    def __str__(self) -> str:
        kind = "text" if self.dtype.kind == "U" else str(self.dtype)
        return f"{' x '.join(map(str, self.shape))} {kind}" if self.shape else f"single {kind}"


def pick_array(
    names: Sequence[str], look: Callable[[str], Header], key: str | None, source: str, use: Use = "table"
) -> tuple[str, Header, tuple[str, ...]]:
    """Return the name and the header of one array of several; the others are not touched.

    Parameters
    ----------
    names : sequence of str
    look : callable
        Takes a name and returns a :class:`Header`.
    key : str or None
        The array to read; None takes the only one that fits, and adds a note.
    source : str
    use : {"table", "labels"}

    Returns
    -------
    key : str
    header : Header
        Its ``read`` raises a MemoryLimitError if the array exceeds the memory limit.
    notes : tuple of str

    Raises
    ------
    DataError
        If the key is unknown or missing, or its array does not suit ``use``.

    Examples
    --------
    >>> stored = {"X": np.eye(2), "y": np.zeros(2)}
    >>> def look(name): return Header(stored[name].shape, stored[name].dtype, lambda: stored[name])
    >>> pick_array(["X", "y"], look, None, "memory")[2]
    ("array 'X' was read, the only table in the archive",)
    """
    notes: tuple[str, ...] = ()
    if key is None:
        key = _only(names, look, source, use)
        notes = (f"array {key!r} was read, the only {use} in the archive",)
    key = key if key in names else key.strip("/")
    if key not in names:
        raise DataError(f"{source} has no array {key!r}. It holds {_described(names, look)}.")
    header, name = look(key), f"{source}::{key}"
    require(header, name, use)

    def read() -> npt.NDArray[Any]:
        require_room(header, name)
        return header.read()

    return key, replace(header, read=read), notes


def require(header: Header, source: str, use: Use = "table") -> None:
    """Check from its header that an array can be a table of real numbers, or labels.

    Raises
    ------
    DataError
    """
    if header.dtype.hasobject:
        raise DataError(
            f"{source} holds Python objects that need pickle, which is not supported because reading it "
            "can run code. Save the array as numbers, for instance numpy.save(path, array.astype(float))."
        )
    if use == "labels":
        if not header.fits(use):
            raise DataError(
                f"{source} holds {header}, but labels need one text or number for each row. Choose another."
            )
        return
    if not header.fits(use):
        raise DataError(
            f"{source} holds {header}. A table has real numbers and two axes, rows and columns; grey "
            "pictures have three: picture, height, width. Save it like that."
        )
    if 0 in header.shape:
        what = "rows" if header.shape[0] == 0 else "columns"
        raise DataError(f"{source} holds {header}: there are no {what}. At least one is needed.")


def require_room(header: Header, source: str) -> None:
    """Check that an array fits into the memory limit: a header of a few bytes can claim any size.

    Raises
    ------
    MemoryLimitError
    """
    need = math.prod(header.shape) * (header.dtype.itemsize or TEXT)
    require_memory(need, f"{source} holds {header}, which", "Save a part of it or smaller numbers")


def require_memory(need: int, what: str, advice: str, most: int = 0) -> None:
    """Check that so many bytes are within the memory limit, or within ``most`` where that is more.

    Raises
    ------
    MemoryLimitError
    """
    limit = max(most, memory_limit_bytes(None))
    if need > limit:
        raise MemoryLimitError(
            f"{what} takes {amount(need)}, and {amount(limit)} of memory may be used. {advice}, or raise "
            "GRAMIAN_MEMORY_LIMIT."
        )


def _only(names: Sequence[str], look: Callable[[str], Header], source: str, use: Use) -> str:
    if not names:
        raise DataError(f"{source} holds no arrays of numbers or text. Is it the right file?")
    fitting = [name for name in names if look(name).fits(use)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and len(names) == 1:
        return names[0]
    raise DataError(
        f"{source} holds {_described(names, look)}. "
        f"Choose one, as in {source}::{(fitting or names)[0]}, or save it in its own file."
    )


def _described(names: Sequence[str], look: Callable[[str], Header]) -> str:
    return first_few(names, lambda name: f"{name} ({look(name)})", _KEYS_SHOWN)


@contextmanager
def damage(source: str) -> Iterator[None]:
    """Turn any exception that a library raises on a file into a GramianError, with the library's words."""
    try:
        yield
    except (GramianError, Warning):  # warnings may be errors
        raise
    except MemoryError as error:
        raise MemoryLimitError(
            f"{source} takes more memory than there is ({error}). Read a part of it."
        ) from error
    except Exception as error:  # libraries meet damaged bytes unprepared and raise anything
        if isinstance(error, OSError) and error.strerror:
            raise FileError(f"{source} cannot be read: {reason(error)}. Check the path.") from error
        detail = str(error).split("\n")[0].rstrip(".")
        raise FileError(
            f"{source} cannot be read: it is truncated, damaged or protected, or of another kind ({detail}). "
            "Make or copy it again."
        ) from error
