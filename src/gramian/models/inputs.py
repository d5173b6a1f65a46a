"""The one place where estimators check their parameters and the features of new data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from gramian.core.arrays import moved, real_numbers, to_numpy
from gramian.core.checks import check_choice, check_integer, check_share
from gramian.core.records import FloatArray, Target, random_stream
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.statistics.components import names_of
from gramian.tables.rows import Rows
from gramian.tables.table import Expected

SCALES = ("unit", "pareto", "genotype")


@dataclass(frozen=True)
class ComponentRequest:
    """The request in ``n_components``: a target, or a rule that has still to run."""

    target: Target
    rule: str | None = None


def check_target(
    n_components: Any, limit: int, shape: tuple[int, int], *, what: str = "components"
) -> Target:
    """Turn ``n_components`` into a target, or raise a ParameterError.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        The parameter of the estimator.
    limit : int
        Largest integer that makes sense.
    shape : tuple of int
        Shape of the data, for the message.
    """
    if n_components is None:
        return Target()
    if isinstance(n_components, Integral) and not isinstance(n_components, bool):
        count = int(n_components)
        if count > limit:
            single = " (n_features=1)" if shape[1] == 1 else ""
            why = f"but {shape[0]} rows x {shape[1]} columns have at most {limit} {what}{single}"
            hint = f"Ask for at most {limit}, or a fraction such as 0.95."
            raise ParameterError("n_components", count, why, hint)
        if count >= 1:
            return Target(count=count)
    elif isinstance(n_components, Real) and 0 < float(n_components) < 1:
        return Target(fraction=float(n_components))
    why = "is not a positive number of components, and not a fraction between 0 and 1"
    hint = f"Give an integer from 1 to {limit}, a fraction such as 0.95, or None for all."
    raise ParameterError("n_components", n_components, why, hint)


def check_tol(tol: Any, dtype: np.dtype[Any]) -> float:
    """Return the tolerance on residuals, relative to the largest eigenvalue."""
    if tol is None:
        return 1e-6 if dtype == np.float64 else 1e-5
    advice = (
        "It bounds residuals relative to the largest eigenvalue. The default is 1e-6 for float64 and 1e-5 "
        "for float32."
    )
    return check_share("tol", tol, advice)


def check_ddof(ddof: Any, n: int) -> int:
    """Return the delta degrees of freedom."""
    return check_integer("ddof", ddof, 0, n - 1, "Sums are divided by n - ddof.")


def ddof_of(ddof: Any, rows: Rows) -> float:
    """Return the delta degrees of freedom of rows, if their weights leave some."""
    checked, weight = check_ddof(ddof, rows.shape[0]), rows.weight
    if not weight:
        raise DataError("The weight of every row is zero, so that no row is left.", "Give some more weight.")
    if not weight > checked * (1 + 1e-9):
        what = f"The weights sum to {weight:.6g}, but sums of squares are divided by this sum less"
        hint = "Give weights that count rows, as weights * n / weights.sum() does, or set ddof=0."
        raise DataError(f"{what} ddof={checked!r}.", hint)
    return float(checked)


def check_feature_weight(feature_weight: Any, rows: Rows) -> FloatArray | None:
    """Return the square roots of the weights of the columns; None where none are given."""
    if feature_weight is None:
        return None
    d = rows.shape[1]
    why = f"must hold {d} positive, finite numbers, one for each column"
    hint, most = "Leave a column out of X to give it no weight.", float(np.finfo(np.float64).max)
    return np.sqrt(_by_column("feature_weight", feature_weight, d, most, why, hint))


def check_scale(scale: Any, rows: Rows, center: bool = True) -> str | FloatArray | None:
    """Return the scaling rule, or the given divisors as float64."""
    if scale is None:
        return None
    if isinstance(scale, str | bool):
        if scale == "genotype" and not center:
            why = "computes allele frequencies from column means, but center=False does not subtract them"
            raise ParameterError("scale", scale, why, "Use center=True.")
        return check_choice("scale", scale, SCALES)
    d, most = rows.shape[1], float(np.finfo(rows.dtype).max)
    why = (
        f"must hold {d} positive numbers, one for each column, of at most {most:.2g} for data in {rows.dtype}"
    )
    hint = (
        "None divides by nothing, 'unit' by standard deviations, 'pareto' by their roots, 'genotype' by "
        "sqrt(2 p (1 - p)) for allele frequencies p."
    )
    return _by_column("scale", scale, d, most, why, hint)


def _by_column(name: str, values: Any, d: int, most: float, why: str, hint: str) -> FloatArray:
    """Return a number above 0 for each column; anything else raises the error."""
    with suppress(TypeError, ValueError):
        numbers = real_numbers(values)
        if numbers.shape == (d,) and ((numbers > 0) & (numbers <= most)).all():
            return numbers
    raise ParameterError(name, values, why, hint)


def generators(random_state: Any, count: int = 2) -> tuple[np.random.Generator, ...]:
    """Return independent generators: for the solver, for the probe that checks it, and for what is more."""
    seeds = drawn_seeds(random_state)
    return tuple(random_stream(seeds, index) for index in range(count))


def drawn_seeds(random_state: Any) -> list[int]:
    """Draw the seeds of all generators of a fit."""
    return (_drawn_once if type(random_state) is int else _drawn)(random_state)


def _drawn(random_state: Any) -> list[int]:
    if isinstance(random_state, np.random.Generator):
        return [int(seed) for seed in random_state.integers(2**32, size=4)]
    try:
        state = check_random_state(random_state)
    except ValueError as error:
        why = "cannot start a random number generator"
        hint = "Use an integer from 0 to 2**32 - 1, a numpy Generator or RandomState, or None."
        raise ParameterError("random_state", random_state, why, hint) from error
    return [int(seed) for seed in state.randint(0, 2**31 - 1, size=4)]


_drawn_once = lru_cache(maxsize=256)(_drawn)  # a generator takes as long to start as a tenth of a small fit


def store_features(estimator: Any, X: Any, rows: Rows) -> None:
    """Store number and names of features as scikit-learn's estimators do, and the means that fill holes."""
    _validate(estimator, X, rows, reset=True)
    table, names = rows.table, rows.feature_names or ()
    estimator.column_means_ = None if table is None else table.missing.means
    for name in ("reading_", "_table_file", "counted_alleles_", "_column_names"):
        estimator.__dict__.pop(name, None)
    if names and "feature_names_in_" not in vars(estimator):
        # scikit-learn's attribute holds names that are text, which those of files are.
        name = "_column_names" if table is None else "feature_names_in_"
        setattr(estimator, name, np.array(names, dtype=object))
    if table is None:
        return
    if table.origin.reading:
        from gramian.tables.names import base_name

        estimator.reading_ = {"source": base_name(table.source)} | dict(table.origin.reading)
    if table.source != "memory":
        estimator._table_file = {"path": table.source, "sha256": table.origin.sha256, **table.origin.own}
    if table.alleles:
        # "" where it is not known.
        counted = [table.alleles.get(name, ("", ""))[0] for name in names]
        estimator.counted_alleles_ = np.array(counted, dtype=object)


def expected_columns(estimator: Any) -> Expected:
    """Return what a fitted estimator expects of new data, for ``as_rows``."""
    names = names_of(estimator)
    alleles = vars(estimator).get("counted_alleles_", ())
    counts = {name: allele for name, allele in zip(names or (), alleles, strict=False) if allele}
    # Means that were asked for fill; else PCA needs no filling.
    holes = getattr(estimator, "_maps_holes", False)
    reading = getattr(estimator, "reading_", {})
    means = getattr(estimator, "column_means_", None)
    # A stream between two batches has none: to ask for them would decompose it.
    cells = to_numpy(vars(estimator).get("constant_features_", np.empty(0, dtype=int)))
    if means is None and len(cells) and getattr(estimator, "picture_shape_", None) is not None:
        means = np.full(estimator.n_features_in_, np.nan)  # such as land in a field, where there is none
        means[cells] = to_numpy(estimator.mean_)[cells]
    return Expected(names, means, counts, holes, reading.get("transform"), reading.get("answers"))


def check_features(estimator: Any, X: Any, rows: Rows) -> None:
    """Raise an error for new data whose features are not those of the fitted data.

    Files and tables were put in order by ``as_rows`` already, as :func:`expected_columns` says.
    """
    _check_picture_shape(estimator, rows)
    _check_kind(estimator, rows)
    if rows.table is not None and rows.feature_names is not None and names_of(estimator) is not None:
        return
    if isinstance(X, Rows) and X.feature_names == names_of(estimator):  # checked before
        return
    _validate(estimator, X, rows, reset=False)


def _check_kind(estimator: Any, rows: Rows) -> None:
    """Raise an error for another kind of array than the fitted one under ``array_api_dispatch``."""
    fitted = [vars(estimator).get(name) for name in ("components_", "projection_coef_")]
    like = next((array for array in fitted if array is not None), rows.like)
    if not get_config()["array_api_dispatch"] or moved(like, rows.like) is like:
        return
    where = "the same namespace and the same device as those passed to fit()"
    what = f"Inputs passed to {type(estimator).__name__}.transform() must use {where}"
    hint = "Move them there, or turn it off, so that each input is mapped on its own device."
    raise DataError(f"{what} while scikit-learn's array_api_dispatch is on.", hint)


def _check_picture_shape(estimator: Any, rows: Rows) -> None:
    fitted, shape = getattr(estimator, "picture_shape_", None), rows.picture_shape
    if fitted is None or shape is None or tuple(fitted) == shape:
        return
    size = f"{fitted[1]}x{fitted[0]}"
    # Arrays of pictures have no names and are not resized while reading.
    files = rows.table is not None and rows.table.row_names is not None
    advice = f"while reading, with size={size!r}" if files else "first"
    why = f"The pictures are {shape[1]}x{shape[0]} (width x height), but the model was fitted on {size}."
    raise DataError(why, f"Resize them {advice}.")


def _validate(estimator: Any, X: Any, rows: Rows, *, reset: bool) -> None:
    # Only the number of columns is looked at, and their names.
    fitted_names, checked = None if reset else names_of(estimator), estimator
    frame = hasattr(X, "columns") and rows.table is None
    if not frame and fitted_names is None and (not reset or "feature_names_in_" not in vars(estimator)):
        if reset:
            estimator.n_features_in_ = rows.shape[1]
            return
        if vars(estimator).get("n_features_in_") == rows.shape[1]:
            return
    source: Any = getattr(X, "_meta", X) if frame else np.broadcast_to(np.float32(0), (1, rows.shape[1]))
    if frame and not reset:
        names, indices = rows.feature_names, tuple(map(str, range(rows.shape[1])))
        if fitted_names is None and names is not None and sorted(names) == sorted(indices):
            fitted_names = indices  # columns that their numbers name, in another order
        if names is not None and not all(isinstance(name, str) for name in X.columns):
            source = source.iloc[:0].set_axis(list(names), axis=1)
    if fitted_names is not None and "feature_names_in_" not in vars(estimator):
        # scikit-learn checks names that are text: it sees them on both sides.
        checked = object.__new__(type(estimator))
        vars(checked).update(vars(estimator), feature_names_in_=np.array(fitted_names, dtype=object))
    try:
        validate_data(checked, source, skip_check_array=True, reset=reset)
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except ValueError as error:
        there = not reset and fitted_names is not None and set(fitted_names) <= set(rows.feature_names or ())
        columns = "model.feature_names_in_" if checked is estimator else "the columns of the fit"
        advice = f"Put them in order with X[{columns}]." if there else ""
        raise DataError(f"{error}{advice}") from error
