"""Plain functions shared by the tests: ``from helpers import spectrum_matrix``."""

import importlib.util
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import gramian
from gramian.engine.operator import SymmetricCosts, SymmetricMatrix
from gramian.engine.solving import Problem


@dataclass(eq=False)
class SymmetricProblem(Problem):
    """A symmetric matrix as a problem for the engine."""

    A: Any
    psd: bool = False
    unit: str = "eigenvalues"

    @property
    def costs(self):
        return SymmetricCosts(int(self.A.shape[0]))

    def build(self, route):
        return SymmetricMatrix(self.A, psd=self.psd)

    def truncate(self, result, operator, request):
        return result if request.target.count is None else result.first(request.target.count)


def spectrum_matrix(
    n: int, d: int, singular_values: Sequence[float], seed: int, mean: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Return an (n, d) matrix whose centred version has exactly these singular values.

    The left vectors are orthogonal to the ones vector, so the column means are ``mean`` (a number
    or one number a column), the covariance's eigenvalues are ``singular_values**2 / (n - 1)``, and
    at most ``min(n - 1, d)`` values can be prescribed.
    """
    values = np.asarray(singular_values, dtype=np.float64)
    r = values.size
    if r > min(n - 1, d):
        raise ValueError(f"{r} singular values, but a centred {n} x {d} matrix has rank <= n-1, d")
    rng = np.random.default_rng(seed)
    ones = np.ones((n, 1))
    left = np.linalg.qr(np.hstack([ones, rng.standard_normal((n, r))]))[0][:, 1:]
    right = np.linalg.qr(rng.standard_normal((d, r)))[0]
    centred: NDArray[np.float64] = (left * values) @ right.T
    return centred + np.asarray(mean, dtype=np.float64)


def with_spectrum(values: ArrayLike, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a random symmetric matrix with these eigenvalues, and its eigenvectors."""
    values = np.asarray(values, dtype=float)
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((values.size, values.size)))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2, Q


def conditional(mean: Any, S: Any, row: Any) -> tuple[Any, Any]:
    """Return the expected complete row of a normal distribution, and the covariance of what is missing."""
    gone, seen = np.isnan(row), ~np.isnan(row)
    gain = S[np.ix_(gone, seen)] @ np.linalg.inv(S[np.ix_(seen, seen)])
    expected, covariance = row.copy(), np.zeros_like(S)
    expected[gone] = mean[gone] + gain @ (row - mean)[seen]
    covariance[np.ix_(gone, gone)] = S[np.ix_(gone, gone)] - gain @ S[np.ix_(seen, gone)]
    return expected, covariance


def as_proposed(path: Any, **options: Any) -> Any:
    """Return a scan with what the file suggests where no option is given."""
    asked = gramian.scan(path, **options)
    return replace(asked, **gramian.propose(asked).merged(asked))


def centred(K: NDArray[Any]) -> NDArray[Any]:
    """Return a Gram matrix of rows less their mean in feature space."""
    centred: NDArray[Any] = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return centred


def indefinite(values: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Return a matrix with these eigenvalues whose rows sum to zero, so that centring changes nothing."""
    n = len(np.asarray(values)) + 1
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, n - 1))]))[0][:, 1:]
    K = (Q * np.asarray(values)) @ Q.T
    return (K + K.T) / 2


def same_up_to_sign(actual: ArrayLike, expected: ArrayLike, atol: float, rtol: float = 0.0) -> None:
    """Compare scores column by column, each up to its sign."""
    signs = np.sign(np.sum(np.asarray(actual) * expected, axis=0))
    signs[signs == 0] = 1.0
    np.testing.assert_allclose(np.asarray(actual) * signs, expected, atol=atol, rtol=rtol)


def covering(*options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return few rows of the product of options, in which any two values of different options meet."""

    def meetings(row: tuple[int, ...]) -> set[Any]:
        return set(combinations(enumerate(row), 2))

    rows = list(product(*(range(len(values)) for values in options)))
    left, taken = set().union(*map(meetings, rows)), []
    while left:
        taken.append(max(rows, key=lambda row: len(left & meetings(row))))
        left -= meetings(taken[-1])
    return [tuple(values[place] for values, place in zip(options, row, strict=True)) for row in taken]


def existing(folder: Path, *parts: str) -> Path:
    """Return a file or folder of the public data sets, or skip the test."""
    place = folder.joinpath(*parts)
    if not place.exists():
        pytest.skip(f"no {place}")
    return place


def npy(values: ArrayLike) -> bytes:
    """Return the bytes of an array as a file of the kind .npy."""
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def script(path: str) -> Any:
    """Import a script by its path in the repository."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def boxes_of(labels: Any) -> list[tuple[str, Any]]:
    """Return the texts that labels of a figure have drawn, and where, in pixels."""
    texts = (one for one in labels.drawn if hasattr(one, "get_text"))
    return [(text.get_text(), text.get_window_extent()) for text in texts]
