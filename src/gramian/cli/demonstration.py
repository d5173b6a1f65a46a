"""The command ``demo``: gramian's own commands, one after another, on data that needs no download."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import textwrap
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import typer

from gramian.applications import is_installed
from gramian.cli.outputs import check_place
from gramian.cli.run import run
from gramian.errors import FileError, GramianError, MissingExtraError
from gramian.options import option
from gramian.progress import say, shows_progress

RATIO = "0.95"
QUESTION = "identify"  # its answer may be no
# Of what a command answers, so that the whole demonstration is one screen.
SHOWN = re.compile(
    r"(Kernel )?PCA (of|with) |Sample: |Certified: |Plan: .*(SVD|kernel)|\d+ components: "
    r"|\d+ pictures .*(enrolled|removed)|.*\.png: "
)
Step = Callable[..., None]


def demo(
    context: typer.Context,
    out: str = option("FOLDER", "Where the results go.", "gramian-demo"),
) -> None:
    """Try PCA and kernel PCA on handwritten digits, then recognition on drawn faces.

    Digits: 1,797 pictures of 8 x 8 grey values from scikit-learn, with plans, certificates and result
    folders. Faces: commands of gramian faces on drawn people. Each command is printed before it runs, with
    the main lines of its answer.
    FOLDER/data gets small files to try commands on.
    """
    from gramian.report.results import check_folder

    folder, start = Path(out), time.perf_counter()
    step = partial(_run, context.find_root().command)
    check_place(folder)
    for part in ("pca", "kernel-pca"):
        check_folder(folder / part)
    show_faces = _faces_demo(folder / "faces")
    with shows_progress("writing example files"):
        notes = write_examples(folder / "data")
    for note in notes:
        say(f"gramian: {note}")
    print(f"Example files to try commands on: {folder / 'data'}")
    digits = str(folder / "data" / "digits.npz")
    fit = ("fit", f"{digits}::X", "--labels-from", f"{digits}::y", "--components")
    step(*fit, RATIO, "--report", "-o", str(folder / "pca"))
    kernel = ("--kernel", "rbf", "--gamma", "median", "-o", str(folder / "kernel-pca"))
    step(*fit, "10", *kernel)
    try:
        show_faces(step)
    except MissingExtraError as error:
        say(f"gramian: No faces were drawn. {error}")
    print(
        f"Done in {time.perf_counter() - start:.0f} seconds. Three things to try:\n"
        f"  open {folder / 'pca' / 'report.html'} in a browser\n"
        f"  gramian fit {folder / 'data' / 'flowers.csv'} --report -o flowers    (or your own table)\n"
        f"  gramian serve {folder / 'data' / 'flowers.csv'}    (the same in a browser)"
    )


def _faces_demo(folder: Path) -> Callable[[Step], None]:
    """Return the part about faces, if they are installed, once its folder is checked."""
    if not is_installed("gramian.faces"):
        return lambda step: None

    check_faces(folder)
    return lambda step: show_faces(step, folder)


def _run(command: Any, *arguments: str) -> None:
    """Print a command and the main lines of what it answers.

    Raises
    ------
    GramianError
        If it fails.
    """
    line = f"gramian {shlex.join(arguments)}"
    print(f"$ {line}", flush=True)
    with redirect_stdout(io.StringIO()) as answer:
        code = run(command, arguments)
    for said in answer.getvalue().splitlines():
        if SHOWN.match(said):
            print(textwrap.shorten(said, 140, placeholder=" ..."), flush=True)
    if code > 1 or (code and QUESTION not in arguments[:2]):
        raise GramianError(f"{line} ended with {code}, so the demonstration ends here.")


# ---- The files that the examples in the README and the pages about gramian use; ``demo`` writes them

GENES, SAMPLES, CHANGED = 300, 12, 40
SEED = 0


def write_examples(folder: Path) -> list[str]:
    """Write digits.npz and tables: penguins, flowers, new, genes, rings, circle; and faces if installed.

    Parameters
    ----------
    folder : Path
        Created if it is not there; files of these names are replaced.

    Returns
    -------
    list of str
        Remarks for the person who asked.
    """
    import numpy as np
    from sklearn.datasets import load_digits

    from gramian.report.tables import write_table
    from gramian.store.atomic import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    made = {"genes.csv": _genes(), "rings.csv": _rings(), "circle.csv": _circle()}
    for name, columns in {**_flowers(), **made}.items():
        write_table(folder / name, columns, "csv")
    penguins = files("gramian").joinpath("examples", "penguins.csv").read_bytes()
    with atomic_write(folder / "penguins.csv") as file:
        file.write(penguins)
    digits = load_digits()
    with atomic_write(folder / "digits.npz") as file:
        np.savez_compressed(file, X=digits.images.astype(np.uint8), y=digits.target)
    if not is_installed("gramian.faces"):
        return []

    return write_face_examples(folder)


def _flowers() -> dict[str, dict[str, Any]]:
    """Return Fisher's irises as two tables: one in ten is new."""
    import numpy as np
    from sklearn.datasets import load_iris

    iris = load_iris()
    species = iris.target_names[iris.target]
    columns = {
        "flower": np.array([f"{name} {i % 50 + 1}" for i, name in enumerate(species)]),
        "species": species,
        **dict(zip(("sepal_length", "sepal_width", "petal_length", "petal_width"), iris.data.T, strict=True)),
    }
    new = np.arange(len(species)) % 10 == 9
    return {
        name: {title: values[chosen] for title, values in columns.items()}
        for name, chosen in (("flowers.csv", ~new), ("new.csv", new))
    }


def _genes() -> dict[str, Any]:
    """Return made-up expression levels, a row for each gene; some differ where samples were treated."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    levels = rng.uniform(3, 12, (GENES, 1)) + rng.normal(0, 0.4, (GENES, SAMPLES))
    half = SAMPLES // 2
    levels[:CHANGED, half:] += rng.choice([-2.0, 2.0], (CHANGED, 1))
    samples = [f"{kind}{i + 1}" for kind in ("control", "treated") for i in range(half)]
    names = [f"gene{i + 1}" for i in range(GENES)]
    return {"gene": names, **dict(zip(samples, levels.round(3).T, strict=True))}


def _rings() -> dict[str, Any]:
    import numpy as np
    from sklearn.datasets import make_circles

    places, inner = make_circles(200, noise=0.05, factor=0.4, random_state=SEED)
    return {
        "ring": np.where(inner == 1, "inner", "outer"),
        "x": places[:, 0].round(4),
        "y": places[:, 1].round(4),
    }


def _circle() -> dict[str, Any]:
    import numpy as np

    angle = np.arange(60.0)
    return {"x": 3 + 1.5 * np.cos(angle), "y": 2 + 1.5 * np.sin(angle)}


# ---- The faces of ``gramian demo``: every step on drawn faces, by the commands themselves

NAMES = (
    "Anna", "Boris", "Chen", "Dalia", "Emeka", "Fatima", "Gustav", "Hana", "Ivan", "Júlia", "Kofi", "Leila",
    "Mateo", "Noor", "Olga", "Pavel", "Quynh", "Rosa", "Søren", "Tomás", "Uma", "Viktor", "Wanjiru", "Zoë",
)  # fmt: skip
TRAINED = 30  # people that the model is fitted on; the first of them are enrolled
PICTURES, ENROLLED = 6, 5
SIZE = (46, 56)
FACES_SEED = 1
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
    """Draw people, fit, plot, rebuild, enroll, identify and forget, by the commands themselves.

    Parameters
    ----------
    step : callable
        Takes the arguments of a command; prints and runs it.
    folder : Path
        Where pictures and results go.
    """
    with shows_progress("drawing faces"):
        _clear(folder)
        _draw(folder)
    print(f"{TRAINED} drawn people, {PICTURES} pictures of each, in {folder / 'pictures'}.")
    model, gallery, door = (str(folder / name) for name in ("faces.gramian", "people.gallery", "door"))
    anna = f"{door}/Anna.png"
    for arguments in (
        ("faces", "fit", str(folder / "pictures"), "-o", model, "--components", "100"),
        ("plot", model, "--what", "components", "--format", "png", "-o", str(folder)),
        # A picture that the model has not seen.
        ("faces", "reconstruct", model, anna, "-r", "10,25,50,100", "-o", str(folder / "strip.png")),
        ("faces", "enroll", model, gallery, str(folder / "people")),
        # New pictures of two people, someone who is not enrolled, and a house.
        (
            *("faces", "identify", model, gallery, anna, f"{door}/Zoë.png", f"{door}/stranger.png"),
            *(f"{door}/house.png", "--far", "0.01"),
        ),
        ("faces", "forget", gallery, "--person", "Anna"),
    ):
        step(*arguments)


def _clear(folder: Path) -> None:
    """Remove what an earlier run has written, and nothing else."""
    for part in PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / "people.gallery").unlink(missing_ok=True)


def _draw(folder: Path) -> None:
    from gramian.faces.drawing import drawn_faces, drawn_others

    faces = drawn_faces(TRAINED + 1, PICTURES + 1, size=SIZE, seed=FACES_SEED)
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
    at_door |= {
        "stranger": by_person[TRAINED, 0],
        "house": drawn_others(1, size=SIZE, seed=FACES_SEED).pictures[0],
    }
    for name, picture in at_door.items():
        _save(picture, folder / "door" / f"{name}.png")


def _save(pixels: Any, path: Path) -> None:
    from gramian.plots.images import Picture

    path.parent.mkdir(parents=True, exist_ok=True)
    Picture(pixels).save(path)


def write_face_examples(folder: Path) -> list[str]:
    """Write faces.npz and pictures in faces/, for the examples of the documentation.

    Returns
    -------
    list of str
        Remarks for the person who asked.
    """
    import numpy as np

    from gramian.faces.drawing import drawn_faces
    from gramian.store.atomic import atomic_write

    faces = drawn_faces(EXAMPLE_PEOPLE, EXAMPLE_PICTURES, size=EXAMPLE_SIZE, seed=EXAMPLE_SEED)
    with atomic_write(folder / "faces.npz") as file:
        np.savez_compressed(file, X=faces.pictures, y=np.array(faces.people))
    try:
        for name, pixels in zip(faces.names, faces.pictures, strict=True):
            _save(pixels, folder / "faces" / name)
    except MissingExtraError as error:
        return [f"No pictures were written to {folder / 'faces'}. {error}"]
    return []
