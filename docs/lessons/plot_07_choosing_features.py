"""
Choosing features
=================

PCA makes new features of all columns. To leave columns out, score them one by one (a filter), or
score subsets by a model (a wrapper).
"""

from itertools import combinations

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import FeatureFilter, SequentialFeatureSelector, mutual_information, plots

# %%
# Filters: mutual information
# ---------------------------
#
# MI(x, y) = sum f(x, y) ln(f(x, y) / (f(x) f(y))), with the frequencies f, is how much x says about y,
# in nats. It is 0 for independent columns, and sees dependences that correlation misses.

x = np.array([0, 0, 0, 1, 1, 1, 1, 1])
y = np.array([0, 0, 1, 0, 1, 1, 1, 1])
f = np.histogram2d(x, y, bins=2)[0] / len(x)
by_hand = (f * np.log(f / np.outer(f.sum(axis=1), f.sum(axis=0)))).sum()
print(f"{by_hand:.4f} nats")
assert np.isclose(mutual_information(x[:, None], y, discrete=True)[0], by_hand)

# %%
# A parabola has no correlation with its argument, and much information about it.

rng = np.random.default_rng(0)
t = rng.uniform(-1, 1, 500)
parabola = t**2 + 0.05 * rng.standard_normal(500)
assert abs(np.corrcoef(t, parabola)[0, 1]) < 0.1
assert mutual_information(t[:, None], parabola, random_state=0)[0] > 0.5

# %%
# Keep the K best columns, and `choose K <../filters.html>`_ by cross-validation. The filter must run
# inside the folds: outside, it has seen the labels of the held-out rows. The figure marks the fewest
# columns within one standard error of the best score.

wine = load_wine(as_frame=True)
knn = make_pipeline(StandardScaler(), KNeighborsClassifier())
best = FeatureFilter("mutual-information", "cv", estimator=knn, random_state=0).fit(wine.data, wine.target)
print(best.summary())
plots.selection(best)

# %%
# Wrappers: greedy, and all subsets
# ---------------------------------
#
# n columns have 2^n - 1 subsets that are not empty, too many to try for large n. A greedy search starts
# from none and adds, at each step, the column that helps most: at most n (n + 1) / 2 models. It may
# miss columns that are useful only together. Here column 0 is a noisy sum of columns 1 and 2, and the
# label is a less noisy one.

b, c, error, other = np.random.default_rng(3).standard_normal((4, 300))
X = np.column_stack([b + c + 0.8 * error, b, c, other])
label = b + c + 0.3 * np.random.default_rng(4).standard_normal(300)
greedy = SequentialFeatureSelector(Ridge(), n_features_to_select=2).fit(X, label)
every = SequentialFeatureSelector(Ridge(), n_features_to_select=2, direction="exhaustive").fit(X, label)
print(greedy.get_support(indices=True), round(greedy.score_, 3))
print(every.get_support(indices=True), round(every.score_, 3))
assert greedy.get_support(indices=True).tolist() == [0, 1]
assert every.get_support(indices=True).tolist() == [1, 2]
assert every.score_ > greedy.score_ + 0.1

# %%
# ``floating=True`` can undo earlier steps, and selects the same columns as the exhaustive search here.
# The figure shows the best subset of each size: a third column adds nothing.

floating = SequentialFeatureSelector(Ridge(), n_features_to_select=2, floating=True).fit(X, label)
assert (floating.support_ == every.support_).all()
plots.selection(SequentialFeatureSelector(Ridge(), direction="exhaustive").fit(X, label))

# %%
# Slips of well-known notes
# -------------------------
#
# **Select first, validate afterwards.** Noise then seems to predict. Among 2000 columns of noise some
# fit 80 labels by chance; chosen on all rows, they keep their luck in every fold.

noise, coin = rng.standard_normal((80, 2000)), np.repeat([0, 1], 40)
few = FeatureFilter("f", 10).fit(noise, coin).transform(noise)
leaked = cross_val_score(knn, few, coin).mean()
honest = cross_val_score(make_pipeline(FeatureFilter("f", 10), knn), noise, coin).mean()
print(f"selected outside the folds: {leaked:.0%}; inside: {honest:.0%}")
assert leaked > 0.7
assert honest < 0.65  # 50 % is chance

# %%
# **"The score of the best subset is its accuracy."** The best of many scores is partly luck: the more
# subsets, the more. The scores below are shares of explained variance (R^2).

luck = SequentialFeatureSelector(Ridge(), direction="exhaustive", nested=True)
luck.fit(noise[:40, :8], rng.standard_normal(40))
print(f"the best of 255 subsets of noise: {luck.score_:.2f}; held out: {luck.nested_score_:.2f}")
assert luck.optimism_ > 0

# %%
# Exercises
# ---------
#
# 1. How many subsets do 4, 15 and 30 columns have? How many models does the greedy search fit in each
#    fold, up to all columns?

subsets = [2**n - 1 for n in (4, 15, 30)]
assert subsets == [15, 32_767, 1_073_741_823]
assert [n * (n + 1) // 2 for n in (4, 15, 30)] == [10, 120, 465]

# %%
# 2. Check the exhaustive search by trying all pairs yourself.

scores = {pair: cross_val_score(Ridge(), X[:, pair], label).mean() for pair in combinations(range(4), 2)}
assert max(scores, key=scores.get) == (1, 2)

# %%
# 3. The mutual information of a column of two classes with itself is its entropy. What is it for 8
#    rows, 3 of class 0?

p = np.array([3, 5]) / 8
assert np.isclose(mutual_information(x[:, None], x, discrete=True)[0], -(p * np.log(p)).sum())

# %%
# 4. Is the column with the most information always in the best pair?

assert np.argmax(mutual_information(X, label, random_state=0)) == 0  # no: the best pair is 1 and 2
