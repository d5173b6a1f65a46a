"""Genotypes: 957 people x 14,079 variants from the shell, beside PLINK 2 where it is on the path."""

from __future__ import annotations

import os
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness.rows import Check, Options, Report, Row, Standing

import gramian

PEOPLE, VARIANTS, COMPONENTS = 957, 14_079, 10
PLINK = "plink2"
SCORE = (*("--score", "weights.txt", "1", "2", "header", "cols=scoresums"), "--score-col-nums", "3-12")
EXAMPLE = Path(__file__).parents[2] / "examples" / "genomes.py"
OUR_FIT = ("fit", "first.bed", "--scale", "genotype", "--n-components", str(COMPONENTS))


@dataclass(frozen=True)
class GenomeRow:
    """CPU seconds, user and system, of a command and of PLINK's, each in a process of its own.

    Attributes
    ----------
    ours, theirs : tuple of str
        Arguments.
    error : callable
        Takes the folder with both results, and returns their largest differences by name.
    difference, limit : float
        The bound of these, and that of our CPU seconds.
    """

    name: str
    about: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    error: Callable[[Path], dict[str, float]]
    difference: float
    limit: float
    repeats: int

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Run both commands in turn, in a folder of two cohorts."""
        command = [sys.executable, "-m", "gramian", *self.ours]
        plink = shutil.which(PLINK)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        own, other = list[float](), list[float]()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in _cohorts().iterdir():
                shutil.copy(file, folder)
            if "transform" in self.ours:
                _cpu([sys.executable, "-m", "gramian", *OUR_FIT, "-o", "m.gramian"], folder, env)
                _write_weights(folder)
            for _ in range(self.repeats + 1):
                own.append(_cpu(command, folder, env))
                if plink:
                    other.append(_cpu([plink, *self.theirs], folder, env))
            standings = [Standing("gramian", True, own[1:], accurate=True)]
            checks = [Check("median CPU seconds", float(np.median(own[1:])), self.limit)]
            if plink:
                standings.append(Standing(PLINK, False, other[1:], accurate=True))
                errors = self.error(folder)
                checks += [Check(f"{what} of PLINK", errors[what], self.difference) for what in errors]
        absent = [] if plink else [f"{PLINK}, which is not on the path"]
        return Report(self.name, self.about, {}, standings=standings, checks=checks, absent=absent)


def rows(quick: bool) -> list[Row]:
    """Return the rows: fit and projection."""
    size, repeats = f"{PEOPLE} people x {VARIANTS:,} variants", 1 if quick else 5
    fit = "--bfile", "first", "--pca", str(COMPONENTS), "allele-wts", "--out", "plink"
    return [
        GenomeRow(
            "genomes-fit",
            f"gramian fit of {size}, {COMPONENTS} components, with tables and figures; plink2 --pca",
            *((*OUR_FIT, "-o", "out"), fit, _eigenpairs, 1e-5, 3.0, repeats),
        ),
        GenomeRow(
            "genomes-project",
            "gramian transform of as many new people, 1 % of the calls missing; plink2 --score, by means",
            ("transform", "m.gramian", "second.bed", "-o", "scores.csv"),
            ("--bfile", "second", *SCORE, "--out", "plink"),
            *(_scores, 1e-4, 0.5, repeats),
        ),
    ]


@cache
def _cohorts() -> Path:
    """Write two generated cohorts, once a process; the first has no missing calls, so that PLINK's agrees."""
    folder = Path(tempfile.mkdtemp(prefix="gramian-genomes-"))
    example, rng = runpy.run_path(str(EXAMPLE)), np.random.default_rng(0)
    alleles = np.array([["A"] * VARIANTS, ["G"] * VARIANTS])
    share = rng.random(PEOPLE)
    first = example["cohort"](np.repeat(np.eye(3), PEOPLE // 3, axis=0), VARIANTS)
    second = example["cohort"](np.c_[share, 1 - share, 0 * share], VARIANTS, people=1).astype(np.float32)
    second[rng.random(second.shape) < 0.01] = np.nan
    for name, counts in (("first", first), ("second", second)):
        example["write"](folder / f"{name}.bed", counts, [f"{name}{i}" for i in range(PEOPLE)], alleles, 22)
    return folder


def _write_weights(folder: Path) -> None:
    """Write what PLINK multiplies counts by: directions over divisors."""
    model = gramian.load(folder / "m.gramian")
    weights = (model.components_ / model.scale_).T
    lines = [f"rs{j}\tA\t" + "\t".join(map("{:.9g}".format, row)) for j, row in enumerate(weights)]
    head = "id\tallele\t" + "\t".join(f"PC{k + 1}" for k in range(COMPONENTS))
    (folder / "weights.txt").write_text("\n".join([head, *lines]) + "\n")


def _eigenpairs(folder: Path) -> dict[str, float]:
    theirs = np.loadtxt(folder / "plink.eigenval")
    model = gramian.load(folder / "out" / "model.gramian")
    ours = model.explained_variance_ * (PEOPLE - 1) / VARIANTS
    lines = (folder / "plink.eigenvec").read_text().splitlines()[1:]
    vectors = np.array([line.split()[-COMPONENTS:][:2] for line in lines], dtype=np.float64)
    scores = model.transform(folder / "first.bed")[:, :2].astype(np.float64)
    scores /= np.linalg.norm(scores, axis=0) * np.sign(np.sum(scores * vectors, axis=0))
    return {
        "relative difference from eigenvalues": float(np.abs(ours / theirs - 1).max()),
        "difference from the first two eigenvectors": float(np.abs(scores - vectors).max()),
    }


def _scores(folder: Path) -> dict[str, float]:
    """Compare scores of people without missing calls, for which PLINK sums the same."""
    command = [PLINK, "--bfile", "first", *SCORE, "--out", "complete"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    theirs = np.loadtxt(folder / "complete.sscore", skiprows=1, usecols=range(1, 1 + COMPONENTS))
    ours = gramian.load(folder / "m.gramian").transform(folder / "first.bed")
    gaps = theirs - theirs.mean(axis=0) - ours
    return {"relative difference from scores": float(np.abs(gaps).max() / np.abs(ours).max())}


def _cpu(command: Sequence[str], folder: Path, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
