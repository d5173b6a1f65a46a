r"""
Eigenfaces
==========

A grey picture is a row of numbers, one for each pixel. PCA of many faces gives directions that
can be drawn as pictures: eigenfaces. Few scores then describe a face, and comparing them
recognises people.

The faces of this lesson are drawings that come with gramian, so that it runs anywhere. There are
also `measured rates on photographs <../faces_evaluation.html>`_. This is an application, so directions
are called by their names in figures and files: PC1 is :math:`u_1`, and so on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gramian import PCA, figures
from gramian.faces import FaceSpace, Recogniser, example_faces

faces = example_faces()
people = np.array(faces.people)
known = np.isin(people, sorted(set(people))[:30])  # ten people are held out
X, new = faces.pictures[known], faces.pictures[~known]
pca = PCA(200, random_state=0).fit(X)
figures.components(pca, 7)

# %%
# The mean comes first, then the directions; middle grey is 0. The first ones describe light, later
# ones hair, brows and mouths.
#
# A picture of 36 x 44 pixels is a vector :math:`x \in \mathbb{R}^{1584}`, and there are :math:`n = 240`
# pictures. So PCA solves the dual: with the centred pictures :math:`c_i` as rows of :math:`C`,
#
# .. math::
#
#    C C^T \beta_j = n\lambda_j\, \beta_j , \qquad
#    u_j = \frac{1}{\sqrt{n\lambda_j}} \sum_i \beta_{ij}\, c_i .
#
# An eigenface is a weighted sum of centred pictures. The code rebuilds PC1 from the 240 x 240 matrix.

C = X.reshape(len(X), -1) - X.reshape(len(X), -1).mean(axis=0)
n_lambda, beta = np.linalg.eigh(C @ C.T)
u_1 = C.T @ beta[:, -1] / np.sqrt(n_lambda[-1])
assert np.isclose(abs(u_1 @ pca.components_[0]), 1)
assert pca.plan_.operator == "gram"  # the dual Gram matrix

# %%
# Rebuild a face from q numbers
# -----------------------------
#
# From :math:`q` scores :math:`z_j = u_j^T (x - m)` the picture is
# :math:`\tilde x = m + \sum_{j \le q} z_j u_j`. The captions have r for q, and the
# relative error
#
# .. math::
#
#    \frac{\|x - \tilde x\|}{\|x - m\|} = \sqrt{1 - \frac{\sum_{j \le q} z_j^2}{\|x - m\|^2}} ,
#
# 1 for the mean, 0 for the picture itself. People who are not in the fit keep larger errors than those
# who are, with any number of components.

figures.reconstructions(pca, new[::30], [5, 25, 100, 200])

# %%

for name, some in (("30 fitted people", X), ("10 new people", new)):
    squares = pca.reconstruction_errors(some).sum(axis=0)  # from 0, 1, 2, ... components
    plt.plot(np.sqrt(squares / squares[0]), label=name)
plt.xlabel("number of components")
plt.ylabel("relative error")
plt.legend()

# %%

z, length = pca.transform(new), ((new.reshape(len(new), -1) - pca.mean_) ** 2).sum(axis=1)
left = length - (z[:, :25] ** 2).sum(axis=1)
assert np.allclose(pca.reconstruction_errors(new, [25])[:, 0], left, rtol=1e-3)
errors = pca.reconstruction_errors(new, [0, 25, 200]).mean(axis=0)
print(f"relative error of new people: {np.sqrt(errors[1:] / errors[0]).round(2)} with 25 and 200 components")
assert errors[2] < errors[1] < errors[0]

# %%
# Is it a face?
# -------------
#
# "25 components tell a human from a dog." The `reconstruction error <../faces.html>`_ does not: what is
# smooth is rebuilt well, face or not. A classifier that sees the 25 scores of faces and of other
# things decides better. It is tested on people, and on things, that it has not seen.

things = example_faces("things").pictures
space = PCA(25, random_state=0).fit(X)
scores = np.concatenate([space.transform(X), space.transform(things[:30])])
is_face = np.arange(len(scores)) < len(X)
classifier = make_pipeline(StandardScaler(), SVC(kernel="linear", class_weight="balanced")).fit(
    scores, is_face
)
faces_right = classifier.predict(space.transform(new)).mean()
things_right = 1 - classifier.predict(space.transform(things[30:])).mean()
print(f"faces right {faces_right:.0%}, other things right {things_right:.0%}")
assert min(faces_right, things_right) > 0.8

# %%
# On photographs (Extended Yale B, 160 dogs and cats, everyone held out) this classifier has 96.5 %
# of the faces and 92.5 % of the animals right.
#
# Who is it?
# ----------
#
# Enroll pictures of each person, project, and compare scores. ``FaceSpace`` and ``Recogniser`` do
# this with a threshold for unknown people.

enrolled = np.arange(len(X)) % 8 < 4
gallery = FaceSpace(60, random_state=0).fit(X[enrolled], people[known][enrolled])
who = Recogniser().fit(gallery.transform(X[enrolled]), people[known][enrolled], gallery.eigenvalues_)
likeness = who.similarity(gallery.transform(X[~enrolled]))
named = np.array(who.people_)[likeness.argmax(axis=1)]
rate = (named == people[known][~enrolled]).mean()
print(f"{rate:.0%} of {len(named)} other pictures of the same people named correctly")
assert rate > 0.9

# %%
# Slips of well-known notes
# -------------------------
#
# **"PC1 is the prototype face."** Only without centring: then the first direction points to the
# mean. After centring the mean is gone, and the first direction is the largest *difference* between
# pictures, often the light. On photographs (Extended Yale B) the correlation of PC1 with the mean
# face is .96 without centring, and .52 with it. Here:

mean = X.reshape(len(X), -1).mean(axis=0)
for center in (False, True):
    first = PCA(1, center=center, random_state=0).fit(X).components_[0]
    print(f"center={center}: correlation of PC1 with the mean face {np.corrcoef(first, mean)[0, 1]:.2f}")
    assert (abs(np.corrcoef(first, mean)[0, 1]) > 0.9) == (not center)

# %%
# **"With all dimensions anything can be rebuilt."** All 159 components of 160 pictures of 1584 pixels
# rebuild these pictures. A house stays a blend of faces.

everything = PCA(159).fit(X[:160])
assert everything.rank_ == 159
inside = everything.reconstruction_errors(X[:160], [0, 159]).sum(axis=0)
outside = everything.reconstruction_errors(things, [0, 159]).sum(axis=0)
print(f"relative error of fitted faces {np.sqrt(inside[1] / inside[0]):.0e}, of other things ", end="")
print(f"{np.sqrt(outside[1] / outside[0]):.2f}")
assert outside[1] > 0.05 * outside[0]

# %%
# Exercises
# ---------
#
# **By hand.** 1. How many numbers are a picture of 36 x 44 pixels, and its scores on 25 components?
# From which number of pictures on do scores save memory, if mean and directions are counted too?
#
# .. dropdown:: Solution
#
#    1584, and 25. N pictures need :math:`1584 N` numbers, or :math:`26 \cdot 1584 + 25 N`. The second is
#    less from :math:`N = 26 \cdot 1584 / (1584 - 25) = 26.4`, that is 27 pictures.
#
#    .. code-block:: python
#
#       assert X[0].size == 1584
#       assert space.transform(X[:1]).shape == (1, 25)
#       assert 27 * 1584 > 26 * 1584 + 25 * 27
#       assert 26 * 1584 < 26 * 1584 + 25 * 26
#
# **By hand.** 2. Show that the scores of the average of two pictures are the average of their scores.
#
# .. dropdown:: Solution
#
#    :math:`u^T \left(\frac{x + y}{2} - m\right) = \frac{1}{2} u^T (x - m) + \frac{1}{2} u^T (y - m)`.
#
#    .. code-block:: python
#
#       average = X[:2].mean(axis=0, keepdims=True)
#       assert np.allclose(space.transform(average), space.transform(X[:2]).mean(axis=0), atol=1e-3)
#
# **In code.** 3. Add 30 to each pixel of a picture. By how much does each score change, and which one
# most?
#
# .. dropdown:: Solution
#
#    By :math:`30\, u_j^T \mathbf{1}`, 30 times the sum of the entries of the eigenface. PC2 changes most: it
#    describes how bright a picture is.
#
#    .. code-block:: python
#
#       brighter = space.transform(X[:1] + 30.0) - space.transform(X[:1] + 0.0)
#       assert np.allclose(brighter, 30 * space.components_.sum(axis=1), rtol=1e-3, atol=0.1)
#       assert np.argmax(np.abs(brighter)) == 1
#
# **In code.** 4. How many components keep 90 % and 95 % of the variance of the fitted pictures?
#
# .. dropdown:: Solution
#
#    .. code-block:: python
#
#       kept = np.cumsum(PCA().fit(X).explained_variance_ratio_)
#       at_90, at_95 = np.searchsorted(kept, [0.90, 0.95]) + 1
#       assert at_90 < at_95 < 100
#
# **Open.** 5. A company wants to open its door by a camera. What do you measure before you answer?
#
# .. dropdown:: Solution
#
#    How often people of the company are turned away, and how often strangers get in, on pictures of
#    people, days and light that the fit has not seen; what happens to photographs of photographs; and
#    for whom errors are most frequent. One threshold trades one rate against the other:
#
#    .. code-block:: python
#
#       strangers = who.similarity(gallery.transform(new)).max(axis=1)
#       friends = likeness.max(axis=1)
#       limits = np.quantile(friends, [0.01, 0.1])
#       rates = [((friends < at).mean(), (strangers >= at).mean()) for at in limits]
#       assert rates[0][0] < rates[1][0]
#       assert rates[0][1] >= rates[1][1]
