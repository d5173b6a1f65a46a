"""The commands ``faces fit`` and ``reconstruct``."""

from __future__ import annotations

from typing import Annotated, Any

from gramian.checks import counted, shown
from gramian.cli.faces_options import STRICT, FacesData, FacesModel, open_model, read_pictures
from gramian.cli.models import read_components, read_counts
from gramian.cli.options import JsonFlag, Seed, argument, option, out
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress
from gramian.errors import ParameterError

COUNTS = (25, 50, 100, 200, 400, 800, 1600)


def fit(
    data: FacesData,
    out: Annotated[str, out("FILE", "The model, FILE.gramian.")],
    size: str | None = option("WxH", "Resize pictures to this size."),
    strict: bool = STRICT,
    components: str = option(
        "K", "Number of components such as 300, or explained variance ratio. [0.95]", "0.95"
    ),
    kernel: str | None = option("KERNEL", "Kernel for kernel PCA, such as rbf. [PCA]"),
    light: str = option("HOW", "Illumination correction: none, log, equalise or dog. [none]", "none"),
    shift: float = option(
        "SHARE",
        "Also fit on copies shifted by this share of the width, against bad alignment; try 0.04. [0]",
        0.0,
    ),
    seed: Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """Fit a model of faces to pictures.

    Colour is converted to grey by ITU-R 601-2 luma, and pictures are rotated as their camera recorded. Bad
    pictures are reported and skipped. The limit of what is recognised as a face comes from held-out pictures:
    99 % of them are within it.
    """
    from gramian.faces.space import FaceSpace

    wanted: Any = read_components(components)
    check_out(out, data, ends=[".gramian"], writes="faces fit writes a model")
    faces = read_pictures(data, size=size, strict=strict)
    model = FaceSpace(wanted, kernel=kernel, light=light, shift=shift, random_state=seed)
    with progress("computing"):
        model.fit(faces)
    with progress("writing"):
        model.save(out)
    answer(as_json, _fit_facts(model, faces, out), "\n".join(_fit_lines(model, faces, out)))


def reconstruct(
    model: FacesModel,
    picture: Annotated[str, argument("PICTURE", "A picture file.")],
    out: Annotated[str, out("FILE", "A .png file.")],
    counts: str | None = option(
        "R,R,..", "Numbers of components. [25,50,100,.. and all]", None, "-r", "--components"
    ),
    as_json: JsonFlag = False,
) -> None:
    """Reconstruct a picture from increasing numbers of components.

    Draws the original and the reconstructions, and prints the relative error |x - x~| / |x - mean| and the
    root mean square error in grey values.
    """
    from gramian.plots.images import strip

    wanted = None if counts is None else read_counts("-r", counts)
    check_out(out, picture, ends=[".png"], writes="the strip is a picture")
    space = open_model(model)
    wanted = wanted or _default_counts(space.n_components_)
    height, width = space.picture_shape_
    faces = read_pictures(picture, size=(width, height), strict=True)
    if len(faces) != 1:
        raise ParameterError(f"{shown(picture)} contains {len(faces):,} pictures. Name one.")
    with progress("reconstructing"):
        result = _rebuilt(space, faces, wanted)
    captions = ["original", *(f"r={r} {e:.3f}" for r, e in zip(wanted, result["relative"], strict=True))]
    strip([result["original"]], [result["pictures"]], [captions]).save(out)
    rows = zip(wanted, result["relative"], result["rmse"], strict=True)
    lines = [
        f"{faces.names[0]}, reconstructed by {shown(model)}\n",
        f"{'components':>10}{'relative error':>17}{_unit(space.light):>24}",
        *(f"{r:>10}{relative:>17.4f}{rmse:>24.3f}" for r, relative, rmse in rows),
        f"\nRelative error: |x - x~| / |x - mean|.\nWritten: {shown(out)}",
    ]
    answer(as_json, _rebuilt_facts(result, wanted, faces, out, space), "\n".join(lines))


def _default_counts(most: int) -> list[int]:
    """Return 25, 50, 100, 200, ... up to a model's number of components, and that number.

    Examples
    --------
    >>> _default_counts(184)
    [25, 50, 100, 184]
    """
    return [*(count for count in COUNTS if count < most), most]


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


def _rebuilt_facts(result: Any, counts: list[int], faces: Any, out: str, space: Any) -> dict[str, Any]:
    return {
        "picture": faces.names[0],
        "sha256": faces.hashes[0],
        "light": space.light,
        "rmse_unit": _unit(space.light).removeprefix("RMSE").lstrip(", "),
        "reconstructions": [
            {"components": r, "relative_error": e, "rmse": q}
            for r, e, q in zip(counts, result["relative"], result["rmse"], strict=True)
        ],
        "out": out,
    }


def _fit_facts(model: Any, faces: Any, out: str) -> dict[str, Any]:
    from gramian.report.facts import certificate_facts, payload, plan_facts, skipped_facts

    height, width = model.picture_shape_
    shares = model.explained_variance_ratio_
    return {
        "source": faces.source,
        "pictures": len(faces),
        "people": model.n_people_ or None,
        "skipped": skipped_facts(faces.skipped),
        "notes": [*faces.notes, *model.notes_],
        "size": {"width": width, "height": height},
        **payload(model, "light", "shift", "kernel"),
        "components": model.n_components_,
        "explained_variance_ratio": None if shares is None else float(shares.sum()),
        "eigenvalues": model.eigenvalues_,
        "face_threshold": model.face_threshold_,
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
    share = "" if shares is None else f": {100 * float(shares.sum()):.1f} % of the variance"
    *notes, measured = (note[0].upper() + note[1:] for note in model.notes_)
    if model.face_scores_.size:
        measured += f": {100 * model.face_keep_:g} % have a distance of at most {model.face_threshold_:.4f}"
    return [
        f"{len(faces):,} pictures{of}, {width}x{height}{bad}; light: {model.light}.",
        f"{counted(model.n_components_, 'component')}{share}.",
        *(f"{note}." for note in (*notes, measured)),
        "",
        str(model.plan_),
        "",
        str(model.certificate_),
        "",
        f"Written: {shown(out)}. It can reproduce the pictures, so protect it like them.",
    ]
