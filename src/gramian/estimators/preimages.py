"""Pre-images of kernel PCA's scores: the method that a kernel allows, and the resulting rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.analysis.preimages import LIMIT, FeatureSpace, minimised, residuals
from gramian.analysis.ridge_map import RidgeMap
from gramian.arrays import as_float64, from_numpy, namespace
from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError, PreimageWarning
from gramian.estimators.saving import register_record
from gramian.kernels import Kernel, Linear

PREIMAGES = ("auto", "fixed-point", "gradient", "ridge")
# Why a model has no pre-images, with advice.
PRECOMPUTED = (
    "a precomputed kernel has no rows",
    "A precomputed kernel has no rows, so there are no pre-images. Fit on the rows with the kernel itself, "
    "as a name (kernel='rbf'), expression, object or function.",
)
FEATURES = (
    "a model of random features stores no rows",
    "A model of random features stores no rows, so there are no pre-images. For inverse_transform and "
    "denoise, fit with solver='nystroem', whose landmarks are rows.",
)
SPARSE = (
    "the fitted rows are sparse",
    "A model fitted on sparse rows has no pre-images, because they would be dense. For inverse_transform and "
    "denoise, fit on X.toarray().",
)


register_record(RidgeMap)


@dataclass(frozen=True)
class PreimageMethod:
    """The method that maps scores back to rows.

    Attributes
    ----------
    method : {"exact", "fixed-point", "gradient", "ridge", "none"}
    reason : str
    advice : str
        Advice if there are no pre-images.
    """

    method: str
    reason: str
    advice: str = field(default="", compare=False)

    @property
    def goes_back(self) -> bool:
        """Whether the model has pre-images."""
        return self.method != "none"

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


def preimage_method(
    asked: Any, kernel: Kernel | None, *, sparse: bool = False, nodes: bool = True
) -> PreimageMethod:
    """Return the requested method if the kernel allows it, or the best one for "auto".

    Parameters
    ----------
    asked : {"auto", "fixed-point", "gradient", "ridge"}
    kernel : Kernel or None
        With every parameter a number; None for a precomputed one.
    sparse : bool
        Whether the model holds sparse rows.
    nodes : bool
        Whether it holds rows at all: fitted ones, or landmarks.

    Raises
    ------
    ParameterError
        For a method that the kernel does not allow.

    Examples
    --------
    >>> from gramian.kernels import RBF
    >>> print(preimage_method("auto", RBF(gamma=1.0)))
    fixed-point: the kernel depends on x - y alone and is smooth.
    """
    asked = check_choice("preimage", asked, PREIMAGES)
    lacks = [(kernel is None, PRECOMPUTED), (not nodes, FEATURES), (sparse, SPARSE)]
    for reason, advice in [pair for lacking, pair in lacks if lacking]:
        if asked != "auto":
            raise ParameterError(f"preimage={asked!r} needs rows. {advice}")
        return PreimageMethod("none", f"{reason}.", advice)
    assert kernel is not None
    if asked == "fixed-point" and not kernel.stationary:
        raise ParameterError(
            "preimage='fixed-point' needs a kernel of x - y alone, such as rbf, matern or rq, "
            f"not {kernel!r}. Use preimage='gradient' or 'auto'."
        )
    if asked in ("fixed-point", "gradient") and kernel.not_differentiable:
        raise ParameterError(
            f"{kernel.not_differentiable} preimage={asked!r} needs derivatives. "
            "Use preimage='ridge' or 'auto'."
        )
    if isinstance(kernel, Linear):
        return PreimageMethod("exact", "the feature space of the linear kernel is the space of the rows.")
    if asked == "gradient" and kernel.validity.refuted:
        raise ParameterError(
            f"{kernel!r} is no valid kernel, so there is no distance in feature space for "
            "preimage='gradient' to minimise. Use preimage='ridge' or 'auto'."
        )
    if asked != "auto":
        return PreimageMethod(asked, "you chose this method.")
    if kernel.not_differentiable:
        return PreimageMethod("ridge", kernel.not_differentiable)
    if not kernel.psd:
        return PreimageMethod(
            "ridge", "the kernel is not proven valid, so distances in feature space may not exist."
        )
    if kernel.stationary:
        return PreimageMethod("fixed-point", "the kernel depends on x - y alone and is smooth.")
    return PreimageMethod("gradient", "the kernel is smooth.")


def found_rows(
    space: FeatureSpace, method: str, Z: Any, start: Any, ridge: Callable[[FeatureSpace], RidgeMap]
) -> Any:
    """Return the rows whose images are nearest to points with the scores Z.

    Parameters
    ----------
    space : FeatureSpace
    method : str
        One of those of :class:`PreimageMethod`.
    Z : array of shape (n, r)
    start : array of shape (n, d) or None
        Rows that are tried as a start.
    ridge : callable
        Returns the learned map of a space.

    Raises
    ------
    DataError
        Where rows leave the range of float64.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "exact":
            rows = space.combined(Z)
        elif method == "ridge":
            rows = namespace(Z).maximum(from_numpy(ridge(space)(as_float64(Z)), Z), space.floor)
        else:
            rows = _searched(space, method, Z, start)
    xp = namespace(rows)
    if not bool(xp.all(xp.isfinite(rows))):
        given, known = (np.abs(as_float64(scores)).max() for scores in (Z, space.scores))
        raise DataError(
            f"Scores reach {given:.3g}, so that rows leave the range of float64. Give scores "
            f"nearer to those of the fitted rows, which reach {known:.3g}."
        )
    return rows


def _searched(space: FeatureSpace, method: str, Z: Any, start: Any) -> Any:
    result = minimised(space, Z, method, start)
    if not space.evaluator.kernel.psd:
        # Where there are no distances, what was made small means nothing.
        residuals(space, result.points, Z)
    missed = int(np.sum(~result.converged))
    if missed:
        warnings.warn(
            f"{missed} of {Z.shape[0]} pre-images did not converge in {LIMIT} steps; they are the "
            "nearest rows found. return_error=True says how far each is off; preimage='ridge' needs no "
            "steps.",
            PreimageWarning,
            stacklevel=5,
        )
    return result.points
