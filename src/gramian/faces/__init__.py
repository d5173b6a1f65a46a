"""Eigenfaces as an application: read pictures of faces, compress and rebuild them, say who is on them.

Pictures must be cropped and aligned: this is a baseline recogniser and a tool for teaching. It has no
liveness check and is no safety system.

Examples
--------
>>> from gramian.faces import FaceSpace, example_faces
>>> faces = example_faces()
>>> FaceSpace(6).fit(faces).transform(faces).shape
(320, 6)
"""

from gramian.faces.face_images import LIGHTS, Faces, example_faces, read_faces, relight
from gramian.faces.gallery import Gallery
from gramian.faces.recognition import Answer, Recogniser, identify, verify
from gramian.faces.space import FaceSpace

__all__ = [
    "LIGHTS",
    "Answer",
    "FaceSpace",
    "Faces",
    "Gallery",
    "Recogniser",
    "example_faces",
    "identify",
    "read_faces",
    "relight",
    "verify",
]
