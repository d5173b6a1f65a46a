"""The verbs of gramian, each a function of its name in a file of this folder.

A new verb is a new file with its name.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gramian.app.verb import Verb

__all__ = ["GROUPS", "VERBS", "verb", "verbs"]

# Files with their verbs, in the order of the help; files that are not named here are a verb each, after them.
FILES = (
    ("fit", "fit"),
    ("apply", "transform", "reconstruct", "denoise", "whiten"),
    ("explain", "describe", "monitor"),
    ("show", "plot", "report", "info"),
    ("explain", "stability", "rotate", "compare"),
    ("show", "export"),
    ("fit", "plan"),
    ("choose", "choose-components", "relations", "select", "choose-kernel", "kernels table", "kernels audit"),
    ("faces", "faces fit", "faces reconstruct", "faces enroll", "faces forget", "faces list"),
    ("faces", "faces identify", "faces verify"),
    ("explain", "diagnose", "explain"),
)
VERBS = {name: file for file, *names in FILES for name in names}
VERBS |= {
    stem.replace("_", "-"): stem
    for stem in sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    if stem not in VERBS.values()
}
GROUPS = {
    "kernels": """List kernels, or check one for positive semidefiniteness.

    A function is a kernel if it is symmetric and none of its Gram matrices has a negative eigenvalue.
    """,
    "faces": """Eigenfaces: compress, reconstruct and recognise pictures of faces.

    Pictures must be cropped and aligned, with the eyes at the same place in each. This is a baseline
    recogniser and a teaching tool, not a security system. It has no liveness check: a photograph of a person
    is accepted like the person.

    Pictures of faces and their vectors are biometric data, which many laws protect. Enroll people only with
    their informed consent, restrict access to the files, and remove people with faces forget when they ask.
    A model can reproduce the pictures it was fitted on: protect its file like the pictures.
    """,
}


@cache
def verb(name: str) -> Verb:
    """Return a verb; its file declares options only, what computes is imported when it runs.

    Examples
    --------
    >>> verb("stability").summary
    'Show how much the components of a saved PCA would change with another sample.'
    """
    return Verb.named(name, f"{__name__}.{VERBS[name]}")


def verbs() -> dict[str, Verb]:
    """Return all verbs, by name."""
    return {name: verb(name) for name in VERBS}
