"""Models and galleries of faces: fit, reconstruct, enroll, forget, list, identify, verify."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from gramian.app import verb
from gramian.core.checks import counted, first_few, shown
from gramian.errors import DataError, ParameterError

COUNTS = (25, 50, 100, 200, 400, 800, 1600)
SHOWN = 3  # names of pictures in a warning
FACTS = ("eigenvalues", "face_threshold", "face_keep", "fingerprint")  # attributes of a model


PICTURES = verb.Input(
    "faces", "PICTURE..", "Picture files, folders or zips of them, or an .npz file.", many=True
)
GALLERY = verb.Input("gallery", "GALLERY", "A file written by faces enroll.")
Model = Annotated[Any, verb.Input("model", "MODEL", "A file written by faces fit.")]
Strict = Annotated[bool, verb.Option("", "Stop at a bad picture instead of reporting and skipping it.")]
FAR_TEXT = "False accept rate: share of strangers that may be accepted."
FAR_USUAL = "as stored in the gallery, or the smallest rate that its people can show"
Far = Annotated[float | None, verb.Option("SHARE", FAR_TEXT, FAR_USUAL)]


def _check_model(values: Mapping[str, Any], model: Any) -> None:
    problem = f"This is a {type(model).__name__}, not a model of faces."
    verb.require_model(
        model.model_kind.faces, problem, "Fit one with: gramian faces fit DIR -o faces.gramian"
    )


of_model = partial(verb.about, check=_check_model, shell_only=True)


# ------------------------------------------------------------------ models


@verb.about(shell_only=True, documented={"": "gramian.faces.space:FaceSpace"})
def fit(
    pictures: Annotated[Any, verb.Input("faces")],
    *,
    size: str | None = None,
    strict: Strict = False,
    n_components: Annotated[int | float, verb.Option("K", short="-k", check=verb.check_count)] = 0.95,
    kernel: str | None = None,
    light: str = "none",
    shift: Annotated[float, verb.Option("SHARE")] = 0.0,
    random_state: verb.Seed = 0,
) -> Annotated[verb.Result, verb.Output("model", ends=(".gramian",), key="out", required=True)]:
    """Fit a model of faces to pictures.

    Colour is converted to grey by ITU-R 601-2 luma, and pictures are rotated as their camera recorded. Bad
    pictures are reported and skipped. The limit of what is recognised as a face comes from held-out pictures:
    99 % of them are within it.

    Parameters
    ----------
    pictures : DIR
        A folder of folders of pictures, one a person; a folder of pictures; a .zip of either; or an .npz file
        with pictures X and people y.
    size : WxH
        Resize pictures to this size.
    kernel : KERNEL, default: PCA
        Kernel for kernel PCA, such as rbf.
    light : HOW
        Illumination correction: none, log, equalise, dog, or auto.

    Files
    -----
    out : FILE
        The model, FILE.gramian.
    """
    from gramian.faces.space import FaceSpace
    from gramian.report.facts import certificate_facts, payload, plan_facts, skipped_facts

    model = FaceSpace(n_components, kernel=kernel, light=light, shift=shift, random_state=random_state).fit(
        pictures
    )
    height, width = model.picture_shape_
    shares = model.explained_variance_ratio_
    facts = {
        "source": pictures.source,
        "pictures": len(pictures),
        "people": model.n_people_ or None,
        "skipped": skipped_facts(pictures.skipped),
        "notes": [*pictures.notes, *model.notes_],
        "size": {"width": width, "height": height},
        "light": model.light_,
        **payload(model, "shift", "kernel"),
        "components": model.n_components_,
        "explained_variance_ratio": None if shares is None else float(shares.sum()),
        **{name: getattr(model, f"{name}_") for name in FACTS},
        "plan": plan_facts(model.plan_),
        "certificate": certificate_facts(model.certificate_),
    }
    people = f" of {model.n_people_:,} people" if model.n_people_ else ""
    bad = f", {len(pictures.skipped)} skipped" if pictures.skipped else ""
    share = "" if shares is None else f": {100 * float(shares.sum()):.1f} % of the variance"
    *notes, measured = (note[0].upper() + note[1:] for note in model.notes_)
    if model.face_scores_.size:
        measured += f": {100 * model.face_keep_:g} % have a distance of at most {model.face_threshold_:.4f}"
    lines = [
        f"{len(pictures):,} pictures{people}, {width}x{height}{bad}; light: {model.light_}.",
        f"{counted(model.n_components_, 'component')}{share}.",
        *(f"{note}." for note in (*notes, measured)),
        f"\n{model.plan_}\n\n{model.certificate_}\n",
    ]
    written = ". It can reproduce the pictures, so protect it like them."
    return verb.Result("\n".join(lines), facts, model=model, written=written)


@of_model(doing="reconstructing")
def reconstruct(
    model: Model,
    picture: Annotated[Any, verb.Input("faces", required=True)],
    *,
    n_components: Annotated[list[int] | None, verb.Option(short="-k")] = None,
) -> Annotated[verb.Result, verb.Output("file", ends=(".png",), key="out", required=True)]:
    """Reconstruct a picture from increasing numbers of components.

    Draws the original and the reconstructions, and prints the relative error |x - x~| / |x - mean| and the
    root mean square error in grey values.

    Parameters
    ----------
    picture : PICTURE
        A picture file.
    n_components : K,K,.., default: 25,50,100,.. and all
        Numbers of components.

    Files
    -----
    out : FILE
        A .png file.
    """
    import numpy as np

    from gramian.faces.face_images import relight, unlight
    from gramian.figures.images import contact_sheet, grey, grey_range

    most, light = model.n_components_, model.light_
    default = [*(count for count in COUNTS if count < most), most]
    counts = n_components or default
    if len(picture) != 1:
        problem = f"{shown(picture.source)} contains {len(picture):,} pictures."
        raise ParameterError("picture", problem=problem, hint="Name one.")
    relative = model.errors(picture, counts)[0].tolist()
    original = unlight(relight(picture.pictures, light), light)[0]
    rebuilt = np.stack([unlight(model.reconstruct(picture, count), light)[0] for count in counts])
    rmse = np.sqrt(np.mean((rebuilt.astype(float) - original) ** 2, axis=(1, 2))).tolist()
    unit = "grey values" if light in ("none", "log") else f"after {light}"
    rows = list(zip(counts, relative, rmse, strict=True))
    facts = {
        "picture": picture.names[0],
        "sha256": picture.hashes[0],
        "light": light,
        "rmse_unit": unit,
        "reconstructions": [{"components": r, "relative_error": e, "rmse": q} for r, e, q in rows],
    }
    head = f"RMSE {unit}" if unit.startswith("after") else f"RMSE, {unit}"
    lines = [
        f"{picture.names[0]}, reconstructed:\n",
        f"{'components':>10}{'relative error':>17}{head:>24}",
        *(f"{r:>10}{e:>17.4f}{q:>24.3f}" for r, e, q in rows),
        "\nRelative error: |x - x~| / |x - mean|.",
    ]
    captions = ["original", *(f"r={r} {e:.3f}" for r, e, _ in rows)]
    pixels = [grey(picture, *grey_range(original)) for picture in (original, *rebuilt)]
    return verb.Result("\n".join(lines), facts, content=contact_sheet(pixels, captions, len(pixels)).png)


# ------------------------------------------------------------------ galleries


@of_model(doing="enrolling")
def enroll(
    model: Model,
    gallery: Annotated[Any, GALLERY._replace(access="create")],
    pictures: Annotated[Any, PICTURES._replace(required=True)],
    *,
    person: str | None = None,
    keep_files: bool = False,
    strict: Strict = False,
) -> verb.Result:
    """Add people to a gallery.

    The model is not fitted again. Either all pictures are added, or none.

    Parameters
    ----------
    gallery
        The file of people; created if it does not exist.
    person : NAME, default: the names of folders in a folder
        The person on the pictures.
    keep_files
        Store the picture files too, not only their vectors and hashes.
    """
    import numpy as np

    from gramian.faces.gallery import Gallery, enroll_into
    from gramian.report.facts import rates, skipped_facts

    name = None if person is None else _named(person)
    used, skipped = list(filter(len, pictures)), _skipped(pictures)
    if not used:
        raise DataError("None of the pictures can be used, so nobody was enrolled.")
    enrolled = enroll_into(
        gallery,
        model,
        [who for faces in used for who in _people(faces, name)],
        np.concatenate([model.transform(faces) for faces in used]),
        [digest for faces in used for digest in faces.hashes],
        [file for faces in used for file in faces.files] if keep_files else None,
        sources=[name for faces in used for name in faces.names],
    )
    repeated, (unlike, notes) = Counter(who for who, _ in enrolled.repeated), _unlike_faces(model, used)
    lines = [
        f"{padded}  {count} enrolled{f', {repeated[who]} known already' if who in repeated else ''}"
        for padded, (who, count) in zip(_padded(enrolled.counts), enrolled.counts.items(), strict=True)
    ]
    lines += ["", f"{enrolled}{f', {len(skipped)} skipped' if skipped else ''}. Written: {gallery}"]
    facts: dict[str, Any] = {
        "gallery": str(gallery),
        "enrolled": sum(enrolled.counts.values()),
        "people": [
            {"person": who, "enrolled": count, "known_already": repeated[who]}
            for who, count in enrolled.counts.items()
        ],
        "known_already": [{"person": who, "picture": source} for who, source in enrolled.repeated],
        "looks_like_no_face": unlike,
        "notes": [note for faces in used for note in faces.notes],
        "far": None,
        "trade": [],
        "skipped": skipped_facts(skipped),
    }
    try:
        recogniser = Gallery.open(gallery, model).recogniser()
    except DataError as error:  # settings that do not suit who is in it yet
        notes.append(f"warning: enrolled, but nobody can be recognised yet. {error}")
    else:
        facts |= {
            "far": recogniser.far_,
            "trade": [rates(is_strange) for is_strange in recogniser.calibration_.trade],
        }
        default = f"the default for {counted(len(recogniser.people_), 'person', 'people')}"
        source = default if recogniser.far is None else "as stored in the gallery"
        rate = f"identify uses {recogniser.far_:g}, {source}; --far changes it."
        lines += ["", f"{recogniser.calibration_} {rate}"]
    return verb.Result(_text(lines), facts, notes)


def _unlike_faces(model: Any, used: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Return the names of pictures that the model takes for no faces, and a warning if there are any."""
    scores = [score for faces in used for score in zip(faces.names, model.face_score(faces), strict=True)]
    unlike = [name for name, score in scores if score > model.face_threshold_]
    number = f"{len(unlike)} of {counted(len(scores), 'enrolled picture')}"
    warning = f"warning: {number} not recognised as a face: {first_few(unlike, shown, SHOWN)}. Check them."
    return unlike, [warning] if unlike else []


def _named(person: str) -> str:
    """Return the name that was given to a command, which is at fault where it is none."""
    from gramian.faces.gallery import person_name

    try:
        return person_name(person)
    except DataError as error:
        raise ParameterError("person", person, problem=f"person: {error}") from error


def _people(faces: Any, person: str | None) -> Sequence[str]:
    """Return who is on each picture: the person named, or the folders."""
    folders = faces.people
    if person is None:
        if folders is None:
            problem = f"{shown(faces.names[0])}: the person is not known."
            hint = "Give person, or a folder with one folder for each person."
            raise ParameterError("person", problem=problem, hint=hint)
        return tuple(folders)
    if folders is not None and len(set(folders)) > 1:
        people = f"folders of {len(set(folders)):,} people, but person names one."
        hint = "Leave person out, or name one of the folders."
        raise ParameterError("person", person, problem=f"{shown(faces.source)} has {people}", hint=hint)
    return [person] * len(faces)


@verb.about(doing="forgetting", shell_only=True)
def forget(gallery: Annotated[Any, GALLERY._replace(access="change")], *, person: str) -> verb.Result:
    """Remove all data of a person from a gallery.

    Parameters
    ----------
    person : NAME
        The person to remove.
    """
    name, path = _named(person), str(gallery.path)
    removed = gallery.forget(name)
    text = f"{counted(removed, 'picture')} of {name} removed from {path}."
    return verb.Result(_text([text]), {"gallery": path, "person": name, "removed": removed})


@verb.about(shell_only=True)
def list_(gallery: Annotated[Any, GALLERY]) -> verb.Result:
    """List the people in a gallery."""
    from gramian.report.facts import gallery_facts

    people, settings = gallery.people(), gallery.settings
    pictures = sum(person.pictures for person in people)
    facts = gallery_facts(gallery) | {"gallery": str(gallery.path)}
    facts |= {"created": gallery.created, "pictures": pictures}
    lines = [
        f"{counted(len(people), 'person', 'people')}, {counted(pictures, 'picture')}; created "
        f"{_shown_time(gallery.created)} with the model {gallery.fingerprint[:12]}, "
        f"{gallery.n_components:,} components."
    ]
    if settings:
        lines.append("Settings: " + ", ".join(f"{name} {value}" for name, value in settings.items()) + ".")
    head, *names = _padded(["person", *(person.name for person in people)])
    lines += ["", f"{head}  pictures  stored  first enrolled        last enrolled"] if people else []
    for name, person in zip(names, people, strict=True):
        first, last = _shown_time(person.first), _shown_time(person.last)
        lines.append(f"{name}  {person.pictures:>8}  {person.kept:>6}  {first}  {last}")
    return verb.Result(_text(lines), facts)


def _shown_time(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", "Z")


@of_model(doing="comparing")
def identify(
    model: Model, gallery: Annotated[Any, GALLERY], pictures: Annotated[Any, PICTURES], *, far: Far = None
) -> verb.Result:
    """Identify the person on each picture.

    The answer is a person of the gallery, an unknown person, or not a face. Exits with 0 when a person was
    recognised on every picture, otherwise with 1. There is no liveness check: a photograph of a person is
    accepted like the person.
    """
    return _answered(far, model, gallery, pictures)


@of_model(doing="comparing")
def verify(
    model: Model,
    gallery: Annotated[Any, GALLERY],
    pictures: Annotated[Any, PICTURES],
    *,
    person: str,
    far: Far = None,
) -> verb.Result:
    """Verify that pictures show a given person.

    Exits with 0 when every picture does, otherwise with 1. There is no liveness check: a photograph of a
    person is accepted like the person.

    Parameters
    ----------
    person : NAME
        The claimed person.
    """
    return _answered(far, model, gallery, pictures, gallery.person(person))


def _answered(far: float | None, model: Any, gallery: Any, pictures: Any, *person: str) -> verb.Result:
    """Return the answers: of all people, or to whether it is the one named."""
    from gramian.faces import recognition
    from gramian.report.facts import calibration_facts, skipped_facts

    recogniser, skipped = gallery.recogniser(far=far), _skipped(pictures)
    ask: Any = recognition.verify if person else recognition.identify
    answers: list[tuple[str, Any]] = []
    for faces in filter(len, pictures):
        answers += zip(faces.names, ask(model, recogniser, faces, *person), strict=True)
    calibration = calibration_facts(recogniser, *(person or (None,)))
    facts = {
        "gallery": str(gallery.path),
        "calibration": calibration,
        "answers": [{"picture": name} | asdict(answer) for name, answer in answers],
        "skipped": skipped_facts(skipped),
    }
    lines = [f"{name}: {answer}" for name, answer in answers]
    if answers:
        accepted = f"other people's pictures are accepted as {person[0]}" if person else ""
        accepted = accepted or "strangers' pictures are accepted"
        default = " (the default for so many people)" if recogniser.far is None else ""
        share, rejected = (
            "an unknown share" if predicted is None else f"{100 * predicted:.3g} %"
            for predicted in (calibration["predicted_false_accept"], calibration["predicted_false_reject"])
        )
        lines += [
            "",
            f"{counted(calibration['people'], 'person', 'people')} enrolled; false accept rate "
            f"{calibration['far']:g}{default}; similarity threshold {calibration['threshold']:.3g}. "
            f"Predicted: {share} of {accepted}, {rejected} of new pictures of enrolled people are rejected.",
            *calibration["notes"],
        ]
    unanswered = bool(skipped) or any(answer.kind != "person" for _, answer in answers)
    return verb.Result(_text(lines), facts, unanswered=unanswered)


def _skipped(pictures: Any) -> list[tuple[str, str]]:
    return [path for faces in pictures for path in faces.skipped]


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(shown, lines))


def _padded(names: Iterable[str]) -> list[str]:
    """Return names in equally many places of a terminal, where some letters take two."""
    from rich.cells import cell_len, set_cell_size

    names = list(map(shown, names))
    width = max(map(cell_len, names))
    return [set_cell_size(name, width) for name in names]
