"""A table with what must and must not be found in it, and the parts that tables are made of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import gramian

DATA = Path(os.environ.get("GRAMIAN_TEST_DATA", "../shared/data"))
SEED = int(os.environ.get("GRAMIAN_SEED", "0"))  # another one draws other tables
MEDIAN = {"kernel": "rbf", "gamma": "median"}
# What the remedy of each finding says.
REMEDIES = {
    "scale-dominates": 'scale="unit"',
    "kernel-narrow": '="median"',
    "kernel-wide": '="median"',
    "symmetric": "rows of which it was computed",
    "no-signal": "Do not interpret",
    "one-row": "fit again without it",
    "identifier": "Leave",
    "confounded": "Take rows in which they differ",
    "few-rows": "more rows, or fewer components",
    "imputed": "standard errors",
    "row-order": "time, batch or group",
    "ties": "keep one of each",
    "arch": "along the arch",
    "size": "of no interest, divide ",
}
# What is never said of rows in random order without a trap.
QUIET = ("identifier", "row-order", "arch", "ties")


@dataclass(frozen=True)
class Case:
    """A table and an unfitted model.

    Attributes
    ----------
    name : str
    X : array-like
    model : unfitted PCA or KernelPCA
    must : str
        The code that must be found; "" in a table without a trap, where nothing serious may be found.
    mended : tuple of model and table, optional
        What the remedy leads to, where the code must not be found again.
    labels : data frame, optional
    never : tuple of str
        Codes that must not be found.
    remedy : str
        What the remedy must say; by default that of its code.
    """

    name: str
    X: Any
    model: Any
    must: str = ""
    mended: tuple[Any, Any] | None = None
    labels: Any = None
    never: tuple[str, ...] = ()
    remedy: str = ""

    def wrong(self, found: Any) -> list[str]:
        """Return what a diagnosis misses, and what it says without reason."""
        said = {one.code: one for one in found.findings}
        wrong = [f"{code} is said" for code in self.never if code in said]
        if not self.must:
            return wrong + [f"{one.code} is said" for one in found.serious if one.code not in self.never]
        if self.must not in said:
            return [*wrong, f"{self.must} is missed"]
        remedy = self.remedy or REMEDIES[self.must]
        return wrong if remedy in said[self.must].remedy else [*wrong, f"the remedy lacks {remedy}"]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed + SEED)


def frame(X: Any, *names: str) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(names))


def standardised(X: Any) -> Any:
    X = np.asarray(X, dtype=float)
    deviations = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1)


def factors(n: int, d: int, k: int, seed: int, tails: float = 0.0, strength: float = 3.0) -> Any:
    """Return rows of a factor model, normal or with tails of Student's t."""
    g = rng(seed)

    def draw(*size: int) -> Any:
        return g.standard_t(tails, size) if tails else g.standard_normal(size)

    weights = strength * 0.7 ** np.arange(k)
    return draw(n, k) * weights @ g.standard_normal((k, d)) / np.sqrt(k) + draw(n, d)


def gradient(n: int, species: int, seed: int, noise: float = 0.0) -> Any:
    """Return abundances of species, each most frequent somewhere along one gradient."""
    g = rng(seed)
    place, best = g.uniform(0, 1, n), np.linspace(-0.1, 1.1, species)
    return np.exp(-((place[:, None] - best) ** 2) / 0.045) + noise * g.standard_normal((n, species))


def penguins() -> pd.DataFrame:
    table = pd.read_csv(Path(gramian.__file__).parent / "examples/penguins.csv")
    return table.select_dtypes("number").drop(columns="year").dropna()
