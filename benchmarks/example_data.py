"""``python benchmarks/example_data.py``: write the example files of ``src/gramian/examples`` anew.

People under changing expressions and light, and things that are no faces, are drawn. Coordinates are x to the
right and y down, 0 in the middle of the picture; its height is 2. Tables are drawn at random, or taken from
scikit-learn; ``penguins.csv`` is measured, and is left as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits, load_iris, make_circles

from gramian.core.records import FloatArray
from gramian.faces import Faces
from gramian.report.tables import write_table

NOISE = 2.0  # of a camera, in grey values
# What stays the same of a person: lengths in units of half the picture's height, tones from 0 to 1.
PERSON = {
    "width": (0.45, 0.67),
    "height": (0.63, 0.85),
    "skin": (0.55, 0.92),
    "eye_distance": (0.18, 0.32),
    "eye_height": (-0.18, -0.02),
    "eye_width": (0.065, 0.145),
    "brow_gap": (0.08, 0.18),
    "nose_length": (0.16, 0.38),
    "mouth_height": (0.34, 0.52),
    "mouth_width": (0.12, 0.28),
    "hair": (0.03, 0.75),
    "hair_line": (-0.63, -0.29),
}
# What changes from picture to picture: the expression, the light (from the left or the right, and how much of
# it), and what an alignment by the eyes leaves.
MOMENT = {
    "smile": (-0.6, 1.0),
    "light": (-0.7, 0.7),
    "exposure": (0.8, 1.15),
    "right": (-0.02, 0.02),
    "down": (-0.02, 0.02),
}
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
        At least 8 each.
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
    digits = max(2, len(str(n_people)))
    pictures, people, names = [], [], []
    for number, person_seed in enumerate(_seeds(seed, n_people), start=1):
        person = _looks(PERSON, np.random.default_rng(person_seed))
        for picture, picture_seed in enumerate(person_seed.spawn(n_pictures), start=1):
            rng = np.random.default_rng(picture_seed)
            canvas = _Canvas(size)
            _face(canvas, SimpleNamespace(**person, **_looks(MOMENT, rng)))
            pictures.append(_as_pixels(canvas.tone, rng))
            people.append(f"p{number:0{digits}}")
            names.append(f"{people[-1]}/{picture}.png")
    return _as_faces(pictures, people, names, f"drawn faces (seed {seed})")


def drawn_others(n: int = 5, *, size: tuple[int, int] = (46, 56), seed: int = 0) -> Faces:
    """Draw what is no face: houses, trees and stripes in turn.

    Examples
    --------
    >>> drawn_others(2, size=(24, 28)).names
    ('house1.png', 'tree2.png')
    """
    pictures, names = [], []
    for number, child in enumerate(_seeds(seed, n)):
        rng, canvas = np.random.default_rng(child), _Canvas(size)
        name, draw = OTHERS[number % len(OTHERS)]
        canvas.tone[:] = rng.uniform(0.2, 0.9)
        draw(canvas, rng)
        pictures.append(_as_pixels(canvas.tone, rng))
        names.append(f"{name}{number + 1}.png")
    return _as_faces(pictures, None, names, f"drawn things (seed {seed})")


def _looks(ranges: dict[str, tuple[float, float]], rng: np.random.Generator) -> dict[str, float]:
    return {name: rng.uniform(*ends) for name, ends in ranges.items()}


def _seeds(seed: int, count: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed).spawn(count)


def _as_faces(pictures: list[Pixels], people: list[str] | None, names: list[str], source: str) -> Faces:
    hashes = tuple(hashlib.sha256(picture.tobytes()).hexdigest() for picture in pictures)
    return Faces(np.stack(pictures), tuple(people) if people else None, tuple(names), hashes, source=source)


def _as_pixels(tone: FloatArray, rng: np.random.Generator) -> Pixels:
    noisy = 255 * tone + NOISE * rng.standard_normal(tone.shape)
    return np.rint(np.clip(noisy, 0, 255)).astype(np.uint8)


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

    def lay(self, distance: FloatArray, tone: float) -> None:
        """Lay a shape over what is there, given the signed distance of each pixel's middle to its edge."""
        share = np.clip(0.5 - distance / self.pixel, 0.0, 1.0)
        self.tone += share * (tone - self.tone)


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


# ------------------------------------------------------------------ what is drawn


def _face(canvas: _Canvas, face: SimpleNamespace) -> None:
    """Draw one face, by all that is in ``PERSON`` and ``MOMENT``."""
    x, y = canvas.x - face.right, canvas.y - face.down
    outline = _ellipse(x, y + 0.12, face.width + 0.1, face.height + 0.06)
    canvas.lay(outline, face.hair)
    canvas.lay(_ellipse(x, y, face.width, face.height), face.skin)
    canvas.lay(np.maximum(outline, y - face.hair_line - 0.35 * x**2), face.hair)
    for side in (-1, 1):
        eye_x, eye_y = x - side * face.eye_distance, y - face.eye_height
        white = _ellipse(eye_x, eye_y, face.eye_width, 0.46 * face.eye_width)
        canvas.lay(white, 0.9)
        canvas.lay(np.maximum(np.hypot(eye_x, eye_y) - 0.35 * face.eye_width, white), 0.1)
        canvas.lay(_bar(eye_x, eye_y + face.brow_gap, 0.13, 0.02), 0.75 * face.hair)
    canvas.lay(_ellipse(x, y - face.eye_height - face.nose_length, 0.09, 0.025), 0.5 * face.skin)
    # The corners go up with a smile: y points down.
    bend = 0.09 * face.smile * (x / face.mouth_width) ** 2
    canvas.lay(_bar(x, y - face.mouth_height + bend, face.mouth_width, 0.03), 0.5 * face.skin)
    canvas.tone *= face.exposure * (1 + face.light * canvas.x)


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


def _stripes(canvas: _Canvas, rng: np.random.Generator) -> None:
    angle, width = rng.uniform(0, np.pi), rng.uniform(0.12, 0.4)
    along = canvas.x * np.cos(angle) + canvas.y * np.sin(angle)
    canvas.lay(np.abs((along / width) % 2 - 1) * width - width / 2, rng.uniform(0, 1))


OTHERS: tuple[tuple[str, Callable[[_Canvas, np.random.Generator], None]], ...] = (
    ("house", _house),
    ("tree", _tree),
    ("stripes", _stripes),
)


# ------------------------------------------------------------------ the example files

EXAMPLES = Path(__file__).parents[1] / "src" / "gramian" / "examples"
PEOPLE, PICTURES, THINGS, SIZE = 40, 8, 60, (36, 44)
STEP = 4  # between grey values: a file of all 256 would be twice as large
GENES, SAMPLES, CHANGED = 300, 12, 40
SEED = 0


def write_pictures(name: str, faces: Faces) -> None:
    """Write pictures, the people on them and their names to an .npz file."""
    arrays = {"X": faces.pictures // STEP * STEP, "name": np.array(faces.names)}
    if faces.people is not None:
        arrays["y"] = np.array(faces.people)
    np.savez_compressed(EXAMPLES / name, **arrays)


def visitors() -> Faces:
    """Draw a new picture of an enrolled person, and one of somebody else; and a house."""
    everybody = drawn_faces(PEOPLE + 1, PICTURES + 1, size=SIZE, seed=SEED)
    third, stranger = 2 * (PICTURES + 1) + PICTURES, PEOPLE * (PICTURES + 1)
    pictures = [*everybody.pictures[[third, stranger]], drawn_others(1, size=SIZE, seed=1).pictures[0]]
    return _as_faces(pictures, None, ["p03.png", "stranger.png", "house.png"], "visitors")


def flowers() -> dict[str, dict[str, Any]]:
    """Return Fisher's irises as two tables: one in ten is new."""
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


def genes() -> dict[str, Any]:
    """Return made-up expression levels, a row for each gene; some differ where samples were treated."""
    rng = np.random.default_rng(SEED)
    levels = rng.uniform(3, 12, (GENES, 1)) + rng.normal(0, 0.4, (GENES, SAMPLES))
    half = SAMPLES // 2
    levels[:CHANGED, half:] += rng.choice([-2.0, 2.0], (CHANGED, 1))
    samples = [f"{kind}{i + 1}" for kind in ("control", "treated") for i in range(half)]
    names = [f"gene{i + 1}" for i in range(GENES)]
    return {"gene": names, **dict(zip(samples, levels.round(3).T, strict=True))}


def rings() -> dict[str, Any]:
    """Return points on two rings."""
    points, inner = make_circles(200, noise=0.05, factor=0.4, random_state=SEED)
    x, y = points.round(4).T
    return {"ring": np.where(inner == 1, "inner", "outer"), "x": x, "y": y}


def circle() -> dict[str, Any]:
    """Return points on one circle, without noise."""
    angle = np.arange(60.0)
    return {"x": 3 + 1.5 * np.cos(angle), "y": 2 + 1.5 * np.sin(angle)}


def main() -> None:
    """Write all files."""
    write_pictures("faces.npz", drawn_faces(PEOPLE, PICTURES, size=SIZE, seed=SEED))
    write_pictures("things.npz", drawn_others(THINGS, size=SIZE, seed=SEED))
    write_pictures("visitors.npz", visitors())
    digits = load_digits()
    np.savez_compressed(EXAMPLES / "digits.npz", X=digits.images.astype(np.uint8), y=digits.target)
    tables = {**flowers(), "genes.csv": genes(), "rings.csv": rings(), "circle.csv": circle()}
    for name, columns in tables.items():
        write_table(EXAMPLES / name, columns, "csv")


if __name__ == "__main__":
    main()
