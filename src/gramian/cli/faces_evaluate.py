"""The command that measures recognition: ``faces evaluate``."""

from __future__ import annotations

from typing import Any

from gramian.cli.faces_model import check_seed, read_counts, read_pictures
from gramian.cli.outputs import print_json
from gramian.cli.progress import progress

__all__ = ["evaluate"]


def evaluate(
    *,
    data: str,
    counts: str | None,
    enrolled: int | None,
    splits: int,
    light: str | None,
    shift: float,
    distance: str | None,
    discriminant: bool | None,
    match: str | None,
    far: float | None,
    leave_out: int | None,
    others: str | None,
    size: str | None,
    strict: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Print how well people are recognised, and a face told from what is none."""
    from gramian.checks import check_choice
    from gramian.faces.calibration import check_far
    from gramian.faces.distances import DISTANCES, MATCHES
    from gramian.faces.evaluation import MOST_SPLITS, evaluate_faces
    from gramian.faces.light import LIGHTS
    from gramian.faces.shifts import shift_pixels
    from gramian.faces.splits import whole_number

    given = {"light": light, "distance": distance, "match": match, "discriminant": discriminant, "far": far}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, known in (("light", LIGHTS), ("distance", DISTANCES), ("match", MATCHES)):
        check_choice(f"--{name}", chosen.get(name, known[0]), known)
    if far is not None:
        check_far(far)
    shift_pixels(shift, 1)
    whole_number("--splits", splits, 1, MOST_SPLITS)
    check_seed(seed)
    if counts is not None:
        chosen["n_components"] = read_counts(counts)
    faces = read_pictures(data, size=size, strict=strict)
    height, width = faces.pictures.shape[1:]
    no_faces = None if others is None else read_pictures(others, size=(width, height), strict=strict)
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
