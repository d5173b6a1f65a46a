"""Zip archives of pictures."""

from gramian.rows.formats.picture import picture_source
from gramian.rows.opened import Opened
from gramian.rows.pictures import opened_zip, pictures_in_zip
from gramian.rows.source import PictureSource


def open(opened: Opened, key: str | None) -> PictureSource:
    """Return the pictures of an archive, without unpacking it to disk."""
    archive = opened.enter_context(opened_zip(opened.file, opened.name))
    pictures, notes = pictures_in_zip(archive, opened.name)
    return picture_source(pictures, opened.name, notes)
