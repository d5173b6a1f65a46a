"""The commands of ``gramian faces`` and their options.

Each command hands everything to a function of its name, by keyword:

- ``faces_model``: ``fit(data, out, components, kernel, light, shift, size, strict, seed, as_json)``,
  ``show(model, out, components)``, ``reconstruct(model, picture, out, counts, as_json)``, ``demo(out)``;
- ``faces_gallery``: ``enroll(model, gallery, pictures, person, keep_pictures, strict, as_json)``,
  ``forget(gallery, person)``, ``list_people(gallery, as_json)``,
  ``identify(model, gallery, pictures, far, as_json)``,
  ``verify(model, gallery, pictures, person, far, as_json)``;
- ``faces_evaluate``: ``evaluate(data, counts, enrolled, splits, light, shift, distance, discriminant, match,
  far, leave_out, others, size, strict, seed, as_json)``.

Values are as they were typed: ``counts`` and ``size`` are text, None where an option was not given.
``identify`` and ``verify`` return whether every picture was answered with a person.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gramian.cli.faces_options import (
    Comparing,
    FacesData,
    FacesModel,
    FacesReading,
    Far,
    GalleryFile,
    Pictures,
    Seed,
    Shift,
)
from gramian.cli.options import JsonFlag, spread

__all__ = ["faces"]

faces = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@faces.callback(invoke_without_command=True)
def faces_group(context: typer.Context) -> None:
    """Eigenfaces: compress, reconstruct and recognise pictures of faces.

    Pictures must be cropped and aligned: eyes at the same place in each. This is a baseline recogniser and a
    tool for teaching. It has no liveness check, so a photograph held before a camera is as good as its owner,
    and it is no safety system.

    Pictures of faces, and the vectors made of them, are biometric data, which law protects in many places.
    Enroll people who know it and agree, keep the files where only those who need them can read them, and use
    faces forget when someone asks for it. A model is made of the pictures it was fitted on and can show them:
    treat its file like the pictures.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@faces.command("fit")
@spread
def faces_fit(
    data: FacesData,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="The model, FILE.gramian.", show_default=False),
    ],
    reading: FacesReading,
    components: Annotated[
        str,
        typer.Option(
            "--components",
            metavar="K",
            help="A number such as 300, or the share of variance to keep. [0.95]",
            show_default=False,
        ),
    ] = "0.95",
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", metavar="KERNEL", help="Kernel PCA, such as rbf. PCA without it."),
    ] = None,
    light: Annotated[
        str,
        typer.Option(
            "--light",
            metavar="HOW",
            help="Treatment against differences of light: none, log, equalise or dog. [none]",
            show_default=False,
        ),
    ] = "none",
    shift: Shift = 0.0,
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Learn components from pictures of faces.

    Colour becomes grey by ITU-R 601-2 luma, and pictures are turned upright as their camera recorded it. Bad
    pictures are reported and skipped. How far new pictures of faces are from the model is measured on
    pictures held out from fitting; what is farther than 99 % of them will not be called a face.
    """
    from gramian.cli import faces_model

    faces_model.fit(
        data=data,
        out=out,
        components=components,
        kernel=kernel,
        light=light,
        shift=shift,
        seed=seed,
        as_json=as_json,
        **asdict(reading),
    )


@faces.command("show")
@spread
def faces_show(
    model: FacesModel,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="A .png file.", show_default=False)],
    components: Annotated[
        int | None, typer.Option("--components", metavar="K", help="How many components. [23]")
    ] = None,
) -> None:
    """Draw the mean face and the first components."""
    from gramian.cli import faces_model

    faces_model.show(model=model, out=out, components=components)


@faces.command("reconstruct")
@spread
def faces_reconstruct(
    model: FacesModel,
    picture: Annotated[str, typer.Argument(metavar="PICTURE", help="A picture file.", show_default=False)],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="A .png file.", show_default=False)],
    counts: Annotated[
        str | None,
        typer.Option(
            "-r", "--components", metavar="R,R,..", help="Numbers of components. [25,50,100,.. and all]"
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Rebuild a picture from ever more components.

    Draws the original and what comes back, and prints the errors: |x - x~| / |x - mean|, and the root of the
    mean square error in grey values.
    """
    from gramian.cli import faces_model

    faces_model.reconstruct(model=model, picture=picture, out=out, counts=counts, as_json=as_json)


@faces.command("demo")
@spread
def faces_demo(
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Where pictures and results go. [gramian-faces]",
            show_default=False,
        ),
    ] = "gramian-faces",
) -> None:
    """Try everything on drawn faces.

    Draws people, learns components, shows and rebuilds, enrolls, and says who is at the door, by the commands
    themselves, each printed before it runs.
    """
    from gramian.cli import faces_model

    faces_model.demo(out=out)


@faces.command("enroll")
@spread
def faces_enroll(
    model: FacesModel,
    gallery: Annotated[
        str,
        typer.Argument(
            metavar="GALLERY", help="The file of people; made if it is not there.", show_default=False
        ),
    ],
    pictures: Pictures,
    person: Annotated[
        str | None,
        typer.Option(
            "--person", metavar="NAME", help="Who is on the pictures. [the names of folders in a folder]"
        ),
    ] = None,
    keep_pictures: Annotated[
        bool,
        typer.Option("--keep-pictures", help="Store the pictures too, not only their vectors and hashes."),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a bad picture instead of reporting and skipping it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Add people to a gallery.

    Nothing is fitted again. All pictures are added, or none.
    """
    from gramian.cli import faces_gallery

    faces_gallery.enroll(
        model=model,
        gallery=gallery,
        pictures=pictures,
        person=person,
        keep_pictures=keep_pictures,
        strict=strict,
        as_json=as_json,
    )


@faces.command("forget")
@spread
def faces_forget(
    gallery: GalleryFile,
    person: Annotated[str, typer.Option("--person", metavar="NAME", help="Whom.", show_default=False)],
) -> None:
    """Remove every trace of a person from a gallery."""
    from gramian.cli import faces_gallery

    faces_gallery.forget(gallery=gallery, person=person)


@faces.command("list")
@spread
def faces_list(gallery: GalleryFile, as_json: JsonFlag = False) -> None:
    """List the people in a gallery."""
    from gramian.cli import faces_gallery

    faces_gallery.list_people(gallery=gallery, as_json=as_json)


@faces.command("identify")
@spread
def faces_identify(
    model: FacesModel, gallery: GalleryFile, pictures: Pictures, far: Far = None, as_json: JsonFlag = False
) -> None:
    """Say who is on pictures.

    A person of the gallery, an unknown person, or not a face. Exits with 0 when every picture was answered
    with a person, with 1 when one was not. There is no liveness check: a photograph held before the
    camera is as good as its owner.
    """
    from gramian.cli import faces_gallery

    if not faces_gallery.identify(model=model, gallery=gallery, pictures=pictures, far=far, as_json=as_json):
        raise typer.Exit(1)


@faces.command("verify")
@spread
def faces_verify(
    model: FacesModel,
    gallery: GalleryFile,
    pictures: Pictures,
    person: Annotated[
        str,
        typer.Option("--person", metavar="NAME", help="Who it is said to be.", show_default=False),
    ],
    far: Far = None,
    as_json: JsonFlag = False,
) -> None:
    """Say whether pictures show a certain person.

    Exits with 0 when every picture does, with 1 when one does not. There is no liveness check: a photograph
    held before the camera is as good as its owner.
    """
    from gramian.cli import faces_gallery

    if not faces_gallery.verify(
        model=model, gallery=gallery, pictures=pictures, person=person, far=far, as_json=as_json
    ):
        raise typer.Exit(1)


@faces.command("evaluate")
@spread
def faces_evaluate(
    data: FacesData,
    reading: FacesReading,
    comparing: Comparing,
    counts: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--components",
            metavar="R,R,..",
            help="Numbers of components. [25,50,100,200,300,400]",
        ),
    ] = None,
    enrolled: Annotated[
        int | None,
        typer.Option("--enrolled", metavar="N", help="Pictures of each person enrolled. [half of them]"),
    ] = None,
    splits: Annotated[
        int,
        typer.Option("--splits", metavar="N", help="Random splits, at most 10000. [10]", show_default=False),
    ] = 10,
    light: Annotated[
        str | None,
        typer.Option("--light", metavar="HOW", help="none, log, equalise or dog. [equalise]"),
    ] = None,
    shift: Shift = 0.0,
    far: Annotated[
        float | None,
        typer.Option(
            "--far", metavar="SHARE", help="Share of strangers that may be taken for someone. [0.001]"
        ),
    ] = None,
    leave_out: Annotated[
        int | None,
        typer.Option("--leave-out", metavar="N", help="People left out of the gallery, as strangers."),
    ] = None,
    others: Annotated[
        str | None,
        typer.Option("--others", metavar="PATH", help="Pictures that are no faces, as DIR."),
    ] = None,
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Measure how well people are recognised.

    Over random splits with no test picture seen in fitting: rank-1 rate, equal error rate, points of the ROC,
    confusions, and for each number of components how well a person is known and a face told from no face.
    """
    from gramian.cli import faces_evaluate as body

    body.evaluate(
        data=data,
        counts=counts,
        enrolled=enrolled,
        splits=splits,
        light=light,
        shift=shift,
        far=far,
        leave_out=leave_out,
        others=others,
        seed=seed,
        as_json=as_json,
        **asdict(comparing),
        **asdict(reading),
    )
