"""
Wines: scores, loadings and what they mean
==========================================

PCA of 178 wines with 13 measurements in different units. The figure shows the rows on two
components, and which columns push a row in which direction.
"""

from sklearn.datasets import load_wine

from gramian import PCA, figures

wine = load_wine(as_frame=True)
cultivar = wine.target_names[wine.target]

# %%
# Magnesium is a hundred times larger than hue, so each column is divided by its standard deviation.

pca = PCA(5, scale="unit").fit(wine.data)
print(pca.summary())

# %%
# The thin ellipses contain 95 % of a normal distribution for each cultivar, the thick ones its
# mean. The first two components separate the cultivars, although PCA did not know them.

figures.scores(pca, wine.data, hue=cultivar)

# %%
# A biplot adds the loadings as arrows: wines on the right have more flavanoids and phenols.

figures.biplot(pca, wine.data, hue=cultivar)
