"""The commands that learn and show faces: ``faces fit``, ``show`` and ``reconstruct``."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from gramian.cli.inputs import read_model
from gramian.cli.models import read_components
from gramian.cli.outputs import check_file, check_not_input
from gramian.cli.progress import progress, say
from gramian.errors import ParameterError

__all__ = [
    "default_counts",
    "demo",
    "fit",
    "open_model",
    "read_counts",
    "read_pictures",
    "reconstruct",
    "report_reading",
    "show",
]

COUNTS = (25, 50, 100, 200, 400, 800, 1600)
SHOWN = 23


def fit(
    *,
    data: str,
    out: str,
    components: str,
    kernel: str | None,
    light: str,
    shift: float,
    size: str | None,
    strict: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Learn components from pictures of faces and write the model."""
    from gramian.checks import check_choice
    from gramian.faces.light import LIGHTS
    from gramian.faces.shifts import shift_pixels
    from gramian.faces.space import FaceSpace

    _check_suffix(out, ".gramian", "the model")
    check_choice("--light", light, LIGHTS)
    shift_pixels(shift, 1)
    check_seed(seed)
    wanted: Any = read_components(components)
    check_file(out)
    check_not_input(out, data)
    faces = read_pictures(data, size=size, strict=strict)
    model = FaceSpace(wanted, kernel=kernel, light=light, shift=shift, random_state=seed)
    with progress("computing"):
        model.fit(faces)
    with progress("writing"):
        model.save(out)
    if as_json:
        print(json.dumps(_fit_facts(model, faces, out), indent=2, allow_nan=False))
    else:
        print("\n".join(_fit_lines(model, faces, out)))


def check_seed(seed: int) -> None:
    """Refuse a seed that is none.

    Raises
    ------
    ParameterError
        For a number that no generator takes.
    """
    if not 0 <= seed < 2**32:
        raise ParameterError(f"--seed {seed} must be a whole number from 0 to {2**32 - 1}.")


def read_pictures(data: Any, *, size: Any = None, strict: bool = False) -> Any:
    """Read pictures of faces, and say on standard error what was skipped and decided.

    Parameters
    ----------
    data : path, or list of paths
    size : "WIDTHxHEIGHT" or (width, height), optional
    strict : bool

    Returns
    -------
    gramian.faces.Faces
    """
    from gramian.faces.reading import read_faces

    with progress(f"reading {_plain(data) if isinstance(data, str) else 'pictures'}"):
        faces = read_faces(data, size=size, strict=strict)
    report_reading(faces)
    return faces


def _plain(name: str) -> str:
    """Return a path as it can be printed, without characters that a terminal obeys."""
    from gramian.rows.decoding import readable

    return readable(name)


def report_reading(faces: Any) -> None:
    """Say on standard error which pictures were skipped, and what the reader decided by itself."""
    for name, why in faces.skipped:
        say(f"gramian: skipped: {name} {why}")
    for note in faces.notes:
        say(f"gramian: {note}")


def open_model(model: str) -> Any:
    """Open a saved model of faces.

    Raises
    ------
    ParameterError
        If it is a model of something else.
    """
    from gramian.faces.space import FaceSpace

    found = read_model(model)
    if not isinstance(found, FaceSpace):
        raise ParameterError(
            f"{_plain(model)} holds a {type(found).__name__}, which is no model of faces. Make one with: "
            "gramian faces fit DIR -o faces.gramian"
        )
    return found


def read_counts(text: str, option: str = "-r") -> list[int]:
    """Read numbers of components, such as "25,50,100", in rising order.

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_counts("25,100, 50")
    [25, 50, 100]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,9}", part) and int(part) > 0 for part in parts):
        raise ParameterError(
            f"{option} {text} is not understood. Give numbers of components with commas, such as 25,50,100."
        )
    return sorted({int(part) for part in parts})


def default_counts(most: int) -> list[int]:
    """Return 25, 50, 100, 200, ... up to a model's number of components, and that number.

    Examples
    --------
    >>> default_counts(184)
    [25, 50, 100, 184]
    """
    return [*(count for count in COUNTS if count < most), most]


def show(*, model: str, out: str, components: int | None) -> None:
    """Draw the mean face and the first components."""
    from gramian.plots.faces import face_sheet
    from gramian.plots.figures import component_titles

    _check_suffix(out, ".png", "the sheet")
    check_file(out)
    space = open_model(model)
    count = min(SHOWN, space.n_components_) if components is None else components
    if not 1 <= count <= space.n_components_:
        raise ParameterError(
            f"--components {count}: the model has {space.n_components_}. Ask for 1 to {space.n_components_}."
        )
    with progress("drawing"):
        pictures = space.component_pictures(count)
        face_sheet(space.mean_face_, pictures, component_titles(space, count)).save(out)
    print(f"Written: {_plain(out)}, the mean face and {count} of {space.n_components_:,} components.")


def reconstruct(*, model: str, picture: str, out: str, counts: str | None, as_json: bool) -> None:
    """Draw a picture and what is rebuilt of it, and print the errors."""
    from gramian.plots.faces import strip

    asked = None if counts is None else read_counts(counts)
    _check_suffix(out, ".png", "the strip")
    check_file(out)
    check_not_input(out, picture)
    space = open_model(model)
    asked = asked or default_counts(space.n_components_)
    if asked[-1] > space.n_components_:
        raise ParameterError(
            f"-r {asked[-1]}: the model has {space.n_components_:,} components. Ask for at most that, or fit "
            f"a model with more: gramian faces fit DIR --components {asked[-1]}"
        )
    if os.path.isdir(picture):
        raise ParameterError(f"{_plain(picture)} is a folder. Name one picture in it.")
    height, width = space.picture_shape_
    faces = read_pictures(picture, size=(width, height), strict=True)
    if len(faces) != 1:
        raise ParameterError(f"{_plain(picture)} holds {len(faces):,} pictures. Name one picture.")
    with progress("rebuilding"):
        found = _rebuilt(space, faces, asked)
    captions = ["original", *(f"r={r} {e:.3f}" for r, e in zip(asked, found["relative"], strict=True))]
    strip([found["original"]], [found["pictures"]], [captions]).save(out)
    if as_json:
        print(json.dumps(_rebuilt_facts(found, asked, faces, out, space), indent=2, allow_nan=False))
        return
    print(f"{faces.names[0]}, rebuilt by {_plain(model)}\n")
    print(f"{'components':>10}{'relative error':>17}{_unit(space.light):>24}")
    for r, relative, rmse in zip(asked, found["relative"], found["rmse"], strict=True):
        print(f"{r:>10}{relative:>17.4f}{rmse:>24.3f}")
    print(f"\nRelative error: |x - x~| / |x - mean|.\nWritten: {_plain(out)}")


def demo(*, out: str) -> None:
    """Try everything on drawn faces."""
    from gramian.cli.faces_demo import demo as whole

    whole(out)


def _rebuilt(space: Any, faces: Any, counts: list[int]) -> dict[str, Any]:
    import numpy as np

    from gramian.faces.light import relight, unlight

    def visible(pictures: Any) -> Any:
        return unlight(pictures, space.light)

    original = visible(relight(faces.pictures, space.light))[0]
    pictures = np.stack([visible(space.reconstruct(faces, count))[0] for count in counts])
    return {
        "original": original,
        "pictures": pictures,
        "relative": space.errors(faces, counts)[0].tolist(),
        "rmse": np.sqrt(np.mean((pictures.astype(float) - original) ** 2, axis=(1, 2))).tolist(),
    }


def _unit(light: str) -> str:
    return "RMSE, grey values" if light in ("none", "log") else f"RMSE after {light}"


def _rebuilt_facts(found: Any, counts: list[int], faces: Any, out: str, space: Any) -> dict[str, Any]:
    return {
        "picture": faces.names[0],
        "sha256": faces.hashes[0],
        "light": space.light,
        "rmse_unit": _unit(space.light).removeprefix("RMSE").lstrip(", "),
        "reconstructions": [
            {"components": r, "relative_error": e, "rmse": q}
            for r, e, q in zip(counts, found["relative"], found["rmse"], strict=True)
        ],
        "out": out,
    }


def _check_suffix(out: str, suffix: str, what: str) -> None:
    if Path(out).suffix.lower() != suffix:
        raise ParameterError(f"-o {_plain(out)}: {what} is written to a {suffix} file. Name one.")


def _fit_facts(model: Any, faces: Any, out: str) -> dict[str, Any]:
    from gramian.report.facts import certificate_facts, plain, plan_facts

    height, width = model.picture_shape_
    shares = model.explained_variance_ratio_
    return {
        "source": faces.source,
        "pictures": len(faces),
        "people": model.n_people_ or None,
        "skipped": [{"picture": name, "why": why} for name, why in faces.skipped],
        "notes": [*faces.notes, *model.notes_],
        "size": {"width": width, "height": height},
        "light": model.light,
        "shift": model.shift,
        "kernel": plain(model.kernel),
        "components": model.n_components_,
        "share_of_variance": None if shares is None else float(shares.sum()),
        "eigenvalues": plain(model.eigenvalues_),
        "face_threshold": plain(model.face_threshold_),
        "face_keep": model.face_keep_,
        "fingerprint": model.fingerprint_,
        "plan": plan_facts(model.plan_),
        "certificate": certificate_facts(model.certificate_),
        "out": out,
    }


def _fit_lines(model: Any, faces: Any, out: str) -> list[str]:
    height, width = model.picture_shape_
    of = f" of {model.n_people_:,} people" if model.n_people_ else ""
    bad = f", {len(faces.skipped)} skipped" if faces.skipped else ""
    shares = model.explained_variance_ratio_
    count = "1 component" if model.n_components_ == 1 else f"{model.n_components_:,} components"
    share = "" if shares is None else f": {100 * float(shares.sum()):.1f} % of the variance"
    *notes, measured = (note[0].upper() + note[1:] for note in model.notes_)
    if model.face_scores_.size:
        measured += f": {100 * model.face_keep_:g} % of them score at most {model.face_threshold_:.4f}"
    return [
        f"{len(faces):,} pictures{of}, {width}x{height}{bad}; light: {model.light}.",
        f"{count}{share}.",
        *(f"{note}." for note in (*notes, measured)),
        "",
        str(model.plan_),
        "",
        str(model.certificate_),
        "",
        f"Written: {_plain(out)}. It is made of the pictures and can show them: keep it like them.",
    ]
