"""Drawn people, and drawn things that are no faces, for trying everything without any pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import InputTypeError, ParameterError
from gramian.faces.drawing import (
    Canvas,
    Expression,
    Identity,
    Light,
    Pixels,
    Pose,
    as_pixels,
    bar,
    draw_face,
    ellipse,
)
from gramian.faces.reading import SMALLEST, Faces

__all__ = ["drawn_faces", "drawn_others"]

LARGEST = 4096
OTHERS = ("house", "tree", "cup", "stripes", "blobs")


def drawn_faces(
    n_people: int = 10, n_pictures: int = 6, *, size: tuple[int, int] = (46, 56), seed: int = 0
) -> Faces:
    """Draw people under changing expressions and light.

    Parameters
    ----------
    n_people, n_pictures : int
        How many people, and pictures of each.
    size : (width, height)
        From 8 to 4096 each.
    seed : int
        Not negative. The same seed gives the same pictures, and the same people whatever the number of
        pictures.

    Returns
    -------
    Faces
        uint8, with the people "p01", "p02", ... in order.

    Examples
    --------
    >>> faces = drawn_faces(3, 2, size=(24, 28), seed=1)
    >>> faces.pictures.shape, faces.people[:3], faces.names[2]
    ((6, 28, 24), ('p01', 'p01', 'p02'), 'p02/1.png')
    """
    size = _checked(size, seed, n_people=n_people, n_pictures=n_pictures)
    digits = max(2, len(str(n_people)))
    pictures, people, names = [], [], []
    for number, person_seed in enumerate(np.random.SeedSequence(seed).spawn(n_people), start=1):
        who = Identity.random(np.random.default_rng(person_seed))
        for picture, picture_seed in enumerate(person_seed.spawn(n_pictures), start=1):
            rng = np.random.default_rng(picture_seed)
            parts = Expression.random(rng), Light.random(rng), Pose.random(rng)
            pictures.append(draw_face(who, *parts, size=size, rng=rng))
            people.append(f"p{number:0{digits}}")
            names.append(f"{people[-1]}/{picture}.png")
    return _as_faces(pictures, people, names, f"drawn faces (seed {seed})")


def drawn_others(n: int = 5, *, size: tuple[int, int] = (46, 56), seed: int = 0) -> Faces:
    """Draw what is no face: houses, trees, cups, stripes and blobs in turn.

    Examples
    --------
    >>> drawn_others(2, size=(24, 28)).names
    ('house1.png', 'tree2.png')
    """
    size = _checked(size, seed, n=n)
    pictures, names = [], []
    for number, child in enumerate(np.random.SeedSequence(seed).spawn(n)):
        rng = np.random.default_rng(child)
        kind = OTHERS[number % len(OTHERS)]
        pictures.append(as_pixels(_other(kind, Canvas(size), rng), rng))
        names.append(f"{kind}{number + 1}.png")
    return _as_faces(pictures, None, names, f"drawn things (seed {seed})")


def _checked(size: Any, seed: Any, **counts: Any) -> tuple[int, int]:
    """Return width and height, when everything is as it may be."""
    for name, count in counts.items():
        if not _is_whole(count) or count < 1:
            raise ParameterError(f"{name}={count!r} must be a whole number of at least 1.")
    if not _is_whole(seed) or seed < 0:
        raise ParameterError(f"seed={seed!r} must be a whole number of at least 0.")
    if isinstance(size, str) or np.shape(size) != (2,) or not all(_is_whole(side) for side in size):
        raise InputTypeError(
            f"size={size!r} is not two whole numbers. Give width and height, such as (46, 56)."
        )
    width, height = (int(side) for side in size)
    if not SMALLEST <= min(width, height) <= max(width, height) <= LARGEST:
        raise ParameterError(
            f"size={width}x{height}: each must be at least {SMALLEST} pixels and at most {LARGEST:,}."
        )
    return width, height


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _as_faces(pictures: list[Pixels], people: list[str] | None, names: list[str], source: str) -> Faces:
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    return Faces(np.stack(pictures), tuple(people) if people else None, tuple(names), hashes, source=source)


def _other(kind: str, canvas: Canvas, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    draw: dict[str, Callable[[Canvas, np.random.Generator], None]] = {
        "house": _house,
        "tree": _tree,
        "cup": _cup,
        "stripes": _stripes,
        "blobs": _blobs,
    }
    canvas.tone = np.full_like(canvas.x, rng.uniform(0.2, 0.9))
    draw[kind](canvas, rng)
    return canvas.tone


def _house(canvas: Canvas, rng: np.random.Generator) -> None:
    half, top = rng.uniform(0.4, 0.65), rng.uniform(-0.3, 0.1)
    canvas.lay(top + 0.9 - canvas.y - 0.4, rng.uniform(0.2, 0.6))
    canvas.lay(bar(canvas.x, canvas.y - (top + 0.8) / 2, half, (0.8 - top) / 2), rng.uniform(0.1, 0.9))
    canvas.lay(
        np.maximum(np.abs(canvas.x) * 0.8 + (top - 0.5 - canvas.y), canvas.y - top), rng.uniform(0, 0.5)
    )
    for x in (-0.5, 0.5):
        canvas.lay(bar(canvas.x - x * half, canvas.y - top - 0.22, 0.1, 0.1), rng.uniform(0, 1))
    canvas.lay(bar(canvas.x, canvas.y - 0.6, 0.1, 0.2), rng.uniform(0, 0.4))


def _tree(canvas: Canvas, rng: np.random.Generator) -> None:
    canvas.lay(bar(canvas.x, canvas.y - 0.5, rng.uniform(0.05, 0.12), 0.5), rng.uniform(0, 0.3))
    for _ in range(9):
        x, y = rng.uniform(-0.4, 0.4), rng.uniform(-0.75, 0.1)
        canvas.lay(np.hypot(canvas.x - x, canvas.y - y) - rng.uniform(0.15, 0.3), rng.uniform(0.1, 0.7))


def _cup(canvas: Canvas, rng: np.random.Generator) -> None:
    tone, x = rng.uniform(0, 1), rng.uniform(-0.2, 0.0)
    canvas.lay(np.abs(np.hypot(canvas.x - x - 0.42, canvas.y - 0.1) - 0.2) - 0.05, tone)
    canvas.lay(bar(canvas.x - x, canvas.y - 0.1, 0.4, 0.45), tone)
    canvas.lay(ellipse(canvas.x - x, canvas.y + 0.35, 0.4, 0.09), 0.5 * tone)


def _stripes(canvas: Canvas, rng: np.random.Generator) -> None:
    angle, width = rng.uniform(0, np.pi), rng.uniform(0.12, 0.4)
    along = canvas.x * np.cos(angle) + canvas.y * np.sin(angle)
    canvas.lay(np.abs((along / width) % 2 - 1) * width - width / 2, rng.uniform(0, 1))


def _blobs(canvas: Canvas, rng: np.random.Generator) -> None:
    for _ in range(14):
        x, y = rng.uniform(-0.8, 0.8), rng.uniform(-1, 1)
        a, b = rng.uniform(0.08, 0.4, size=2)
        canvas.lay(ellipse(canvas.x - x, canvas.y - y, a, b), rng.uniform(0, 1))
