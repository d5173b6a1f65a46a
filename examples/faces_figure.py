"""``make faces-figure``: what eigenfaces rebuild of a new face, a dog and noise, on Extended Yale B.

The space of faces is fitted on the pictures of the first 36 people, and asked to rebuild those of the others,
dogs and cats, and noise, from 25 to 1600 components. Writes a strip of pictures, a chart and a table of the
relative errors |x - x~| / |x - mean|, and a page that says where they separate.

Needs the data sets in ../shared/data beside the repository or in $GRAMIAN_TEST_DATA:
faces/extended_yale_b_cropped_u8.npz, pictures/dog.jpg, pictures/dogData.mat and pictures/catData.mat.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.io import loadmat

from gramian.faces import FaceSpace, read_faces
from gramian.figures.images import contact_sheet, grey, grey_range
from gramian.tables.formats.pictures import resized

COUNTS = (25, 50, 100, 200, 400, 800, 1600)
PERCENTILES = (5, 25, 50, 75, 95)
PEOPLE = 36
FACES = "faces/extended_yale_b_cropped_u8.npz"
OTHERS = ("pictures/dog.jpg", "pictures/dogData.mat", "pictures/catData.mat")
NOISE = 160
GROUPS = ("held-out faces", "dogs and cats", "noise")


def data_folder() -> Path:
    """Return the folder of data sets, or end the program saying what is missing."""
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    missing = [name for name in (FACES, *OTHERS) if not (folder / name).is_file()]
    if missing:
        sys.exit(
            f"The figure needs {', '.join(missing)} in {folder}. Put public data sets there, or set "
            "GRAMIAN_TEST_DATA to their folder. gramian demo needs no data."
        )
    return folder


def animals(folder: Path, size: tuple[int, int]) -> np.ndarray:
    """Return 80 dogs and 80 cats, 64 x 64 and stored column by column, in another size (width, height)."""
    sets = [loadmat(folder / f"pictures/{kind}Data.mat")[kind] for kind in ("dog", "cat")]
    pictures = np.concatenate([kind.T.reshape(-1, 64, 64).transpose(0, 2, 1) for kind in sets])
    return np.stack([resized(picture.astype(np.uint8), size) for picture in pictures])


def noise(size: tuple[int, int]) -> np.ndarray:
    """Return pictures of independent, evenly distributed grey values."""
    shape = (NOISE, size[1], size[0])
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def separation(faces: np.ndarray, others: np.ndarray) -> float:
    """Return the probability that another picture has a larger value than a face: 0.5 is chance."""
    order = np.argsort(np.concatenate([faces, others]), kind="stable")
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    return float((ranks[len(faces) :].sum() - len(others) * (len(others) + 1) / 2) / len(faces) / len(others))


def refused(faces: np.ndarray, others: np.ndarray) -> float:
    """Return the share of other pictures above what 95 % of faces stay below."""
    return float((others > np.percentile(faces, 95)).mean())


def table_lines(
    counts: Sequence[int], errors: dict[str, np.ndarray], single: dict[str, np.ndarray]
) -> list[str]:
    """Return the errors as lines of a Markdown table."""
    lines = ["| | " + " | ".join(f"r = {r}" for r in counts) + " |", "|---|" + "---:|" * len(counts)]
    for name, values in single.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    for name, values in errors.items():
        for percentile, row in zip(PERCENTILES, np.percentile(values, PERCENTILES, axis=0), strict=True):
            cells = " | ".join(f"{value:.3f}" for value in row)
            lines.append(f"| {len(values)} {name}, {percentile} % | {cells} |")
    return lines


def paragraph(counts: Sequence[int], errors: dict[str, np.ndarray], scores: dict[str, np.ndarray]) -> str:
    """Say where the errors separate, from the numbers alone."""
    faces, pets, noisy = (errors[name] for name in GROUPS)
    apart = [r for i, r in enumerate(counts) if faces[:, i].max() < noisy[:, i].min()]
    whole = len(apart) == len(counts)
    where = "at every r" if whole else f"at r = {', '.join(map(str, apart))}" if apart else "at no r"
    chances = [separation(faces[:, i], pets[:, i]) for i in range(len(counts))]
    shares = [100 * refused(faces[:, i], pets[:, i]) for i in range(len(counts))]
    best = int(np.argmax(chances))
    do = "do as well" if min(chances) > 0.99 else "do so in part" if chances[best] > 0.6 else "do not"
    kept = scores[GROUPS[0]], scores[GROUPS[1]]
    return (
        f"Noise separates from faces {where}: at r = {counts[0]} the largest error of a held-out face is "
        f"{faces[:, 0].max():.3f} and the smallest of noise {noisy[:, 0].min():.3f}. Dogs and cats {do}: one "
        f"has a larger error than a held-out face with probability {chances[0]:.2f} at r = {counts[0]} and "
        f"{chances[-1]:.2f} at r = {counts[-1]}, at best {chances[best]:.2f} at r = {counts[best]} (0.50 is "
        f"chance). Of dogs and cats {shares[0]:.0f} % are above what 95 % of the faces stay below at "
        f"r = {counts[0]}, {shares[-1]:.0f} % at r = {counts[-1]}. By the score that `identify` tells a face "
        f"from what is none by, on small pictures of edges at one contrast, the probability is "
        f"{separation(*kept):.3f} and the share {100 * refused(*kept):.0f} %."
    )


def main(folder: Path, out: Path) -> None:
    """Make the figure from the data in a folder."""
    faces = read_faces(f"{folder / FACES}::X")
    people = np.array([int(person) for person in faces.people or ()])
    fitted = people <= np.unique(people)[PEOPLE - 1]
    height, width = faces.pictures.shape[1:]
    space = FaceSpace(min(COUNTS[-1], int(fitted.sum()) - 1)).fit(faces.take(fitted))
    counts = [count for count in COUNTS if count <= space.n_components_]
    dog = read_faces(folder / "pictures/dog.jpg", size=(width, height)).pictures
    size = (width, height)
    groups = {
        GROUPS[0]: faces.take(~fitted).pictures,
        GROUPS[1]: animals(folder, size),
        GROUPS[2]: noise(size),
    }
    errors = {name: space.errors(pictures, counts) for name, pictures in groups.items()}
    scores = {name: space.face_score(pictures) for name, pictures in groups.items()}
    shown = {
        "a held-out face": groups[GROUPS[0]][:1],
        "dog.jpg": dog,
        "a picture of noise": groups["noise"][:1],
    }
    single = {name: space.errors(picture, counts)[0] for name, picture in shown.items()}
    out.mkdir(parents=True, exist_ok=True)
    _draw(space, counts, shown, single, out / "strip.png")
    percentiles = {name: np.percentile(values, PERCENTILES, axis=0) for name, values in errors.items()}
    _draw_errors(counts, percentiles).savefig(out / "errors.svg")
    page = [
        f"# What {len(faces.take(fitted))} pictures of {PEOPLE} people rebuild",
        "",
        paragraph(counts, errors, scores),
        "",
        *table_lines(counts, errors, single),
    ]
    (out / "summary.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    print("\n".join(page[2:]))
    print(f"\nWritten: {out / 'strip.png'}, errors.svg and summary.md beside it")


def _draw_errors(counts: Sequence[int], percentiles: dict[str, np.ndarray]) -> Figure:
    """Draw medians as lines in bands from the 5th to the 95th percentile."""
    figure = Figure(layout="constrained")
    ax = figure.subplots()
    for name, (low, _, median, _, high) in percentiles.items():
        (line,) = ax.plot(counts, median, "o-", label=name)
        ax.fill_between(counts, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
    ax.set(xscale="log", xticks=counts, xlabel="components", ylabel="|x - x~| / |x - mean|")
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
    ax.set_title("Relative error of the reconstruction: median, 5th to 95th percentile")
    ax.legend()
    return figure


def _draw(
    space: FaceSpace,
    counts: Sequence[int],
    shown: dict[str, np.ndarray],
    single: dict[str, np.ndarray],
    path: Path,
) -> None:
    rebuilt = [np.stack([space.reconstruct(picture, r)[0] for r in counts]) for picture in shown.values()]
    captions = [
        [name, *(f"r = {r}: {error:.3f}" for r, error in zip(counts, single[name], strict=True))]
        for name in shown
    ]
    originals = [picture[0].astype(np.float32) for picture in shown.values()]
    pixels = [
        grey(picture, *grey_range(original))
        for original, pictures in zip(originals, rebuilt, strict=True)
        for picture in (original, *pictures)
    ]
    texts = [text for row in captions for text in row]
    contact_sheet(pixels, texts, len(captions[0])).save(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("gramian-demo/faces-figure"), help="where it goes")
    main(data_folder(), parser.parse_args().out)
