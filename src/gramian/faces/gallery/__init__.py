"""The people that a recogniser knows: vectors of their pictures, in one file beside the model."""

from gramian.faces.gallery.gallery import Gallery, enroll_into

__all__ = ["Gallery", "enroll_into"]
