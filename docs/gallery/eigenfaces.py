"""
Eigenfaces of drawn people
==========================

gramian comes with drawings of people under changing light and expression, so that you can try
eigenfaces without pictures of anybody.
"""

import matplotlib.pyplot as plt

from gramian import PCA, figures
from gramian.faces import FaceSpace, example_faces

everybody = example_faces()
faces, strangers = everybody.take(slice(0, 240)), everybody.take(slice(240, None, 20))
print(faces.pictures.shape)

# %%
# With 1,584 pixels and 240 pictures, the dual Gram matrix of the pictures is the cheapest way to
# the components.

pca = PCA(60).fit(faces.pictures)
print(pca.plan_)

# %%
# The mean face, and the first components: light from the sides, hair, mouths.

figures.components(pca, 11)

# %%
# Faces of people who were not in the fit, rebuilt from r components. The relative errors stay large:
# thirty people are too few to describe others.

figures.reconstructions(pca, strangers.pictures, [1, 5, 10, 25, 60])

# %%
# Is a picture a face at all? ``FaceSpace`` compares the edges of the picture with those of the fitted
# faces. Its limit (dashed) accepts 99 % of them, each scored without pictures of the same person.

space = FaceSpace(25).fit(faces)
plt.figure()
plt.hist(space.face_scores_, bins=40)
plt.axvline(space.face_threshold_, color="black", linestyle="--")
plt.xlabel("distance from the face space (relative)")
