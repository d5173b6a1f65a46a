"""``python benchmarks/faces_rates.py [--galleries N]``: whether strangers get names as rarely as asked for.

People are drawn as points of a normal distribution and their pictures around them. A gallery of 8 to 200 of
them finds its threshold from their own pictures; then 2000 pictures of 1000 new people are asked about. What
is printed is the rate at which these get a name, divided by the rate asked for, as a mean over galleries;
before that the rate taken by default, and the same for it. Takes about three minutes.
"""

from __future__ import annotations

import argparse

import numpy as np

from gramian.faces import Recogniser

FARS = (None, 0.2, 0.05, 0.01, 0.001)
# Pictures of each person, dimensions, distance, spread of one person's pictures as a share of that of people.
WORLDS = ((1, 3, "euclidean", 0.2), (3, 20, "cosine", 0.5), (5, 40, "cosine", 0.7))


def named(
    people: int, world: tuple[int, int, str, float], far: float | None, seed: int
) -> tuple[float, float]:
    """Return the rate taken, and the rate at which strangers get a name, divided by it."""
    pictures, dimensions, distance, noise = world
    rng = np.random.default_rng(seed)
    scale = np.arange(1, dimensions + 1) ** -0.5 if dimensions > 3 else np.ones(dimensions)

    def drawn(count: int, each: int) -> np.ndarray:
        places = np.repeat(rng.standard_normal((count, dimensions)), each, axis=0)
        return scale * (places + noise * rng.standard_normal(places.shape))

    names = np.repeat([f"p{i:04}" for i in range(people)], pictures)
    recogniser = Recogniser(distance=distance, discriminant=False, far=far)
    recogniser.fit(drawn(people, pictures), names, scale**2)
    passed = recogniser.similarity(drawn(1000, 2)).max(axis=1) >= recogniser.threshold_
    return recogniser.far_, float(passed.mean()) / recogniser.far_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--galleries", type=int, default=60, help="galleries that a figure is the mean of")
    galleries = parser.parse_args().galleries
    print(
        "people  pictures  dimensions  distance   "
        + "default     by        "
        + "".join(f"far {far:<8g}" for far in FARS[1:])
    )
    for people in (8, 12, 30, 50, 200):
        for world in WORLDS:
            count = max(5, galleries // 4) if people == 200 else galleries
            results = [
                np.mean([named(people, world, far, seed) for seed in range(count)], axis=0) for far in FARS
            ]
            figures = f"{results[0][0]:<12.3g}" + "".join(f"{value:<12.2f}" for _, value in results)
            print(f"{people:>6}  {world[0]:>8}  {world[1]:>10}  {world[2]:9}  {figures}", flush=True)


if __name__ == "__main__":
    main()
