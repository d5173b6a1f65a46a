"""The way back from kernel PCA's scores: which method a kernel allows, and what is handed to the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from gramian.analysis.preimages import LIMIT, FeatureSpace, minimised, residuals
from gramian.analysis.ridge_map import RidgeMap, learn_map
from gramian.arrays import (
    as_float64,
    dense,
    from_numpy,
    moved,
    namespace,
    require_range,
    to_dtype,
    to_float64,
)
from gramian.checks import check_choice
from gramian.errors import DataError, ParameterError, PreimageWarning
from gramian.estimators.inputs import check_features, expected_columns
from gramian.estimators.saving import register_record
from gramian.kernels import Kernel, Linear
from gramian.rows import Rows, as_rows
from gramian.rows.expected import Expected
from gramian.rows.kinds.dask import DaskRows
from gramian.store import Array

PREIMAGES = ("auto", "fixed-point", "gradient", "ridge")
# Why there is no way back, and what to do.
PRECOMPUTED = (
    "a precomputed kernel has no rows",
    "A precomputed kernel has no rows to go back to. Fit on the rows with the kernel itself, by name "
    "(kernel='rbf'), expression, object or function.",
)
FEATURES = (
    "a model of random features keeps no rows",
    "A model of random features keeps no rows to go back to. Fit with solver='nystroem', whose landmarks are "
    "rows, for inverse_transform and denoise.",
)
SPARSE = (
    "the fitted rows are sparse",
    "A model fitted on sparse rows does not go back to rows, which would be dense. Fit on X.toarray() for "
    "inverse_transform and denoise.",
)


register_record(
    RidgeMap,
    mean=Array("r"),
    linear=Array("r d"),
    intercept=Array("d"),
    landmarks=Array("m r"),
    radial=Array("m d"),
)


@dataclass(frozen=True)
class PreimageMethod:
    """How a model goes back from scores to rows.

    Attributes
    ----------
    method : {"exact", "fixed-point", "gradient", "ridge", "none"}
    reason : str
    """

    method: str
    reason: str

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


def preimage_method(
    asked: Any, kernel: Kernel | None, *, sparse: bool = False, nodes: bool = True
) -> PreimageMethod:
    """Return the method that a kernel allows and a user asked for.

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
    for held, advice in [pair for lacking, pair in lacks if lacking]:
        if asked != "auto":
            raise ParameterError(f"preimage={asked!r} needs rows. {advice}")
        return PreimageMethod("none", f"{held}.")
    assert kernel is not None
    if asked == "fixed-point" and not kernel.stationary:
        raise ParameterError(
            "preimage='fixed-point' needs a kernel of x - y alone, such as rbf, matern or rq, and "
            f"{kernel!r} is none. Use preimage='gradient', or 'auto'."
        )
    if asked in ("fixed-point", "gradient") and kernel.kinks:
        raise ParameterError(
            f"{kernel.kinks} preimage={asked!r} follows derivatives. Use preimage='ridge', or 'auto'."
        )
    if isinstance(kernel, Linear):
        return PreimageMethod("exact", "the feature space of the linear kernel is that of the rows.")
    if asked == "gradient" and kernel.validity.refuted:
        raise ParameterError(
            f"{kernel!r} is no valid kernel, so there is no distance in feature space that "
            "preimage='gradient' could make small. Use preimage='ridge', or 'auto'."
        )
    if asked != "auto":
        return PreimageMethod(asked, "it was asked for.")
    if kernel.kinks:
        return PreimageMethod("ridge", kernel.kinks)
    if not kernel.psd:
        return PreimageMethod("ridge", "the kernel is not proven valid, so there may be no distances.")
    if kernel.stationary:
        return PreimageMethod("fixed-point", "the kernel depends on x - y alone and is smooth.")
    return PreimageMethod("gradient", "the kernel is smooth.")


class WithPreimages:
    """Gives kernel PCA ``inverse_transform``, ``denoise`` and ``preimage_``."""

    # Options of how results are handed back are no metadata to route.
    __metadata_request__inverse_transform: ClassVar = {"return_error": UNUSED}
    _ridge_map: RidgeMap | None = None

    @property
    def preimage_(self: Any) -> PreimageMethod:
        """Which method finds pre-images, and why; it follows ``set_params(preimage=...)`` without a fit."""
        check_is_fitted(self)
        nodes = self.feature_map_ is None
        return preimage_method(self.preimage, self.kernel_, sparse=issparse(self._nodes), nodes=nodes)

    def inverse_transform(self: Any, X: Any, return_error: bool = False) -> Any:
        """Return rows whose images in feature space are nearest to points with the given scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.
        return_error : bool, default=False
            Return residuals as well.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
            Pictures (n_samples, height, width) where the model was fitted on pictures.
        residuals : array of shape (n_samples,), float64, only with ``return_error``
            Distances ``||phi(x) - P||`` in feature space, in units in which a row has the length
            ``sqrt(k(x, x))``. Above 0 unless P is the image of a row, which it seldom is.

        Raises
        ------
        DataError
            For another number of columns than components, for scores so large that rows leave the range of
            float64, and for a precomputed kernel.
        IndefiniteKernelError
            Where residuals are asked for and the kernel has no distances.

        Warns
        -----
        PreimageWarning
            With the number of rows whose search did not converge; they have the best row that was found.

        References
        ----------
        Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (1998), Kernel PCA and de-noising in feature
        spaces. Bakir, Weston, Schoelkopf (2004), Learning to find pre-images.
        """
        self._require_rows()
        rows = as_rows(X, estimator="KernelPCA", expected=None if return_error else Expected())
        if rows.is_spread:
            return self._lazily(rows, self.inverse_transform)
        self._require_scores(rows)
        return self._back(to_float64(rows.dense_block(slice(None))), None, rows, return_error)

    def denoise(self: Any, X: Any, return_error: bool = False) -> Any:
        """Return pre-images of the projections of rows: what of them lies along the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_error : bool, default=False
            Return residuals as well.

        Returns
        -------
        rows, residuals
            As :meth:`inverse_transform` of :meth:`transform`; where rows are searched for, X itself is tried
            as a start beside the nearest fitted rows.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import KernelPCA
        >>> angle = np.linspace(0.0, 6.2, 200)
        >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
        >>> model = KernelPCA(8, kernel="rbf", gamma=2.0).fit(circle)
        >>> row = model.denoise([[1.2, 0.9]])
        >>> np.linalg.norm(row).round(1)
        np.float64(1.0)
        """
        self._require_rows()
        rows = self._rows(X, expected=expected_columns(self))
        check_features(self, X, rows)
        if isinstance(rows, DaskRows):
            if not return_error:
                return self._lazily(rows, self.denoise)
            rows = rows.here()
            rows.require_finite()
        scores = self._mapped(rows)
        return self._back(to_float64(scores), to_float64(dense(rows.in_memory())), rows, return_error)

    def _lazily(self: Any, rows: Rows, f: Callable[[Any], Any]) -> Any:
        d = self.n_features_in_
        return self._as_fitted(rows.mapped(lambda part: f(part.in_memory()).reshape(-1, d), d))

    def _require_rows(self: Any) -> None:
        if self.preimage_.method == "none":
            known = (PRECOMPUTED, FEATURES, SPARSE)
            raise DataError(next(advice for held, advice in known if self.preimage_.reason == f"{held}."))

    def _back(self: Any, Z: Any, start: Any, rows: Rows, return_error: bool) -> Any:
        method = self.preimage_.method
        Z, space, xp = moved(Z[:, : self.rank_], rows.like), self._space(rows.like), rows.xp
        start = None if start is None else moved(start, rows.like)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._found(method, space, Z, start)
        if not bool(xp.all(xp.isfinite(found))):
            given, known = (np.abs(as_float64(scores)).max() for scores in (Z, space.scores))
            raise DataError(
                f"Scores reach {given:.3g}, so that rows leave the range of float64. Give scores "
                f"nearer to those of the fitted rows, which reach {known:.3g}."
            )
        # In the precision of what came in; residuals are about what is handed back.
        with np.errstate(over="ignore"):
            returned = require_range(to_dtype(found, rows.dtype), "Rows of these scores")
        back = self._as_fitted(moved(returned, rows.home))
        if not return_error:
            return back
        if method == "exact":
            off = xp.linalg.vector_norm(to_float64(returned) - found, axis=1)
            return back, moved(off, rows.home)
        return back, from_numpy(residuals(space, to_float64(returned), Z), rows.home)

    def _space(self: Any, like: Any) -> FeatureSpace:
        """What was found, where the scores or rows are that are taken back."""
        assert self.kernel_ is not None
        map, r = self._projection, self.rank_
        fitted = moved(map.nodes, like)
        if self.landmarks_ is None:
            scores = as_float64(self.eigenvectors_)[:, :r] * np.sqrt(as_float64(self.eigenvalues_)[:r])
        else:
            scores = to_float64(self._mapped(as_rows(fitted)))[:, :r]
        return FeatureSpace(
            evaluator=self._bound(fitted),
            rows=to_float64(fitted),
            coefficients=from_numpy(map.coefficients[:, :r], like),
            scores=moved(scores, like),
            mean_weights=from_numpy(map.weights, like),
            row_means=from_numpy(as_float64(self._row_means), like),
            mean=float(self._mean),
        )

    def _found(self: Any, method: str, space: FeatureSpace, Z: Any, start: Any) -> Any:
        if method == "exact":
            return space.combined(Z)
        if method == "ridge":
            if self._ridge_map is None:
                self._ridge_map = learn_map(as_float64(space.scores), as_float64(space.rows))
            found = self._ridge_map(as_float64(Z))
            return namespace(Z).maximum(from_numpy(found, Z), space.floor)
        found = minimised(space, Z, method, start)
        if not space.evaluator.kernel.psd:
            # Where there are no distances, what was made small means nothing.
            residuals(space, found.points, Z)
        missed = int(np.sum(~found.converged))
        if missed:
            warnings.warn(
                f"{missed} of {Z.shape[0]} pre-images did not converge in {LIMIT} steps; they are the "
                "nearest rows found. return_error=True says how far each is off; preimage='ridge' needs no "
                "steps.",
                PreimageWarning,
                stacklevel=4,
            )
        return found.points
