"""Models and galleries of faces: fit, reconstruct, enroll, forget, list, identify, verify."""

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
FAR_TEXT = "False accept rate: share of strangers that may be accepted."
FAR_USUAL = "the smallest rate that the people of the gallery can show"
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
    n_components: Annotated[int | float, verb.Option("K", short="-k", check=verb.check_count)] = 0.95,
    light: str = "none",
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
    light : HOW
        Illumination correction: none or equalise.

    Files
    -----
    out : FILE
        The model, FILE.gramian.
    """
    from gramian.faces.space import FaceSpace
    from gramian.report.facts import certificate_facts, plan_facts, skipped_facts

    model = FaceSpace(n_components, light=light, random_state=random_state).fit(pictures)
    height, width = model.picture_shape_
    share = float(model.explained_variance_ratio_.sum())
    facts = {
        "source": pictures.source,
        "pictures": len(pictures),
        "people": model.n_people_ or None,
        "skipped": skipped_facts(pictures.skipped),
        "notes": [*pictures.notes, *model.notes_],
        "size": {"width": width, "height": height},
        "light": model.light_,
        "components": model.n_components_,
        "explained_variance_ratio": share,
        **{name: getattr(model, f"{name}_") for name in FACTS},
        "plan": plan_facts(model.plan_),
        "certificate": certificate_facts(model.certificate_),
    }
    people = f" of {model.n_people_:,} people" if model.n_people_ else ""
    bad = f", {len(pictures.skipped)} skipped" if pictures.skipped else ""
    (note,) = model.notes_
    measured = note[0].upper() + note[1:]
    if model.face_scores_.size:
        measured += f": {100 * model.face_keep_:g} % have a distance of at most {model.face_threshold_:.4f}"
    lines = [
        f"{len(pictures):,} pictures{people}, {width}x{height}{bad}; light: {model.light_}.",
        f"{counted(model.n_components_, 'component')}: {100 * share:.1f} % of the variance.",
        f"{measured}.",
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

    Draws the original and the reconstructions, and prints the relative error |x - x~| / |x - mean|.

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
    from gramian.figures.images import contact_sheet, grey, grey_range

    most = model.n_components_
    counts = n_components or [*(count for count in COUNTS if count < most), most]
    if len(picture) != 1:
        problem = f"{shown(picture.source)} contains {len(picture):,} pictures."
        raise ParameterError("picture", problem=problem, hint="Name one.")
    relative = model.errors(picture, counts)[0].tolist()
    original = model.relight(picture)[0]
    rebuilt = [model.reconstruct(picture, count)[0] for count in counts]
    rows = list(zip(counts, relative, strict=True))
    facts = {
        "picture": picture.names[0],
        "light": model.light_,
        "reconstructions": [{"components": count, "relative_error": error} for count, error in rows],
    }
    lines = [
        f"{picture.names[0]}, reconstructed:\n",
        f"{'components':>10}{'relative error':>17}",
        *(f"{count:>10}{error:>17.4f}" for count, error in rows),
        "\nRelative error: |x - x~| / |x - mean|.",
    ]
    captions = ["original", *(f"r={count} {error:.3f}" for count, error in rows)]
    pixels = [grey(picture, *grey_range(original)) for picture in (original, *rebuilt)]
    return verb.Result("\n".join(lines), facts, content=contact_sheet(pixels, captions, len(pixels)).png)


# ------------------------------------------------------------------ galleries


@of_model(doing="enrolling")
def enroll(
    model: Model,
    gallery: Annotated[Any, GALLERY._replace(access="change")],
    pictures: Annotated[Any, PICTURES._replace(required=True)],
    *,
    person: str | None = None,
) -> verb.Result:
    """Add people to a gallery.

    The model is not fitted again. Either all pictures are added, or none.

    Parameters
    ----------
    gallery
        The file of people; created if it does not exist.
    person : NAME, default: the names of folders in a folder
        The person on the pictures.
    """
    import numpy as np

    from gramian.faces.gallery import changing
    from gramian.report.facts import skipped_facts

    used, skipped = list(filter(len, pictures)), _skipped(pictures)
    if not used:
        raise DataError("None of the pictures can be used, so nobody was enrolled.")
    people = [who for faces in used for who in _people(faces, person)]
    vectors = np.concatenate([model.transform(faces) for faces in used])
    with changing(gallery, model) as opened:
        enrolled = opened.enroll(people, vectors, [digest for faces in used for digest in faces.hashes])
    names = [name for faces in used for name in faces.names]
    scores = np.concatenate([model.face_score(faces) for faces in used])
    unlike = [name for name, score in zip(names, scores, strict=True) if score > model.face_threshold_]
    notes = []
    if unlike:
        number = f"{len(unlike)} of {counted(len(scores), 'enrolled picture')}"
        which = first_few(unlike, shown, SHOWN)
        notes.append(f"warning: {number} not recognised as a face: {which}. Check them.")
    lines = [
        *(f"{who}: {count} enrolled" for who, count in enrolled.counts.items()),
        "",
        f"{enrolled}{f', {len(skipped)} skipped' if skipped else ''}. Written: {gallery}",
    ]
    facts: dict[str, Any] = {
        "gallery": str(gallery),
        "enrolled": sum(enrolled.counts.values()),
        "people": [{"person": who, "enrolled": count} for who, count in enrolled.counts.items()],
        "known_already": enrolled.known,
        "looks_like_no_face": unlike,
        "notes": [note for faces in used for note in faces.notes],
        "far": None,
        "predicted_false_reject": None,
        "skipped": skipped_facts(skipped),
    }
    try:
        recogniser = opened.recogniser()
    except DataError as error:  # too few people yet
        notes.append(f"warning: enrolled, but nobody can be recognised yet. {error}")
    else:
        rejected = recogniser.predicted_false_reject_
        facts |= {"far": recogniser.far_, "predicted_false_reject": rejected}
        lines += [
            "",
            f"identify uses the false accept rate {recogniser.far_:g}; --far changes it. {_lost(rejected)}.",
        ]
    return verb.Result(_text(lines), facts, notes)


def _lost(rejected: float | None) -> str:
    share = "An unknown share" if rejected is None else f"{100 * rejected:.3g} %"
    return f"{share} of new pictures of enrolled people are predicted to be rejected"


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
    from gramian.faces.gallery import changing

    with changing(gallery) as opened:
        name = opened.person(person)
        removed = opened.forget(name)
    text = f"{counted(removed, 'picture')} of {name} removed from {gallery}."
    return verb.Result(_text([text]), {"gallery": str(gallery), "person": name, "removed": removed})


@verb.about(shell_only=True)
def list_(gallery: Annotated[Any, GALLERY]) -> verb.Result:
    """List the people in a gallery."""
    from gramian.report.facts import gallery_facts

    people = gallery.counts()
    lines = [
        f"{counted(len(people), 'person', 'people')}, {counted(len(gallery), 'picture')}; model "
        f"{gallery.fingerprint[:12]}, {counted(len(gallery.variances), 'component')}.",
        *(f"{name}: {counted(count, 'picture')}" for name, count in people.items()),
    ]
    return verb.Result(_text(lines), gallery_facts(gallery) | {"pictures": len(gallery)})


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

    recogniser, skipped = gallery.recogniser(far), _skipped(pictures)
    ask: Any = recognition.verify if person else recognition.identify
    answers: list[tuple[str, Any]] = []
    for faces in filter(len, pictures):
        answers += zip(faces.names, ask(model, recogniser, faces, *person), strict=True)
    calibration = calibration_facts(recogniser, *(person or (None,)))
    facts = {
        "calibration": calibration,
        "answers": [{"picture": name} | asdict(answer) for name, answer in answers],
        "skipped": skipped_facts(skipped),
    }
    lines = [f"{name}: {answer}" for name, answer in answers]
    if answers:
        whose = f"other people's pictures are accepted as {person[0]}" if person else "strangers are accepted"
        accepted = calibration["predicted_false_accept"]
        share = "an unknown share" if accepted is None else f"{100 * accepted:.3g} %"
        lines += [
            "",
            f"{counted(calibration['people'], 'person', 'people')} enrolled; false accept rate "
            f"{calibration['far']:g}; similarity threshold {calibration['threshold']:.3g}. Predicted: "
            f"{share} of {whose}. {_lost(calibration['predicted_false_reject'])}.",
            *calibration["notes"],
        ]
    unanswered = bool(skipped) or any(answer.kind != "person" for _, answer in answers)
    return verb.Result(_text(lines), facts, unanswered=unanswered)


def _skipped(pictures: Any) -> list[tuple[str, str]]:
    return [path for faces in pictures for path in faces.skipped]


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(shown, lines))
