"""``python benchmarks/relations.py``: how often planted laws are recovered, by law and noise.

A run counts as recovered when exactly the planted relations are reported, with exactly their terms and every
coefficient within ten times the noise (1e-9 without noise) of the planted one, relative to it. Noise is
normal, in every column, in units of the column's standard deviation. On pure noise any relation is a false
alarm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gramian
from gramian.select.relations import Relations

ROWS = 200
NOISES = (0.0, 1e-6, 1e-2)
Law = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class Planted:
    """Rows drawn from a variety, and the relations that define it."""

    name: str
    degree: int
    draw: Callable[[np.random.Generator], np.ndarray]
    laws: tuple[Law, ...]


def circle(rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(0, 2 * np.pi, ROWS)
    return np.column_stack([3 + 1.5 * np.cos(t), 2 + 1.5 * np.sin(t)])


def ellipse(rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(0, 2 * np.pi, ROWS)
    return np.column_stack([1 + 3 * np.cos(t), -2 + 2 * np.sin(t)])


def sphere(rng: np.random.Generator) -> np.ndarray:
    directions = rng.standard_normal((ROWS, 3))
    return 2 * directions / np.linalg.norm(directions, axis=1)[:, None] + [1, 0, -1]


def bmi(rng: np.random.Generator) -> np.ndarray:
    index, height = rng.uniform(17, 40, ROWS), rng.uniform(1.5, 2.0, ROWS)
    return np.column_stack([index, height, index * height**2])


def quadratic(rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((ROWS, 5))
    X[:, 4] = X[:, 0] * X[:, 1] - 0.5 * X[:, 2] ** 2
    return X


def curve(rng: np.random.Generator) -> np.ndarray:
    x = rng.uniform(-1, 1, ROWS)
    return np.column_stack([x, x**2, x**3])


def line(rng: np.random.Generator) -> np.ndarray:
    x, z = rng.standard_normal((2, ROWS))
    return np.column_stack([x, 1 - x, z])


def ohm(rng: np.random.Generator) -> np.ndarray:
    current, resistance = rng.uniform(0.1, 2, ROWS), rng.uniform(1, 10, ROWS)
    voltage = current * resistance
    return np.column_stack([voltage, current, resistance, voltage * current])


def ring(rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(0, 2 * np.pi, ROWS)
    return np.column_stack([np.cos(t), np.sin(t), 1 - np.cos(t) - np.sin(t)])


PLANTED = (
    Planted("circle", 2, circle, ({(2, 0): 1, (0, 2): 1, (1, 0): -6, (0, 1): -4, (0, 0): 10.75},)),
    Planted("circle, degree 3", 3, circle, ({(2, 0): 1, (0, 2): 1, (1, 0): -6, (0, 1): -4, (0, 0): 10.75},)),
    Planted("ellipse", 2, ellipse, ({(2, 0): 1, (0, 2): 2.25, (1, 0): -2, (0, 1): 9, (0, 0): 1},)),
    Planted(
        "sphere",
        2,
        sphere,
        ({(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 2): 1, (1, 0, 0): -2, (0, 0, 1): 2, (0, 0, 0): -2},),
    ),
    Planted("bmi = weight / height^2", 3, bmi, ({(1, 2, 0): 1, (0, 0, 1): -1},)),
    Planted(
        "quadric among 5 columns",
        2,
        quadratic,
        ({(1, 1, 0, 0, 0): 1, (0, 0, 2, 0, 0): -0.5, (0, 0, 0, 0, 1): -1},),
    ),
    Planted("y = x^2, z = x y", 2, curve, ({(2, 0, 0): 1, (0, 1, 0): -1}, {(1, 1, 0): 1, (0, 0, 1): -1})),
    Planted("x + y = 1, z free", 2, line, ({(1, 0, 0): 1, (0, 1, 0): 1, (0, 0, 0): -1},)),
    Planted(
        "V = I R, P = V I",
        2,
        ohm,
        ({(0, 1, 1, 0): 1, (1, 0, 0, 0): -1}, {(1, 1, 0, 0): 1, (0, 0, 0, 1): -1}),
    ),
    Planted(
        "circle in a plane",
        2,
        ring,
        (
            {(1, 0, 0): 1, (0, 1, 0): 1, (0, 0, 1): 1, (0, 0, 0): -1},
            {(2, 0, 0): 1, (0, 2, 0): 1, (0, 0, 0): -1},
        ),
    ),
)
PURE: tuple[tuple[str, int, Callable[[np.random.Generator], np.ndarray]], ...] = (
    ("normal, 200 x 5, degree 2", 2, lambda rng: rng.standard_normal((200, 5))),
    ("normal, 132 x 10, degree 2", 2, lambda rng: rng.standard_normal((132, 10))),
    ("uniform, 200 x 3, degree 3", 3, lambda rng: rng.uniform(size=(200, 3))),
    ("Cauchy, 200 x 3, degree 2", 2, lambda rng: rng.standard_cauchy((200, 3))),
    ("lognormal, 200 x 4, degree 2", 2, lambda rng: np.exp(2 * rng.standard_normal((200, 4)))),
    ("correlated 0.9, 200 x 4, degree 2", 2, lambda rng: _correlated(rng)),
)


def _correlated(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((200, 1)) + rng.standard_normal((200, 4)) / 3


def recovered(result: Relations, laws: tuple[Law, ...], noise: float) -> bool:
    """Return whether exactly these laws were found."""
    if len(result) != len(laws):
        return False
    rest = list(result)
    for law in laws:
        same = next((r for r in rest if {tuple(p) for p in r.powers.tolist()} == set(law)), None)
        if same is None:
            return False
        rest.remove(same)
        planted = np.array([law[tuple(power)] for power in same.powers.tolist()])
        factor = same.coefficients[np.argmax(same.powers.sum(axis=1))]
        factor /= planted[np.argmax(same.powers.sum(axis=1))]
        if np.any(np.abs(same.coefficients / factor - planted) > max(10 * noise, 1e-9) * np.abs(planted)):
            return False
    return True


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python benchmarks/relations.py", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=100, metavar="N", help="runs of each cell (default: 100)"
    )
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed (default: 0)")
    asked = parser.parse_args()
    seeds, tried = asked.seeds, range(asked.first, asked.first + asked.seeds)
    start = time.perf_counter()
    heads = " | ".join(f"noise {noise:g}" for noise in NOISES)
    print(f"recovered of {seeds} seeds, {ROWS} rows\n\n| law | {heads} |\n|---|" + "---:|" * len(NOISES))
    for planted in PLANTED:
        cells = []
        for noise in NOISES:
            hits = 0
            for seed in tried:
                rng = np.random.default_rng(seed)
                X = planted.draw(rng)
                X = X + noise * X.std(axis=0) * rng.standard_normal(X.shape)
                hits += recovered(gramian.relations(X, planted.degree), planted.laws, noise)
            cells.append(f"{100 * hits / seeds:.0f} %")
        print(f"| {planted.name} | {' | '.join(cells)} |", flush=True)
    print(f"\nfalse alarms of {seeds} seeds\n\n| pure noise | runs with a relation |\n|---|---:|")
    for name, degree, draw in PURE:
        alarms = sum(len(gramian.relations(draw(np.random.default_rng(seed)), degree)) > 0 for seed in tried)
        print(f"| {name} | {100 * alarms / seeds:.0f} % |", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
