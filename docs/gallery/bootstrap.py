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
# The intervals of neighbouring variances overlap from some component on. Their directions then mix,
# and the colour shows it: only the plane that they span is certain.

plots.stability(result)
