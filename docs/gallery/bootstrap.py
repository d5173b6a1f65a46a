"""
How certain are the components?
===============================

Bootstrap intervals of variances, and how much each direction changes from sample to sample.
"""

from sklearn.datasets import load_wine

from gramian import PCA, figures, stability

wine = load_wine(as_frame=True)
pca = PCA(8, scale="unit").fit(wine.data)

# %%
# Two hundred samples of the rows, each fitted again.

result = stability(pca, wine.data, random_state=0)
print(result)

# %%
# The rows do not separate PC4 to PC7: these components may trade places from sample to sample, so
# interpret only PC1 to PC3 one by one. The colour shows how well the directions agree.

figures.stability(result)
