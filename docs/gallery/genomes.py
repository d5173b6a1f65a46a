"""
Genomes: where does a second cohort belong?
===========================================

Three populations are the reference, and a second cohort is a mixture of two of them, of whom many calls are
missing. How certain is the place of each person?
"""

import matplotlib.pyplot as plt
import numpy as np

from gramian import PCA, figures

rng = np.random.default_rng(0)
variants = 3000
frequencies = rng.uniform(0.1, 0.9, variants) + 0.1 * rng.standard_normal((3, variants))
frequencies = np.clip(frequencies, 0.02, 0.98)
population = np.repeat(["north", "east", "west"], 60)
reference = rng.binomial(2, np.repeat(frequencies, 60, axis=0)).astype(float)

# %%
# ``scale="genotype"`` divides each count of an allele by its standard deviation under random mating. Two
# components separate three populations. From files: ``gramian.scan("study.bed")``.

pca = PCA(2, scale="genotype", missing="em").fit(reference)
figures.scores(pca, reference, hue=population)

# %%
# The second cohort has shares of north and east, and up to nine of ten calls are missing. The model predicts
# these from the others, and ``projection_quality`` says how far a score may be from that of all calls.

share = rng.uniform(0.1, 0.9, (25, 1))
second = rng.binomial(2, share * frequencies[0] + (1 - share) * frequencies[1]).astype(float)
second[rng.random(second.shape) < rng.uniform(0, 0.9, (25, 1))] = np.nan
quality = pca.projection_quality(second)

# %%
# Each bar is an interval of two standard errors: people with few calls have long ones, and all lie on the
# line between the two populations.

known, new, errors = pca.transform(reference), quality.scores, 2 * quality.standard_errors
figure, ax = plt.subplots()
for name in ("north", "east", "west"):
    ax.scatter(*known[population == name].T, alpha=0.4, label=name)
ax.errorbar(*new.T, xerr=errors[:, 0], yerr=errors[:, 1], fmt="k.", elinewidth=0.5, label="second cohort")
ax.set(xlabel="PC1", ylabel="PC2")
ax.legend()
