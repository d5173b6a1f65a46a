"""The group ``gramian faces`` and its commands."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from gramian.checks import counted, shown
from gramian.cli.inputs import read_model
from gramian.cli.options import Application, JsonFlag, argument, help_alone, out, required
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress, say
from gramian.errors import DataError, FileError, ParameterError
from gramian.operations.faces import Enroll, FitFaces, Recognise
from gramian.operations.shared import read_components, read_counts
from gramian.options import flag, option

FacesData = Annotated[
    str,
    argument(
        "DIR",
        "A folder of folders of pictures, one a person; a folder of pictures; a .zip of either; "
        "or an .npz file with pictures X and people y.",
    ),
]
FacesModel = Annotated[str, argument("MODEL", "A file written by faces fit.")]
GalleryFile = Annotated[str, argument("GALLERY", "A file written by faces enroll.")]
Pictures = Annotated[
    list[str],
    argument("PICTURE..", "Picture files, folders or zips of them, or an .npz file."),
]
FIT, ENROLL, RECOGNISE = FitFaces(), Enroll(), Recognise()
STRICT = flag("Stop at a bad picture instead of reporting and skipping it.")


# ------------------------------------------------------------------ reading


def open_model(model: str) -> Any:
    """Open a saved model of faces.

    Raises
    ------
    ParameterError
        If it is a model of something else.
    """
    from gramian.faces.space import FaceSpace

    result = read_model(model)
    if not isinstance(result, FaceSpace):
        raise ParameterError(
            "model",
            problem=f"{shown(model)} holds a {type(result).__name__}, not a model of faces.",
            hint="Fit one with: gramian faces fit DIR -o faces.gramian",
        )
    return result


def read_pictures(data: Any, *, size: Any = None, strict: bool = False, keep_files: bool = False) -> Any:
    """Read pictures of faces, and report skipped pictures and notes on standard error.

    Parameters
    ----------
    data : path, or list of paths
    size : "WIDTHxHEIGHT" or (width, height), optional
    strict, keep_files : bool

    Returns
    -------
    gramian.faces.Faces
    """
    from gramian.faces.reading import read_faces

    with progress(f"reading {shown(data) if isinstance(data, str) else 'pictures'}"):
        faces = read_faces(data, size=size, strict=strict, keep_files=keep_files)
    for name, why in faces.skipped:
        say(f"gramian: skipped: {name} {why}")
    for note in faces.notes:
        say(f"gramian: {note}")
    return faces


# ------------------------ The commands ``faces fit`` and ``reconstruct``

COUNTS = (25, 50, 100, 200, 400, 800, 1600)


def fit(
    data: FacesData,
    out: Annotated[str, out("FILE", "The model, FILE.gramian.")],
    size: str | None = option("WxH", "Resize pictures to this size."),
    strict: bool = STRICT,
    options: FitFaces = FIT,
    as_json: JsonFlag = False,
) -> None:
    """Fit a model of faces to pictures.

    Colour is converted to grey by ITU-R 601-2 luma, and pictures are rotated as their camera recorded. Bad
    pictures are reported and skipped. The limit of what is recognised as a face comes from held-out pictures:
    99 % of them are within it.
    """
    from gramian.faces.space import FaceSpace

    wanted: Any = read_components(options.components)
    check_out(out, data, ends=[".gramian"], writes="faces fit writes a model")
    faces = read_pictures(data, size=size, strict=strict)
    model = FaceSpace(
        wanted,
        kernel=options.kernel,
        light=options.light,
        shift=options.shift,
        random_state=options.seed,
    )
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
        "R,R,..", "Numbers of components.", None, "-r", "--components", usual="25,50,100,.. and all"
    ),
    as_json: JsonFlag = False,
) -> None:
    """Reconstruct a picture from increasing numbers of components.

    Draws the original and the reconstructions, and prints the relative error |x - x~| / |x - mean| and the
    root mean square error in grey values.
    """
    from gramian.plots.images import strip

    wanted = None if counts is None else read_counts("n_components", counts)
    check_out(out, picture, ends=[".png"], writes="the strip is a picture")
    space = open_model(model)
    wanted = wanted or _default_counts(space.n_components_)
    height, width = space.picture_shape_
    faces = read_pictures(picture, size=(width, height), strict=True)
    if len(faces) != 1:
        raise ParameterError(
            "picture", problem=f"{shown(picture)} contains {len(faces):,} pictures.", hint="Name one."
        )
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


# ---- The commands about people: ``faces enroll``, ``forget``, ``list``, ``identify`` and ``verify``

SHOWN = 3
Skipped = tuple[str, str]


def enroll(
    model: FacesModel,
    gallery: Annotated[str, argument("GALLERY", "The file of people; created if it does not exist.")],
    pictures: Pictures,
    person: str | None = option(
        "NAME", "The person on the pictures.", usual="the names of folders in a folder"
    ),
    options: Enroll = ENROLL,
    strict: bool = STRICT,
    as_json: JsonFlag = False,
) -> None:
    """Add people to a gallery.

    The model is not fitted again. Either all pictures are added, or none.
    """
    from gramian.faces.gallery import Gallery, enroll_into
    from gramian.io.files import locate
    from gramian.report.facts import skipped_facts

    name = None if person is None else _named(person)
    space = open_model(model)
    # Before long work: is this a gallery, of this model, that may be changed?
    if os.path.lexists(gallery):
        Gallery.open(gallery, space).close()
    else:
        check_out(gallery)
    for picture in pictures:
        if not (os.path.exists(picture) or _is_picture(picture)):
            locate(picture)
    given, skipped = _read_arguments(pictures, space, strict=strict, keep_files=options.keep_pictures)
    if not given:
        raise DataError("None of the pictures can be used, so nobody was enrolled.")
    people = [who for faces in given for who in _people(faces, name)]
    with progress("projecting"):
        vectors, strange = _projected(given, space)
    with progress("writing the gallery"):
        enrolled = enroll_into(
            gallery,
            space,
            people,
            vectors,
            [digest for faces in given for digest in faces.hashes],
            [file for faces in given for file in faces.files] if options.keep_pictures else None,
            sources=[name for faces in given for name in faces.names],
        )
    recogniser = _recogniser(gallery, space)
    facts = _enrolled_facts(gallery, enrolled, given, strange)
    facts |= _trade(recogniser) | {"skipped": skipped_facts(skipped)}
    answer(as_json, facts, _text([*_enrolled_lines(facts, enrolled), *_trade_lines(recogniser)]))


def _named(person: str) -> str:
    """Return the name that was given to a command, which is at fault where it is none."""
    from gramian.faces.gallery import person_name

    try:
        return person_name(person)
    except DataError as error:
        raise ParameterError("--person", person, problem=f"--person: {error._text}") from error


def _people(faces: Any, person: str | None) -> list[str]:
    """Say who is on each picture: the person named, or the folders."""
    folders = faces.people
    if person is None:
        if folders is None:
            raise ParameterError(
                "--person",
                problem=f"{shown(faces.names[0])}: the person is not known.",
                hint="Give --person NAME, or a folder with one folder for each person.",
            )
        return list(folders)
    if folders is not None and len(set(folders)) > 1:
        raise ParameterError(
            "--person",
            person,
            problem=f"{shown(faces.source)} has folders of {len(set(folders)):,} people, "
            "but --person names one.",
            hint="Leave --person out, or name one of the folders.",
        )
    return [person] * len(faces)


def _projected(given: list[Any], space: Any) -> tuple[Any, list[str]]:
    """Return the vectors of all pictures, and the names of those that look like no face."""
    import numpy as np

    vectors = np.concatenate([space.transform(faces) for faces in given])
    strange = []
    for faces in given:
        unlike = space.face_score(faces) > space.face_threshold_
        strange += [faces.names[i] for i in np.flatnonzero(unlike)]
    if strange:
        names = ", ".join(shown(name) for name in strange[:SHOWN]) + (", ..." if len(strange) > SHOWN else "")
        say(
            f"gramian: warning: {len(strange)} of {counted(len(vectors), 'enrolled picture')} not recognised "
            f"as a face: {names}. Check them."
        )
    return vectors, strange


def _enrolled_facts(gallery: str, enrolled: Any, given: list[Any], strange: list[str]) -> dict[str, Any]:
    known = Counter(who for who, _ in enrolled.repeated)
    return {
        "gallery": gallery,
        "enrolled": sum(enrolled.counts.values()),
        "people": [
            {"person": who, "enrolled": count, "known_already": known[who]}
            for who, count in enrolled.counts.items()
        ],
        "known_already": [{"person": who, "picture": source} for who, source in enrolled.repeated],
        "looks_like_no_face": strange,
        "notes": [note for faces in given for note in faces.notes],
    }


def _enrolled_lines(facts: dict[str, Any], enrolled: Any) -> list[str]:
    lines = []
    for entry, person in zip(facts["people"], _padded(enrolled.counts), strict=True):
        known = f", {entry['known_already']} known already" if entry["known_already"] else ""
        lines.append(f"{person}  {entry['enrolled']} enrolled{known}")
    skipped = f", {len(facts['skipped'])} skipped" if facts["skipped"] else ""
    return [*lines, "", f"{enrolled}{skipped}. Written: {shown(facts['gallery'])}"]


def _recogniser(gallery: str, space: Any) -> Any:
    """Return the recogniser of a gallery, or None where its settings do not suit who is in it yet."""
    from gramian.faces.gallery import Gallery

    with Gallery.open(gallery, space, read_only=True) as opened, progress("finding thresholds"):
        try:
            return opened.recogniser()
        except DataError as error:
            say(f"gramian: warning: enrolled, but nobody can be recognised yet. {error.worded('shell')}")
    return None


def _trade(recogniser: Any) -> dict[str, Any]:
    if recogniser is None:
        return {"far": None, "trade": []}
    from gramian.report.facts import rates

    return {"far": recogniser.far_, "trade": [rates(one) for one in recogniser.calibration_.trade]}


def _trade_lines(recogniser: Any) -> list[str]:
    if recogniser is None:
        return []
    source = "as stored in the gallery"
    if recogniser.far is None:
        source = f"the default for {counted(len(recogniser.people_), 'person', 'people')}"
    return ["", f"{recogniser.calibration_} identify uses {recogniser.far_:g}, {source}; --far changes it."]


# ------------------------------------------------------------------ pictures


def _read_arguments(
    pictures: Sequence[str], space: Any, *, strict: bool = False, keep_files: bool = False
) -> tuple[list[Any], list[Skipped]]:
    """Read pictures in a model's size, and say what was skipped, resized and stretched.

    The Faces of each argument, or of several picture files in a row, have names by which pictures can be
    found from where the command was called. An argument of which nothing can be used is skipped, as a
    picture is, unless it is strict.
    """
    sources = _sources(pictures)
    given: list[Any] = []
    skipped: list[Skipped] = []
    while sources:
        source = sources.pop(0)
        try:
            given.append(_read(source, space, strict, keep_files))
            skipped += given[-1].skipped
        except (DataError, FileError) as error:
            if strict:
                raise
            if isinstance(source, list) and len(source) > 1:
                # Which of them are bad is seen when each is read alone.
                sources[:0] = [[one] for one in source]
                continue
            skipped.append((shown(source if isinstance(source, str) else source[0]), shown(error)))
            say(f"gramian: skipped: {shown(error)}")
    return given, skipped


def _is_picture(name: str) -> bool:
    from gramian.io.names import PICTURE_SUFFIXES

    return not os.path.isdir(name) and Path(name).suffix.lower() in PICTURE_SUFFIXES


def _sources(pictures: Sequence[str]) -> list[str | list[str]]:
    """Take picture files that follow each other together: they are read as one list."""
    sources: list[str | list[str]] = []
    for files, group in groupby(pictures, _is_picture):
        some = list(group)
        sources += [some] if files else some
    return sources


def _read(source: str | list[str], space: Any, strict: bool, keep_files: bool) -> Any:
    height, width = space.picture_shape_
    faces = read_pictures(source, size=(width, height), strict=strict, keep_files=keep_files)
    if other := faces.stretched():
        first, (w, h) = other[0]
        say(
            f"gramian: warning: {len(other)} of {counted(len(faces), 'picture')} stretched to the model's "
            f"{width}x{height}, the first {first} of {w}x{h}. Answers are unreliable unless pictures are "
            "cropped and aligned."
        )
    if isinstance(source, list):
        return faces
    return replace(faces, names=tuple(f"{source.rstrip('/')}/{name}" for name in faces.names))


# ------------------------------------------------------------------ forget, list


def forget(
    gallery: GalleryFile,
    person: Annotated[str, required("NAME", "The person to remove.", "--person")],
) -> None:
    """Remove all data of a person from a gallery."""
    from gramian.faces.gallery import Gallery

    name = _named(person)
    with Gallery.open(gallery) as opened, progress("forgetting"):
        removed = opened.forget(name)
    print(f"{counted(removed, 'picture')} of {name} removed from {shown(gallery)}.")


def list_people(gallery: GalleryFile, as_json: JsonFlag = False) -> None:
    """List the people in a gallery."""
    from gramian.faces.gallery import Gallery
    from gramian.report.facts import gallery_facts

    with Gallery.open(gallery, read_only=True) as opened:
        facts, people, settings = gallery_facts(opened), opened.people(), opened.settings
    pictures = sum(person.pictures for person in people)
    facts |= {"gallery": gallery, "created": opened.created, "pictures": pictures}
    lines = [
        f"{counted(len(people), 'person', 'people')}, {counted(pictures, 'picture')}; created "
        f"{_shown_time(opened.created)} with the model {opened.fingerprint[:12]}, "
        f"{opened.n_components:,} components."
    ]
    if settings:
        lines.append("Settings: " + ", ".join(f"{name} {value}" for name, value in settings.items()) + ".")
    head, *names = _padded(["person", *(shown(person.name) for person in people)])
    lines += ["", f"{head}  pictures  stored  first enrolled        last enrolled"] if people else []
    for name, person in zip(names, people, strict=True):
        first, last = _shown_time(person.first), _shown_time(person.last)
        lines.append(f"{name}  {person.pictures:>8}  {person.kept:>6}  {first}  {last}")
    answer(as_json, facts, _text(lines))


def _shown_time(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", "Z")


# ------------------------------------------------------------------ identify, verify


def identify(
    model: FacesModel,
    gallery: GalleryFile,
    pictures: Pictures,
    options: Recognise = RECOGNISE,
    as_json: JsonFlag = False,
) -> None:
    """Identify the person on each picture.

    The answer is a person of the gallery, an unknown person, or not a face. Exits with 0 when a person was
    recognised on every picture, otherwise with 1. There is no liveness check: a photograph of a person is
    accepted like the person.
    """
    _answer(model, gallery, pictures, None, options.far, as_json)


def verify(
    model: FacesModel,
    gallery: GalleryFile,
    pictures: Pictures,
    person: Annotated[str, required("NAME", "The claimed person.", "--person")],
    options: Recognise = RECOGNISE,
    as_json: JsonFlag = False,
) -> None:
    """Verify that pictures show a given person.

    Exits with 0 when every picture does, otherwise with 1. There is no liveness check: a photograph of a
    person is accepted like the person.
    """
    _answer(model, gallery, pictures, person, options.far, as_json)


def _answer(
    model: str,
    gallery: str,
    pictures: Sequence[str],
    person: str | None,
    far: float | None,
    as_json: bool,
) -> None:
    """Print the answers; exit with 1 where no person was recognised on a picture."""
    from gramian.faces import recognition
    from gramian.faces.gallery import Gallery
    from gramian.report.facts import calibration_facts, skipped_facts

    space = open_model(model)
    with Gallery.open(gallery, space, read_only=True) as opened:
        if person is not None:
            person = opened.person(person)
        with progress("reading the gallery"):
            recogniser = opened.recogniser(far=far)
    given, skipped = _read_arguments(pictures, space)
    answered: list[tuple[str, Any]] = []
    with progress("comparing"):
        for faces in given:
            ask, whom = (recognition.identify, ()) if person is None else (recognition.verify, (person,))
            answered += zip(faces.names, ask(space, recogniser, faces, *whom), strict=True)
    calibration = calibration_facts(recogniser, person)
    facts = {
        "gallery": gallery,
        "calibration": calibration,
        "answers": [{"picture": name} | asdict(said) for name, said in answered],
        "skipped": skipped_facts(skipped),
    }
    if as_json or answered:
        said = (f"{name}: {one}" for name, one in answered)
        answer(as_json, facts, _text([*said, "", *_calibration_lines(calibration, person)]))
    if skipped or any(said.kind != "person" for _, said in answered):
        raise typer.Exit(1)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(shown, lines))


def _padded(names: Iterable[str]) -> list[str]:
    """Return names in equally many places of a terminal, where some letters take two."""
    from rich.cells import cell_len, set_cell_size

    width = max(map(cell_len, names))
    return [set_cell_size(name, width) for name in names]


def _calibration_lines(facts: dict[str, Any], person: str | None) -> list[str]:
    accepted = "of strangers' pictures are accepted"
    if person is not None:
        accepted = f"of other people's pictures are accepted as {person}"
    rejected = facts["predicted_false_reject"]
    own = "an unknown share" if rejected is None else f"{100 * rejected:.3g} %"
    default = " (the default for so many people)" if facts["far_asked"] is None else ""
    many = counted(facts["people"], "person", "people")
    first = (
        f"{many} enrolled; false accept rate {facts['far']:g}{default}; "
        f"similarity threshold {facts['threshold']:.3g}. Predicted: "
        f"{100 * facts['predicted_false_accept']:.3g} % {accepted}, {own} of new pictures of enrolled people "
        "are rejected."
    )
    return [first, *facts["notes"]]


# -------------------------- The group ``gramian faces`` and its commands

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
