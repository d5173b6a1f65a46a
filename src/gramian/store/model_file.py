"""The model file: one safetensors file that holds a described set of arrays, and its seal.

The layout is described field by field in ``docs/format.md``. What the header and the arrays mean is
the business of whoever writes them; here they are only kept safe.
"""

import hashlib
import json
import math
import os
import platform
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from gramian.errors import FileError, InputTypeError, ModelFileError, ParameterError, reason, shortened
from gramian.store.atomic import as_path, atomic_write
from gramian.version import __version__

FORMAT_VERSION = 1

_FORMAT = "gramian-model"
_KEY = "gramian"
BEGINNING = b'{"__metadata__":{"gramian":'  # after eight bytes of length
_DTYPES = {"BOOL": np.dtype("?")} | {
    f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}")
    for kind, sizes in {"F": (2, 4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}.items()
    for size in sizes
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
# "checksum" sorts before every other key, so its entry is always this long prefix.
_CHECKSUM_ENTRY = re.compile(r'\{"checksum":"([0-9a-f]{64})",')
_LARGEST_EXACT_INT = 2**53
# The safetensors limit on its own header; a larger figure is no length but some other file's bytes.
_LARGEST_HEADER = 100_000_000
_PICKLE = re.compile(rb"\x80[\x02-\x05]|x[\x01\x5e\x9c\xda]")


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds: its kind, a header of JSON values, named arrays, its writer."""

    kind: str
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    versions: dict[str, str]


def write_model(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    private: bool = False,
) -> None:
    """Write one model file: complete under its name, or not at all.

    The same arguments give the same bytes, on every platform with the same package versions.

    Parameters
    ----------
    path : str or path-like
        By convention it ends in ``.gramian``.
    kind : str
        What the model is; the reader looks its class up by this name.
    header : mapping
        JSON values: None, bool, int, float (infinite and NaN too), str, and lists and mappings of
        them. Tuples come back as lists, NumPy scalars as Python numbers, keys in sorted order.
    arrays : mapping of str to ndarray
        Booleans, integers and floats up to 64 bits, of any shape, order and byte order.
    private : bool, default=False
        A new file can be read by its owner only; one that is replaced keeps its permissions.

    Raises
    ------
    FileError
        If the file cannot be written.
    InputTypeError, ParameterError
        If something in ``header`` or ``arrays`` cannot be kept; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> write_model(f"{folder.name}/a.gramian", "pca", {"tol": None}, {"mean": np.zeros(3)})
    >>> stored = read_model(f"{folder.name}/a.gramian")
    >>> stored.kind, stored.header, stored.arrays["mean"].shape
    ('pca', {'tol': None}, (3,))
    >>> folder.cleanup()
    """
    ready = {name: _portable(name, array) for name, array in arrays.items()}
    entry = {
        "format": _FORMAT,
        "format_version": FORMAT_VERSION,
        "header": _encode(header, "header"),
        "kind": kind,
        "versions": versions(),
    }
    text = json.dumps(entry, allow_nan=False, sort_keys=True, separators=(",", ":"))
    sealed = f'{{"checksum":"{_checksum(text, ready)}",{text[1:]}'
    payload = safetensors.numpy.save(ready, metadata={_KEY: sealed})
    with atomic_write(path, mode=0o600 if private else 0o666) as file:
        file.write(payload)


def read_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a file of :func:`write_model`, refusing everything that is not exactly as written.

    Raises
    ------
    FileError
        If there is no such file, or it cannot be opened.
    ModelFileError
        If the file is empty, truncated, altered, of another kind, or of a newer format.
    """
    target = as_path(path)
    try:
        # A pipe would be waited for.
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise FileError(f"{target} is not a file. Name the .gramian file itself.")
        with open(target, "rb") as file:
            _check_head(target, file.read(9))
            file.seek(0)
            payload = file.read()
    except FileNotFoundError as error:
        raise FileError(f"{target} does not exist. Check the name and the folder.") from error
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"{shortened(target)} cannot be read: {reason(error)}. Check its name and permissions."
        ) from error
    text = _own_text(target, payload)
    entry = _parse_entry(target, text)
    sealed = _CHECKSUM_ENTRY.match(text)
    try:
        arrays = safetensors.numpy.load(payload)
        matches = sealed is not None and sealed[1] == _checksum("{" + text[sealed.end() :], arrays)
    except (AttributeError, LookupError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise _damaged(target, f"its arrays are cut short or displaced ({error})") from error
    if not matches:
        raise _damaged(target, "its content does not match its checksum")
    kind, header, writer = (entry.get(name) for name in ("kind", "header", "versions"))
    if not (isinstance(kind, str) and isinstance(header, dict) and isinstance(writer, dict)):
        raise _damaged(target, "its kind, header or versions are missing or malformed")
    try:
        return StoredModel(kind, _decode(header), arrays, writer)
    except (RecursionError, TypeError, ValueError) as error:
        raise _damaged(target, "a value of its header is no number, or too deep inside of others") from error


def _portable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    little = array.dtype.newbyteorder("<")
    if little not in _CODES:
        raise InputTypeError(f"{name} has dtype {array.dtype}, which a model file cannot keep.")
    return np.asarray(array, dtype=little, order="C")


def versions() -> dict[str, str]:
    """Return the versions of what computes and writes a model."""
    # Only writing asks for it, and it would be a quarter of what this module costs to import.
    from importlib.metadata import version

    return {
        "gramian": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scikit-learn": version("scikit-learn"),
    }


def _checksum(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\n")
    for name in sorted(arrays):
        array = arrays[name]
        line = " ".join([name, _CODES[array.dtype.newbyteorder("<")], *map(str, array.shape)])
        digest.update(line.encode("utf-8") + b"\n")
        digest.update(np.asarray(array, order="C").data if array.size else b"")
    return digest.hexdigest()


def _encode(value: Any, where: str) -> Any:
    """Turn a value into strict JSON; what JSON cannot say is spelled ``{"$float": "inf"}``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if abs(value) <= _LARGEST_EXACT_INT else {"$int": str(int(value))}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, list | tuple):
        return [_encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {_key(key, where): _encode(item, f"{where}[{key!r}]") for key, item in value.items()}
    raise InputTypeError(f"{where} is {type(value).__name__}, which a model file cannot keep.")


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str) or key.startswith("$"):
        hint = "Use strings that do not begin with $."
        raise ParameterError(where, allowed=f"has the key {key!r}", hint=hint)
    return str(key)


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"$float"}:
        return float(value["$float"])
    if set(value) == {"$int"}:
        return int(value["$int"])
    return {key: _decode(item) for key, item in value.items()}


def _damaged(target: Path, how: str) -> ModelFileError:
    return ModelFileError(
        f"{target} is damaged: {how}. Only an unaltered file is read. "
        "Copy it again from where it was written, or write it again."
    )


def _foreign(target: Path, what: str) -> ModelFileError:
    return ModelFileError(
        f"{target} is {what}, not a model or gallery saved by gramian. Name another file, or write it again."
    )


def _check_head(target: Path, head: bytes) -> None:
    """Refuse what begins like no model, before all of it is read."""
    if not head:
        raise ModelFileError(f"{target} is empty. A model or gallery has at least a header: write it again.")
    if head[8:] == b"{" and int.from_bytes(head[:8], "little") <= _LARGEST_HEADER:
        return
    if head == b"SQLite fo":
        raise _foreign(target, "a SQLite file, as galleries of earlier versions were")
    if _PICKLE.match(head):
        raise _foreign(target, "a pickle or joblib file, which could run code when opened")
    if len(head) < 9:
        raise _damaged(target, f"it ends after {len(head)} bytes")
    raise _foreign(target, "of another kind")


def _own_text(target: Path, payload: bytes) -> str:
    """Return the text of the description."""
    end = 8 + int.from_bytes(payload[:8], "little")
    if len(payload) < end:
        raise _damaged(target, f"it ends after {len(payload)} of at least {end} bytes")
    try:
        # It begins with a brace, so that what parses is an object.
        metadata = json.loads(payload[8:end]).get("__metadata__")
    except (ValueError, RecursionError) as error:
        raise _damaged(target, "its header is not JSON") from error
    text = metadata.get(_KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise _foreign(target, "a safetensors file of another program")
    return text


def _parse_entry(target: Path, text: str) -> dict[str, Any]:
    try:
        entry = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(target, "its description is not strict JSON") from error
    if not isinstance(entry, dict) or entry.get("format") != _FORMAT:
        raise _foreign(target, "a safetensors file of another program")
    result = entry.get("format_version")
    if not isinstance(result, int) or result < 1:
        raise _damaged(target, f"its format version is {result!r}")
    # Before the checksum, which a later format may compute in another way.
    if result > FORMAT_VERSION:
        by = entry.get("versions")
        writer = by.get("gramian", "unknown") if isinstance(by, dict) else "unknown"
        raise ModelFileError(
            f"{target} was written by gramian {writer}, format {result}; this gramian {__version__} "
            f"reads up to format {FORMAT_VERSION}: upgrade with pip install -U gramian"
        )
    return entry


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
