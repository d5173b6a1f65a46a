"""The command that measures recognition: ``faces evaluate``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from gramian.checks import check_choice, check_integer, check_share
from gramian.cli.faces_options import (
    Comparing,
    FacesData,
    FacesReading,
    Shift,
    read_counts,
    read_pictures,
)
from gramian.cli.options import JsonFlag, Seed, spread
from gramian.cli.outputs import print_json
from gramian.cli.progress import progress


@spread
def evaluate(
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
        typer.Option("--splits", metavar="N", help="Random splits. [10]", show_default=False),
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
    from gramian.faces.evaluation import evaluate_faces
    from gramian.faces.light import LIGHTS
    from gramian.faces.shifts import shift_pixels
    from gramian.faces.similarity import DISTANCES, MATCHES

    given = asdict(comparing) | {"light": light, "far": far}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, known in (("light", LIGHTS), ("distance", DISTANCES), ("match", MATCHES)):
        check_choice(f"--{name}", chosen.get(name, known[0]), known)
    if far is not None:
        check_share("--far", far, "It is a share of strangers.")
    shift_pixels(shift, 1)
    check_integer("--splits", splits)
    if counts is not None:
        chosen["n_components"] = read_counts(counts)
    faces = read_pictures(data, **asdict(reading))
    no_faces = None
    if others is not None:
        no_faces = read_pictures(others, size=faces.size, strict=reading.strict)
    with progress("evaluating"):
        found = evaluate_faces(
            faces,
            enrolled=enrolled,
            splits=splits,
            shift=shift,
            leave_out=leave_out or 0,
            others=no_faces,
            random_state=seed,
            **chosen,
        )
    if as_json:
        print_json(found.to_dict())
    else:
        print(found)
