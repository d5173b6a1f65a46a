"""Fitted estimators as JSON with references to arrays, and back; nothing is pickled.

An estimator declares its fitted attributes, and a model that is read is checked against the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from inspect import get_annotations
from os import PathLike
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

import numpy as np
from scipy import sparse

from gramian import records
from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.arrays import to_numpy
from gramian.errors import ModelFileError
from gramian.reading import ReadingOptions
from gramian.records import (
    Attempt,
    Certificate,
    DirectionBounds,
    FloatArray,
    ModelKind,
    Moments,
    Plan,
    Remainder,
    Spectrum,
)
from gramian.store import (
    Array,
    Optional,
    Options,
    Sizes,
    StoredModel,
    conform,
    is_single,
    read_model,
    write_model,
)

M = TypeVar("M", bound="Saved")
Parts = dict[str, Any]
# What is known of the d columns of the data, and of its n rows, before anything is computed.
COLUMNS: dict[str, Any] = {
    "n_features_in_": Sizes("d"),
    "feature_names_in_?": Array("d", kinds="O"),
    "counted_alleles_?": Array("d", kinds="O"),
    "column_means_?": Optional(Array("d")),
    "reading_?": Options(("source", "key", *(option.name for option in fields(ReadingOptions)))),
}
LACKED = "?"  # by the files of older models, or of some


def declared(attributes: type) -> dict[str, Any]:
    """Return what a file holds of the annotated attributes of a class, or of the fields of a record.

    Parameters
    ----------
    attributes : type
        An annotation is a declaration of :mod:`gramian.store`, unless ``Annotated`` has another one;
        ``LACKED`` says that it may be missing.
    """
    contents = {}
    for name, hint in get_annotations(attributes, eval_str=True).items():
        kind, *more = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        contents[name + LACKED * (LACKED in more)] = next((form for form in more if form != LACKED), kind)
    return contents


class DataAttributes:
    """What is known of the fitted rows before anything is computed."""

    n_samples_: Annotated[int, Sizes("n")]
    picture_shape_: Annotated[tuple[int, int] | None, LACKED]
    _unequal: Annotated[bool, LACKED]  # whether rows have weights of their own


class DecompositionAttributes(DataAttributes):
    """The attributes of every estimator of k eigenpairs."""

    n_components_: Annotated[int, Sizes("k")]
    rank_: int
    explained_variance_ratio_: Annotated[FloatArray | None, Optional(Array("k", least=0))]
    plan_: Plan
    attempts_: Annotated[tuple[Attempt, ...], LACKED]
    spectrum_: Spectrum
    certificate_: Certificate
    component_choice_: Annotated[ComponentChoice | None, LACKED]
    _fit_parameters: Annotated[dict[str, Any], LACKED]


DATA = COLUMNS | declared(DataAttributes)
DECOMPOSED = DATA | declared(DecompositionAttributes)


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
    tell: Callable[[Any], Parts]
    make: Callable[[Parts], Any]


class Saved:
    """Gives an estimator ``save``; a subclass is known to :func:`gramian.load` by its name."""

    _known: ClassVar[dict[str, type[Any]]] = {}
    _private: ClassVar[bool] = False  # whether only the owner may read a new file
    model_kind: ClassVar[ModelKind] = ModelKind.OTHER
    _contents: ClassVar[Mapping[str, Any]] = {}  # what is there when it is fitted, as store.conform takes it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Saved._known[cls.__name__] = cls

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`gramian.load` opens.

        Parameters
        ----------
        path : str or Path
            By custom it ends in ``.gramian``. The file appears whole or not at all.

        Raises
        ------
        NotFittedError
            Before ``fit`` or ``partial_fit``. A stream of too few rows for a model is saved, and goes on from
            the file.
        ParameterError
            For a kernel given as a function, which no file can hold.
        """
        self._require_savable()
        arrays: dict[str, Any] = {}
        payload = _tell_estimator(self)
        header = {part: encode(payload[part], part, arrays) for part in ("parameters", "state")}
        write_model(path, payload["estimator"], header, arrays, private=self._private)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Open a model of this class that ``save`` has written; :func:`gramian.load` opens any model.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        estimator
            The fitted model. Arrays are NumPy arrays, whatever kind they were fitted on.

        Raises
        ------
        FileError
            When the file is not there or cannot be read.
        ModelFileError
            When it is truncated, altered, not a gramian model, of a newer format, or of another class.

        Examples
        --------
        >>> import tempfile, gramian
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     gramian.PCA(1).fit([[1.0, 2.0], [3.0, 3.0]]).save(f"{folder}/model.gramian")
        ...     gramian.PCA.load(f"{folder}/model.gramian").components_.round(4)
        array([[0.8944, 0.4472]])
        """
        return model_of(read_model(path), path, cls)

    def _check_restored(self) -> None:
        """Raise a ValueError unless the parts of a model from a file belong together."""

    def _saved_parameters(self) -> Parts:
        parameters: Parts = self.get_params(deep=False)  # type: ignore[attr-defined]
        return parameters

    def _require_savable(self) -> None:
        # Here, so that a model's description can be read without scikit-learn.
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)

    @classmethod
    def _contents_of(cls, state: Parts) -> Mapping[str, Any]:
        """Return the declarations of what a file must hold that holds this."""
        return cls._contents


def model_of(stored: StoredModel, path: str | PathLike[str], kind: type[M]) -> M:
    """Return the model of a file that was read.

    Raises
    ------
    ModelFileError
        If its class is not ``kind``, or its contents are not those of its class.
    """
    if not issubclass(Saved._known.get(stored.kind, object), kind):
        raise ModelFileError(
            f"{path} holds a {stored.kind}, not a {kind.__name__}. Open it with gramian.load(path), or name "
            "another file."
        )
    try:
        parts = {part: decode(stored.header[part], stored.arrays) for part in ("parameters", "state")}
        model: M = restored(stored.kind, **parts)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} is a gramian file, but its contents are not those of a {stored.kind} ({error}). "
            "Fit the model again, or upgrade gramian if the file is newer."
        ) from error
    return model


def restored(kind: str, parameters: Parts, state: Parts) -> Any:
    """Return a fitted estimator of a known class.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it cannot be one.
    """
    cls, state = Saved._known[kind], renamed(state)
    model = cls(**parameters)
    contents = cls._contents_of(state)
    conform(state | parameters, {**contents, **_declared_parameters(cls, parameters)})
    at_fit = state.get("_fit_parameters", {})
    conform(at_fit, _declared_parameters(cls, at_fit))
    for name in contents:
        if (key := name.removesuffix("?")) in state:
            setattr(model, key, state[key])
    model._check_restored()
    return model


def _declared_parameters(cls: type[Any], values: Parts) -> dict[str, Any]:
    """Return the declarations of those parameters that have one, and of others that are no single value."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declaring = base if "__dataclass_fields__" in vars(base) else vars(base).get("__init__")
        hints |= {} if declaring is None else get_annotations(declaring, eval_str=True)
    forms = {name: getattr(hints[name], "__metadata__", (None,))[0] for name in values}
    return {
        name: forms[name] or hints[name]
        for name, value in values.items()
        if forms[name] is not None or not is_single(value)
    }


def renamed(state: Parts) -> Parts:
    """Return attributes that were read from a file under the names of today."""
    return {RENAMED.get(name, name): value for name, value in state.items()}


def _tell_estimator(model: Any) -> Parts:
    parameters = model._saved_parameters()
    state = {name: value for name, value in vars(model).items() if name not in parameters}
    if "device" in parameters:
        parameters["device"] = None  # which another machine may not have
    return {"estimator": type(model).__name__, "parameters": parameters, "state": state}


# ---------------------------------------------------------------------- records

# Fields that older files have and records no longer.
RETIRED = {"Plan": ("options",)}
# Names that records and attributes have in older files.
RENAMED = {"Seen": "StreamMoments", "_seen": "_moments"}
_records: dict[str, tuple[type[Any], Mapping[str, Any]]] = {}


def register_record(record: type[Any], **shapes: Any) -> None:
    """Let files hold a dataclass; where a type hint says less than is known, a shape takes its place."""
    _records[record.__name__] = record, declared(record) | shapes


def _make_record(payload: Parts) -> Any:
    name = RENAMED.get(str(payload["record"]), str(payload["record"]))
    record, contents = _records[name]
    retired = RETIRED.get(name) or ()
    made = record(**{name: value for name, value in payload["fields"].items() if name not in retired})
    conform({field.name: getattr(made, field.name) for field in fields(made)}, contents)
    return made


def _tell_record(value: Any) -> Parts:
    return {"record": type(value).__name__, "fields": {f.name: getattr(value, f.name) for f in fields(value)}}


for _record in vars(records).values():
    if is_dataclass(_record) and isinstance(_record, type) and _record.__module__ == records.__name__:
        register_record(_record)
register_record(ComponentChoice)
register_record(Spectrum, values=Array("r"), residuals=Array("r"), rest=Array("_"))
register_record(Moments, count=Array("", least=0), mean=Array("d"), rest=Array("d"), squares=np.ndarray)
register_record(Remainder, norms=Array("d", least=0), root_loss=Array("", least=0))
register_record(
    DirectionBounds,
    first=Array("r", kinds="iu", least=0),
    gaps=Array("r", least=0),
    sines=Array("r", least=0),
)
register_record(Certificate, values=Array("r"), residuals=Array("r"), radii=Array("r"))


# ------------------------------------------------------------------ to and from JSON


def encode(values: Mapping[str, Any], prefix: str, arrays: dict[str, Any]) -> Parts:
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


def decode(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Parts:
    """Return the values that :func:`encode` wrote; others raise a ValueError with their name."""
    decoded = {}
    for name, value in values.items():
        try:
            decoded[name] = _decode(value, arrays)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return decoded


def _make_sparse(payload: Parts) -> Any:
    parts = payload["parts"]
    rows = sparse.csr_array(tuple(parts[name] for name in CSR), shape=parts["shape"])
    rows.check_format(full_check=True)
    return rows


CSR = ("data", "indices", "indptr")
FORMS = {
    "record": Form("record", lambda value: type(value).__name__ in _records, _tell_record, _make_record),
    "estimator": Form(
        "estimator",
        lambda value: isinstance(value, Saved),
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
