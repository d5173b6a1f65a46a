"""``python benchmarks/faces_latency.py [--quick]``: how long a gallery takes to fill, to load and to answer.

A model is fitted on drawn faces, and people are drawn at random in its space: of the variance of a vector in
each component 0.8 is who it is and 0.2 the picture. They are enrolled into a file, which is opened again, a
recogniser is fitted, and pictures of new people and of enrolled ones are asked for one at a time:

- *vector*: from the scores of a picture to the answer;
- *picture*: from the grey values of a picture in the model's size to the answer, that is the treatment of
  light, the scores, whether it is a face, and who it is. Decoding a file is not in it.

Single calls, one after the other: the fastest, the median, and what 95 % of them are under. "One by one" are
the three steps with all threads of BLAS, which wait for each other where other programs are busy.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from example_data import drawn_faces
from harness.machine import machine

from gramian.faces import FaceSpace, Gallery
from gramian.faces.gallery import changing
from gramian.faces.recognition import identify

WITHIN = 0.2


def vectors_of(people: np.ndarray, count: int, scales: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((len(people), count, len(scales))).astype(np.float32)
    return (np.sqrt(1 - WITHIN) * people[:, None] + np.sqrt(WITHIN) * noise) * scales


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def said(what: str, seconds: float) -> None:
    print(f"{what:52}{seconds:9.2f} s", flush=True)


def calls(what: str, ask: Callable[[int], Any], count: int) -> None:
    for i in range(5):
        ask(i)
    times = [timed(lambda i=i: ask(i))[0] for i in range(count)]
    shown = "".join(f"{1e3 * seconds:9.2f} ms" for seconds in np.quantile(times, [0, 0.5, 0.95]))
    print(f"{what:52}{shown}", flush=True)


def measure(people: int, pictures: int, components: int, size: tuple[int, int], count: int) -> None:
    here = machine()
    print(f"{here['cpu']}, {here['cores']} cores, load {here['load_average']}, {here['packages']}")
    rng = np.random.default_rng(0)
    drawn = drawn_faces(components // 4 + 5, 5, size=size, seed=0)
    seconds, space = timed(lambda: FaceSpace(components).fit(drawn))
    said(f"fitting {components} components, {size[0]}x{size[1]} pixels, {len(drawn)} pictures", seconds)
    scales = np.sqrt(space.eigenvalues_).astype(np.float32)
    identities = rng.standard_normal((people, components)).astype(np.float32)
    vectors = vectors_of(identities, pictures, scales, rng).reshape(-1, components)
    names = [f"person {i // pictures}" for i in range(len(vectors))]
    hashes = [hashlib.sha256(name.encode() + b"%d" % i).hexdigest() for i, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.gallery")
        seconds, _ = timed(lambda: _enroll(path, space, names, vectors, hashes))
        said(f"enrolling {people:,} people x {pictures} pictures", seconds)
        said(
            f"one more picture ({path.stat().st_size / 1e6:.0f} MB of file)",
            timed(lambda: _enroll(path, space, "one more", vectors[:1], ["0" * 64]))[0],
        )
        seconds, gallery = timed(lambda: Gallery.open(path, space))
        said("opening and reading all vectors", seconds)
        seconds, recogniser = timed(gallery.recogniser)
        said("a recogniser", seconds)
        asked = np.concatenate(
            [
                vectors_of(identities[: count // 2], 1, scales, rng)[:, 0],
                scales * rng.standard_normal((count - count // 2, components)).astype(np.float32),
            ]
        )
        faces = np.clip(space.decomposition_.inverse_transform(asked), 0, 255).astype(np.uint8)
        faces = faces.reshape(-1, *space.picture_shape_)
        _answers(space, recogniser, asked, faces, count)
        said("forgetting one person", timed(lambda: _forget(path))[0])
    print(f"largest memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def _enroll(path: Path, space: FaceSpace, *pictures: Any) -> None:
    with changing(path, space) as gallery:
        gallery.enroll(*pictures)


def _forget(path: Path) -> None:
    with changing(path) as gallery:
        gallery.forget("person 7")


def _answers(space: FaceSpace, recogniser: Any, asked: np.ndarray, faces: np.ndarray, count: int) -> None:
    def one_by_one(i: int) -> Any:
        picture = faces[i : i + 1]
        return recogniser.identify(space.transform(picture), space.face_score(picture), space.face_threshold_)

    print(f"{'':52}{'fastest':>12}{'median':>12}{'95 %':>12}")
    calls("vector", lambda i: recogniser.identify(asked[i : i + 1]), count)
    calls("picture", lambda i: identify(space, recogniser, faces[i : i + 1]), count)
    calls("picture, one by one", one_by_one, count)
    answers = recogniser.identify(asked)
    right = sum(answer.person == f"person {i}" for i, answer in enumerate(answers[: count // 2]))
    wrong = sum(answer.person is not None for answer in answers[count // 2 :])
    print(
        f"of {count // 2} enrolled people {right} were known; of {count - count // 2} strangers {wrong} were"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--pictures", type=int, default=3)
    parser.add_argument("--components", type=int, default=300)
    parser.add_argument("--size", default="92x112")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="200 people, 20 components: a rehearsal")
    asked = parser.parse_args()
    width, height = (int(part) for part in asked.size.split("x"))
    if asked.quick:
        asked.people, asked.components, asked.calls, width, height = 200, 20, 20, 24, 28
    measure(asked.people, asked.pictures, asked.components, (width, height), asked.calls)


if __name__ == "__main__":
    main()
