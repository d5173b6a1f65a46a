"""Names of columns in a file of their own, one a line, as ``gramian select -o`` writes them."""

import os
from pathlib import Path

from gramian.errors import FileError, ParameterError, reason
from gramian.rows.decoding import readable


class ListedName(str):
    """A name that remembers the file and the line it stands in."""

    place: str


def read_names(path: str | os.PathLike[str]) -> tuple[ListedName, ...]:
    """Read a list of names; empty lines do not count.

    Raises
    ------
    FileError
        If it cannot be read, or is no text in UTF-8.
    ParameterError
        If it holds no name, or one twice.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "features.txt"
    >>> _ = file.write_text("height\\nweight\\n")
    >>> read_names(file)[1], read_names(file)[1].place.endswith("features.txt, line 2")
    ('weight', True)
    """
    source = readable(os.fspath(path))
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FileError(f"{source} cannot be read: {reason(error)}. Check the path.") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{source} is no text in UTF-8. Give a file of names, one a line.") from error
    found: dict[str, ListedName] = {}
    for number, line in enumerate(text.split("\n"), 1):
        name = ListedName(line.removesuffix("\r"))
        name.place = f"{source}, line {number}"
        if name in found:
            first = found[name].place.rpartition(" ")[2]
            raise ParameterError(f"{name.place}: {name!r} is in line {first} already. Name it once.")
        if name:
            found[name] = name
    if not found:
        raise ParameterError(f"{source} names no column. Write one name a line.")
    return tuple(found.values())
