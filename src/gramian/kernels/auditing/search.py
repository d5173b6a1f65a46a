"""The search for counterexamples without data: sets of points, and a local search from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gramian.errors import DataError, GramianError, ParameterError
from gramian.kernels.auditing.trials import Examiner, Trial
from gramian.records import FloatArray

# A refutation this many times beyond its bound needs no more proof than that; closer ones are improved first.
CLEAR = -10.0
SCALES = tuple(10.0**e for e in range(-3, 4))
LINE, SQUARE, CUBE = 40, 6, 3
STEPS = 100
TRIED_FEATURES = (1, 2, 3)
OTHER_FEATURES = tuple(range(4, 17))


def acceptable_features(examiner: Examiner) -> tuple[int, ...]:
    """Return the numbers of features to search in: 1, 2 and 3, as far as the function accepts them.

    Raises
    ------
    GramianError
        When the function has no value for points of 1 to 16 features.
    """
    problem: GramianError | None = None
    results: list[int] = []
    for d in TRIED_FEATURES + OTHER_FEATURES:
        if results and d > TRIED_FEATURES[-1]:
            break
        for points in (_positive(d), np.vstack([_positive(d), -_positive(d)])):
            try:
                examiner.fix(_positive(d))
                examiner.examine(points)
            except GramianError as error:
                problem = problem or error
                continue
            results.append(d)
            break
    if not results:
        assert problem is not None
        hint = (
            f"{problem} Points of 1 to {OTHER_FEATURES[-1]} features were tried; for more, give n_features."
        )
        raise ParameterError(hint) if isinstance(problem, ParameterError) else DataError(hint)
    return tuple(results)


def _positive(d: int) -> FloatArray:
    # In two digits, because error messages show them.
    return np.random.default_rng(d).uniform(0.5, 1.5, size=(5, d)).round(2)


def search(examiner: Examiner, d: int, rng: np.random.Generator) -> Trial | None:
    """Look for a Gram matrix that refutes.

    Parameters
    ----------
    examiner : Examiner
    d : int
        Number of features.
    rng : Generator

    Returns
    -------
    Trial or None
        The first that refutes clearly or is not symmetric; else the one whose smallest eigenvalue lies lowest
        in units of its bound; None where k has no finite value on any set. When the examiner is out of time,
        of the sets tried until then.
    """
    examiner.fix(_positive(d))
    examiner.reference = _usual_size(examiner, d, rng)
    lowest: list[Trial] = []
    for points in candidates(d, rng):
        if examiner.out_of_time and (lowest or examiner.problem):
            break
        trial = examiner.attempt(points)
        if trial is None:
            continue
        if trial.ratio < CLEAR:
            return trial
        if trial.ratio < -1:
            trial = improve(examiner, trial, rng, STEPS)
            if trial.ratio < CLEAR:
                return trial
        lowest = sorted([*lowest, trial], key=lambda t: t.ratio)[:4]
    for start in [_few(trial) for trial in lowest]:
        trial = improve(examiner, start, rng, STEPS)
        lowest.append(trial)
        if trial.ratio < CLEAR or examiner.out_of_time:
            break
    return min(lowest, key=lambda t: t.ratio, default=None)


def _usual_size(examiner: Examiner, d: int, rng: np.random.Generator) -> float:
    """Return the typical largest |k| at points of size 1, for functions whose own rounding is unknown."""
    if not examiner.assumes:
        return 0.0
    tried = (examiner.attempt(rng.uniform(low, 1.0, size=(5, d))) for low in (-1.0, 0.0, 0.0))
    sizes = [float(np.abs(trial.raw).max()) for trial in tried if trial is not None]
    return float(np.median(sizes)) if sizes else 0.0


# ------------------------------------------------------------- sets of points


def candidates(d: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield sets of points that refute what often passes for a kernel, simple ones first.

    Parameters
    ----------
    d : int
        Number of features.
    rng : Generator

    Yields
    ------
    ndarray of shape (m, d)
        Small whole numbers, lattices of all spacings, random points of sizes 1e-3 to 1e3 (normal, uniform,
        positive only), geometric progressions, duplicated rows.
    """
    yield from _simple(d)
    for scale in (1.0, *SCALES):
        for m in (4, 10):
            yield scale * rng.standard_normal((m, d))
            yield scale * rng.uniform(-1.0, 1.0, (m, d))
            yield scale * rng.uniform(0.0, 1.0, (m, d))
    yield from _lattices(d)


def _simple(d: int) -> Iterator[FloatArray]:
    lines = (
        [-1, 1],
        [0, 1],
        [0, 0, 1],
        [-1, 0, 1],
        [0, 1, 2],
        [0, 1, 2, 4],
        [0, 1, 2, 3, 4],
        [-3, -2, -1, 0, 1, 2, 3],
    )
    progressions = ([0, 1, 5, 20], [0, 0.2, 0.9, 2, 5], [0.25, 0.5, 1, 2, 4], [0, 0.1, 0.5, 1, 2, 4, 10])
    directions = [np.ones(d)] if d == 1 else [np.ones(d), np.eye(d)[0]]
    for direction in directions:
        for line in (*lines, *progressions):
            yield np.outer(np.asarray(line, dtype=np.float64), direction)
    if d > 1:
        corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * min(d, 4), indexing="ij"), -1).reshape(-1, min(d, 4))
        corners = np.pad(corners, ((0, 0), (0, d - corners.shape[1])))
        yield corners
        yield 2 * corners - 1
        yield np.vstack([np.zeros(d), np.eye(d), -np.eye(d)])
        for m in (5, 7):
            angle = 2 * np.pi * np.arange(m) / m
            circle = np.column_stack([np.cos(angle), np.sin(angle)])
            yield np.pad(circle, ((0, 0), (0, d - 2)))


def _lattices(d: int) -> Iterator[FloatArray]:
    # On equally spaced points the Gram matrix of a function of x - y is nearly a convolution, so that its
    # eigenvalues follow the Fourier transform: a negative value of that one shows at some spacing.
    sides = {1: LINE, 2: SQUARE}.get(d, CUBE)
    axes = min(d, 3)
    unit = np.stack(np.meshgrid(*[np.arange(sides, dtype=np.float64)] * axes, indexing="ij"), -1)
    unit = np.pad(unit.reshape(-1, axes), ((0, 0), (0, d - axes)))
    for spacing in 10.0 ** np.arange(-2.0, 2.01, 0.25 if d == 1 else 0.5):
        yield spacing * unit
        yield spacing * (unit - (sides - 1) / 2 * (unit.max(axis=0) > 0))


def _few(trial: Trial) -> Trial:
    """Return a trial small enough to improve: the points that the eigenvector weighs most."""
    if len(trial.points) <= 8:
        return trial
    order = np.argsort(-np.abs(trial.margin.vector))
    return trial.subset(np.sort(order[:6]))


def improve(examiner: Examiner, trial: Trial, rng: np.random.Generator, steps: int) -> Trial:
    """Move one point at a time, keeping what lowers the smallest eigenvalue in units of its bound.

    Parameters
    ----------
    examiner : Examiner
    trial : Trial
        Where to start.
    rng : Generator
    steps : int
        Number of moves that are tried.

    Returns
    -------
    Trial
        Of as many points.
    """
    best = trial
    m, d = trial.points.shape
    for _ in range(steps):
        if examiner.out_of_time:
            break
        points = best.points.copy()
        point = points[int(rng.integers(m))]
        kind, reach = rng.uniform(), 10.0 ** rng.uniform(-2.0, 0.3)
        if kind < 0.4:
            point[int(rng.integers(d))] += reach * rng.standard_normal() * float(np.abs(best.points).mean())
        elif kind < 0.8 or m == 1:
            point *= np.exp(reach * rng.standard_normal())
        else:
            other = best.points[int(rng.integers(m))]
            point[:] = other + (point - other) * np.exp(reach * rng.standard_normal())
        moved = examiner.attempt(points)
        if moved is not None and moved.ratio < best.ratio:
            best = moved
    return best
