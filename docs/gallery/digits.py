"""
Digits: components as pictures
==============================

PCA of 1,797 handwritten digits of 8 x 8 pixels. A stack of pictures is accepted as it is, so
components and reconstructions are pictures too.
"""

from sklearn.datasets import load_digits

from gramian import PCA, figures

digits = load_digits()
pca = PCA(40).fit(digits.images)
print(pca.components_.shape)

# %%
# The mean and the first eleven components: light pixels raise the score, dark ones lower it.

figures.components(pca, 11)

# %%
# Four digits, and what r components rebuild of them, with the relative error. The error
# of forty of 64 components is 7 to 11 %.

figures.reconstructions(pca, digits.images[:4], [1, 2, 5, 10, 20, 40])

# %%
# Most 0, 4 and 6 lie apart from the other digits, whose ellipses overlap: two components are too few
# to separate all ten.

figures.scores(pca, digits.images, hue=digits.target.astype(str))
