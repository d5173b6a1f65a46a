"""The commands about people: ``faces enroll``, ``forget``, ``list``, ``identify`` and ``verify``."""

from __future__ import annotations

import json
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gramian.cli.faces_model import open_model
from gramian.cli.faces_reading import Reading, read_arguments, skipped_facts, without_pictures
from gramian.cli.outputs import check_file, print_json
from gramian.cli.progress import progress, say
from gramian.errors import DataError, ParameterError
from gramian.faces.names import person_name, shown

__all__ = ["enroll", "forget", "identify", "list_people", "verify"]

SHOWN = 3


# ------------------------------------------------------------------ enroll


def enroll(
    *,
    model: str,
    gallery: str,
    pictures: Sequence[str],
    person: str | None,
    keep_pictures: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Add people to a gallery."""
    from gramian.faces.gallery import Gallery
    from gramian.faces.gallery.gallery import enroll_into

    name = None if person is None else _checked_name(person)
    space = open_model(model)
    # Before long work: is this a gallery, of this model, that may be changed?
    if os.path.lexists(gallery):
        Gallery.open(gallery, space).close()
    else:
        check_file(gallery)
    readings, skipped, error = read_arguments(pictures, space, strict=strict, all_there=True)
    if error is not None:
        raise error
    people = [who for reading in readings for who in _people(reading, name)]
    originals = _originals(readings) if keep_pictures else None
    with progress("projecting"):
        vectors, strange = _projected(readings, space)
    with progress("enrolling"):
        enrolled = enroll_into(
            gallery,
            space,
            people,
            vectors,
            [digest for reading in readings for digest in reading.faces.hashes],
            originals,
            sources=[source for reading in readings for source in reading.names],
        )
    facts = _enrolled_facts(gallery, enrolled, readings, strange) | {"skipped": skipped_facts(skipped)}
    if as_json:
        _print_json(facts)
    else:
        _print_lines(_enrolled_lines(facts, enrolled))


def _checked_name(person: str) -> str:
    try:
        return person_name(person)
    except DataError as error:
        raise ParameterError(f"--person: {error}") from error


def _people(reading: Reading, person: str | None) -> list[str]:
    """Say who is on each picture: the person named, or the folders."""
    faces, folders = reading.faces, reading.faces.people
    if person is None:
        if folders is None:
            first = faces.names[0] if isinstance(reading.source, list) else reading.source
            raise ParameterError(
                f"{shown(first)}: who is it? Give --person NAME, or a folder that has a folder for each "
                "person."
            )
        _report_lost(faces)
        return list(folders)
    if folders is not None and len(set(folders)) > 1:
        raise ParameterError(
            f"{shown(reading.source)} has folders of {len(set(folders)):,} people, and all of them would "
            f"become {person}. Leave --person out, or name one folder of it."
        )
    return [person] * len(faces)


def _report_lost(faces: Any) -> None:
    """Say who cannot be enrolled because all pictures in the folder were skipped."""
    for who in without_pictures(faces):
        say(f"gramian: warning: {shown(who)} is not enrolled: none of the pictures can be used.")


def _originals(readings: list[Reading]) -> list[bytes]:
    from gramian.faces.reading import file_bytes

    with progress("reading the files to keep"):
        return [data for reading in readings for data in file_bytes(reading.source, reading.faces)]


def _projected(readings: list[Reading], space: Any) -> tuple[Any, list[str]]:
    """Return the vectors of all pictures, and the names of those that look like no face."""
    import numpy as np

    from gramian.faces.gallery.records import counted

    vectors = np.concatenate([space.transform(reading.faces) for reading in readings])
    strange = []
    for reading in readings:
        scores = space.face_score(reading.faces)
        strange += [reading.names[i] for i in np.flatnonzero(scores > space.face_threshold_)]
    if strange:
        names = ", ".join(shown(name) for name in strange[:SHOWN]) + (", ..." if len(strange) > SHOWN else "")
        one = len(strange) == 1
        say(
            f"gramian: warning: {len(strange)} of {counted(len(vectors), 'picture')} "
            f"{'looks' if one else 'look'} like no face to the model and {'was' if one else 'were'} enrolled "
            f"all the same: {names}. Look at {'it' if one else 'them'}."
        )
    return vectors, strange


def _enrolled_facts(
    gallery: str, enrolled: Any, readings: list[Reading], strange: list[str]
) -> dict[str, Any]:
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
        "notes": [note for reading in readings for note in reading.faces.notes],
    }


def _enrolled_lines(facts: dict[str, Any], enrolled: Any) -> list[str]:
    width = max(_columns(who) for who in enrolled.counts)
    lines = []
    for entry in facts["people"]:
        known = f", {entry['known_already']} known already" if entry["known_already"] else ""
        lines.append(f"{_padded(entry['person'], width)}  {entry['enrolled']} enrolled{known}")
    skipped = f", {len(facts['skipped'])} skipped" if facts["skipped"] else ""
    return [*lines, "", f"{enrolled}{skipped}: {shown(facts['gallery'])}"]


def _print_json(facts: dict[str, Any]) -> None:
    text = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False)
    # What a terminal would not show, or would obey, is written as JSON can.
    if all(line == shown(line) for line in text.split("\n")):
        print_json(facts)
    else:
        print(json.dumps(facts, indent=2, allow_nan=False))


def _columns(text: str) -> int:
    """Return how wide a text is at a terminal."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _columns(text))


# ------------------------------------------------------------------ forget, list


def forget(*, gallery: str, person: str) -> None:
    """Remove every trace of a person from a gallery."""
    from gramian.faces.gallery import Gallery
    from gramian.faces.gallery.records import counted

    name = _checked_name(person)
    with Gallery.open(gallery) as opened, progress("forgetting"):
        removed = opened.forget(name)
    print(f"{name} is forgotten: {counted(removed, 'picture')} removed from {shown(gallery)}.")


def list_people(*, gallery: str, as_json: bool) -> None:
    """Print who is in a gallery."""
    from gramian.faces.gallery import Gallery
    from gramian.faces.gallery.records import counted

    with Gallery.open(gallery, read_only=True) as opened:
        people, settings = opened.people(), opened.settings
    pictures = sum(person.pictures for person in people)
    if as_json:
        facts = {
            "gallery": gallery,
            "model": opened.fingerprint,
            "components": opened.n_components,
            "created": opened.created,
            "settings": settings,
            "pictures": pictures,
            "people": [asdict(person) for person in people],
        }
        _print_json(facts)
        return
    lines = [
        f"{counted(len(people), 'person')}, {counted(pictures, 'picture')}; made "
        f"{_shown_time(opened.created)} with the model {opened.fingerprint[:12]}, "
        f"{opened.n_components:,} components."
    ]
    if settings:
        lines.append("Settings: " + ", ".join(f"{name} {value}" for name, value in settings.items()) + ".")
    names = [shown(person.name) for person in people]
    width = max([_columns("person"), *(_columns(name) for name in names)])
    lines += ["", f"{_padded('person', width)}  pictures  stored  first enrolled        last enrolled"]
    for name, person in zip(names, people, strict=True):
        first, last = _shown_time(person.first), _shown_time(person.last)
        lines.append(f"{_padded(name, width)}  {person.pictures:>8}  {person.kept:>6}  {first}  {last}")
    print("\n".join(lines if people else lines[:-2]))


def _shown_time(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", "Z")


# ------------------------------------------------------------------ identify, verify


def identify(*, model: str, gallery: str, pictures: Sequence[str], far: float | None, as_json: bool) -> bool:
    """Print who is on pictures; return whether every picture was answered with a person."""
    return _answer(model, gallery, pictures, None, far, as_json)


def verify(
    *,
    model: str,
    gallery: str,
    pictures: Sequence[str],
    person: str,
    far: float | None,
    as_json: bool,
) -> bool:
    """Print whether pictures show a certain person; return whether every picture does."""
    return _answer(model, gallery, pictures, _checked_name(person), far, as_json)


def _answer(
    model: str,
    gallery: str,
    pictures: Sequence[str],
    person: str | None,
    far: float | None,
    as_json: bool,
) -> bool:
    from gramian.faces import recognition as asking
    from gramian.faces.gallery import Gallery
    from gramian.report.facts import plain

    space = open_model(model)
    with Gallery.open(gallery, space, read_only=True) as opened:
        if person is not None:
            person = opened.person(person)
        with progress("reading the gallery"):
            recogniser = opened.recogniser(far=far)
    readings, skipped, error = read_arguments(pictures, space)
    answered: list[tuple[str, Any]] = []
    with progress("comparing"):
        for reading in readings:
            found = (
                asking.identify(space, recogniser, reading.faces)
                if person is None
                else asking.verify(space, recogniser, reading.faces, person)
            )
            answered += zip(reading.names, found, strict=True)
    calibration = _calibration(recogniser, person)
    if as_json:
        facts = {
            "gallery": gallery,
            "calibration": calibration,
            "answers": [{"picture": name} | asdict(answer) for name, answer in answered],
            "skipped": skipped_facts(skipped),
        }
        _print_json(plain(facts))
    if error is not None:
        raise error
    if not as_json:
        _print_lines(f"{name}: {answer}" for name, answer in answered)
        print()
        _print_lines(_calibration_lines(calibration, person))
    return not skipped and all(answer.kind == "person" for _, answer in answered)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(shown(line))


def _calibration(recogniser: Any, person: str | None) -> dict[str, Any]:
    found = recogniser.calibration_
    used = found.identify if person is None else found.verify
    return {
        "people": len(recogniser.people_),
        "threshold": used.value,
        "far": used.far,
        "predicted_false_accept": used.false_accept,
        "predicted_false_reject": used.false_reject,
        "extrapolated": not used.observed,
        "impostor_pictures": found.n_impostor,
        "genuine_pictures": found.n_genuine,
        "notes": list(recogniser.notes_ if person is None else recogniser.verify_notes_),
    }


def _calibration_lines(facts: dict[str, Any], person: str | None) -> list[str]:
    from gramian.faces.gallery.records import counted

    whom = "strangers are predicted to get a name"
    if person is not None:
        whom = f"other people are predicted to be taken for {person}"
    rejected = facts["predicted_false_reject"]
    own = "how many of one's own are refused is not known"
    if rejected is not None:
        own = f"{100 * rejected:.3g} % of new pictures of people enrolled to be refused"
    first = (
        f"{counted(facts['people'], 'person')} enrolled; a likeness of {facts['threshold']:.3g} is needed. "
        f"By that {100 * facts['predicted_false_accept']:.3g} % of the pictures of {whom}, and {own}."
    )
    return [first, *facts["notes"]]
