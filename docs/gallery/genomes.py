"""
Genomes: where does a second cohort belong?
===========================================

Three populations are the reference, and a second cohort is a mixture of two of them, of whom many calls are
missing. How certain is the place of each person?
"""

import altair as alt
import numpy as np
import pandas as pd

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
figures.scores(pca, reference, color=population)

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

places = pd.DataFrame(pca.transform(reference), columns=["PC1", "PC2"]).assign(population=population)
new = pd.DataFrame(quality.scores, columns=["PC1", "PC2"])
for name, errors in zip(new.columns, 2 * quality.standard_errors.T, strict=True):
    new = new.assign(**{f"{name} from": new[name] - errors, f"{name} to": new[name] + errors})
x, y = alt.X("PC1:Q", title="PC1"), alt.Y("PC2:Q", title="PC2")
color = alt.Color("population:N", title="reference")
reference_points = alt.Chart(places).mark_circle(opacity=0.4).encode(x=x, y=y, color=color)
across = alt.Chart(new).mark_rule().encode(x=alt.X("PC1 from:Q", title="PC1"), x2="PC1 to:Q", y=y)
along = alt.Chart(new).mark_rule().encode(x=x, y=alt.Y("PC2 from:Q", title="PC2"), y2="PC2 to:Q")
alt.layer(
    reference_points, across, along, alt.Chart(new).mark_point(filled=True, color="black").encode(x=x, y=y)
)
