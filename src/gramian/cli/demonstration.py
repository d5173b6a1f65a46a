"""The command ``demo``: gramian's own commands, one after another, on data that needs no download."""

import shlex
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import typer

from gramian.applications import is_installed
from gramian.cli.examples import write_examples
from gramian.cli.options import option
from gramian.cli.outputs import check_place
from gramian.cli.progress import progress, say
from gramian.cli.run import run
from gramian.errors import GramianError, MissingExtraError

RATIO = "0.95"
# The answer of these commands may be no.
QUESTIONS = ("identify", "verify")
Step = Callable[..., None]


def demo(
    context: typer.Context,
    out: str = option("FOLDER", "Where the results go. [gramian-demo]", "gramian-demo"),
) -> None:
    """Try PCA and kernel PCA on handwritten digits, then recognition on drawn faces.

    Digits: 1,797 pictures of 8 x 8 grey values from scikit-learn, with plans, certificates and result
    folders. Faces: every command of gramian faces on drawn people. Each command is printed before it runs.
    FOLDER/data gets small files to try commands on.
    """
    from gramian.report.results import check_folder

    folder, start = Path(out), time.perf_counter()
    step = partial(_run, context.find_root().command)
    check_place(folder)
    for part in ("pca", "kernel-pca"):
        check_folder(folder / part)
    show_faces = _faces_demo(folder / "faces")
    with progress("writing example files"):
        notes = write_examples(folder / "data")
    for note in notes:
        say(f"gramian: {note}")
    print(f"Example files to try commands on: {folder / 'data'}")
    digits = str(folder / "data" / "digits.npz")
    fit = ("fit", f"{digits}::X", "--labels-from", f"{digits}::y", "--components", RATIO, "--report", "-o")
    step("Fit a PCA of handwritten digits:", *fit, str(folder / "pca"))
    kernel = ("--kernel", "rbf", "--gamma", "median")
    step("And a kernel PCA, with a width by the data:", *fit, str(folder / "kernel-pca"), *kernel)
    try:
        show_faces(step)
    except MissingExtraError as error:
        say(f"gramian: No faces were drawn. {error}")
    print(
        f"\nDone in {time.perf_counter() - start:.0f} seconds. Open {folder / 'pca' / 'summary.md'}, "
        f"and in a browser {folder / 'pca' / 'report.html'}."
    )


def _faces_demo(folder: Path) -> Callable[[Step], None]:
    """Return the part about faces, if they are installed, once its folder is checked."""
    if not is_installed("gramian.faces"):
        return lambda step: None
    from gramian.cli.faces_demo import check_faces, show_faces

    check_faces(folder)
    return lambda step: show_faces(step, folder)


def _run(command: Any, why: str, *arguments: str) -> None:
    """Print a command and what it answers.

    Raises
    ------
    GramianError
        If it fails.
    """
    line = f"gramian {shlex.join(arguments)}"
    print(f"\n{why}\n$ {line}", flush=True)
    code = run(command, arguments)
    if code > 1 or (code and not set(arguments[:2]) & {*QUESTIONS}):
        raise GramianError(f"{line} ended with {code}, so the demonstration ends here.")
