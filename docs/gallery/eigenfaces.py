"""
Eigenfaces of drawn people
==========================

gramian draws people under changing light and expression, so that you can try eigenfaces without
pictures of anybody.
"""

from gramian import PCA, plots
from gramian.faces import FaceSpace, drawn_faces

faces = drawn_faces(30, 6, size=(46, 56))
print(faces.pictures.shape)

# %%
# With 2,576 pixels and 180 pictures, the dual Gram matrix of the pictures is the cheapest way to
# the components.

pca = PCA(60).fit(faces.pictures)
print(pca.plan_)

# %%
# The mean face, and the first components: light from the sides, hair, mouths.

plots.components(pca, 11)

# %%
# Faces of people who were not in the fit, rebuilt from r components. The relative errors stay large:
# thirty people are too few to describe others.

strangers = drawn_faces(4, 1, size=(46, 56), seed=99)
plots.reconstructions(pca, strangers.pictures, [1, 5, 10, 25, 60])

# %%
# Is a picture a face at all? ``FaceSpace`` compares the edges of the picture with those of the fitted
# faces. Its limit (dashed) accepts 99 % of them, each scored without pictures of the same person.

plots.face_scores(FaceSpace(25).fit(faces))
