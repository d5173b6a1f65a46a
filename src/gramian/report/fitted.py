"""What a report is about: a fitted model with its data, and what is known about the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.explain.diagnose import Diagnosis


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model with all inputs of its report.

    Attributes
    ----------
    model : fitted PCA, KernelPCA, Whitener, FaceSpace or Monitor
    table : Table or None
        The data of the fit, or new rows. Without them some sections are missing.
    scores : ndarray of shape (n_samples, n_components)
        Empty for a table in a file: they are computed while they are written.
    command : tuple of str
        The shell command of the fit.
    seconds : float
        Time of the fit.
    loadings : {"unit", "correlation"}
    format : {"csv", "parquet"}
    reading : mapping of str to object, or None
        The arguments of :func:`gramian.scan`; None for data that are not from a file.
    diagnosis : Diagnosis, optional
        Of this model and table, if it is known.
    """

    model: Any
    table: Any
    scores: Any = field(default_factory=lambda: np.empty((0, 0)))
    command: tuple[str, ...] = ()
    seconds: float | None = None
    loadings: str = "unit"
    format: str = "csv"
    reading: Mapping[str, Any] | None = None
    diagnosis: Diagnosis | None = None
