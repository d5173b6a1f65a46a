"""The group ``gramian faces`` and its commands."""

from __future__ import annotations

import typer

from gramian.cli.faces_gallery import enroll, forget, identify, list_people, verify
from gramian.cli.faces_model import fit, reconstruct, show
from gramian.cli.options import help_alone

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
    help_alone(context)


for command in (fit, show, reconstruct, enroll, forget):
    faces.command()(command)
faces.command("list")(list_people)
for command in (identify, verify):
    faces.command()(command)
