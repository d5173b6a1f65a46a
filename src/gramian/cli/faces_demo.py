"""The faces of ``gramian demo``: every step on drawn faces, by the commands themselves."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gramian.cli.progress import progress
from gramian.errors import FileError, MissingExtraError

NAMES = (
    "Anna", "Boris", "Chen", "Dalia", "Emeka", "Fatima", "Gustav", "Hana", "Ivan", "Júlia", "Kofi", "Leila",
    "Mateo", "Noor", "Olga", "Pavel", "Quynh", "Rosa", "Søren", "Tomás", "Uma", "Viktor", "Wanjiru", "Zoë",
)  # fmt: skip
TRAINED = 60  # people that the model is fitted on; the first of them are enrolled
PICTURES, ENROLLED = 6, 5
SIZE = (46, 56)
SEED = 1
PARTS = ("pictures", "people", "door")
MARK = "drawn-faces.txt"
EXAMPLE_SIZE = (24, 28)
EXAMPLE_PEOPLE, EXAMPLE_PICTURES, EXAMPLE_SEED = 12, 6, 0


def check_faces(folder: Path) -> None:
    """Refuse a folder that holds files of somebody else.

    Raises
    ------
    FileError
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise FileError(f"{folder} is not empty: files in it might be overwritten. Name a new folder.")


def show_faces(step: Callable[..., None], folder: Path) -> None:
    """Draw people, fit, plot, rebuild, enroll, identify, verify and forget, by the commands themselves.

    Parameters
    ----------
    step : callable
        Takes a reason and the arguments of a command; prints both and runs it.
    folder : Path
        Where pictures and results go.
    """
    with progress("drawing faces"):
        _clear(folder)
        _draw(folder)
    print(f"\n{TRAINED} drawn people, {PICTURES} pictures of each, in {folder / 'pictures'}.")
    print("Their faces change by expression, light and alignment. Real pictures are used in the same way.")
    model, gallery, door = (str(folder / name) for name in ("faces.gramian", "people.gallery", "door"))
    anna = f"{door}/Anna.png"
    for why, *arguments in (
        (
            "Learn components from them:",
            *("faces", "fit", str(folder / "pictures"), "-o", model, "--components", "100"),
        ),
        (
            "Draw the mean face and components:",
            *("plot", model, "--what", "components", "--format", "png", "-o", str(folder)),
        ),
        (
            "Rebuild a picture of Anna that the model has not seen:",
            *("faces", "reconstruct", model, anna, "-r", "10,25,50,100", "-o", str(folder / "strip.png")),
        ),
        (f"Enroll {len(NAMES)} of the people:", "faces", "enroll", model, gallery, str(folder / "people")),
        (
            "Who is at the door? New pictures of Anna and Zoë, someone who is not enrolled, and a house:",
            *("faces", "identify", model, gallery, anna, f"{door}/Zoë.png", f"{door}/stranger.png"),
            *(f"{door}/house.png", "--far", "0.01"),
        ),
        ("Is it Anna?", "faces", "verify", model, gallery, anna, "--person", "Anna", "--far", "0.01"),
        ("Anna asks to be forgotten:", "faces", "forget", gallery, "--person", "Anna"),
    ):
        step(why, *arguments)


def _clear(folder: Path) -> None:
    """Remove what an earlier run has written, and nothing else."""
    for part in PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    # A journal that was left would be undone in the next gallery of that name.
    for name in ("people.gallery", "people.gallery-journal"):
        (folder / name).unlink(missing_ok=True)


def _draw(folder: Path) -> None:
    from gramian.faces.drawing import drawn_faces, drawn_others

    faces = drawn_faces(TRAINED + 1, PICTURES + 1, size=SIZE, seed=SEED)
    by_person = faces.pictures.reshape(TRAINED + 1, PICTURES + 1, *faces.pictures.shape[1:])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("Everything beside this file was drawn and computed by: gramian demo\n")
    for number in range(TRAINED):
        name = NAMES[number] if number < len(NAMES) else f"person {number + 1}"
        for place in range(PICTURES):
            _save(by_person[number, place], folder / "pictures" / name / f"{place + 1}.png")
            if number < len(NAMES) and place < ENROLLED:
                _save(by_person[number, place], folder / "people" / name / f"{place + 1}.png")
    at_door = {"Anna": by_person[0, PICTURES], "Zoë": by_person[len(NAMES) - 1, PICTURES]}
    at_door |= {"stranger": by_person[TRAINED, 0], "house": drawn_others(1, size=SIZE, seed=SEED).pictures[0]}
    for name, picture in at_door.items():
        _save(picture, folder / "door" / f"{name}.png")


def _save(pixels: Any, path: Path) -> None:
    from gramian.plots.pixels import Picture

    path.parent.mkdir(parents=True, exist_ok=True)
    Picture(pixels).save(path)


def write_examples(folder: Path) -> list[str]:
    """Write faces.npz and pictures in faces/, for the examples of the documentation.

    Returns
    -------
    list of str
        Remarks for the person who asked.
    """
    import numpy as np

    from gramian.faces.drawing import drawn_faces
    from gramian.store import atomic_write

    faces = drawn_faces(EXAMPLE_PEOPLE, EXAMPLE_PICTURES, size=EXAMPLE_SIZE, seed=EXAMPLE_SEED)
    with atomic_write(folder / "faces.npz") as file:
        np.savez_compressed(file, X=faces.pictures, y=np.array(faces.people))
    try:
        for name, pixels in zip(faces.names, faces.pictures, strict=True):
            _save(pixels, folder / "faces" / name)
    except MissingExtraError as error:
        return [f"No pictures were written to {folder / 'faces'}. {error}"]
    return []
