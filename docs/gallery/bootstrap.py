"""
How certain are the components?
===============================

Bootstrap intervals of variances, and how much each direction changes from sample to sample.
"""

from sklearn.datasets import load_wine

from gramian import PCA, plots, stability

wine = load_wine(as_frame=True)
pca = PCA(8, scale="unit").fit(wine.data)

# %%
# Two hundred samples of the rows, each fitted again.

result = stability(pca, wine.data, random_state=0)
print(result)

# %%
# The intervals of PC4 to PC7 overlap: these components may trade places from sample to sample. The
# colour shows how well their directions agree.

plots.stability(result)
