"""Genotypes: intervals of scores of people with missing calls."""

from __future__ import annotations

import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from calibration.rate import Rate
from gramian import PCA, scan
from gramian.tables.table import Table

EXAMPLE = Path(__file__).parents[2] / "examples" / "genomes.py"
PEOPLE, NEW, VARIANTS, K = 80, 200, 1600, 3  # people of each of three populations
Z = 1.959963984540054
# How calls are missing: each by itself, or those of a fifth of the variants in one piece.
WANTED = {
    "at random": (0.92, 0.98),
    "in one piece": (0.7, 0.9),
}


def rates(quick: bool) -> Iterator[Rate]:
    """Yield the rates."""
    example, tables = runpy.run_path(str(EXAMPLE)), 2 if quick else 40
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.bed")
        for how, (least, most) in WANTED.items():
            inside = np.array([_inside(example, path, how, seed) for seed in range(tables)])
            name = f"calls missing {how}: 95 % intervals of scores"
            error = float(inside.std(ddof=1)) / np.sqrt(tables)
            yield Rate(name, float(inside.mean()), error, least, most)


def _inside(example: dict[str, Any], path: Path, how: str, seed: int) -> float:
    """Return how often an interval holds the score of the complete row."""
    rng = np.random.default_rng(seed)
    _write(example, path, example["cohort"](np.repeat(np.eye(3), PEOPLE, axis=0), VARIANTS, seed=seed))
    model = PCA(K, scale="genotype").fit(scan(path))
    share = rng.random(NEW)
    mixed = np.c_[share, 1 - share, 0 * share]
    whole = example["cohort"](mixed, VARIANTS, seed=seed, people=1).astype(float)
    if how == "at random":
        gone = rng.random(whole.shape) < rng.uniform(0, 0.6, NEW)[:, None]
    else:
        gone = np.arange(VARIANTS)[None, :] < VARIANTS // 5
    names = tuple(model.feature_names_in_)
    columns = [int(name[2:]) for name in names]
    quality = model.projection_quality(Table(np.where(gone, np.nan, whole)[:, columns], names))
    off = np.abs(quality.scores - model.transform(Table(whole[:, columns], names)))
    return float((off <= Z * quality.standard_errors).mean())


def _write(example: dict[str, Any], path: Path, counts: np.ndarray) -> None:
    alleles = np.array([["A"] * VARIANTS, ["G"] * VARIANTS])
    example["write"](path, counts, [f"p{i}" for i in range(len(counts))], alleles)
