"""Draws people under changing expressions and light, and things that are no faces: trying without pictures.

Coordinates are x to the right and y down, 0 in the middle of the picture; its height is 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.checks import check_integer, check_seed
from gramian.errors import InputTypeError
from gramian.faces.pictures import SMALLEST, Faces
from gramian.records import FloatArray

LARGEST = 4096
NOISE = 2.0  # of a camera, in grey values
# What stays the same of a person: lengths in units of half the picture's height, tones from 0 to 1. What is
# not above 0 is not there.
PERSON = {
    "width": (0.45, 0.67),
    "height": (0.63, 0.85),
    "jaw": (0.05, 0.38),
    "skin": (0.55, 0.92),
    "eye_distance": (0.18, 0.32),
    "eye_height": (-0.18, -0.02),
    "eye_width": (0.065, 0.145),
    "brow_gap": (0.07, 0.17),
    "brow_thickness": (0.01, 0.036),
    "brow_tilt": (-0.4, 0.4),
    "nose_length": (0.16, 0.38),
    "nose_width": (0.04, 0.13),
    "mouth_height": (0.31, 0.49),
    "mouth_width": (0.12, 0.28),
    "lips": (0.018, 0.05),
    "hair": (0.03, 0.75),
    "hair_line": (-0.63, -0.29),
    "hair_volume": (0.03, 0.16),
    "hair_length": (-0.25, 0.8),
    "beard": (-2.0, 0.9),
    "glasses": (-3.0, 0.9),
}
# What changes from picture to picture: the expression, the light (degrees to the right of and above the
# viewer; a strength of 0 lights everything alike), and what an alignment by the eyes leaves.
MOMENT = {
    "smile": (-0.4, 1.0),
    "mouth_open": (-1.0, 0.7),
    "eyes_closed": (-0.4, 0.6),
    "brows_raised": (-0.5, 1.0),
    "azimuth": (-55.0, 55.0),
    "elevation": (-10.0, 45.0),
    "strength": (0.2, 0.75),
    "exposure": (0.8, 1.15),
    "right": (-0.02, 0.02),
    "down": (-0.02, 0.02),
    "turn": (-2.0, 2.0),
    "scale": (0.98, 1.02),
}
OTHERS = ("house", "tree", "cup", "stripes", "blobs")
Pixels = npt.NDArray[np.uint8]


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
        The same seed gives the same pictures, and the same people whatever the number of pictures.

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
    n_people, n_pictures = check_integer("n_people", n_people), check_integer("n_pictures", n_pictures)
    size, digits = _checked_size(size), max(2, len(str(n_people)))
    pictures, people, names = [], [], []
    for number, person_seed in enumerate(_seeds(seed, n_people), start=1):
        person = looks(PERSON, np.random.default_rng(person_seed))
        for picture, picture_seed in enumerate(person_seed.spawn(n_pictures), start=1):
            rng = np.random.default_rng(picture_seed)
            pictures.append(draw_face(person | looks(MOMENT, rng), size, rng))
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
    draw: tuple[Callable[[_Canvas, np.random.Generator], None], ...]
    draw, size = (_house, _tree, _cup, _stripes, _blobs), _checked_size(size)
    pictures, names = [], []
    for number, child in enumerate(_seeds(seed, check_integer("n", n))):
        rng, canvas, kind = np.random.default_rng(child), _Canvas(size), number % len(OTHERS)
        canvas.tone[:] = rng.uniform(0.2, 0.9)
        draw[kind](canvas, rng)
        pictures.append(_as_pixels(canvas.tone, rng))
        names.append(f"{OTHERS[kind]}{number + 1}.png")
    return _as_faces(pictures, None, names, f"drawn things (seed {seed})")


def looks(ranges: dict[str, tuple[float, float]], rng: np.random.Generator | None = None) -> dict[str, float]:
    """Draw each of some parameters from its range; without a generator the middle of it."""
    return {name: sum(ends) / 2 if rng is None else rng.uniform(*ends) for name, ends in ranges.items()}


def _seeds(seed: int, count: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(check_seed("seed", seed)).spawn(count)


def _checked_size(size: Any) -> tuple[int, int]:
    if isinstance(size, str) or np.shape(size) != (2,):
        raise InputTypeError(
            f"size={size!r} is not two whole numbers. Give width and height, such as (46, 56)."
        )
    width, height = (check_integer("a side of size", side, SMALLEST, LARGEST) for side in size)
    return width, height


def _as_faces(pictures: list[Pixels], people: list[str] | None, names: list[str], source: str) -> Faces:
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    return Faces(np.stack(pictures), tuple(people) if people else None, tuple(names), hashes, source=source)


def _as_pixels(tone: FloatArray, rng: np.random.Generator | None) -> Pixels:
    noise = 0.0 if rng is None else NOISE * rng.standard_normal(tone.shape)
    return np.rint(np.clip(255 * tone + noise, 0, 255)).astype(np.uint8)


# ------------------------------------------------------------------ shapes


class _Canvas:
    """A picture of tones from 0 to 1, on which shapes are laid over each other."""

    def __init__(self, size: tuple[int, int]) -> None:
        width, height = size
        self.pixel = 2.0 / height
        x = (np.arange(width) + 0.5) * self.pixel - width / height
        y = (np.arange(height) + 0.5) * self.pixel - 1.0
        self.x, self.y = np.meshgrid(x, y)
        self.tone = np.full((height, width), 0.5)

    def align(self, right: float, down: float, turn: float, scale: float) -> None:
        """Move what is drawn from now on: lengths, degrees, and a factor."""
        moved = (self.x - right + 1j * (self.y - down)) * np.exp(-1j * np.deg2rad(turn)) / scale
        self.x, self.y = moved.real, moved.imag

    def lay(
        self, distance: FloatArray, tone: float | FloatArray, strength: float = 1.0, soft: float = 0.0
    ) -> None:
        """Lay a shape over what is there, given the signed distance of each pixel's middle to its edge."""
        share = strength * np.clip(0.5 - distance / (self.pixel + soft), 0.0, 1.0)
        self.tone = self.tone + share * (tone - self.tone)


def _ellipse(x: FloatArray, y: FloatArray, a: float, b: float) -> FloatArray:
    """Return the signed distance to an ellipse, to first order: exact at its edge, where it counts."""
    level = np.hypot(x / a, y / b)
    slope = np.hypot(x / a**2, y / b**2) / np.maximum(level, 1e-9)
    return np.asarray((level - 1.0) / np.maximum(slope, 1e-9))


def _bar(x: FloatArray, y: FloatArray, half_width: float, half_height: float) -> FloatArray:
    """Return the signed distance to a rectangle of these half sides."""
    dx, dy = np.abs(x) - half_width, np.abs(y) - half_height
    outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
    return np.asarray(outside + np.minimum(np.maximum(dx, dy), 0))


# ------------------------------------------------------------------ a face


def draw_face(
    parameters: dict[str, float], size: tuple[int, int], rng: np.random.Generator | None = None
) -> Pixels:
    """Draw one face.

    Parameters
    ----------
    parameters : dict
        All that are in ``PERSON`` and ``MOMENT``.
    size : (width, height)
    rng : Generator, optional
        Adds the noise of a camera, of two grey values.

    Returns
    -------
    ndarray of shape (height, width), uint8
    """
    face, canvas = SimpleNamespace(**parameters), _Canvas(size)
    canvas.align(face.right, face.down, face.turn, face.scale)
    _hair_behind(canvas, face)
    _head(canvas, face)
    _eyes(canvas, face)
    _mouth(canvas, face)
    _hair_before(canvas, face)
    return _as_pixels(face.exposure * canvas.tone * _shade(canvas, face), rng)


def _hair_behind(canvas: _Canvas, face: Any) -> None:
    canvas.lay(_ellipse(canvas.x, canvas.y - 1.25, 0.75, 0.5), 0.35)  # clothes
    canvas.lay(_bar(canvas.x, canvas.y - 0.7, 0.27, 0.3), 0.85 * face.skin)  # neck
    cap = _hair_outline(canvas, face)
    fall = _bar(canvas.x, canvas.y - (face.hair_length - 0.6) / 2, face.width + face.hair_volume, 0.6)
    fall = np.maximum(fall, -0.2 - canvas.y)
    canvas.lay(np.maximum(np.minimum(cap, fall), canvas.y - face.hair_length), face.hair, soft=0.02)


def _hair_outline(canvas: _Canvas, face: Any) -> FloatArray:
    return _ellipse(
        canvas.x, canvas.y + 0.12, face.width + face.hair_volume, face.height + 0.6 * face.hair_volume
    )


def _hair_before(canvas: _Canvas, face: Any) -> None:
    line = canvas.y - face.hair_line - 0.35 * canvas.x**2
    canvas.lay(np.maximum(_hair_outline(canvas, face), line), face.hair, soft=0.02)


def _head(canvas: _Canvas, face: Any) -> None:
    for side in (-1, 1):
        canvas.lay(_ellipse(canvas.x - side * face.width, canvas.y + 0.02, 0.06, 0.14), 0.88 * face.skin)
    # The face narrows below the eyes, by the jaw.
    narrowed = 1.0 - face.jaw * np.clip(canvas.y / face.height, 0.0, 1.0) ** 2
    outline = _ellipse(canvas.x / narrowed, canvas.y, face.width, face.height)
    canvas.lay(outline, face.skin)
    beard = np.maximum(outline, 0.24 - canvas.y + 0.25 * (1 - np.abs(canvas.x) / face.width))
    canvas.lay(beard, 0.8 * face.hair + 0.05, max(face.beard, 0.0), soft=0.08)
    nose = face.eye_height + face.nose_length
    for side in (-1, 1):
        nostril = _ellipse(
            canvas.x - side * 0.5 * face.nose_width, canvas.y - nose, 0.4 * face.nose_width, 0.02
        )
        canvas.lay(nostril, 0.35 * face.skin, 0.8, soft=0.015)
    under = _ellipse(canvas.x, canvas.y - nose - 0.012, 1.05 * face.nose_width, 0.016)
    canvas.lay(under, 0.55 * face.skin, 0.7, soft=0.02)


def _eyes(canvas: _Canvas, face: Any) -> None:
    height, glasses = 0.46 * face.eye_width, max(face.glasses, 0.0)
    for side in (-1, 1):
        x, y = canvas.x - side * face.eye_distance, canvas.y - face.eye_height
        canvas.lay(_ellipse(x, y, 1.45 * face.eye_width, 2.3 * height), 0.8 * face.skin, 0.5, soft=0.06)
        white = _ellipse(x, y, face.eye_width, max(height * (1.0 - max(face.eyes_closed, 0.0)), 0.004))
        canvas.lay(white, 0.9)
        for radius, tone in ((0.8, 0.25), (0.38, 0.02)):  # iris and pupil
            canvas.lay(np.maximum(np.hypot(x, y) - radius * height, white), tone)
        canvas.lay(np.abs(white) - 0.006, 0.25 * face.skin, 0.8)
        brow = y + face.brow_gap + 0.035 * face.brows_raised + face.brow_tilt * side * x
        canvas.lay(_bar(x, brow, 0.13, face.brow_thickness), 0.75 * face.hair, 0.9, soft=0.01)
        frame = np.abs(_ellipse(x, y, 1.55 * face.eye_width, 1.24 * face.eye_width)) - 0.011
        canvas.lay(frame, 0.08, glasses)
    bridge = max(face.eye_distance - 1.55 * face.eye_width, 0.02)
    canvas.lay(_bar(canvas.x, canvas.y - face.eye_height, bridge, 0.01), 0.08, glasses)


def _mouth(canvas: _Canvas, face: Any) -> None:
    opened, smiling = 0.085 * max(face.mouth_open, 0.0), max(face.smile, 0.0)
    width = face.mouth_width * (1.0 + 0.18 * smiling - 1.4 * opened)
    # The corners go up with a smile: y points down.
    bend = 0.09 * face.smile * (canvas.x / width) ** 2
    y = canvas.y - face.mouth_height + bend - 0.03 * face.smile
    taper = np.sqrt(np.clip(1 - (canvas.x / width) ** 2, 0, 1))
    for thick, tone in ((face.lips, 0.62 * face.skin), (0.006, 0.12)):
        inside = np.abs(y - opened / 2) - (thick + opened / 2) * taper
        canvas.lay(np.maximum(inside, np.abs(canvas.x) - width), tone, soft=0.01)
    for side in (-1, 1):
        fold = np.hypot(canvas.x - side * (width + 0.1), canvas.y - face.mouth_height + 0.08) - 0.13
        near = np.maximum(np.abs(fold) - 0.008, np.abs(canvas.y - face.mouth_height + 0.06) - 0.08)
        inward = np.maximum(near, side * canvas.x - width - 0.06)
        canvas.lay(inward, 0.7 * face.skin, 0.5 * smiling, soft=0.02)


def _shade(canvas: _Canvas, face: Any) -> FloatArray:
    """Shade the face like a body under one light, by the slopes of a relief."""
    level = np.hypot(canvas.x / face.width, canvas.y / face.height)
    relief = 0.62 * np.sqrt(1 - np.clip(level, 0.0, 0.985) ** 2)
    along = np.clip((canvas.y - face.eye_height) / face.nose_length, 0.0, 1.0)
    beyond = np.maximum(canvas.y - face.eye_height - face.nose_length, 0.0)
    relief += (
        0.13 * along * np.exp(-((beyond / 0.04) ** 2) - (canvas.x / (0.45 * face.nose_width + 0.03)) ** 2)
    )
    for side in (-1, 1):
        socket = ((canvas.x - side * face.eye_distance) / 0.13) ** 2
        relief -= 0.035 * np.exp(-socket - ((canvas.y - face.eye_height) / 0.08) ** 2)
    down, right = np.gradient(relief, canvas.pixel)
    azimuth, elevation = np.deg2rad(face.azimuth), np.deg2rad(face.elevation)
    toward = np.cos(elevation) * np.sin(azimuth), -np.sin(elevation), np.cos(elevation) * np.cos(azimuth)
    steep = np.sqrt(1 + right**2 + down**2)
    lit = np.maximum(-right * toward[0] - down * toward[1] + toward[2], 0.0) / steep
    # Hair and background around the face are lit evenly, without an edge.
    inside = np.clip((1.05 - level) / 0.2, 0.0, 1.0)
    return np.asarray(1 - face.strength + face.strength * (1.25 * lit * inside + 0.75 * (1 - inside)))


# ------------------------------------------------------------------ other things


def _house(canvas: _Canvas, rng: np.random.Generator) -> None:
    half, top = rng.uniform(0.4, 0.65), rng.uniform(-0.3, 0.1)
    canvas.lay(top + 0.5 - canvas.y, rng.uniform(0.2, 0.6))
    canvas.lay(_bar(canvas.x, canvas.y - (top + 0.8) / 2, half, (0.8 - top) / 2), rng.uniform(0.1, 0.9))
    roof = np.maximum(np.abs(canvas.x) * 0.8 + (top - 0.5 - canvas.y), canvas.y - top)
    canvas.lay(roof, rng.uniform(0, 0.5))
    for x in (-0.5, 0.5):
        canvas.lay(_bar(canvas.x - x * half, canvas.y - top - 0.22, 0.1, 0.1), rng.uniform(0, 1))
    canvas.lay(_bar(canvas.x, canvas.y - 0.6, 0.1, 0.2), rng.uniform(0, 0.4))


def _tree(canvas: _Canvas, rng: np.random.Generator) -> None:
    canvas.lay(_bar(canvas.x, canvas.y - 0.5, rng.uniform(0.05, 0.12), 0.5), rng.uniform(0, 0.3))
    for _ in range(9):
        x, y = rng.uniform(-0.4, 0.4), rng.uniform(-0.75, 0.1)
        canvas.lay(np.hypot(canvas.x - x, canvas.y - y) - rng.uniform(0.15, 0.3), rng.uniform(0.1, 0.7))


def _cup(canvas: _Canvas, rng: np.random.Generator) -> None:
    tone, x = rng.uniform(0, 1), rng.uniform(-0.2, 0.0)
    canvas.lay(np.abs(np.hypot(canvas.x - x - 0.42, canvas.y - 0.1) - 0.2) - 0.05, tone)
    canvas.lay(_bar(canvas.x - x, canvas.y - 0.1, 0.4, 0.45), tone)
    canvas.lay(_ellipse(canvas.x - x, canvas.y + 0.35, 0.4, 0.09), 0.5 * tone)


def _stripes(canvas: _Canvas, rng: np.random.Generator) -> None:
    angle, width = rng.uniform(0, np.pi), rng.uniform(0.12, 0.4)
    along = canvas.x * np.cos(angle) + canvas.y * np.sin(angle)
    canvas.lay(np.abs((along / width) % 2 - 1) * width - width / 2, rng.uniform(0, 1))


def _blobs(canvas: _Canvas, rng: np.random.Generator) -> None:
    for _ in range(14):
        x, y = rng.uniform(-0.8, 0.8), rng.uniform(-1, 1)
        a, b = rng.uniform(0.08, 0.4, size=2)
        canvas.lay(_ellipse(canvas.x - x, canvas.y - y, a, b), rng.uniform(0, 1))
