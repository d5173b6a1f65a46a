"""``python benchmarks/faces_or_not.py [--splits N]``: which measure tells faces from dogs and cats.

ORL faces: in each split five random pictures of each person are fitted, and a threshold keeps 99 % of the
other five; and, harder, 32 people are fitted and the threshold keeps 99 % of the pictures of the other eight.
What is printed is the share of 160 dogs and cats above the threshold, as a mean over the splits.

Needs the data sets in ../shared/data beside the repository or in $GRAMIAN_TEST_DATA.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from gramian import PCA
from gramian.faces import FaceSpace, read_faces
from gramian.faces.face_images import relight
from gramian.faces.space import fit_detector, unlikeness
from gramian.tables.formats.pictures import resized

KEEP = 0.99
Measure = Callable[[np.ndarray, list[np.ndarray]], list[np.ndarray]]


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    faces = read_faces(folder / "faces" / "orl")
    sets = [loadmat(folder / "pictures" / f"{kind}Data.mat")[kind] for kind in ("dog", "cat")]
    animals = np.concatenate([kind.T.reshape(-1, 64, 64).transpose(0, 2, 1) for kind in sets])
    return (
        faces.pictures,
        np.array(faces.people),
        np.stack([resized(a.astype(np.uint8), (92, 112)) for a in animals]),
    )


def by_components(light: str, count: int, measure: str) -> Measure:
    def scores(fitted: np.ndarray, given: list[np.ndarray]) -> list[np.ndarray]:
        model = PCA(count, random_state=0).fit(relight(fitted, light))
        results = []
        for pictures in given:
            relit = relight(pictures, light)
            centred = (relit.reshape(len(relit), -1) - model.mean_).astype(float)
            z, size = model.transform(relit).astype(float), np.sum(centred**2, axis=1)
            left = size - np.sum(z**2, axis=1)
            inside = np.sum(z**2 / model.explained_variance_, axis=1)
            results.append(
                {
                    "relative error": left / size,
                    "residual": left,
                    "Moghaddam-Pentland": inside + left / model.noise_variance_,
                }[measure]
            )
        return results

    return scores


def by_detector(fitted: np.ndarray, given: list[np.ndarray]) -> list[np.ndarray]:
    models = fit_detector(fitted, 0)
    return [unlikeness(models, pictures) for pictures in given]


MEASURES: dict[str, Measure] = {
    f"{measure}, {light}, r = {count}": by_components(light, count, measure)
    for measure, light in (
        ("relative error", "none"),
        ("residual", "none"),
        ("Moghaddam-Pentland", "none"),
        ("residual", "dog"),
    )
    for count in (25, 100)
} | {"face_score": by_detector}


def fitted_of(people: np.ndarray, by_people: bool, rng: np.random.Generator) -> np.ndarray:
    everybody = np.unique(people)
    if by_people:
        return np.isin(people, rng.permutation(everybody)[:32])
    fitted = np.zeros(len(people), dtype=bool)
    for person in everybody:
        fitted[rng.permutation(np.flatnonzero(people == person))[:5]] = True
    return fitted


def threshold(scores: np.ndarray) -> float:
    return float(np.sort(scores)[math.ceil(KEEP * len(scores)) - 1])


def main(splits: int) -> None:
    pictures, people, animals = data()
    print(f"Dogs and cats refused at keeping {100 * KEEP:g} % of held-out faces, {splits} splits\n")
    print(f"{'':36}{'new pictures':>14}{'new people':>14}")
    for name, measure in MEASURES.items():
        shares = []
        for by_people in (False, True):
            refused = []
            for split in range(splits):
                fitted = fitted_of(people, by_people, np.random.default_rng(split))
                new, others = measure(pictures[fitted], [pictures[~fitted], animals])
                refused.append(np.mean(others > threshold(new)))
            shares.append(np.mean(refused))
        print(f"{name:36}" + "".join(f"{100 * share:12.1f} %" for share in shares), flush=True)
    space = FaceSpace(25).fit(pictures, people)
    refused = np.mean(space.face_score(animals) > space.face_threshold_)
    print(f"\nFaceSpace fitted on all faces, at its own threshold: {100 * refused:.1f} % refused")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--splits", type=int, default=10)
    main(parser.parse_args().splits)
