"""Mutual information of each feature with a label, in nats."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from gramian.analysis.candidates import bar, data_frame
from gramian.checks import check_integer, listed
from gramian.errors import DataError, ParameterError
from gramian.estimators.sklearn_hints import NEVER_OVERWRITTEN, knowing
from gramian.notebook import Grid, InNotebook
from gramian.records import FloatArray, Seed
from gramian.rows import Rows
from gramian.selection.information import codes_of, entropy, information, plug_in_bias, random_stream
from gramian.selection.labels import Labelled, as_labelled, column_of, looks_discrete

PROBED = 64  # rows that tell most columns of fractions from those of whole numbers


@dataclass(frozen=True, eq=False)
class MutualInformation(InNotebook):
    """The mutual information of every feature with the label; prints as a ranking.

    ``np.asarray(found)`` and ``found[j]`` are the values.

    Attributes
    ----------
    values : ndarray of shape (d,)
        Nats, never below 0.
    p_values : ndarray of shape (d,) or None
        Share of permuted labels with at least this value, the label itself included.
    feature_names : tuple of str
    discrete : ndarray of bool of shape (d,)
        The features treated as discrete.
    label_entropy : float or None
        Entropy of a discrete label, in nats: the upper bound of the values. None for numbers.
    notes : tuple of str
    """

    values: FloatArray
    p_values: FloatArray | None
    feature_names: tuple[str, ...]
    discrete: npt.NDArray[np.bool_]
    label_entropy: float | None
    notes: tuple[str, ...] = field(default=())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    @property
    def ranking(self) -> npt.NDArray[np.intp]:
        """Features by falling value; ties in the order of the columns."""
        return np.argsort(-self.values, kind="stable")

    def rows(self) -> list[tuple[str, float, float | None, str]]:
        """Return name, nats, p-value and kind of each feature, by falling value."""
        p = self.p_values
        return [
            (
                self.feature_names[j],
                float(self.values[j]),
                None if p is None else float(p[j]),
                "discrete" if self.discrete[j] else "continuous",
            )
            for j in self.ranking
        ]

    def to_frame(self) -> Any:
        """Return the ranking as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            The values of :meth:`rows`.

        Raises
        ------
        MissingExtraError
            Where pandas is not installed; :meth:`rows` needs nothing.
        """
        return data_frame(self.rows(), ["feature", "nats", "p_value", "kind"])

    def __str__(self) -> str:
        largest, tested = float(self.values.max()), self.p_values is not None
        rows = [
            (name, value, *([p] if tested else []), bar(value, largest)) for name, value, p, _ in self.rows()
        ]
        heads, formats = ("feature", "nats", *["p"] * tested, ""), ("", ".4f", *[".3g"] * tested, "")
        return "\n".join([str(Grid(heads, rows, formats)), *self.notes])

    __repr__ = __str__

    def _notebook(self) -> Iterator[str | Grid]:
        yield Grid(("feature", "nats", "p", "kind"), self.rows())
        yield from self.notes


HABITS = {
    "discrete_features": "discrete= says the same, by name too; 'auto' looks at the values of each column",
    "copy": NEVER_OVERWRITTEN,
}


@knowing(HABITS, "mutual_information", "mutual_info_classif")
def mutual_information(
    X: Any,
    y: Any = None,
    *,
    discrete: Any = "auto",
    discrete_target: bool | str = "auto",
    n_neighbors: int = 3,
    permutations: int = 0,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> MutualInformation:
    """Estimate the mutual information of each feature with the label, in nats.

    ``MI = sum f(x, y) ln(f(x, y) / (f(x) f(y)))``: 0 for independent variables, at most the entropy of a
    discrete one. The estimate is that formula with the shares of rows where both are discrete, and
    otherwise from nearest neighbours: by Ross (2014) where one is discrete, by algorithm 1 of Kraskov,
    Stoegbauer and Grassberger (2004) where neither is.

    Parameters
    ----------
    X : array-like, frame, sparse matrix, Path or Scan of shape (n_samples, n_features)
        Of a sparse matrix some columns are made dense at a time; those of Dask's chunks are looked at where
        they are.
    y : array-like of shape (n_samples,), optional
        Labels; not needed for a file that is read with ``label=``.
    discrete : "auto", bool, or array of bools, positions or names
        Which features are discrete. By default those of whole numbers with at most 20 distinct values, or at
        most the square root of the number of rows.
    discrete_target : "auto" or bool
        Whether the label is; by default text, booleans, and whole numbers by the rule above.
    n_neighbors : int
        Neighbours of the estimates for continuous variables. More of them vary less and are more biased. In a
        class with fewer rows all the others are taken; a class of one row is left out.
    permutations : int
        Labels permuted so many times give p-values; 0 gives none.
    random_state : int, RandomState, Generator or None, default=0
        For the noise and the permutations; None draws a new seed at each call.
    n_jobs : int or None
        Largest number of threads. None: as many as BLAS may use.

    Returns
    -------
    MutualInformation
        With ``values`` of shape (n_features,).

    Raises
    ------
    DataError
        For NaN, a single class, only classes of one row.
    ParameterError
        For neighbours that the rows do not have.

    Notes
    -----
    Equal values: to every continuous variable, scaled to unit standard deviation, normal noise of 1e-10 of
    its mean magnitude (at least 1e-10) is added, the same that scikit-learn adds for the same
    ``random_state``; an offset beyond 100 standard deviations is subtracted before. A constant feature has 0.
    For continuous columns of a sparse matrix that would, dense, take more than a quarter of the memory limit
    (``GRAMIAN_MEMORY_LIMIT``) it is drawn for a few columns at a time, as from another ``random_state``; for
    those of Dask's chunks, for every block of 64 MB.

    Bias: the plug-in estimate is too high by about ``(r - 1)(c - 1) / (2 n)`` for r and c distinct values. A
    nearest-neighbour estimate varies around 0 for independent variables and is cut off there.

    References
    ----------
    Ross (2014), Mutual information between discrete and continuous data sets, PLoS ONE 9(2), e87357.
    Kraskov, Stoegbauer, Grassberger (2004), Estimating mutual information, Physical Review E 69, 066138.

    Examples
    --------
    >>> found = mutual_information([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1])
    >>> np.round(found.values, 4)
    array([0.6931, 0.    ])
    """
    k = check_integer("n_neighbors", n_neighbors)
    repeats = check_integer("permutations", permutations, 0)
    most = None if n_jobs is None else effective_n_jobs(n_jobs)
    stream = random_stream(random_state)
    data = as_labelled(X, y, estimator="mutual_information", discrete=discrete_target, by_columns=True)
    if isinstance(data.X, Rows):
        given = discrete if isinstance(discrete, (str, bool)) else _discrete_features(discrete, data)
        options = {"n_neighbors": k, "permutations": repeats, "discrete_target": data.classes is not None}
        return _of_spread(data, given, stream, options)
    kinds = _discrete_features(discrete, data)
    _check_neighbors(data, kinds, k)
    result = information(
        data.X,
        data.y,
        classes=data.classes is not None,
        discrete=kinds,
        k=k,
        permutations=repeats,
        stream=stream,
        most=most,
    )
    values = np.maximum(result[0], 0.0)
    return MutualInformation(
        values=values,
        # A permutation that tells as much counts, but for the last digits.
        p_values=(1 + (result[1:] >= result[0] - 1e-12).sum(axis=0)) / (1 + repeats) if repeats else None,
        feature_names=data.names,
        discrete=kinds,
        label_entropy=None if data.classes is None else entropy(data.y),
        notes=tuple(_notes(data, kinds, k, values)),
    )


def _of_spread(
    data: Labelled, discrete: Any, stream: np.random.RandomState, options: dict[str, Any]
) -> MutualInformation:
    """Ask about blocks of columns, where they are, and put the answers side by side."""
    y = data.original

    def of_part(part: Rows, names: Any, mask: Any) -> MutualInformation:
        named = replace(part, feature_names=tuple(names.tolist()))
        kinds = discrete if mask is None else mask
        # A state of its own for each: threads would share one.
        return mutual_information(named, y, discrete=kinds, random_state=deepcopy(stream), **options)

    def joined(first: MutualInformation, second: MutualInformation) -> MutualInformation:
        tested = first.p_values is not None and second.p_values is not None
        return MutualInformation(
            np.append(first.values, second.values),
            np.append(first.p_values, second.p_values) if tested else None,  # type: ignore[arg-type]
            first.feature_names + second.feature_names,
            np.append(first.discrete, second.discrete),
            first.label_entropy,
            tuple(dict.fromkeys(first.notes + second.notes)),
        )

    mask = discrete if isinstance(discrete, np.ndarray) else None
    result: MutualInformation = data.X.over_columns(of_part, joined, np.array(data.names), mask)
    return result


def _discrete_features(discrete: Any, data: Labelled) -> npt.NDArray[np.bool_]:
    d = data.X.shape[1]
    if isinstance(discrete, str) and discrete == "auto":
        return np.array([_looks_discrete(column_of(data.X, j)) for j in range(d)])
    if isinstance(discrete, (bool, np.bool_)):
        return np.full(d, bool(discrete))
    try:
        given = np.asarray(discrete)
        if given.ndim != 1 or (given.dtype.kind == "b" and len(given) != d):
            raise IndexError
        if given.dtype.kind in "OU":
            given = np.array([data.names.index(str(name)) for name in given], dtype=np.intp)
        mask = np.zeros(d, dtype=bool)
        mask[given.astype(np.intp) if given.size == 0 else given] = True
    except (IndexError, ValueError, TypeError) as error:
        raise ParameterError(
            f"discrete={discrete!r} does not fit {d} features. "
            f'Give "auto", True, False, {d} booleans, or positions or names of features.'
        ) from error
    return mask


def _looks_discrete(column: npt.NDArray[Any]) -> bool:
    probe = column[:PROBED]
    return bool(np.array_equal(probe, np.floor(probe))) and looks_discrete(column)


def _check_neighbors(data: Labelled, kinds: npt.NDArray[np.bool_], k: int) -> None:
    n = data.X.shape[0]
    if data.classes is None:
        if k >= n:
            raise ParameterError(f"n_neighbors={k} but there are {n} rows. Give at most {n - 1}.")
    elif not kinds.all() and np.bincount(data.y).max() < 2:
        raise DataError(
            f"All {n} labels are different, so no row has a neighbour in its class. "
            "Use discrete_target=False if they are numbers."
        )


def _notes(data: Labelled, kinds: npt.NDArray[np.bool_], k: int, values: FloatArray) -> Iterator[str]:
    if data.classes is None:
        places = np.flatnonzero(kinds)
        limits = [entropy(codes_of(column_of(data.X, j))) for j in places.tolist()]
        yield from _above("their own entropy", places, np.array(limits), data, values)
        return
    if not kinds.all():
        yield from _small_classes(data, k)
    limit = np.full(len(values), entropy(data.y))
    yield from _above("that of the label", np.arange(len(values)), limit, data, values)
    if kinds.any():
        places = np.flatnonzero(kinds)
        worst = max(plug_in_bias(codes_of(column_of(data.X, j)), data.y) for j in places.tolist())
        yield f"Discrete features without information have estimates of up to about {worst:.2g} nats, not 0."


def _small_classes(data: Labelled, k: int) -> Iterator[str]:
    sizes = np.bincount(data.y)
    classes = data.classes if data.classes is not None else np.arange(len(sizes))
    single, small = (listed(classes[which].tolist()) for which in (sizes == 1, (sizes > 1) & (sizes <= k)))
    if single:
        yield f"Classes with a single row were left out: {single}."
    if small:
        yield f"Classes with at most {k} rows use fewer than n_neighbors={k} neighbours: {small}."


def _above(
    whose: str, places: npt.NDArray[np.intp], limits: FloatArray, data: Labelled, values: FloatArray
) -> Iterator[str]:
    above = places[values[places] > limits + 1e-12]
    if len(above):
        names = [data.names[j] for j in above]
        yield (
            f"Estimates above the entropy, {whose} (at most {limits.max():.4g} nats): {listed(names)}. "
            "Nearest-neighbour estimates vary; the entropy is the upper bound."
        )
