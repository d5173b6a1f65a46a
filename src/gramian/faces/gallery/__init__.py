"""A gallery: vectors of the pictures of enrolled people, in one SQLite file."""

from gramian.faces.gallery.gallery import Gallery, enroll_into

__all__ = ["Gallery", "enroll_into"]
