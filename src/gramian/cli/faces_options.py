"""Arguments, options and reading of pictures for the commands of ``gramian faces``."""

from __future__ import annotations

from typing import Annotated, Any

from gramian.checks import shown
from gramian.cli.inputs import read_model
from gramian.cli.options import argument, flag, option
from gramian.cli.progress import progress, say
from gramian.errors import ParameterError

FacesData = Annotated[
    str,
    argument(
        "DIR",
        "A folder of folders of pictures, one a person; a folder of pictures; a .zip of either; "
        "or an .npz file with pictures X and people y.",
    ),
]
FacesModel = Annotated[str, argument("MODEL", "A file written by faces fit.")]
GalleryFile = Annotated[str, argument("GALLERY", "A file written by faces enroll.")]
Pictures = Annotated[
    list[str],
    argument("PICTURE..", "Picture files, folders or zips of them, or an .npz file."),
]
FAR = option(
    "SHARE",
    "False accept rate: share of strangers that may be accepted. [as stored in the gallery, or the "
    "smallest rate that its people can show]",
)
STRICT = flag("Stop at a bad picture instead of reporting and skipping it.")


# ------------------------------------------------------------------ reading


def open_model(model: str) -> Any:
    """Open a saved model of faces.

    Raises
    ------
    ParameterError
        If it is a model of something else.
    """
    from gramian.faces.space import FaceSpace

    result = read_model(model)
    if not isinstance(result, FaceSpace):
        raise ParameterError(
            f"{shown(model)} holds a {type(result).__name__}, not a model of faces. Fit one with: "
            "gramian faces fit DIR -o faces.gramian"
        )
    return result


def read_pictures(data: Any, *, size: Any = None, strict: bool = False, keep_files: bool = False) -> Any:
    """Read pictures of faces, and report skipped pictures and notes on standard error.

    Parameters
    ----------
    data : path, or list of paths
    size : "WIDTHxHEIGHT" or (width, height), optional
    strict, keep_files : bool

    Returns
    -------
    gramian.faces.Faces
    """
    from gramian.faces.reading import read_faces

    with progress(f"reading {shown(data) if isinstance(data, str) else 'pictures'}"):
        faces = read_faces(data, size=size, strict=strict, keep_files=keep_files)
    for name, why in faces.skipped:
        say(f"gramian: skipped: {name} {why}")
    for note in faces.notes:
        say(f"gramian: {note}")
    return faces
