"""Draws one face: a person, an expression, the light and the alignment as parameters.

Coordinates are x to the right and y down, 0 in the middle of the picture; its height is 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramian.errors import InputTypeError, ParameterError
from gramian.faces.reading import SMALLEST, Faces

__all__ = [
    "Canvas",
    "Expression",
    "Identity",
    "Light",
    "Pixels",
    "Pose",
    "as_pixels",
    "bar",
    "draw_face",
    "drawn_faces",
    "drawn_others",
    "ellipse",
]

Floats = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Identity:
    """What stays the same of a person: lengths in units of half the picture's height, tones from 0 to 1."""

    width: float = 0.56
    height: float = 0.74
    jaw: float = 0.22
    skin: float = 0.78
    eye_distance: float = 0.25
    eye_height: float = -0.10
    eye_width: float = 0.105
    eye_opening: float = 0.048
    iris: float = 0.25
    brow_gap: float = 0.12
    brow_thickness: float = 0.022
    brow_length: float = 0.13
    brow_tilt: float = 0.0
    brow_arch: float = 0.03
    nose_length: float = 0.27
    nose_width: float = 0.085
    mouth_height: float = 0.40
    mouth_width: float = 0.20
    lips: float = 0.034
    lip_tone: float = 0.62
    hair: float = 0.2
    hair_line: float = -0.46
    hair_volume: float = 0.09
    hair_length: float = -0.05
    parting: float = 0.0
    ears: float = 0.09
    beard: float = 0.0
    moustache: float = 0.0
    glasses: float = 0.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> Identity:
        """Draw a person."""

        def about(middle: float, spread: float) -> float:
            return float(middle + spread * np.clip(rng.standard_normal(), -2, 2))

        def among(low: float, high: float) -> float:
            return float(rng.uniform(low, high))

        def sometimes(share: float, value: float) -> float:
            return value * float(rng.uniform() < share)

        return cls(
            width=about(0.56, 0.035),
            height=about(0.74, 0.035),
            jaw=among(0.05, 0.38),
            skin=among(0.55, 0.92),
            eye_distance=about(0.25, 0.022),
            eye_height=about(-0.10, 0.025),
            eye_width=about(0.105, 0.011),
            eye_opening=about(0.048, 0.007),
            iris=among(0.08, 0.5),
            brow_gap=about(0.12, 0.015),
            brow_thickness=among(0.010, 0.036),
            brow_length=about(0.13, 0.014),
            brow_tilt=about(0.0, 0.13),
            brow_arch=among(0.0, 0.06),
            nose_length=about(0.27, 0.035),
            nose_width=about(0.085, 0.015),
            mouth_height=about(0.40, 0.028),
            mouth_width=about(0.20, 0.025),
            lips=among(0.018, 0.05),
            lip_tone=among(0.45, 0.8),
            hair=among(0.03, 0.75),
            hair_line=about(-0.46, 0.055),
            hair_volume=among(0.03, 0.16),
            hair_length=float(rng.choice([-0.25, -0.05, 0.35, 0.8])) + about(0.0, 0.04),
            parting=among(-0.3, 0.3),
            ears=among(0.06, 0.11),
            beard=sometimes(0.25, among(0.3, 0.9)),
            moustache=sometimes(0.25, among(0.4, 0.9)),
            glasses=sometimes(0.2, among(0.5, 0.9)),
        )


@dataclass(frozen=True)
class Expression:
    """What a face does: 0 is at rest. Smile from -1 to 1, mouth open from 0 to 1, eyes closed from 0 to 1."""

    smile: float = 0.0
    mouth_open: float = 0.0
    eyes_closed: float = 0.0
    brows_raised: float = 0.0
    gaze: float = 0.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> Expression:
        """Draw an expression."""
        return cls(
            smile=float(rng.uniform(-0.4, 1.0)),
            mouth_open=float(max(0.0, rng.uniform(-1.0, 0.7))),
            eyes_closed=float(rng.choice([0.0, 0.15, 0.3, 0.85], p=[0.4, 0.3, 0.2, 0.1])),
            brows_raised=float(rng.uniform(-0.5, 1.0)),
            gaze=float(rng.uniform(-1.0, 1.0)),
        )


@dataclass(frozen=True)
class Light:
    """Where the light comes from, in degrees to the right of and above the viewer, and its strength.

    A strength of 0 lights everything alike, 1 leaves in the dark what is turned away.
    """

    azimuth: float = 0.0
    elevation: float = 20.0
    strength: float = 0.4
    exposure: float = 1.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> Light:
        """Draw a light."""
        return cls(
            azimuth=float(rng.uniform(-55, 55)),
            elevation=float(rng.uniform(-10, 45)),
            strength=float(rng.uniform(0.2, 0.75)),
            exposure=float(rng.uniform(0.8, 1.15)),
        )


@dataclass(frozen=True)
class Pose:
    """How well the face is aligned: shifts in units of half the height, degrees, and a factor."""

    right: float = 0.0
    down: float = 0.0
    turn: float = 0.0
    scale: float = 1.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> Pose:
        """Draw what an alignment by the eyes leaves."""
        right, down, turn, scale = rng.standard_normal(4)
        return cls(float(0.012 * right), float(0.012 * down), float(1.2 * turn), float(1 + 0.012 * scale))


class Canvas:
    """A picture of tones from 0 to 1, on which shapes are laid over each other."""

    def __init__(self, size: tuple[int, int], pose: Pose | None = None) -> None:
        width, height = size
        self.pixel = 2.0 / height
        x = (np.arange(width) + 0.5) * self.pixel - width / height
        y = (np.arange(height) + 0.5) * self.pixel - 1.0
        self.x, self.y = np.meshgrid(x, y)
        if pose is not None:
            angle = np.deg2rad(pose.turn)
            moved = (self.x - pose.right + 1j * (self.y - pose.down)) * np.exp(-1j * angle) / pose.scale
            self.x, self.y = moved.real, moved.imag
        self.tone = np.full((height, width), 0.5)

    def cover(self, distance: Floats, soft: float = 0.0) -> Floats:
        """Return the share of each pixel inside a shape, by the signed distance of its middle to the edge."""
        return np.asarray(np.clip(0.5 - distance / (self.pixel + soft), 0.0, 1.0))

    def lay(self, distance: Floats, tone: float | Floats, strength: float = 1.0, soft: float = 0.0) -> None:
        """Lay a shape over what is there."""
        share = strength * self.cover(distance, soft)
        self.tone = self.tone + share * (tone - self.tone)


def ellipse(x: Floats, y: Floats, a: float, b: float) -> Floats:
    """Return the signed distance to an ellipse, to first order: exact at its edge, where it counts."""
    level = np.hypot(x / a, y / b)
    slope = np.hypot(x / a**2, y / b**2) / np.maximum(level, 1e-9)
    return np.asarray((level - 1.0) / np.maximum(slope, 1e-9))


def bar(x: Floats, y: Floats, half_width: float, half_height: float) -> Floats:
    """Return the signed distance to a rectangle of these half sides."""
    dx, dy = np.abs(x) - half_width, np.abs(y) - half_height
    outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
    return np.asarray(outside + np.minimum(np.maximum(dx, dy), 0))


def draw_face(
    who: Identity,
    expression: Expression | None = None,
    light: Light | None = None,
    pose: Pose | None = None,
    *,
    size: tuple[int, int] = (46, 56),
    rng: np.random.Generator | None = None,
) -> Pixels:
    """Draw one face.

    Parameters
    ----------
    who : Identity
    expression : Expression, optional
    light : Light, optional
    pose : Pose, optional
    size : (width, height)
    rng : Generator, optional
        Adds the noise of a camera, of two grey values.

    Returns
    -------
    ndarray of shape (height, width), uint8
    """
    expression, light = expression or Expression(), light or Light()
    canvas = Canvas(size, pose)
    _hair_behind(canvas, who)
    _head(canvas, who)
    _eyes(canvas, who, expression)
    _mouth(canvas, who, expression)
    _hair_before(canvas, who)
    shade = _shade(canvas, who, light)
    return as_pixels(light.exposure * canvas.tone * shade, rng)


def _face_distance(canvas: Canvas, who: Identity) -> Floats:
    # The face narrows below the eyes, by the jaw.
    narrowed = 1.0 - who.jaw * np.clip(canvas.y / who.height, 0.0, 1.0) ** 2
    return ellipse(canvas.x / narrowed, canvas.y, who.width, who.height)


def _hair_behind(canvas: Canvas, who: Identity) -> None:
    canvas.lay(ellipse(canvas.x, canvas.y - 1.25, 0.75, 0.5), 0.35)
    canvas.lay(bar(canvas.x, canvas.y - 0.7, 0.27, 0.3), 0.85 * who.skin)
    cap = ellipse(canvas.x, canvas.y + 0.12, who.width + who.hair_volume, who.height + 0.6 * who.hair_volume)
    fall = bar(canvas.x, canvas.y - (who.hair_length - 0.6) / 2, who.width + who.hair_volume, 0.6)
    fall = np.maximum(fall, -0.2 - canvas.y)
    low = canvas.y - who.hair_length
    canvas.lay(np.maximum(np.minimum(cap, fall), low), who.hair, soft=0.02)


def _head(canvas: Canvas, who: Identity) -> None:
    for side in (-1, 1):
        ear = ellipse(canvas.x - side * who.width, canvas.y + 0.02, 0.06, who.ears + 0.05)
        canvas.lay(ear, 0.88 * who.skin)
    face = _face_distance(canvas, who)
    canvas.lay(face, who.skin)
    if who.beard:
        ring = np.maximum(face, 0.24 - canvas.y + 0.25 * (1 - np.abs(canvas.x) / who.width))
        canvas.lay(ring, 0.8 * who.hair + 0.05, strength=who.beard, soft=0.08)
    bridge = canvas.y - who.eye_height
    nose = who.eye_height + who.nose_length
    for side in (-1, 1):
        edge = np.abs(canvas.x - side * 0.028) - 0.009
        canvas.lay(np.maximum(edge, np.abs(bridge - 0.1) - 0.08), 0.82 * who.skin, 0.35, soft=0.03)
        nostril = ellipse(canvas.x - side * 0.5 * who.nose_width, canvas.y - nose, 0.4 * who.nose_width, 0.02)
        canvas.lay(nostril, 0.35 * who.skin, 0.8, soft=0.015)
    under = ellipse(canvas.x, canvas.y - nose - 0.012, 1.05 * who.nose_width, 0.016)
    canvas.lay(under, 0.55 * who.skin, 0.7, soft=0.02)


def _eyes(canvas: Canvas, who: Identity, expression: Expression) -> None:
    opening = who.eye_opening * (1.0 - expression.eyes_closed)
    for side in (-1, 1):
        x, y = canvas.x - side * who.eye_distance, canvas.y - who.eye_height
        canvas.lay(ellipse(x, y, 1.45 * who.eye_width, 2.3 * who.eye_opening), 0.8 * who.skin, 0.5, soft=0.06)
        white = ellipse(x, y, who.eye_width, max(opening, 0.004))
        canvas.lay(white, 0.9)
        iris = np.hypot(x - 0.03 * expression.gaze, y) - 0.8 * who.eye_opening
        canvas.lay(np.maximum(iris, white), who.iris)
        pupil = np.hypot(x - 0.03 * expression.gaze, y) - 0.38 * who.eye_opening
        canvas.lay(np.maximum(pupil, white), 0.02)
        canvas.lay(np.abs(white) - 0.006, 0.25 * who.skin, np.float64(0.8))
        up = who.brow_gap + 0.035 * expression.brows_raised
        bent = y + up + who.brow_tilt * side * x + who.brow_arch * (1 - (x / who.brow_length) ** 2)
        canvas.lay(bar(x, bent, who.brow_length, who.brow_thickness), 0.75 * who.hair, 0.9, soft=0.01)
        if who.glasses:
            frame = np.abs(ellipse(x, y, 1.55 * who.eye_width, 2.0 * who.eye_width * 0.62)) - 0.011
            canvas.lay(frame, 0.08, who.glasses)
    if who.glasses:
        gap = who.eye_distance - 1.55 * who.eye_width
        canvas.lay(bar(canvas.x, canvas.y - who.eye_height, max(gap, 0.02), 0.01), 0.08, who.glasses)


def _mouth(canvas: Canvas, who: Identity, expression: Expression) -> None:
    width = who.mouth_width * (1.0 + 0.18 * max(expression.smile, 0.0) - 0.12 * expression.mouth_open)
    # The corners go up with a smile: y points down.
    bend = 0.09 * expression.smile * (canvas.x / width) ** 2
    x, y = canvas.x, canvas.y - who.mouth_height + bend - 0.03 * expression.smile
    if who.moustache:
        above = ellipse(x, y + 0.075, 1.05 * width, 0.035)
        canvas.lay(above, 0.8 * who.hair + 0.03, who.moustache, soft=0.02)
    opened = 0.085 * expression.mouth_open
    taper = np.sqrt(np.clip(1 - (x / width) ** 2, 0, 1))
    lips = np.maximum(np.abs(y - opened / 2) - (who.lips + opened / 2) * taper, np.abs(x) - width)
    canvas.lay(lips, who.lip_tone * who.skin, soft=0.01)
    inner = np.maximum(np.abs(y - opened / 2) - (0.006 + opened / 2) * taper, np.abs(x) - width)
    canvas.lay(inner, 0.12)
    if opened > 0.02:
        teeth = np.maximum(inner + 0.008, y - opened * 0.35)
        canvas.lay(teeth, 0.9)
    for side in (-1, 1):
        fold = np.hypot(x - side * (width + 0.1), canvas.y - who.mouth_height + 0.08) - 0.13
        near = np.maximum(np.abs(fold) - 0.008, np.abs(canvas.y - who.mouth_height + 0.06) - 0.08)
        inward = np.maximum(near, side * (x - side * (width + 0.06)))
        canvas.lay(inward, 0.7 * who.skin, 0.5 * max(expression.smile, 0.0), soft=0.02)


def _hair_before(canvas: Canvas, who: Identity) -> None:
    head = ellipse(canvas.x, canvas.y + 0.12, who.width + who.hair_volume, who.height + 0.6 * who.hair_volume)
    line = who.hair_line + 0.35 * (canvas.x - who.parting) ** 2
    streaks = 0.03 * np.sin(34 * (canvas.x - who.parting) / (1.6 + canvas.y)) * (1 - who.hair)
    canvas.lay(np.maximum(head, canvas.y - line), who.hair + streaks, soft=0.02)


def _shade(canvas: Canvas, who: Identity, light: Light) -> Floats:
    """Shade the face like a body under one light, by the slopes of a relief."""
    level = np.clip(np.hypot(canvas.x / who.width, canvas.y / who.height), 0.0, 0.985)
    relief = 0.62 * np.sqrt(1 - level**2)
    nose = who.eye_height + who.nose_length
    ridge = np.clip((canvas.y - who.eye_height) / who.nose_length, 0.0, 1.0)
    falls = np.where(canvas.y > nose, np.exp(-(((canvas.y - nose) / 0.04) ** 2)), 1.0)
    relief += 0.13 * ridge * falls * np.exp(-((canvas.x / (0.45 * who.nose_width + 0.03)) ** 2))
    for side in (-1, 1):
        socket = ((canvas.x - side * who.eye_distance) / 0.13) ** 2 + (
            (canvas.y - who.eye_height) / 0.08
        ) ** 2
        relief -= 0.035 * np.exp(-socket)
    down, right = np.gradient(relief, canvas.pixel)
    azimuth, elevation = np.deg2rad(light.azimuth), np.deg2rad(light.elevation)
    toward = np.cos(elevation) * np.sin(azimuth), -np.sin(elevation), np.cos(elevation) * np.cos(azimuth)
    steep = np.sqrt(1 + right**2 + down**2)
    lit = np.maximum(-right * toward[0] - down * toward[1] + toward[2], 0.0) / steep
    # Hair and background around the face are lit evenly, without an edge.
    inside = np.clip((1.05 - np.hypot(canvas.x / who.width, canvas.y / who.height)) / 0.2, 0.0, 1.0)
    return np.asarray(1 - light.strength + light.strength * (1.25 * lit * inside + 0.75 * (1 - inside)))


def as_pixels(tone: Floats, rng: np.random.Generator | None) -> Pixels:
    """Return tones from 0 to 1 as grey values, with the noise of a camera where ``rng`` is given."""
    noise = 0.0 if rng is None else 2.0 * rng.standard_normal(tone.shape)
    return np.rint(np.clip(255 * tone + noise, 0, 255)).astype(np.uint8)


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
