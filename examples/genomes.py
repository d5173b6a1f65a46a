"""Genotypes from two .bed files to a map with error bars: fit and project.

    python examples/genomes.py OUT

Generates a reference cohort of three populations in linkage disequilibrium, and a second, admixed cohort
with missing calls.
Writes both as PLINK files, the scores of the second cohort with standard errors, and a figure.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bed_reader import to_bed
from matplotlib.figure import Figure

import gramian
from gramian import PCA
from gramian.statistics.normal_model import ProjectionQuality

ALLELES = ("A", "C", "G", "T")
PANEL = 24  # haplotypes of which those of a population are mosaics


def cohort(
    shares: np.ndarray, variants: int, *, seed: int = 0, people: int = 0, drift: float = 0.1
) -> np.ndarray:
    """Return generated genotypes: counts 0, 1, 2, shape (n, variants).

    Parameters
    ----------
    shares : ndarray of shape (n, populations)
        What each individual has of each population.
    variants : int
    seed : int
        Of the populations; the same for all cohorts of them.
    people : int
        Seed of the individuals.
    drift : float
        Variance of the frequencies of populations, relative to p (1 - p): Wright's fixation index.
    """
    rng = np.random.default_rng(seed)
    ancestral = rng.uniform(0.1, 0.9, variants)
    spread = (1 - drift) / drift
    frequencies = rng.beta(ancestral * spread, (1 - ancestral) * spread, (shares.shape[1], variants))
    panels = rng.random((shares.shape[1], PANEL, variants)) < frequencies[:, None, :]
    # A variant in linkage disequilibrium with the one before separates the same haplotypes.
    linked = rng.random(variants) < 0.4
    linked[0] = False
    panels = panels[:, :, np.maximum.accumulate(np.where(linked, 0, np.arange(variants)))]
    return sum(_mosaic(panels, shares, np.random.default_rng([people, copy])) for copy in (0, 1))


def _mosaic(panels: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one haplotype of each individual, which follows another one of the panels every few variants."""
    n, d = len(shares), panels.shape[2]
    starts = rng.random((n, d)) < 0.15
    starts[:, 0] = True
    number = np.maximum.accumulate(np.where(starts, np.arange(d), 0), axis=1)
    population = (rng.random((n, d, 1)) > np.cumsum(shares, axis=1)[:, None, :-1]).sum(axis=2)
    source = rng.integers(0, panels.shape[1], (n, d))
    population, source = (np.take_along_axis(one, number, axis=1) for one in (population, source))
    copied = panels[population, source, np.arange(d)]
    return (copied ^ (rng.random((n, d)) < 0.02)).astype(np.int8)


def write(
    path: Path, counts: np.ndarray, names: Sequence[str], alleles: np.ndarray, chromosomes: int = 4
) -> None:
    """Write genotypes, NaN where a call is missing, as a .bed file with its .bim and .fam files."""
    d = counts.shape[1]
    to_bed(
        path,
        counts.astype(np.float32),
        properties={
            "fid": names,
            "iid": names,
            "sid": [f"rs{j}" for j in range(d)],
            "chromosome": [str(1 + j * chromosomes // d) for j in range(d)],
            "bp_position": [1000 * (j + 1) for j in range(d)],
            "allele_1": alleles[0],
            "allele_2": alleles[1],
        },
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate two cohorts, and write what is said above."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--variants", type=int, default=4000)
    parser.add_argument("--people", type=int, default=100, help="of each population")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    made(asked.out, asked.people, asked.variants)
    analysed(asked.out)


def made(folder: Path, people: int, variants: int) -> None:
    """Write reference.bed and second.bed."""
    rng = np.random.default_rng(7)
    first = np.repeat(np.eye(3), people, axis=0)
    reference = cohort(first, variants).astype(np.float32)
    alleles = (
        np.array([ALLELES[j % 4] for j in range(variants)]),
        np.array([ALLELES[(j + 1) % 4] for j in range(variants)]),
    )
    reference[rng.random(reference.shape) < 0.01] = np.nan
    write(folder / "reference.bed", reference, [f"ref{i}" for i in range(len(reference))], np.array(alleles))

    share = rng.uniform(0.2, 0.8, people)
    second = cohort(np.c_[share, 1 - share, 0 * share], variants, people=1).astype(np.float32)
    second[rng.random(second.shape) < rng.uniform(0, 0.6, people)[:, None]] = np.nan
    write(folder / "second.bed", second, [f"new{i}" for i in range(people)], np.array(alleles))


def analysed(folder: Path) -> None:
    """Fit the reference cohort, project the second one, and write scores.csv and genomes.svg."""
    reference = gramian.scan(folder / "reference.bed")
    model = PCA(4, scale="genotype").fit(reference)
    for finding in gramian.diagnose(model, reference).findings:
        print(finding.line())
    eigenvalues = model.explained_variance_ * (model.n_samples_ - 1) / model.n_features_in_
    print("Eigenvalues as plink2 --pca prints them:", ", ".join(f"{value:.4g}" for value in eigenvalues))

    second = gramian.scan(folder / "second.bed")
    quality, names = model.projection_quality(second), gramian.scan(folder / "second.bed").read().row_names
    errors = [f"{name}_standard_error" for name in model.get_feature_names_out()]
    head = ["name", *model.get_feature_names_out(), *errors, "observed"]
    columns = np.column_stack([quality.scores, quality.standard_errors, quality.observed])
    lines = [",".join([name, *map("{:.5g}".format, row)]) for name, row in zip(names, columns, strict=True)]
    (folder / "scores.csv").write_text("\n".join([",".join(head), *lines]) + "\n")
    figure(model.transform(reference), quality).savefig(folder / "genomes.svg")
    print(f"Written: {folder / 'scores.csv'} and {folder / 'genomes.svg'}")


def figure(reference: np.ndarray, quality: ProjectionQuality) -> Figure:
    """Draw the reference as pale points, and the second cohort with intervals of two standard errors."""
    result = Figure(layout="constrained")
    ax, errors = result.subplots(), 2 * quality.standard_errors.T
    ax.scatter(*reference[:, :2].T, color="#bbbbbb", label="reference")
    look = {
        "fmt": ".",
        "color": "#0072b2",
        "elinewidth": 0.5,
        "label": "second cohort, with 2 standard errors",
    }
    ax.errorbar(*quality.scores[:, :2].T, xerr=errors[0], yerr=errors[1], **look)
    ax.set(xlabel="PC1", ylabel="PC2")
    ax.legend()
    return result


if __name__ == "__main__":
    main()
