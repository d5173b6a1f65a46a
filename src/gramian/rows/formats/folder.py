"""Folders of pictures."""

from pathlib import Path

from gramian.rows.formats.picture import picture_source
from gramian.rows.opened import Opened
from gramian.rows.pictures import pictures_in_folder
from gramian.rows.source import PictureSource


def open(opened: Opened, key: str | None) -> PictureSource:
    """Return the pictures of a folder and of those below it."""
    pictures, notes = pictures_in_folder(opened.path or Path())
    return picture_source(pictures, opened.name, notes)
