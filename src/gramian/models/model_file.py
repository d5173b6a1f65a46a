"""The model file: arrays in one safetensors file, and everything else as JSON in its metadata.

``docs/format.md`` documents the layout. Classes are looked up in a list, and nothing is executed. What a
value must be is read from the annotations of its class, which name the sizes of arrays::

    components_: Annotated[RealArray, "k d"]  # the same letter is the same size everywhere, _ any size
    n_components_: Annotated[int, "k"]  # a number, or a tuple of numbers, that is a size
    eigenvalues_: Annotated[FloatArray, "k", POSITIVE]
    eigenvectors_: Annotated[RealArray, "n k", OPTIONAL]
"""

import hashlib
import json
import math
import os
import platform
import stat
from collections import ChainMap
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import get_annotations
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, overload

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from scipy import sparse

from gramian.core.arrays import to_numpy
from gramian.core.atomic import as_path, atomic_write
from gramian.core.package import __version__
from gramian.core.records import OPTIONAL, POSITIVE, FloatArray
from gramian.errors import FileError, InputTypeError, ModelFileError, ParameterError, reason, shortened

M = TypeVar("M")
FORMAT_VERSION = 3
BEGINNING = b'{"__metadata__":{"gramian":"{\\"checksum\\":\\"'  # after eight bytes of length
CHECKSUM = slice(8 + len(BEGINNING), 8 + len(BEGINNING) + 64)
TAG = "$"
PLAIN = {bool, int, str, NoneType}  # which an annotation says all about
# What wrong contents may raise.
INVALID = (ArithmeticError, AttributeError, ImportError, LookupError, RecursionError, TypeError, ValueError)
KERNELS = "gramian.kernels.expression"  # whose CLASSES files may hold; a PCA does not import it


def _modules(table: str) -> dict[str, str]:
    lines = [line.split() for line in table.splitlines()]
    return {name: module for module, *names in filter(None, lines) for name in names}


MODELS = _modules("""
gramian.faces.space FaceSpace
gramian.models.kernel_pca.estimator KernelPCA
gramian.models.kernel_pca.feature_maps PolynomialMap RandomFourierMap
gramian.models.monitor Monitor
gramian.models.whitener Whitener
gramian.models.pca.estimator PCA
""")
# Every other class that files may hold.
RECORDS = _modules("""
gramian.statistics.component_rules ComponentChoice
gramian.statistics.imputation Imputed
gramian.faces.gallery Gallery
gramian.models.kernel_pca.preimages RidgeMap
gramian.models.kernel_pca.projection Standardisation
gramian.kernels.feature_maps KernelError
gramian.models.monitoring ControlLimit ControlLimits
gramian.engine.features FeatureSums
gramian.core.records Alternative Approximation Attempt Certificate Completeness DirectionBounds Moments
gramian.core.records Plan Repair Spectrum Step
gramian.engine.stream StreamMoments
""")


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds: JSON that refers to arrays, the arrays, and the versions of its writer."""

    content: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    versions: dict[str, str]

    @property
    def kind(self) -> str:
        """Name of the class of the model."""
        return str(self.content[TAG])


def write_model(path: str | os.PathLike[str], value: Any, *, private: bool = False) -> None:
    """Write a fitted model or a record to one file: complete under its name, or not at all.

    The same values give the same bytes, on every platform with the same package versions.

    Parameters
    ----------
    path : str or path-like
        By convention it ends in ``.gramian``.
    value : object
        Of a class in ``MODELS`` or ``RECORDS``.
    private : bool, default=False
        A new file can be read by its owner only; one that is replaced keeps its permissions.

    Raises
    ------
    FileError
        If the file cannot be written.
    InputTypeError, ParameterError
        If something cannot be kept; nothing is written then.
    """
    arrays: dict[str, NDArray[Any]] = {}
    entry = {"content": _encode(value, "", arrays), "format_version": FORMAT_VERSION, "versions": versions()}
    chunks = sealed(entry, arrays)
    with atomic_write(path, mode=0o600 if private else 0o666) as file:
        file.writelines(chunks)


def sealed(entry: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """Return the bytes of a file with this description, and with its checksum."""
    text = json.dumps(entry, allow_nan=False, sort_keys=True, separators=(",", ":"))
    text = f'{{"checksum":"{64 * "0"}",{text[1:]}'
    payload = memoryview(safetensors.numpy.save(arrays, metadata={"gramian": text}))
    return [payload[: CHECKSUM.start], _checksum(payload), payload[CHECKSUM.stop :]]


def read_model(path: str | os.PathLike[str]) -> StoredModel:
    """Read a file of :func:`write_model`, refusing everything that is not exactly as written.

    Raises
    ------
    FileError
        If there is no such file, or it cannot be opened.
    ModelFileError
        If the file is empty, truncated, altered, of another kind, or of another format.
    """
    target = as_path(path)
    try:
        # A pipe would be waited for.
        if not stat.S_ISREG(os.stat(target).st_mode):
            raise FileError(f"{target} is not a file. Name the .gramian file itself.")
        with open(target, "rb") as file:
            payload = file.read(CHECKSUM.start)
            if payload[8:] == BEGINNING:
                file.seek(0)
                payload = file.read()
    except FileNotFoundError as error:
        raise FileError(f"{target} does not exist. Check the name and the folder.") from error
    except OSError as error:
        raise FileError(
            f"{shortened(target)} cannot be read: {reason(error)}. Check its name and permissions."
        ) from error
    if payload[8 : CHECKSUM.start] != BEGINNING:
        raise ModelFileError(
            f"{target} is {'of another kind' if payload else 'empty'}, not a model or gallery saved by "
            "gramian, or it is damaged. Name another file, or write it again."
        )
    damaged = f"{target} is damaged: it was cut short or altered. Copy it again, or write it again."
    try:
        outer = json.loads(payload[8 : 8 + int.from_bytes(payload[:8], "little")])
        entry = json.loads(outer["__metadata__"]["gramian"])
        number, content, writer = (entry.get(name) for name in ("format_version", "content", "versions"))
        # Before the checksum, which another format computes in another way.
        if number != FORMAT_VERSION:
            upgrade = "Upgrade with: pip install -U gramian"
            raise ModelFileError(
                f"{target} has format {number}, written by gramian {writer['gramian']}, but gramian "
                f"{__version__} reads format {FORMAT_VERSION}.",
                upgrade if number > FORMAT_VERSION else "Fit the model again, and save it.",
            )
        arrays = safetensors.numpy.load(payload)
        intact = payload[CHECKSUM] == _checksum(memoryview(payload)) and isinstance(content[TAG], str)
    except ModelFileError:
        raise
    except (*INVALID, safetensors.SafetensorError) as error:
        raise ModelFileError(damaged) from error
    if not intact or not isinstance(writer, dict):
        raise ModelFileError(damaged)
    return StoredModel(content, arrays, writer)


def _checksum(payload: memoryview) -> bytes:
    """Return the SHA-256 of a file with zeros in its place."""
    digest = hashlib.sha256(payload[: CHECKSUM.start])
    digest.update(64 * b"0")
    digest.update(payload[CHECKSUM.stop :])
    return digest.hexdigest().encode()


def versions() -> dict[str, str]:
    """Return the versions of what computes and writes a model."""
    packages = {name: version(name) for name in ("numpy", "scikit-learn")}
    return {"gramian": __version__, "python": platform.python_version()} | packages


@overload
def load(path: str | os.PathLike[str]) -> Any: ...


@overload
def load(path: str | os.PathLike[str], kind: type[M]) -> M: ...


def load(path: str | os.PathLike[str], kind: type[Any] = object) -> Any:
    """Open a model that ``save`` has written.

    Parameters
    ----------
    path : str or Path
        Of the file.
    kind : type, optional
        Class of the model, such as :class:`gramian.PCA`. A model of another class raises an error, and type
        checkers know the attributes of the result, as of ``PCA.load(path)``. Without it the type is ``Any``:
        the class is known only to the file.

    Returns
    -------
    estimator
        The fitted model, of the class that was saved. Arrays are NumPy arrays, whatever kind they were
        fitted on.

    Raises
    ------
    FileError
        When the file is not there or cannot be read.
    ModelFileError
        When it is truncated, altered, not a gramian model, of another format, or not of ``kind``.

    Examples
    --------
    >>> import tempfile, gramian
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gramian.PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(f"{folder}/model.gramian")
    ...     gramian.load(f"{folder}/model.gramian", gramian.PCA).components_.round(4)
    array([[0.8944, 0.4472]])
    """
    stored = read_model(path)
    if stored.kind == "Gallery":
        raise ModelFileError(f"{path} is a gallery of people, not a model. Name the model it was made with.")
    if stored.kind not in MODELS:
        raise ModelFileError(
            f"{path} holds a {stored.kind}, which is no model that this gramian knows. It knows "
            f"{', '.join(MODELS)}.",
            "Name a model, or upgrade with: pip install -U gramian",
        )
    if not issubclass(_class_named(stored.kind), kind):
        hint = "Open it with gramian.load(path), or name another file."
        raise ModelFileError(f"{path} holds a {stored.kind}, not a {kind.__name__}.", hint)
    try:
        return decode(stored.content, stored.arrays)
    except INVALID as error:
        why = f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error})."
        raise ModelFileError(why, "Fit the model again, or upgrade gramian if the file is newer.") from error


# ---------------------------------------------------------------------- values as JSON, and back


def _class_named(name: str) -> Any:
    """Return a class that files may hold, or raise a KeyError."""
    if module := MODELS.get(name, RECORDS.get(name)):
        return getattr(import_module(module), name)
    return import_module(KERNELS).CLASSES[name]


def _encode(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Turn a value into strict JSON; arrays go to ``arrays`` and leave a reference.

    Raises
    ------
    ParameterError
        For a function, which no file can hold.
    InputTypeError
        For an array that is not of numbers or text.
    """

    kind, is_kernel, tag = type(value).__name__, hasattr(value, "gram"), ""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {TAG: "float", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    if isinstance(value, slice):
        return {TAG: "slice", "value": [value.start, value.stop, value.step]}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None
    if isinstance(value, Mapping):
        parts = value
    elif MODELS.get(kind) == type(value).__module__:
        tag, parts = kind, _parts_of(value)
    elif RECORDS.get(kind) == type(value).__module__:
        tag, parts = kind, {field.name: getattr(value, field.name) for field in fields(value)}
    elif sparse.issparse(value):
        tag, parts = "csr", {part: getattr(value, part) for part in ("shape", "data", "indices", "indptr")}
    elif is_kernel or ((callable(value) or hasattr(value, "transform")) and not hasattr(value, "__array__")):
        kernels = import_module(KERNELS)
        if type(value) is not kernels.CLASSES.get(kind):
            raise ParameterError(
                "kernel",
                allowed=f"with {getattr(value, '__name__', kind)} cannot be saved: a file holds no code",
                hint="Use a kernel of gramian.kernels "
                f'({", ".join(kernels.CLASSES)}), or kernel="precomputed".',
            )
        tag, parts = kind, value.get_params(deep=False)
    else:
        array = value if isinstance(value, np.ndarray) else to_numpy(value)
        if array.dtype == object:
            return {TAG: "text", "value": [str(item) for item in array]}
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise InputTypeError(f"{name} has dtype {array.dtype}, which a model file cannot keep.")
        reference = name if name not in arrays else f"{name} {len(arrays)}"
        arrays[reference] = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        return {TAG: "array", "value": reference}
    start, result = f"{name}." if name else "", {TAG: tag} if tag else {}
    for key, item in parts.items():
        plain = type(item) in PLAIN or (type(item) is float and math.isfinite(item))
        result[str(key)] = item if plain else _encode(item, f"{start}{key}", arrays)
    return result


def _parts_of(model: Any) -> dict[str, Any]:
    """Return the parameters and the declared attributes of a fitted model."""
    parameters, state = model.get_params(deep=False), model.__getstate__()
    bases = [base for base in reversed(type(model).__mro__) if base.__module__.startswith("gramian.")]
    names = dict.fromkeys(name for base in bases for name in get_annotations(base))
    attributes = {name: state[name] for name in names if name in state and name not in parameters}
    for name, value in parameters.items():
        if type(value).__name__ in MODELS:  # a model that is a parameter is there once, fitted
            parameters[name] = None
    return {"parameters": parameters, "state": attributes}


def decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that was encoded, or raise one of ``INVALID`` that names the wrong part."""
    if isinstance(value, list):
        return tuple([decode(item, arrays) for item in value])
    if not isinstance(value, dict):
        return value
    result = {}
    for key, item in value.items():
        try:
            result[key] = decode(item, arrays)
        except RecursionError:
            raise
        except INVALID as error:
            raise ValueError(f"{key}: {error}") from error
    if TAG not in result:
        return result
    tag = result.pop(TAG)
    if tag in FORMS:
        return FORMS[tag](arrays, **result)
    if tag in MODELS:
        return _restored(_class_named(tag), result["parameters"], result["state"])
    made = _class_named(tag)(**result)
    if tag not in RECORDS:  # a kernel
        made.check()
    return made


def _text(_: Any, value: tuple[str, ...]) -> NDArray[np.object_]:
    if not all(isinstance(item, str) for item in value):
        raise TypeError("it is no text")
    return np.array(value, dtype=object)


def _csr(_: Any, shape: tuple[int, int], data: Any, indices: Any, indptr: Any) -> Any:
    rows = sparse.csr_array((data, indices, indptr), shape=shape)
    rows.check_format(full_check=True)
    return rows


FORMS: dict[str, Callable[..., Any]] = {
    "array": lambda arrays, value: arrays[value],
    "csr": _csr,
    "float": lambda _, value: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value],
    "slice": lambda _, value: slice(*value),
    "text": _text,
}


# ------------------------------------------------------------------ the schema: annotations of classes


def _restored(cls: Any, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """Return a fitted model, or raise a ValueError where its parts are not those of its class."""
    model, hints = cls(**parameters), declared(cls)
    # A stream of few rows has nothing yet of what follows from its moments.
    lacking = model._following if "_moments" in state and "components_" not in state else ()
    attributes = {name: hints[name] for name in hints if name not in parameters and name not in lacking}
    sizes = set_checked(model, attributes, state)
    for values in (parameters, state.get("_fit_parameters", {})):
        for name, value in values.items():
            _check_parameter(name, value, hints[name], sizes)
    model._check_restored()
    return model


def set_checked(model: Any, hints: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, int]:
    """Set attributes that are as declared, and return the sizes by name; others raise a ValueError."""
    sizes: dict[str, int] = {}
    for name, hint in hints.items():
        if name in state:
            check(name, state[name], hint, sizes)
            setattr(model, name, state[name])
        elif OPTIONAL not in getattr(hint, "__metadata__", ()):
            raise ValueError(f"{name} is missing")
    return sizes


class _Classes(dict[str, Any]):
    """Names in annotations that their modules import for type checkers only."""

    def __missing__(self, name: str) -> Any:
        return getattr(import_module(RECORDS[name]), name)


@cache
def declared(cls: Any) -> dict[str, Any]:
    """Return the annotations of a class and of its bases in gramian."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("gramian."):
            names: Any = ChainMap(vars(import_module(base.__module__)), _Classes())
            hints |= get_annotations(base, locals=names, eval_str=True)
    fixed = ClassVar, KW_ONLY
    return {name: hint for name, hint in hints.items() if hint not in fixed and get_origin(hint) not in fixed}


def check(name: str, value: Any, hint: Any, sizes: dict[str, int]) -> None:
    """Raise a ValueError unless a value is what an annotation says.

    Parameters
    ----------
    name : str
        For the message.
    value : object
    hint : type
    sizes : dict
        Those that are known by name; new ones are added.
    """
    if type(value) is hint and hint in PLAIN:
        return
    notes = getattr(hint, "__metadata__", ())
    hint = hint.__origin__ if notes else hint
    letters = next((note.split() for note in notes if note not in (OPTIONAL, POSITIVE)), None)
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind is Any or (value is None and NoneType in inside):
        return
    if kind in (Union, UnionType):
        *others, last = [Annotated[option, OPTIONAL, *notes] for option in inside if option is not NoneType]
        for option in others:
            with suppress(ValueError):
                check(name, value, option, sizes)
                return
        check(name, value, last, sizes)
        return
    if not _is_of(value, kind, inside):
        text = type(value).__name__ if isinstance(value, np.ndarray) or is_dataclass(value) else repr(value)
        text = text if len(text) <= 40 else f"{text[:37]}..."
        raise ValueError(f"{name} is {text}, not {getattr(hint, '__name__', hint)}")
    if letters is not None:
        _check_sizes(name, value, letters, sizes)
    elif kind is tuple and not (inside[0] in PLAIN and {*map(type, value)} == {inside[0]}):
        for i, item in enumerate(value):
            check(f"{name}[{i}]", item, inside[0] if inside[-1] is ... else inside[i], sizes)
    elif isinstance(value, Mapping) and inside:
        for key, item in value.items():
            check(f"a key of {name}", key, inside[0], sizes)
            check(f"{key} of {name}", item, inside[1], sizes)
    elif kind.__name__ in RECORDS:
        # Of the sizes, a record shares only the number of columns with its model.
        within = {letter: size for letter, size in sizes.items() if letter == "d"}
        for field, of_field in declared(kind).items():
            check(f"{name}.{field}", getattr(value, field), of_field, within)
    if isinstance(value, np.ndarray | sparse.sparray) or (letters is not None and kind is float):
        numbers = np.asarray(value.data if kind is sparse.sparray else value)
        is_float = numbers.dtype.kind == "f"
        if is_float and (np.isnan(numbers).any() if letters is None else not np.isfinite(numbers).all()):
            raise ValueError(f"{name} has entries that are infinite or no numbers")
        if POSITIVE in notes and (numbers < 0).any():
            raise ValueError(f"{name} has entries below 0")


def _is_of(value: Any, kind: Any, inside: tuple[Any, ...]) -> bool:
    if kind is Literal:
        return isinstance(value, str) and value in inside
    if kind in (int, float):
        real = isinstance(value, Real if kind is float else int) and not isinstance(value, bool)
        return real and value == value
    if kind is tuple:
        return isinstance(value, tuple) and (inside[-1] is ... or len(value) == len(inside))
    if kind is np.ndarray:
        scalar = get_args(inside[1])[0]
        return isinstance(value, kind) and np.issubdtype(value.dtype, get_origin(scalar) or scalar)
    return isinstance(value, kind)


def _check_sizes(name: str, value: Any, letters: list[str], sizes: dict[str, int]) -> None:
    """Check the shape of an array, or numbers that are sizes themselves."""
    is_size, before = isinstance(value, int | tuple) and letters, sizes.copy()
    shape: Any = np.atleast_1d(value).tolist() if is_size else np.shape(value)
    if len(shape) == len(letters) and all(
        type(size) is int and size >= 0 and (letter == "_" or sizes.setdefault(letter, size) == size)
        for letter, size in zip(letters, shape, strict=True)
    ):
        return
    stated = ", ".join(f"{letter} = {before[letter]}" for letter in letters if letter in before)
    text = f"is {value}" if is_size else f"has the shape {shape}"
    raise ValueError(f"{name} {text}, not ({', '.join(letters)}){stated and f' with {stated}'}")


def _check_parameter(name: str, value: Any, hint: Any, sizes: dict[str, int]) -> None:
    """Raise a ValueError unless a value can be a parameter; the next fit checks most single values."""
    if isinstance(value, bool | int | float | str | None) and value == value:
        if hint in (int, str):
            check(name, value, hint, sizes)
    elif shapes := [note for note in getattr(hint, "__metadata__", ()) if note != OPTIONAL]:
        check(name, np.asarray(value, dtype=np.float64), Annotated[FloatArray, *shapes], sizes)
    else:
        check(name, value, hint, sizes)
