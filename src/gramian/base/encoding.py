"""Fitted estimators as JSON with references to arrays, and back; nothing is pickled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import get_annotations
from os import PathLike
from types import SimpleNamespace
from typing import Any, TypeVar, get_args

import numpy as np
from scipy import sparse

from gramian import reading, records, store
from gramian.arrays import to_numpy
from gramian.base import declarations
from gramian.errors import ModelFileError
from gramian.records import Certificate, DirectionBounds, ModelKind, Moments, Remainder, Spectrum
from gramian.store import Array, Optional, Options, Sizes, conform, is_single
from gramian.store.model_file import StoredModel, write_model

M = TypeVar("M")
# What is known of the d columns of the data, and of its n rows, before anything is computed.
COLUMNS: dict[str, Any] = {
    "n_features_in_": Sizes("d"),
    "feature_names_in_?": Array("d", kinds="O"),
    "_column_names?": Array("d", kinds="O"),
    "counted_alleles_?": Array("d", kinds="O"),
    "column_means_?": Optional(Array("d")),
    "reading_?": Options(("source", "key", *(option.name for option in fields(reading.ReadingOptions)))),
}


def record_of(name: str) -> Any:
    """Return a record that files hold, by its name, or raise a KeyError."""
    record = declarations.RECORDS[name][0]
    if isinstance(record, str):
        module, _, _ = record.rpartition(".")
        return getattr(import_module(module), name)
    return record


class _Names(dict[str, Any]):
    """Names in annotations that their modules import for type checkers only."""

    def __missing__(self, name: str) -> Any:
        return record_of(name)


NAMES = _Names(vars(store))


@cache
def declared(attributes: type) -> dict[str, Any]:
    """Return what a file holds of the annotated attributes of a class, or of the fields of a record.

    Parameters
    ----------
    attributes : type
        An annotation is a declaration of :mod:`gramian.store`, unless ``Annotated`` has another one;
        ``LACKED`` says that it may be missing.
    """
    found = {}
    for name, hint in get_annotations(attributes, locals=NAMES, eval_str=True).items():
        kind, *more = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        found[name + declarations.LACKED * (declarations.LACKED in more)] = next(
            (form for form in more if form != declarations.LACKED), kind
        )
    return found


DATA = COLUMNS | declared(declarations.DataAttributes)


@dataclass(frozen=True)
class Form:
    """How values of one kind are encoded in JSON: a name, and named values that have forms themselves.

    Attributes
    ----------
    tag : str
        Key of the name.
    holds : callable
        Whether a value is of the kind.
    tell : callable
        Returns the name under ``tag``, and mappings of values under other keys.
    make : callable
        Turns that, with the values in the mappings made already, into a value again.
    """

    tag: str
    holds: Callable[[Any], bool]
    tell: Callable[[Any], declarations.Parts]
    make: Callable[[declarations.Parts], Any]


def write(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model to one file."""
    arrays: dict[str, Any] = {}
    payload = _tell_estimator(model)
    header = {part: encode(payload[part], part, arrays) for part in ("parameters", "state")}
    write_model(path, payload["estimator"], header, arrays, private=model._private)


def model_of(stored: StoredModel, path: str | PathLike[str], kind: type[M]) -> M:
    """Return the model of a file that was read.

    Raises
    ------
    ModelFileError
        If its class is not ``kind``, or its contents are not those of its class.
    """
    if not issubclass(declarations.MODELS.get(stored.kind, type(None)), kind):
        raise ModelFileError(
            f"{path} holds a {stored.kind}, not a {kind.__name__}.",
            "Open it with gramian.load(path), or name another file.",
        )
    try:
        parts = {part: decode(stored.header[part], stored.arrays) for part in ("parameters", "state")}
        model: M = restored(stored.kind, **parts)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}).",
            "Fit the model again, or upgrade gramian if the file is newer.",
        ) from error
    return model


def restored(kind: str, parameters: declarations.Parts, state: declarations.Parts) -> Any:
    """Return a fitted estimator of a known class.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it cannot be one.
    """
    cls = declarations.MODELS[kind]
    model = cls(**parameters)
    expected = cls._contents_of(state)
    conform(state | parameters, {**expected, **_declared_parameters(cls, parameters)})
    at_fit = state.get("_fit_parameters", {})
    conform(at_fit, _declared_parameters(cls, at_fit))
    for name in expected:
        if (key := name.removesuffix("?")) in state:
            setattr(model, key, state[key])
    model._check_restored()
    return model


def _declared_parameters(cls: type[Any], values: declarations.Parts) -> dict[str, Any]:
    """Return the declarations of those parameters that have one, and of others that are no single value."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declaring = base if "__dataclass_fields__" in vars(base) else vars(base).get("__init__")
        hints |= {} if declaring is None else get_annotations(declaring, locals=NAMES, eval_str=True)
    forms = {name: getattr(hints[name], "__metadata__", (None,))[0] for name in values}
    return {
        name: forms[name] or hints[name]
        for name, value in values.items()
        if forms[name] is not None or not is_single(value)
    }


def _tell_estimator(model: Any) -> declarations.Parts:
    parameters = model._saved_parameters()
    state = {name: value for name, value in model.__getstate__().items() if name not in parameters}
    if "device" in parameters:
        parameters["device"] = None  # which another machine may not have
    return {"estimator": type(model).__name__, "parameters": parameters, "state": state}


# ---------------------------------------------------------------------- records


def _make_record(payload: declarations.Parts) -> Any:
    record, (_, shapes) = record_of(payload["record"]), declarations.RECORDS[payload["record"]]
    made = record(**payload["fields"])
    conform({field.name: getattr(made, field.name) for field in fields(made)}, {**declared(record), **shapes})
    return made


def _tell_record(value: Any) -> declarations.Parts:
    return {"record": type(value).__name__, "fields": {f.name: getattr(value, f.name) for f in fields(value)}}


for _record in vars(records).values():
    if is_dataclass(_record) and isinstance(_record, type) and _record.__module__ == records.__name__:
        declarations.register_record(_record)
declarations.register_record("gramian.analysis.component_rules.ComponentChoice")
declarations.register_record(Spectrum, values=Array("r"), residuals=Array("r"), rest=Array("_"))
declarations.register_record(
    Moments, count=Array("", least=0), mean=Array("d"), rest=Array("d"), squares=np.ndarray
)
declarations.register_record(Remainder, norms=Array("d", least=0), root_loss=Array("", least=0))
declarations.register_record(
    DirectionBounds,
    first=Array("r", kinds="iu", least=0),
    gaps=Array("r", least=0),
    sines=Array("r", least=0),
)
declarations.register_record(Certificate, values=Array("r"), residuals=Array("r"), radii=Array("r"))
DECOMPOSED = DATA | declared(declarations.DecompositionAttributes)


# ------------------------------------------------------------------ to and from JSON


def encode(values: Mapping[str, Any], prefix: str, arrays: dict[str, Any]) -> declarations.Parts:
    """Turn named values into JSON.

    Parameters
    ----------
    values : mapping
    prefix : str
        First part of the names of arrays.
    arrays : dict
        Arrays are put here and leave a reference.

    Raises
    ------
    ParameterError
        For a function, which no file can hold.
    """
    return {name: _encode(value, f"{prefix}.{name}", arrays) for name, value in values.items()}


def decode(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> declarations.Parts:
    """Return the values that :func:`encode` wrote; others raise a ValueError with their name."""
    decoded = {}
    for name, value in values.items():
        try:
            decoded[name] = _decode(value, arrays)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return decoded


def _make_sparse(payload: declarations.Parts) -> Any:
    parts = payload["parts"]
    rows = sparse.csr_array(tuple(parts[name] for name in CSR), shape=parts["shape"])
    rows.check_format(full_check=True)
    return rows


# Registers the forms of kernels. They take SciPy's distances, and a PCA has none.
OF_KERNELS = "gramian.base.kernel_encoding"
CSR = ("data", "indices", "indptr")
FORMS = {
    "record": Form(
        "record", lambda value: type(value).__name__ in declarations.RECORDS, _tell_record, _make_record
    ),
    "estimator": Form(
        "estimator",
        lambda value: type(value).__name__ in declarations.MODELS,
        _tell_estimator,
        lambda payload: restored(payload["estimator"], payload["parameters"], payload["state"]),
    ),
    "sparse": Form(
        "sparse",
        sparse.issparse,
        lambda X: {"sparse": "csr", "parts": {"shape": X.shape} | {name: getattr(X, name) for name in CSR}},
        _make_sparse,
    ),
}


def register_forms(*forms: Form) -> None:
    """Let files hold other values: those are asked for last, in the order of registration."""
    FORMS.update({form.tag: form for form in forms})


def _encode(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Turn a value into JSON; arrays go to ``arrays`` and leave a reference."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, (list, tuple)):
        return {"tuple": [_encode(v, f"{name}.{i}", arrays) for i, v in enumerate(value)]}
    if isinstance(value, slice):
        return {"slice": [_encode(end, name, arrays) for end in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"map": encode({str(key): item for key, item in value.items()}, name, arrays)}
    if "gramian.kernels" in sys.modules:
        import_module(OF_KERNELS)
    for form in FORMS.values():
        if form.holds(value):
            payload = form.tell(value)
            alone = len(payload) == 2
            return {
                key: part if key == form.tag else encode(part, name if alone else f"{name}.{key}", arrays)
                for key, part in payload.items()
            }
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    array = to_numpy(value)
    if array.dtype == object:
        return {"names": [str(v) for v in array]}
    arrays[name] = array
    return {"array": name}


def _decode(value: Any, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "kernel" in value or "function" in value:
        import_module(OF_KERNELS)
    for tag, form in FORMS.items():
        if tag in value:
            return form.make(
                {key: part if key == tag else decode(part, arrays) for key, part in value.items()}
            )
    ((tag, content),) = value.items()
    return _MAKERS[tag](content, arrays)


def _names(content: list[str], arrays: Mapping[str, Any]) -> Any:
    if not all(isinstance(name, str) for name in content):
        raise TypeError("names are no text")
    return np.array(content, dtype=object)


_MAKERS: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "array": lambda content, arrays: arrays[content],
    "dtype": lambda content, arrays: np.dtype(content),
    "tuple": lambda content, arrays: tuple([_decode(item, arrays) for item in content]),
    "slice": lambda content, arrays: slice(*content),
    "map": lambda content, arrays: decode(content, arrays),
    "names": _names,
}


# ------------------------------------------------------------------ what a file says of a model

DESCRIBED = DECOMPOSED | {"explained_variance_": Array("k"), "eigenvalues_?": Optional(Array("k"))}


def described(stored: StoredModel) -> SimpleNamespace | None:
    """Return parameters and fitted attributes of a PCA, KernelPCA or Whitener under their names.

    The model is not made, which would take scikit-learn.

    None where only the class can tell: for what is no decomposition, is not whole, or holds other estimators.
    """
    try:
        parameters, state = (decode(stored.header[part], stored.arrays) for part in ("parameters", "state"))
        # Those of a Whitener are one and the same.
        state.setdefault("explained_variance_", state.get("eigenvalues_"))
        conform(state, DESCRIBED)
        kind = ModelKind(stored.kind)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    return SimpleNamespace(model_kind=kind, get_params=lambda deep: parameters, **(parameters | state))
