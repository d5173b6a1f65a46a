r"""
Choosing features
=================

PCA makes new features of all columns. To leave columns out, score them one by one (a filter), or
score subsets by a model (a wrapper). Here :math:`d` is the number of columns, :math:`X` and
:math:`Y` are a column and the label as random variables.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import FeatureFilter, SequentialFeatureSelector, figures, mutual_information

# %%
# Filters: mutual information
# ---------------------------
#
# How much does a column :math:`X` say about the label :math:`Y`? Let :math:`f(x, y)` be the frequency of
# a pair of values, and :math:`f(x) = \sum_y f(x, y)` and :math:`f(y)` those of single values. If both are
# independent, :math:`f(x, y) = f(x) f(y)`. The mutual information is the mean logarithm of the ratio, in
# nats:
#
# .. math::
#
#    \operatorname{MI}(X, Y) = \sum_{x, y} f(x, y) \ln \frac{f(x, y)}{f(x)\, f(y)} .
#
# *It is never negative.* The logarithm is concave, so a mean of logarithms is at most the logarithm of
# the mean (Jensen):
#
# .. math::
#
#    -\operatorname{MI} = \sum_{x, y} f(x, y) \ln \frac{f(x)\, f(y)}{f(x, y)}
#    \le \ln \sum_{x, y} f(x, y)\, \frac{f(x)\, f(y)}{f(x, y)} \le \ln 1 = 0 ,
#
# with equality only if the ratio is always 1: for independent columns.
#
# *It is what is learned.* With the entropy :math:`h(X) = -\sum_x f(x) \ln f(x)`, splitting the logarithm
# gives
#
# .. math::
#
#    \operatorname{MI}(X, Y) = h(X) + h(Y) - h(X, Y) = h(Y) - h(Y \mid X) ,
#
# the uncertainty of the label that knowing the column removes.
#
# By hand, for the eight rows below: :math:`f(0, 0) = \frac{2}{8}`,
# :math:`f(0, 1) = f(1, 0) = \frac{1}{8}`, :math:`f(1, 1) = \frac{4}{8}`, and both columns have
# :math:`f(0) = \frac{3}{8}`. So
#
# .. math::
#
#    \operatorname{MI} = \frac{2}{8} \ln \frac{2/8}{9/64} + 2 \cdot \frac{1}{8} \ln \frac{1/8}{15/64}
#    + \frac{4}{8} \ln \frac{4/8}{25/64} = 0.1438 - 0.1572 + 0.1234 = 0.1101 .

x = np.array([0, 0, 0, 1, 1, 1, 1, 1])
y = np.array([0, 0, 1, 0, 1, 1, 1, 1])
f = np.histogram2d(x, y, bins=2)[0] / len(x)
terms = f * np.log(f / np.outer(f.sum(axis=1), f.sum(axis=0)))
print(terms.round(4), f"{terms.sum():.4f} nats")


def entropy(p):
    """Return the entropy of positive frequencies."""
    return -(p * np.log(p)).sum()


assert np.isclose(terms.sum(), entropy(f.sum(axis=1)) + entropy(f.sum(axis=0)) - entropy(f))
assert np.isclose(mutual_information(x[:, None], y, discrete=True)[0], terms.sum())

# %%
# A parabola has no correlation with its argument, and much information about it. (For numbers,
# frequencies become densities, estimated from nearest neighbours.)

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
figures.selection(best)

# %%
# Wrappers: greedy, and all subsets
# ---------------------------------
#
# :math:`d` columns have :math:`2^d - 1` subsets that are not empty, too many to try for large d. A
# *greedy* search scores subsets by a model on held-out rows:
#
# 1. Start from the empty subset.
# 2. Add each remaining column in turn, and validate the model. Keep the column with the best score.
# 3. Repeat until all columns are in.
# 4. Of the subsets met, return the one with the best score.
#
# Step 2 fits :math:`d`, then :math:`d - 1`, ... models: :math:`d + (d-1) + \ldots + 1 = d(d+1)/2`, which is
# :math:`O(d^2)`. The search may miss columns that are useful only together. Here column 0 is a noisy sum
# of columns 1 and 2, and the label is a less noisy one.

b, c, error, other = np.random.default_rng(3).standard_normal((4, 300))
X = np.column_stack([b + c + 0.8 * error, b, c, other])
label = b + c + 0.3 * np.random.default_rng(4).standard_normal(300)

chosen, fits = [], 0
while len(chosen) < 4:
    trials = {}
    for column in set(range(4)) - set(chosen):
        trials[column] = cross_val_score(Ridge(), X[:, [*chosen, column]], label).mean()
        fits += 1
    chosen.append(max(trials, key=trials.get))
    print(chosen, round(max(trials.values()), 3))
assert fits == 4 * 5 // 2

# %%
# The same by gramian, and all subsets of two columns:

greedy = SequentialFeatureSelector(Ridge(), n_features_to_select=2).fit(X, label)
every = SequentialFeatureSelector(Ridge(), n_features_to_select=2, direction="exhaustive").fit(X, label)
assert sorted(chosen[:2]) == greedy.get_support(indices=True).tolist()
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
figures.selection(SequentialFeatureSelector(Ridge(), direction="exhaustive").fit(X, label))

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

some, answer = noise[:40, :8], rng.standard_normal(40)
luck = SequentialFeatureSelector(Ridge(), direction="exhaustive")
held_out = cross_val_score(make_pipeline(luck, Ridge()), some, answer).mean()
print(f"the best of 255 subsets of noise: {luck.fit(some, answer).score_:.2f}; held out: {held_out:.2f}")
assert luck.score_ > held_out

# %%
# Exercises
# ---------
#
# **By hand.** 1. How many subsets do 4, 15 and 30 columns have? How many models does the greedy search
# fit in each fold, up to all columns?
#
# .. dropdown:: Solution
#
#    :math:`2^d - 1`: 15, 32,767 and 1,073,741,823. Greedy: 10, 120 and 465.
#
#    .. code-block:: python
#
#       assert [2**d - 1 for d in (4, 15, 30)] == [15, 32_767, 1_073_741_823]
#       assert [d * (d + 1) // 2 for d in (4, 15, 30)] == [10, 120, 465]
#
# **By hand.** 2. What is the mutual information of a column with itself? And for 8 rows, 3 of class 0?
#
# .. dropdown:: Solution
#
#    :math:`f(x, x) = f(x)`, so :math:`\operatorname{MI}(X, X) = -\sum_x f(x) \ln f(x)`, its entropy. Here it
#    is :math:`-\frac{3}{8} \ln \frac{3}{8} - \frac{5}{8} \ln \frac{5}{8} = 0.6616`.
#
#    .. code-block:: python
#
#       p = np.array([3, 5]) / 8
#       assert np.isclose(mutual_information(x[:, None], x, discrete=True)[0], entropy(p))
#       assert np.isclose(entropy(p), 0.6616, atol=1e-4)
#
# **In code.** 3. Check the exhaustive search by trying all pairs yourself.
#
# .. dropdown:: Solution
#
#    .. code-block:: python
#
#       from itertools import combinations
#
#       every_pair = list(combinations(range(4), 2))
#       pairs = {pair: cross_val_score(Ridge(), X[:, pair], label).mean() for pair in every_pair}
#       assert max(pairs, key=pairs.get) == (1, 2)
#
# **In code.** 4. Two columns of coin flips, and their exclusive or as the label. What does each column
# say alone, and what do both together?
#
# .. dropdown:: Solution
#
#    Alone nothing, together everything, :math:`\ln 2`. A filter cannot see this.
#
#    .. code-block:: python
#
#       one, two = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
#       both = 2 * one + two
#       alone, together = (mutual_information(v[:, None], one ^ two, discrete=True)[0] for v in (one, both))
#       assert np.isclose(alone, 0, atol=1e-12)
#       assert np.isclose(together, np.log(2))
#
# **Open.** 5. Is the column with the most information always in the best pair? When would you use a
# filter, when a wrapper, and when PCA?
#
# .. dropdown:: Solution
#
#    No: here it is column 0, and the best pair is 1 and 2. A filter is cheap and good for a first cut of
#    very many columns. A wrapper fits the model that is used, at the price of many fits and of optimism.
#    PCA needs no labels, keeps a bit of every column, and so saves no measurement.
#
#    .. code-block:: python
#
#       assert np.argmax(mutual_information(X, label, random_state=0)) == 0
