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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gramian.faces.face_images import Faces, example_faces, read_faces
    from gramian.faces.gallery import Gallery
    from gramian.faces.light import LIGHTS, relight
    from gramian.faces.recognition import Answer, Recogniser, identify, verify
    from gramian.faces.space import FaceSpace

_HOME = {
    "LIGHTS": "light",
    "Answer": "recognition",
    "FaceSpace": "space",
    "Faces": "face_images",
    "Gallery": "gallery",
    "Recogniser": "recognition",
    "example_faces": "face_images",
    "identify": "recognition",
    "read_faces": "face_images",
    "relight": "light",
    "verify": "recognition",
}

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


def __getattr__(name: str) -> Any:
    # Loaded when first used: who only opens a model needs neither a database nor discriminants.
    if name not in _HOME:
        raise AttributeError(f"module 'gramian.faces' has no attribute {name!r}")
    value = getattr(import_module(f"gramian.faces.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
