"""What a gallery says about itself: the model its vectors belong to, and how its people are told apart."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from gramian.errors import ParameterError
from gramian.estimators.inputs import check_choice
from gramian.faces.calibration import check_far
from gramian.faces.distances import DISTANCES, MATCHES
from gramian.faces.queries import now
from gramian.records import FloatArray
from gramian.version import __version__

__all__ = ["SETTINGS", "FittedModel", "check_settings", "described", "settings_text"]

# What a recogniser can be told, and a gallery can remember.
SETTINGS = ("distance", "discriminant", "match", "far", "n_components")


class FittedModel(Protocol):
    """What a gallery needs to know of a fitted :class:`gramian.faces.FaceSpace`."""

    fingerprint_: str
    n_components_: int
    eigenvalues_: FloatArray
    shift_covariance_: FloatArray | None


def described(model: FittedModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a new gallery says about itself, for its table ``meta``.

    Raises
    ------
    ParameterError
        As :func:`check_settings`.
    """
    shifts = model.shift_covariance_
    return {
        "fingerprint": model.fingerprint_,
        "components": int(model.n_components_),
        "variances": np.asarray(model.eigenvalues_, dtype="<f8").tobytes(),
        "shifts": b"" if shifts is None else np.asarray(shifts, dtype="<f4").tobytes(),
        "created": now(),
        "gramian": __version__,
        "settings": settings_text(settings),
    }


def settings_text(settings: Mapping[str, Any]) -> str:
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
    check_settings(settings)
    chosen = {name: value for name, value in settings.items() if value is not None}
    return json.dumps(chosen, sort_keys=True)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse a setting that no recogniser takes; None is its default.

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
            _check_value(name, value)


def _check_value(name: str, value: Any) -> None:
    if name == "distance":
        check_choice(name, value, DISTANCES)
    elif name == "match":
        check_choice(name, value, MATCHES)
    elif name == "far":
        check_far(value)
    elif name == "discriminant" and not (isinstance(value, bool) or value == "auto"):
        raise ParameterError(f"discriminant={value!r} is not known. Give True, False or 'auto'.")
    elif name == "n_components" and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ParameterError(f"n_components={value!r} is not a whole number of at least 1.")
