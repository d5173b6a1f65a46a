"""The group ``gramian faces`` and its commands."""

from __future__ import annotations

import typer

from gramian.cli.faces_gallery import enroll, forget, identify, list_people, verify
from gramian.cli.faces_model import fit, reconstruct
from gramian.cli.options import Application, help_alone

faces = Application()


@faces.callback(invoke_without_command=True)
def faces_group(context: typer.Context) -> None:
    """Eigenfaces: compress, reconstruct and recognise pictures of faces.

    Pictures must be cropped and aligned, with the eyes at the same place in each. This is a baseline
    recogniser and a teaching tool, not a security system. It has no liveness check: a photograph of a person
    is accepted like the person.

    Pictures of faces and their vectors are biometric data, which many laws protect. Enroll people only with
    their informed consent, restrict access to the files, and remove people with faces forget when they ask.
    A model can reproduce the pictures it was fitted on: protect its file like the pictures.
    """
    help_alone(context)


for command in (fit, reconstruct, enroll, forget):
    faces.command()(command)
faces.command("list")(list_people)
for question in (identify, verify):
    faces.command()(question)
