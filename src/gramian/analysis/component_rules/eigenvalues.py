"""Rules of thumb that read the eigenvalues only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gramian.analysis.component_rules.rules import ComponentChoice, Scree, compared, numbered
from gramian.records import FloatArray

# Rounding in a sum must not cost a component.
SLACK = 1e-12


def kaiser(scree: Scree) -> ComponentChoice:
    """Keep eigenvalues above their mean: above 1 for a correlation matrix.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough.

    References
    ----------
    Guttman (1954), Some necessary conditions for common-factor analysis. Kaiser (1960), The application of
    electronic computers to factor analysis.

    Examples
    --------
    >>> kaiser(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    mean = np.full(scree.known.size, scree.total / max(scree.varying, 1))
    # Equal eigenvalues are their own mean, and rounding must not put one above it.
    names = ("eigenvalue", "mean")
    return compared("kaiser", scree.known, mean, names, "the mean", beyond=SLACK, part=not scree.whole)


def broken_stick(scree: Scree) -> ComponentChoice:
    """Keep explained variance ratios above the pieces of a stick of length 1 broken at random.

    The j-th longest of p pieces has expected length ``(1/p) sum_{i=j}^p 1/i``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough; p is the number of eigenvalues that can be different from 0.

    References
    ----------
    Frontier (1976), Etude de la decroissance des valeurs propres. Jackson (1993), Stopping rules in
    principal components analysis.

    Examples
    --------
    >>> broken_stick(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3)).number
    1
    """
    p = scree.size
    pieces = np.cumsum(1.0 / np.arange(p, 0, -1))[::-1][: scree.known.size] / max(p, 1)
    shares = scree.known / scree.total if scree.total > 0 else scree.known
    names = ("ratio", "stick_piece")
    what = "that of a broken stick"
    return compared("broken-stick", shares, pieces, names, what, beyond=SLACK, part=not scree.whole)


def elbow(scree: Scree) -> ComponentChoice:
    """Split the scree plot where two normal groups with one variance have the largest likelihood.

    Parameters
    ----------
    scree : Scree
        The whole spectrum is needed.

    Notes
    -----
    With means of the first q and of the other p - q eigenvalues and the pooled variance
    ``(SS_1 + SS_2) / (p - 2)``, the log-likelihood is ``-p/2 log(2 pi variance) - (p - 2)/2``, so the best q
    has the least sum of squares within the groups. q goes from 1 to p - 1.

    References
    ----------
    Zhu and Ghodsi (2006), Automatic dimensionality selection from the scree plot via the use of profile
    likelihood, section 2.

    Examples
    --------
    >>> elbow(Scree(np.array([9.0, 8.0, 1.1, 1.0, 0.9, 0.8]), 20.8, 50, 6, 6)).number
    2
    """
    if not scree.whole:
        said = (
            f"It needs the whole spectrum, and {scree.known.size} of {scree.size} eigenvalues are known: "
            "give the data, or a model with n_components=None."
        )
        return ComponentChoice("elbow", None, {}, said)
    values, p = scree.known, scree.size
    if p < 3 or not values[0] > 0:
        return ComponentChoice("elbow", None, {}, "An elbow needs at least 3 eigenvalues, not all 0.")
    values = values / values[0]
    within = _within(values)[:-1] + _within(values[::-1])[::-1][1:]
    rounding = float(np.finfo(np.float64).eps) * p
    variance = np.maximum(within, rounding) / (p - 2)
    likelihood = -p / 2 * np.log(2 * np.pi * variance) - (p - 2) / 2
    number = int(np.argmax(likelihood)) + 1
    evidence = numbered(1, {"log_likelihood": likelihood, "eigenvalue": scree.known[:-1]})
    said = (
        f"The scree plot splits best after {number}: log-likelihood {likelihood[number - 1]:.4g}, eigenvalue "
        f"{scree.known[number - 1]:.4g} before and {scree.known[number]:.4g} after."
    )
    return ComponentChoice("elbow", number, evidence, said)


def _within(values: FloatArray) -> FloatArray:
    """Sums of squares about the mean of the first 1, 2, ..., p values."""
    count = np.arange(1, values.size + 1)
    squares = np.cumsum(values**2) - np.cumsum(values) ** 2 / count
    return np.asarray(np.maximum(squares, 0.0))


def fraction_rule(scree: Scree, fraction: float) -> ComponentChoice:
    """Keep the fewest components that carry a fraction of the variance.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it carries the fraction.
    fraction : float
        In (0, 1).

    Examples
    --------
    >>> fraction_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 50, 3, 3), 0.9).number
    2
    """
    left = scree.left
    shares = 1 - left / left[0] if left[0] > 0 else np.ones(left.size)
    what = f"{100 * fraction:g} % of the " + ("variance" if scree.centered else "second moments")

    number, found = _first(shares >= fraction - SLACK)
    share = f"{100 * shares[number]:.4g} %"
    said = f"The fewest that carry {what}: {number} carry {share}."
    if not found:
        said = f"The {number} known components carry {share}, less than {what}."
    return ComponentChoice("fraction", number, numbered(0, {"cumulative": shares}), said, not found)


def rmse_rule(scree: Scree, max_rmse: float) -> ComponentChoice:
    """Keep the fewest components whose reconstruction error is small enough.

    The error is the root mean square over all ``n d`` entries of X - X~ in the units that were fitted,
    ``sqrt(degrees sum_{j>k} lambda_j / (n d))``.

    Parameters
    ----------
    scree : Scree
        A part of the spectrum is enough if it reaches the error: the rest is in the trace.
    max_rmse : float
        In the units that were fitted.

    Examples
    --------
    >>> rmse_rule(Scree(np.array([3.0, 0.6, 0.4]), 4.0, 51, 3, 3, degrees=50), 0.4).number
    2
    """
    entries = max(scree.n_samples * scree.n_features, 1)
    errors = np.sqrt(scree.left * scree.degrees / entries)
    # Relative to the error asked for, and to the largest one where that is at rounding level.
    number, found = _first(errors <= max_rmse * (1 + 1e-9) + SLACK * errors[0])
    error = f"a root-mean-square error of {errors[number]:.4g} per entry"
    if not found:
        said = f"The {number} known components leave {error}, more than {max_rmse:g}."
    elif number == 0:
        said = f"The mean alone has {error}, at most {max_rmse:g}."
    else:
        said = f"The fewest with an error of at most {max_rmse:g}: {number} leave {error}."
    return ComponentChoice("max_rmse", number, numbered(0, {"rmse": errors}), said, not found)


def _first(reached: npt.NDArray[np.bool_]) -> tuple[int, bool]:
    """Return the first number that reaches what is asked for, or the last one where none does."""
    found = bool(reached.any())
    return (int(np.argmax(reached)) if found else reached.size - 1), found
