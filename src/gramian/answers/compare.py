"""What differs between two fitted PCAs, and whether their error bounds explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment

from gramian.core.arrays import as_float64
from gramian.core.checks import counted, listed
from gramian.core.notebook import Grid, Tabulated
from gramian.core.records import DirectionBounds, FloatArray, ModelKind
from gramian.errors import DataError, InputTypeError
from gramian.statistics.components import component_names, decomposition_of, kind_of, names_of

SETTINGS = ("center", "scale", "ddof")  # which change what is computed, and not how


@dataclass(frozen=True, eq=False)
class MatchedComponents:
    """Components of two models that span about the same subspace: mostly one of each.

    Attributes
    ----------
    old, new : tuple of int
        Places in the two models, counted from 0; new[i] is most like old[i].
    angles : ndarray of shape (m,)
        Principal angles between the subspaces in radians, largest first.
    angle_bound : float
        Largest angle that the error bounds of both fits explain, in radians.
    """

    old: tuple[int, ...]
    new: tuple[int, ...]
    angles: FloatArray
    angle_bound: float

    @property
    def angle(self) -> float:
        """The largest principal angle."""
        return float(self.angles[0])


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabulated):
    """How the components of a second fit differ from those of a first; prints as sentences and a table.

    Attributes
    ----------
    matches : tuple of MatchedComponents
        In the order of the first model.
    old_values, new_values : ndarray of shape (k,)
        Variances of the matched components, in the order of the first model.
    value_bounds : ndarray of shape (k,)
        Sums of the error radii of both.
    notes : tuple of str
        What else differs: the number of rows, and of components.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import gramian
    >>> X = load_wine(as_frame=True).data
    >>> pca = gramian.PCA(2, scale="unit").fit(X)
    >>> result = gramian.compare(pca, gramian.PCA(2, scale="unit").fit(X[:150]))
    >>> result.old_values.round(2), result.new_values.round(2)
    (array([4.71, 2.5 ]), array([4.65, 2.16]))
    >>> result.notes[0]
    'The fits have 178 and 150 rows.'
    """

    matches: tuple[MatchedComponents, ...]
    old_values: FloatArray
    new_values: FloatArray
    value_bounds: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> FloatArray:
        """Changes of the variances, relative to the largest variance of the first model."""
        return (self.new_values - self.old_values) / (self.old_values.max(initial=0.0) or 1.0)

    @property
    def largest_change(self) -> float:
        """The largest of their magnitudes."""
        return float(np.abs(self.changes).max(initial=0.0))

    @property
    def largest_angle(self) -> float:
        """The largest principal angle between matched components or clusters, in radians."""
        return max((match.angle for match in self.matches), default=0.0)

    @property
    def explained(self) -> bool:
        """Whether the error bounds of the two fits explain all changes of variances and directions."""
        values = np.abs(self.new_values - self.old_values) <= self.value_bounds
        return bool(values.all()) and all(match.angle <= match.angle_bound for match in self.matches)

    def rows(self) -> Iterator[tuple[str, str, float, float, float, bool, float, bool]]:
        """Yield a row for each component.

        Yields
        ------
        tuple
            Old and new name, old and new variance, the relative change and whether the error bounds explain
            it, the angle in radians, and whether they explain that.
        """
        names = component_names(1 + max((max(m.old + m.new) for m in self.matches), default=0))
        columns = (self.old_values, self.new_values, self.changes, self.value_bounds)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        for match in self.matches:
            turned = (match.angle, match.angle <= match.angle_bound)
            for old, new in zip(match.old, match.new, strict=True):
                before, after, change, room = next(numbers)
                yield names[old], names[new], before, after, change, abs(after - before) <= room, *turned

    def sentences(self) -> list[str]:
        """Return the answer in sentences: the verdict first."""
        if not self.matches:
            return ["There are no components to compare.", *self.notes]
        verdict = "The result is the same: the error bounds of both fits explain every difference."
        if not self.explained:
            verdict = "The result changed by more than the error bounds of both fits explain."
        lines = [
            verdict,
            f"The largest change of a variance is {self.largest_change:.2g} of the largest variance; the "
            f"largest angle between matched directions is {self.largest_angle:.2g} radians "
            f"({counted(len(self.old_values), 'component')}).",
        ]
        names = component_names(1 + max(max(match.old + match.new) for match in self.matches))
        spans = [" and ".join(names[j] for j in match.old) for match in self.matches if len(match.old) > 1]
        free = [names[j] for match in self.matches if match.angle_bound >= np.pi / 2 for j in match.old]
        lines += [f"Compared as a subspace, because their variances are too close: {span}." for span in spans]
        unbound = f"The certificates do not bound the direction of {', '.join(free)}: any angle is possible."
        return [*lines, *([unbound] if free else []), *self.notes]

    def _notebook(self) -> Iterator[str | Grid]:
        yield from self.sentences()
        rows: list[tuple[Any, ...]] = []
        for old, new, before, after, change, inside, angle, straight in self.rows():
            beyond = [word for word, fine in (("variance", inside), ("direction", straight)) if not fine]
            rows.append((old, new, before, after, change, angle, " and ".join(beyond) or "-"))
        heads = "old", "new", "old variance", "new variance", "change", "angle", "beyond the error bounds"
        if rows:
            yield Grid(heads, rows, ("", "", ".6g", ".6g", ".1e", ".1e", ""))


def compare(old: Any, new: Any) -> Comparison:
    """Compare two fitted PCAs, to see whether an upgrade, a machine or new rows change the result.

    Components are matched by their directions, whatever their order and signs. Those that one of the models
    cannot tell apart, because their variances are equal within its error bounds, are compared as a subspace.

    Parameters
    ----------
    old, new : fitted PCA
        Fitted on the same columns, with the same ``center``, ``scale`` and ``ddof``.

    Returns
    -------
    Comparison
        Changes of variances and directions with their bounds; prints as a table.

    Raises
    ------
    InputTypeError
        For models other than PCA.
    ParameterError
        If their columns or their scaling differ.

    Notes
    -----
    A difference of two variances is explained by the error bounds if it lies within the sum of the two
    certificates' radii. An angle is, if it lies within the sum of the two bounds on angles.

    References
    ----------
    Björck and Golub (1973), Numerical methods for computing angles between linear subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).standard_normal((100, 4)) * [4, 3, 2, 1]
    >>> direct = gramian.PCA(2, solver="full").fit(X)
    >>> result = gramian.compare(direct, gramian.PCA(2, solver="gram").fit(X))
    >>> result.explained, result.largest_angle < 1e-12
    (True, True)
    >>> gramian.compare(direct, gramian.PCA(2).fit(X[:50])).explained
    False
    """
    old, new = (_pca(model) for model in (old, new))
    notes = list[str]()
    _require_same_columns(old, new)
    for name in SETTINGS:
        before, after = getattr(old, name, None), getattr(new, name, None)
        if not np.array_equal(before, after):  # type: ignore[arg-type]
            why = f"{name}={before!r} and {name}={after!r}: their components mean different things."
            raise DataError(f"The models were fitted with {why}", "Fit both with the same one.")
    ranks = [min(int(model.n_components_), int(model.rank_)) for model in (old, new)]
    k = min(ranks)
    if ranks[0] != ranks[1]:
        notes.append(f"The models have {ranks[0]} and {ranks[1]} components with variance; {k} are compared.")
    rows = [int(model.n_samples_) for model in (old, new)]
    if rows[0] != rows[1]:
        notes.append(f"The fits have {rows[0]:,} and {rows[1]:,} rows.")
    P = as_float64(old.components_)[: ranks[0]]
    Q = as_float64(new.components_)[: ranks[1]]
    # Of the larger model the components that the smaller one has, which need not be its first ones.
    matched, partners = linear_sum_assignment(-((P @ Q.T) ** 2))
    first, second = old.certificate_.directions, new.certificate_.directions
    matches = []
    for group in _groups(first, second, matched, partners):
        i, j = np.sort(matched[group]), np.sort(partners[group])
        room = _explained_angle(first, i) + _explained_angle(second, j)
        angles = subspace_angles(P[i].T, Q[j].T)
        matches.append(MatchedComponents(tuple(i.tolist()), tuple(j.tolist()), angles, room))
    every, their = ([j for match in matches for j in getattr(match, side)] for side in ("old", "new"))
    values = as_float64(old.explained_variance_)[every], as_float64(new.explained_variance_)[their]
    return Comparison(tuple(matches), *values, _radii(old, every) + _radii(new, their), tuple(notes))


def _pca(model: Any) -> Any:
    kind = kind_of(model)
    if kind is ModelKind.FACES:
        model = decomposition_of(model)
    elif kind is not ModelKind.PCA or getattr(model, "certificate_", None) is None:
        name = type(model).__name__
        raise InputTypeError(
            f"compare takes two fitted PCAs, not a {name}. Components of kernel PCA lie in a feature space, "
            "and those of a Whitener are rotated.",
            "Compare their eigenvalues instead.",
        )
    return model


def _require_same_columns(old: Any, new: Any) -> None:
    d, after = int(old.n_features_in_), int(new.n_features_in_)
    if d != after:
        why = f"The models have {d:,} and {after:,} columns, which cannot be compared."
        raise DataError(why, "Fit both on the same columns.")
    first, second = names_of(old), names_of(new)
    if first is not None and second is not None and first != second:
        missing = sorted(set(first) - set(second))
        lacks = f"The new model lacks the columns {listed(missing)}." if missing else ""
        raise DataError(lacks or "The order of the columns differs.", "Fit both on the same columns.")


def _groups(first: DirectionBounds, second: DirectionBounds, matched: Any, partners: Any) -> list[Any]:
    """Return pairs that belong together, so that no cluster of either model is torn apart."""
    label = np.arange(len(matched))
    for side, bounds in ((matched, first), (partners, second)):
        for cluster in bounds.clusters:
            inside = np.flatnonzero(np.isin(side, np.array(cluster)))
            if inside.size > 1:
                label[np.isin(label, label[inside])] = label[inside].min()
    return [np.flatnonzero(label == value) for value in np.unique(label)]


def _explained_angle(bounds: DirectionBounds, group: Any) -> float:
    """Return the largest error of a subspace of whole clusters; a part of a cluster may be any."""
    clusters = [cluster for cluster in bounds.clusters if not set(cluster).isdisjoint(group.tolist())]
    if any(not set(cluster) <= set(group.tolist()) for cluster in clusters):
        return np.pi / 2
    sine = float(np.linalg.norm([bounds.sines[cluster.start] for cluster in clusters]))
    return float(np.arcsin(min(1.0, sine)))


def _radii(model: Any, indices: list[int]) -> FloatArray:
    """Return the error radii of variances; of those beyond the certificate its largest."""
    certificate = model.certificate_
    radii = np.full(max(int(model.n_components_), certificate.radii.size), certificate.set_radius)
    radii[: certificate.radii.size] = certificate.radii
    return np.asarray(radii[indices])
