"""``python benchmarks/faces_rates.py [--galleries N] [--faces]``: whether strangers are named as asked for.

People are drawn as points of a normal distribution and their pictures around them. A gallery of 8 to 200 of
them finds its threshold from their own pictures; then 2000 pictures of 1000 new people are asked about. What
is printed is the rate at which these get a name, divided by the rate asked for, as a mean over galleries;
before that the rate taken by default, and the same for it. Takes about three minutes.

``--faces`` asks the same of photographs, at the rate 0.05: people of ORL, of Extended Yale B, and of both
are enrolled with two or five pictures each, and ten pictures of everybody else are strangers. The model is
fitted on the enrolled pictures, or on the people of the other collection. ``--people`` takes some sizes of
galleries, and ``--margin`` another margin than 3 for models of the enrolled pictures. Needs the folder
faces in shared/data beside the repository or in $GRAMIAN_TEST_DATA.

``--drawn`` does so with galleries of twelve drawn people, and prints how many of their pictures are rejected.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from example_data import drawn_faces
from scipy.io import loadmat

from gramian import PCA
from gramian.faces import FaceSpace, Recogniser, similarity

FARS = (None, 0.2, 0.05, 0.01, 0.001)
# Pictures of each person, dimensions, spread of one person's pictures as a share of that of people.
WORLDS = ((1, 10, 0.2), (3, 20, 0.5), (5, 40, 0.7))


def named(people: int, world: tuple[int, int, float], far: float | None, seed: int) -> tuple[float, float]:
    """Return the rate taken, and the rate at which strangers get a name, divided by it."""
    pictures, dimensions, noise = world
    rng = np.random.default_rng(seed)
    scale = np.arange(1, dimensions + 1) ** -0.5 if dimensions > 3 else np.ones(dimensions)

    def drawn(count: int, each: int) -> np.ndarray:
        places = np.repeat(rng.standard_normal((count, dimensions)), each, axis=0)
        return scale * (places + noise * rng.standard_normal(places.shape))

    names = np.repeat([f"p{i:04}" for i in range(people)], pictures)
    recogniser = Recogniser(discriminant=False, far=far)
    recogniser.fit(drawn(people, pictures), names, scale**2)
    passed = recogniser.similarity(drawn(1000, 2)).max(axis=1) >= recogniser.threshold_
    return recogniser.far_, float(passed.mean()) / recogniser.far_


COMPONENTS, FAR = 60, 0.05


def collections() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return vectors of 48 x 42 pixels with the people on them, from 1 in ORL and from 101 in Yale B."""
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = (Path(named) if named else Path(__file__).parents[2] / "shared" / "data") / "faces"
    orl = loadmat(folder / "olivettifaces.mat")["faces"].T.reshape(400, 64, 64).transpose(0, 2, 1)
    with np.load(folder / "extended_yale_b_cropped_u8.npz") as file:
        yale, people = file["X"].reshape(-1, 48, 4, 42, 4).mean(axis=(2, 4)), 100 + file["y"]
    both = np.concatenate([orl[:, 8:56, 11:53].reshape(400, -1), yale.reshape(len(yale), -1)])
    who = np.concatenate([1 + np.repeat(np.arange(40), 10), people])
    pictures = both.astype(np.float32)
    return {
        "ORL": (pictures[:400], who[:400]),
        "Yale B": (pictures[400:], who[400:]),
        "both": (pictures, who),
    }


def photographed(
    X: np.ndarray, who: np.ndarray, enrolled: int, each: int, seed: int, space: PCA | None
) -> tuple[float, float]:
    """Return the shares of strangers' pictures with a name, and of others with the right name."""
    rng = np.random.default_rng(seed)
    people = rng.permutation(np.unique(who))
    drawn = [rng.permutation(np.flatnonzero(who == person)) for person in people]
    own = np.concatenate([places[:each] for places in drawn[:enrolled]])
    new = np.concatenate([places[each : each + 10] for places in drawn[:enrolled]])
    strange = np.concatenate([places[:10] for places in drawn[enrolled:]])
    model = PCA(min(COMPONENTS, len(own) - 1)).fit(X[own]) if space is None else space
    recogniser = Recogniser(far=FAR)
    recogniser.fit(model.transform(X[own]), who[own].astype(str), model.explained_variance_)
    named = recogniser.similarity(model.transform(X[strange])).max(axis=1) >= recogniser.threshold_
    scores = recogniser.similarity(model.transform(X[new]))
    right = np.array(recogniser.people_)[scores.argmax(axis=1)] == who[new].astype(str)
    return float(named.mean()), float((right & (scores.max(axis=1) >= recogniser.threshold_)).mean())


def faces(splits: int, sizes: tuple[int, ...]) -> None:
    known = collections()
    spaces = {name: PCA(COMPONENTS).fit(X[:: len(X) // 400]) for name, (X, _) in known.items()}
    print(f"Strangers named at a stated {FAR:g}: mean of {splits} splits, standard error, largest; own")
    for name, other in (("ORL", ""), ("Yale B", ""), ("both", ""), ("ORL", "Yale B"), ("Yale B", "ORL")):
        X, who = known[name]
        for enrolled in sizes:
            if enrolled + 8 > len(np.unique(who)):
                continue
            for each in (2, 5):
                space = spaces[other] if other else None
                runs = [photographed(X, who, enrolled, each, seed, space) for seed in range(splits)]
                named, right = np.array(runs).T
                error = named.std(ddof=1) / splits**0.5
                print(
                    f"{name:7} space of {other or 'the enrolled':13}{enrolled:3} people, {each} pictures: "
                    f"{named.mean():.3f} +-{error:.3f}, {named.max():.2f}; {right.mean():.2f}",
                    flush=True,
                )


def drawn(galleries: int) -> None:
    """Print what galleries like the example of docs/faces_recognition.md do at their default rate."""
    results = []
    for seed in range(galleries):
        faces = drawn_faces(12 + 40, 8, size=(24, 28), seed=seed)
        place = np.arange(len(faces))
        known, new, strange = (
            faces.take(place[mask])
            for mask in ((place < 96) & (place % 8 < 6), (place < 96) & (place % 8 >= 6), place >= 96)
        )
        space = FaceSpace(30).fit(known)
        recogniser = Recogniser().fit(space.transform(known), known.people, space.eigenvalues_)
        accepted = [
            float((recogniser.similarity(space.transform(some)).max(axis=1) >= recogniser.threshold_).mean())
            for some in (new, strange)
        ]
        results.append((1 - accepted[0], recogniser.predicted_false_reject_, accepted[1]))
    rejected, predicted, named = np.mean(results, axis=0)
    worst = max(one[2] for one in results)
    print(
        f"{galleries} galleries of 12 drawn people, by default: {rejected:.1%} of their new pictures "
        f"rejected ({predicted:.1%} predicted), {named:.1%} of strangers named, at most {worst:.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--galleries", type=int, default=60, help="galleries that a figure is the mean of")
    parser.add_argument("--faces", action="store_true", help="photographs instead of simulated people")
    parser.add_argument("--drawn", action="store_true", help="drawn faces instead of simulated people")
    parser.add_argument("--margin", type=float, default=similarity.KNOWN, help="of models of these pictures")
    parser.add_argument("--people", type=int, nargs="*", default=[10, 20, 30, 40], help="of photographs")
    asked = parser.parse_args()
    galleries = asked.galleries
    similarity.KNOWN = asked.margin
    if asked.drawn:
        drawn(max(5, galleries // 6))
        return
    if asked.faces:
        faces(max(5, galleries // 3), tuple(asked.people))
        return
    print(
        "people  pictures  dimensions  "
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
            print(f"{people:>6}  {world[0]:>8}  {world[1]:>10}  {figures}", flush=True)


if __name__ == "__main__":
    main()
