"""Arguments and options that several commands of ``gramian faces`` have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

__all__ = [
    "Comparing",
    "FacesData",
    "FacesModel",
    "FacesReading",
    "Far",
    "GalleryFile",
    "Pictures",
    "Seed",
    "Shift",
]

FacesData = Annotated[
    str,
    typer.Argument(
        metavar="DIR",
        help="A folder of folders of pictures, one a person; a folder of pictures; a .zip of either; "
        "or an .npz file with pictures X and people y.",
        show_default=False,
    ),
]
FacesModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file written by faces fit.", show_default=False)
]
GalleryFile = Annotated[
    str, typer.Argument(metavar="GALLERY", help="A file written by faces enroll.", show_default=False)
]
Pictures = Annotated[
    list[str],
    typer.Argument(
        metavar="PICTURE..",
        help="Picture files, folders or zips of them, or an .npz file.",
        show_default=False,
    ),
]
Far = Annotated[
    float | None,
    typer.Option(
        "--far",
        metavar="SHARE",
        help="Share of strangers that may be taken for someone. [0.001, or as stored in the gallery]",
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers. [0]", show_default=False),
]
Shift = Annotated[
    float,
    typer.Option(
        "--shift",
        metavar="SHARE",
        help="Fit also on pictures moved by this share of their width, for bad alignment: 0.04. [0]",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class FacesReading:
    """How pictures of faces are read."""

    size: Annotated[
        str | None, typer.Option("--size", metavar="WxH", help="Resize pictures to this size.")
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a bad picture instead of reporting and skipping it.")
    ] = False


@dataclass(frozen=True)
class Comparing:
    """How people are told apart; what is not given is what does best in docs/faces.md."""

    distance: Annotated[
        str | None,
        typer.Option(
            "--distance", metavar="NAME", help="cosine, euclidean, mahalanobis or whitened-cosine. [cosine]"
        ),
    ] = None
    discriminant: Annotated[
        bool | None,
        typer.Option(
            "--discriminant/--no-discriminant",
            help="Compare along linear discriminants. [where people have two pictures]",
        ),
    ] = None
    match: Annotated[
        str | None,
        typer.Option(
            "--match", metavar="HOW", help="nearest picture of a person, or the mean of them. [nearest]"
        ),
    ] = None
