"""The command that measures recognition: ``faces evaluate``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from gramian.cli.faces_options import FacesData, FacesReading, Shift, read_pictures
from gramian.cli.models import read_counts
from gramian.cli.options import JsonFlag, Seed, option, spread
from gramian.cli.outputs import answer
from gramian.cli.progress import progress


@dataclass(frozen=True)
class Protocol:
    """What is measured: parameters of ``gramian.faces.evaluate_faces``."""

    distance: str | None = option("NAME", "cosine, euclidean, mahalanobis or whitened-cosine. [cosine]")
    discriminant: Annotated[
        bool | None,
        typer.Option(
            "--discriminant/--no-discriminant",
            help="Compare along linear discriminants. [where people have two pictures]",
        ),
    ] = None
    match: str | None = option("HOW", "nearest picture of a person, or the mean of them. [nearest]")
    n_components: str | None = option(
        "R,R,..", "Numbers of components. [25,50,100,200,300,400]", None, "-r", "--components"
    )
    enrolled: int | None = option("N", "Pictures of each person enrolled. [half of them]")
    splits: int = option("N", "Random splits. [10]", 10)
    light: str | None = option("HOW", "none, log, equalise or dog. [equalise]")
    shift: Shift = 0.0
    far: float | None = option(
        "SHARE", "Share of strangers that may be taken for someone. [what the people enrolled can show]"
    )
    leave_out: int = option("N", "People left out of the gallery, as strangers.", 0)


@spread
def evaluate(
    data: FacesData,
    reading: FacesReading,
    protocol: Protocol,
    others: str | None = option("PATH", "Pictures that are no faces, as DIR."),
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Measure how well people are recognised.

    Over random splits with no test picture seen in fitting: rank-1 rate, equal error rate, points of the ROC,
    confusions, and for each number of components how well a person is known and a face told from no face.
    """
    from gramian.faces.evaluation import evaluate_faces

    given = {name: value for name, value in asdict(protocol).items() if value is not None}
    if protocol.n_components is not None:
        given["n_components"] = read_counts("-r", protocol.n_components)
    faces = read_pictures(data, **asdict(reading))
    no_faces = None
    if others is not None:
        no_faces = read_pictures(others, size=faces.size, strict=reading.strict)
    with progress("evaluating"):
        found = evaluate_faces(faces, others=no_faces, random_state=seed, **given)
    answer(as_json, found.to_dict(), found)
