"""What a gallery says about itself: the model its vectors belong to, and how its people are told apart."""

from __future__ import annotations

import difflib
import json
import re
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian.checks import check_choice
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.faces.calibration import check_far
from gramian.faces.distances import DISTANCES, MATCHES
from gramian.records import FloatArray
from gramian.version import __version__

__all__ = [
    "SETTINGS",
    "FittedModel",
    "are_variances",
    "check_model",
    "check_settings",
    "described",
    "is_time",
    "now",
    "read_settings",
    "read_text",
    "settings_text",
]

# What a recogniser can be told, and a gallery can remember.
SETTINGS = ("distance", "discriminant", "match", "far", "n_components")
# Scores are float32, and a variance is at most the square of the largest of them.
LARGEST = float(np.finfo(np.float32).max) ** 2
LONGEST = 1000  # characters that settings can have as text
TIME = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\+00:00", re.ASCII)


class FittedModel(Protocol):
    """What a gallery needs to know of a fitted :class:`gramian.faces.FaceSpace`."""

    fingerprint_: str
    n_components_: int
    eigenvalues_: FloatArray
    shift_covariance_: FloatArray | None


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def is_time(text: Any) -> bool:
    """Say whether something is a time as :func:`now` writes it.

    Examples
    --------
    >>> is_time(now()), is_time("yesterday")
    (True, False)
    """
    return isinstance(text, str) and TIME.fullmatch(text) is not None


def check_model(model: Any) -> None:
    """Refuse what is no fitted model of faces.

    Raises
    ------
    InputTypeError
        For something else than a model.
    sklearn.exceptions.NotFittedError
        For a model that is not fitted.
    """
    if hasattr(model, "fingerprint_"):
        return
    if isinstance(model, BaseEstimator):
        check_is_fitted(model, "fingerprint_")
    raise InputTypeError(
        f"The model is {type(model).__name__}. Give a fitted FaceSpace: that which FaceSpace(...).fit "
        "returns, or load of a saved one."
    )


def described(model: FittedModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a new gallery says about itself, for its table ``meta``.

    Raises
    ------
    DataError
        For variances that no vector of float32 has.
    InputTypeError, NotFittedError
        As :func:`check_model`.
    ParameterError
        As :func:`check_settings`.
    """
    check_model(model)
    shifts = model.shift_covariance_
    # Where there is no variance, rounding may leave a little less.
    variances = np.maximum(np.asarray(model.eigenvalues_, dtype="<f8"), 0.0)
    if not are_variances(variances):
        raise DataError(
            f"The model's variances go up to {variances.max():.3g}, and scores like that are too large for "
            "float32. Divide the pictures by a constant and fit again."
        )
    return {
        "fingerprint": model.fingerprint_,
        "components": int(model.n_components_),
        "variances": variances.tobytes(),
        "shifts": b"" if shifts is None else np.asarray(shifts, dtype="<f4").tobytes(),
        "created": now(),
        "gramian": __version__,
        "settings": settings_text(settings, int(model.n_components_)),
    }


def are_variances(values: FloatArray) -> bool:
    """Say whether numbers can be variances of scores in float32."""
    return bool(((values >= 0) & (values <= LARGEST)).all())


def settings_text(settings: Mapping[str, Any], n_components: int | None = None) -> str:
    """Return settings as text to be stored, without those that are None.

    Raises
    ------
    ParameterError
        As :func:`check_settings`.

    Examples
    --------
    >>> settings_text({"match": "mean", "far": None})
    '{"match": "mean"}'
    """
    check_settings(settings, n_components)
    chosen = {name: _plain(value) for name, value in settings.items() if value is not None}
    return json.dumps(chosen, sort_keys=True, allow_nan=False)


def read_settings(connection: sqlite3.Connection, n_components: int | None = None) -> dict[str, Any]:
    """Return the settings that were chosen for a gallery.

    Raises
    ------
    sqlite3.DatabaseError
        When they are not as they were stored.
    """
    rows = connection.execute("SELECT value FROM meta WHERE key = 'settings'").fetchall()
    try:
        return read_text(rows[0][0] if rows else None, n_components)
    except ValueError as error:
        raise sqlite3.DatabaseError(f"its settings are {error}") from error


def read_text(text: Any, n_components: int | None = None) -> dict[str, Any]:
    """Return the settings that :func:`settings_text` wrote.

    Raises
    ------
    ValueError
        For a text that it cannot have written; says in what way.

    Examples
    --------
    >>> read_text('{"match": "mean"}')
    {'match': 'mean'}
    """
    # The length first: what is nested without end is long.
    if not isinstance(text, str) or len(text) > LONGEST:
        raise ValueError("missing or malformed")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError("missing or malformed")
    try:
        check_settings(found, n_components)
    except ParameterError as error:
        # Without the advice for who chooses them.
        raise ValueError(f"not what can be chosen: {str(error).partition('. ')[0]}") from error
    return found


def check_settings(settings: Mapping[str, Any], n_components: int | None = None) -> None:
    """Refuse a setting that no recogniser takes; None is its default.

    Parameters
    ----------
    settings : mapping
    n_components : int, optional
        How many a vector has: no more can be compared.

    Raises
    ------
    ParameterError
        For another name, or a value outside of what it may be.
    """
    for name, value in settings.items():
        if name not in SETTINGS:
            near = difflib.get_close_matches(name, SETTINGS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ParameterError(f"{name} is no setting of a gallery. There are {', '.join(SETTINGS)}.{hint}")
        if value is not None:
            _check_value(name, _plain(value), n_components)


def _plain(value: Any) -> Any:
    """Return a number of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _check_value(name: str, value: Any, available: int | None) -> None:
    if name == "distance":
        check_choice(name, value, DISTANCES)
    elif name == "match":
        check_choice(name, value, MATCHES)
    elif name == "far":
        check_far(value)
    elif name == "discriminant" and not (isinstance(value, bool) or value == "auto"):
        raise ParameterError(f"discriminant={value!r} is not known. Give True, False or 'auto'.")
    elif name == "n_components":
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ParameterError(f"n_components={value!r} is not a whole number of at least 1.")
        if available is not None and value > available:
            raise ParameterError(
                f"n_components={value!r} but vectors have {available} components. Give a number from 1 to "
                f"{available}, or None for all."
            )
