"""A counterexample you can verify by hand: few points, few digits, weights with a negative sum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gramian.kernels.auditing.search import CLEAR, improve
from gramian.kernels.auditing.trials import EPS, Examiner, Margin, Trial, show_point
from gramian.notebook import Grid, InNotebook
from gramian.records import FloatArray

POLISHING_STEPS = 300
# An eigenvalue this far below zero, relative to the largest value of k, is seen without moving any point.
VISIBLE = -0.01
DIGITS = 6
# Up to this many points, every one is tried before one is left out.
GREEDY = 40
# Above this many points, exact fractions take longer than a person waits.
EXACT = 100
COLUMNS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Asymmetry(InNotebook):
    """Two points for which the order of the arguments matters.

    Attributes
    ----------
    points : ndarray of shape (2, d)
    values : (float, float)
        k(x, y) and k(y, x).
    gram : ndarray of shape (2, 2)
        k at the two points, which is not symmetric.
    rows : tuple of int or None
        Where the points are rows of given data: which.
    """

    points: FloatArray
    values: tuple[float, float]
    gram: FloatArray
    rows: tuple[int, ...] | None = None

    def __str__(self) -> str:
        x, y = _names(self.points, self.rows)
        return f"x = {x}\ny = {y}\nk(x, y) = {self.values[0]!r}, but k(y, x) = {self.values[1]!r}."


@dataclass(frozen=True, eq=False, repr=False)
class Witness(InNotebook):
    """Points whose Gram matrix has a negative eigenvalue, which that of a kernel never has.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        For a precomputed matrix, indices of its rows, of shape (m, 1).
    gram : ndarray of shape (m, m)
        k at the points.
    eigenvalue : float
        Smallest eigenvalue of ``scaling_i gram_ij scaling_j``.
    bound : float
        Bound on the error of that eigenvalue; the eigenvalue lies below its negative.
    vector : ndarray of shape (m,)
        Weights v in few digits with ``v.T gram v < 0``.
    quadratic_form : float
        ``v.T gram v`` of the numbers above; exact arithmetic, rounded once.
    uncertainty : float
        How far that can be from the value for the exact k.
    scaling : ndarray of shape (m,)
        All 1 but where only the matrix scaled to a diagonal near 1 shows the negative eigenvalue clearly.
    rows : tuple of int or None
        Where the points are rows of given data: which.
    """

    points: FloatArray
    gram: FloatArray
    eigenvalue: float
    bound: float
    vector: FloatArray
    quadratic_form: float
    uncertainty: float
    scaling: FloatArray
    rows: tuple[int, ...] | None = None

    def __str__(self) -> str:
        m = len(self.points)
        names = _names(self.points, self.rows)
        width = max(len(name) for name in names) + 2
        sum_of = "sum of v_i v_j k(x_i, x_j)"
        lines = [f"{'':8}{'x':{width}}{'v':>10}" + ("   k(x_i, x_j)" if m <= COLUMNS else "")]
        digits = self._digits()
        for i, name in enumerate(names):
            line = f"x_{i + 1:<6}{name:{width}}{_short(self.vector[i]):>10}"
            if m <= COLUMNS:
                line += "   " + "  ".join(f"{k + 0.0:{digits + 6}.{digits}g}" for k in self.gram[i])
            lines.append(line)
        lines.append(
            f"The {sum_of} is {self.quadratic_form:.4g} (error at most {self.uncertainty:.1e}), "
            "and for a kernel it is never negative."
        )
        return "\n".join(lines)

    def _notebook(self) -> Iterator[str | Grid]:
        names = _names(self.points, self.rows)
        shown = range(len(names) if len(names) <= COLUMNS else 0)
        heads = "", "x", "v", *(f"k(x_i, x_{j + 1})" for j in shown)
        rows = [
            (f"x_{i + 1}", name, self.vector[i], *(self.gram[i, j] for j in shown))
            for i, name in enumerate(names)
        ]
        yield Grid(heads, rows)
        yield str(self).splitlines()[-1]

    def _digits(self) -> int:
        """Return how many digits of the matrix show the negative sum to whoever adds it up."""
        for digits in range(3, 17):
            shown = np.array([[float(f"{k:.{digits}g}") for k in row] for row in self.gram])
            if exact_form(shown, self.vector) < 0.5 * self.quadratic_form:
                return digits
        return 17


def _names(points: FloatArray, rows: tuple[int, ...] | None) -> list[str]:
    if rows is None:
        return [show_point(point) for point in points]
    if points.shape[1] == 1 and points[:, 0].tolist() == list(rows):
        return [f"row {i}" for i in rows]
    # The data has the other digits.
    return [f"row {i}: {show_point(p, exact=False)}" for i, p in zip(rows, points, strict=True)]


def _short(value: float) -> str:
    return f"{value:.6g}" if float(f"{value:.6g}") == value else repr(float(value))


def exact_form(gram: FloatArray, vector: FloatArray) -> float:
    """Return ``v.T K v`` of the given numbers in exact arithmetic, rounded once.

    Examples
    --------
    >>> exact_form(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, -1.0]))
    -2.0
    """
    m = len(vector)
    v = [Fraction(float(x)) for x in vector]
    total = sum(
        (v[i] * v[j] * Fraction(float(gram[i, j])) for i in range(m) for j in range(m) if v[i] and v[j]),
        Fraction(0),
    )
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


# ------------------------------------------------------------------ shrinking


def _enough(trial: Trial, start: Trial) -> bool:
    return trial.ratio <= max(CLEAR, 0.9 * start.ratio) and trial.ratio < -1


def shrunk(trial: Trial) -> Trial:
    """Leave points out as long as the rest still refutes.

    Parameters
    ----------
    trial : Trial
        One that refutes.

    Returns
    -------
    Trial
        None of whose points can be left out, where there are at most 40 of them.
    """
    start = trial
    share = 0.5
    while len(trial.points) > 3 and share < 0.95:
        count = max(2, int(share * len(trial.points)))
        heaviest = np.argsort(-np.abs(_weights(trial)), kind="stable")[:count]
        smaller = trial.subset(np.sort(heaviest))
        if _enough(smaller, start):
            trial = smaller
        else:
            share = (1 + share) / 2
    while len(trial.points) > 1:
        result = min(_without_one(trial), key=lambda t: t.ratio)
        if not _enough(result, start):
            break
        trial = result
    return trial


def _weights(trial: Trial) -> FloatArray:
    return trial.margin.vector / trial.margin.scaling


def _without_one(trial: Trial) -> Iterator[Trial]:
    m = len(trial.points)
    order = np.argsort(np.abs(_weights(trial)), kind="stable")
    for i in order if m <= GREEDY else order[: max(2, GREEDY**2 // m)]:
        yield trial.subset(np.delete(np.arange(m), i))


def rounded(examiner: Examiner, trial: Trial) -> Trial:
    """Round the points to as few digits as leave the eigenvalue clearly below its bound."""
    for digits in range(1, DIGITS + 1):
        for relative in (False, True):
            points = _round(trial.points, digits, relative)
            result = examiner.attempt(points)
            if result is not None and result.ratio <= min(-1.0, 0.3 * trial.ratio):
                return result
    return trial


def _round(points: FloatArray, digits: int, relative: bool) -> FloatArray:
    """Round to decimal digits of the largest coordinate, or of each by itself."""
    largest = float(np.abs(points).max(initial=0.0))
    if not largest:
        return points
    place = math.floor(math.log10(largest)) - digits + 1

    def one(value: float) -> float:
        # Through text, so that 0.3 becomes the number that is written 0.3.
        text = f"{value:.{digits - 1}e}" if relative else f"{round(value / 10.0**place)}e{place}"
        return float(text) + 0.0

    return np.array([[one(float(value)) for value in point] for point in points])


# -------------------------------------------------------------------- results


def asymmetry_of(examiner: Examiner, pair: Trial, invent: bool) -> Asymmetry:
    """Return two points for which the order matters, in few digits where points may be invented."""
    tried = (examiner.attempt(_round(pair.points, digits, relative=False)) for digits in range(1, DIGITS + 1))
    simple = next((t for t in tried if t is not None and t.asymmetry), pair) if invent else pair
    return asymmetry_in(examiner.confirm(simple))


def asymmetry_in(pair: Trial) -> Asymmetry:
    """Return a trial of two points as a witness."""
    values = (float(pair.raw[0, 1]), float(pair.raw[1, 0]))
    return Asymmetry(pair.points, values, pair.raw, pair.rows)


def witness_of(examiner: Examiner, trial: Trial, rng: np.random.Generator | None) -> Witness:
    """Return what is left of a refuting trial when everything that can go has gone.

    Parameters
    ----------
    examiner : Examiner
    trial : Trial
        One that refutes.
    rng : Generator or None
        For moving points to where they refute most clearly; None where the points are data.
    """
    small = shrunk(trial)
    if rng is not None:
        # Points that refute by a hair are moved to where a few digits of k show it.
        if small.margin.eigenvalue > VISIBLE * float(np.abs(small.raw).max()):
            small = shrunk(improve(examiner, small, rng, POLISHING_STEPS))
        small = shrunk(rounded(examiner, small))
    return certified(examiner.confirm(small))


def certified(trial: Trial) -> Witness:
    """Give a refuting trial its weights in few digits and the sum that they make."""
    gram, result = trial.gram, trial.margin
    vector = _simple_vector(gram, result)
    sizes = np.abs(vector)
    if len(vector) <= EXACT:
        form = exact_form(gram, vector)
        rounding = EPS * abs(form)
    else:
        form = float(vector @ gram @ vector)
        rounding = (2 * len(vector) + 4) * EPS * float(sizes @ np.abs(gram) @ sizes)
    uncertainty = float(sizes @ trial.error @ sizes) + rounding
    return Witness(
        trial.points,
        gram,
        result.eigenvalue,
        result.bound,
        vector,
        form,
        uncertainty,
        result.scaling,
        trial.rows,
    )


def _simple_vector(gram: FloatArray, result: Margin) -> FloatArray:
    """Return the eigenvector as small whole numbers, or with few decimals, if that keeps half of the sum."""
    goal = 0.5 * float(result.vector @ gram @ result.vector)
    whole = ((float(k), np.round(k * result.vector)) for k in range(1, 21))
    decimal = ((1.0, np.round(result.vector, digits)) for digits in range(2, 17))
    for scale, vector in (*whole, *decimal):
        if float(vector @ gram @ vector) <= goal * scale**2 < 0:
            return vector + 0.0
    return result.vector
