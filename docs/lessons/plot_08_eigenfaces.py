"""
Eigenfaces
==========

A grey picture is a row of numbers, one for each pixel. PCA of many faces gives directions that
can be drawn as pictures: eigenfaces. Few scores then describe a face, and comparing them
recognises people.

The faces of this lesson are drawings that come with gramian, so that it runs anywhere. There are
also `measured rates on photographs <../faces_evaluation.html>`_.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gramian import PCA, plots
from gramian.faces import FaceSpace, Recogniser, drawn_faces
from gramian.faces.drawing import drawn_others

faces = drawn_faces(50, 8, size=(36, 44))
people = np.array(faces.people)
known = np.isin(people, sorted(set(people))[:40])  # ten people are held out
X, new = faces.pictures[known], faces.pictures[~known]
pca = PCA(200, random_state=0).fit(X)
plots.components(pca, 11)

# %%
# The mean comes first, then the directions; middle grey is 0. The first ones describe light, later
# ones hair, brows and mouths.
#
# Rebuild a face from r numbers
# -----------------------------
#
# The number is the relative error: 1 for the mean, 0 for the picture itself. People who are not in the
# fit keep larger errors than those who are, with any number of components.

plots.reconstructions(pca, new[::20], [5, 25, 50, 100, 200])

# %%

plots.reconstruction_errors(pca, {"40 fitted people": X, "10 new people": new})

# %%

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

things = drawn_others(120, size=(36, 44)).pictures
space = PCA(25, random_state=0).fit(X)
scores = np.concatenate([space.transform(X), space.transform(things[:60])])
is_face = np.arange(len(scores)) < len(X)
classifier = make_pipeline(StandardScaler(), SVC(kernel="linear", class_weight="balanced")).fit(
    scores, is_face
)
faces_right = classifier.predict(space.transform(new)).mean()
things_right = 1 - classifier.predict(space.transform(things[60:])).mean()
print(f"faces right {faces_right:.0%}, other things right {things_right:.0%}")
assert min(faces_right, things_right) > 0.85

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
# 1. How many numbers are a picture of 36 x 44 pixels, and its scores on 25 components?

assert X[0].size == 1584
assert space.transform(X[:1]).shape == (1, 25)

# %%
# 2. Which matrix did PCA decompose, and why?

assert pca.plan_.operator == "gram"  # 320 pictures are fewer than 1584 pixels

# %%
# 3. Add 30 to each pixel of a picture. By how much does each score change, and which one most?

brighter = space.transform(X[:1] + 30.0) - space.transform(X[:1] + 0.0)
assert np.allclose(brighter, 30 * space.components_.sum(axis=1), rtol=1e-3, atol=0.1)
assert np.argmax(np.abs(brighter)) == 1

# %%
# 4. The average of two faces: what are its scores?

average = X[:2].mean(axis=0, keepdims=True)
assert np.allclose(space.transform(average), space.transform(X[:2]).mean(axis=0), atol=1e-3)
