"""``python benchmarks/face_classifier.py PICTURES --others OTHERS``: is a picture a face, by few numbers?

People and other pictures are split into five parts. Each part is tested by what the four others teach: a PCA
of their faces alone, and a support vector machine for faces and others on its scores. No person, and no other
picture, is on both sides. Beside it stands the share of others whose reconstruction error exceeds that of
99 % of the tested faces. docs/faces_evaluation.md has the results.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gramian.errors import DataError, GramianError, RankWarning
from gramian.faces import LIGHTS, FaceSpace, read_faces
from gramian.models.inputs import generators

PARTS = 5
KEEP = 0.99


def face_or_not(
    faces: Any,
    people: Any,
    others: Any,
    counts: Sequence[int],
    *,
    kernel: str = "linear",
    light: str = "none",
    random_state: Any = 0,
) -> list[tuple[int, float, float, float]]:
    """Return for each number of components the shares of faces and others that are right, held out.

    Parameters
    ----------
    faces : array of shape (n, height, width)
    people : array-like of shape (n,)
    others : array of shape (m, height, width)
    counts : sequence of int
    kernel : {"linear", "rbf"}
        Of the support vector machine.
    light : str
        As in ``FaceSpace``.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    list of tuple
        Components, faces that the classifier calls faces, others that it calls others, and others whose
        reconstruction error exceeds that of 99 % of the tested faces.

    Raises
    ------
    DataError
        For fewer people, or others, than parts.
    """
    (rng,) = generators(random_state, 1)
    _, codes = np.unique(np.asarray(people), return_inverse=True)
    if min(codes.max() + 1, len(others)) < PARTS:
        raise DataError(f"{PARTS} parts need as many people, and as many other pictures.")
    part = (rng.permutation(codes.max() + 1) % PARTS)[codes]
    other_part = rng.permutation(len(others)) % PARTS
    faces_right, others_right, separated = (np.zeros(len(counts)) for _ in range(3))
    for now in range(PARTS):
        taught, tested = part != now, part == now
        with warnings.catch_warnings(action="ignore", category=RankWarning):
            space = FaceSpace(max(counts), light=light, random_state=0).fit(faces[taught])
        scores = [space.transform(one) for one in (faces[taught], faces[tested])]
        other = space.transform(others)
        errors = (
            space.errors(faces[tested], list(counts)),
            space.errors(others[other_part == now], list(counts)),
        )
        for place, count in enumerate(counts):
            model = make_pipeline(StandardScaler(), SVC(kernel=kernel, class_weight="balanced"))
            both = np.concatenate([scores[0], other[other_part != now]])[:, :count]
            model.fit(both, np.arange(len(both)) < len(scores[0]))
            faces_right[place] += model.predict(scores[1][:, :count]).sum()
            others_right[place] += (~model.predict(other[other_part == now][:, :count])).sum()
            threshold = np.quantile(errors[0][:, place], KEEP, method="higher")
            separated[place] += (errors[1][:, place] > threshold).sum()
    n, m = len(faces), len(others)
    return [
        (count, float(faces_right[j] / n), float(others_right[j] / m), float(separated[j] / m))
        for j, count in enumerate(counts)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read pictures, compare, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", help="a folder of folders, one per person, or .npz with X and y")
    parser.add_argument("--others", metavar="PATH", required=True, help="pictures that are no faces")
    parser.add_argument("--size", metavar="WxH", help="resize pictures to this size")
    parser.add_argument("--kernel", choices=("linear", "rbf"), default="linear")
    parser.add_argument("--light", choices=LIGHTS, default="none")
    parser.add_argument("-r", "--components", default="5,10,25,50,100")
    given = parser.parse_args(arguments)
    try:
        faces = read_faces(given.pictures, size=given.size)
        others = read_faces(given.others, size=faces.size)
        counts = [int(count) for count in given.components.split(",")]
        options = {"kernel": given.kernel, "light": given.light}
        rows = face_or_not(faces.pictures, faces.people, others.pictures, counts, **options)
    except GramianError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"{len(faces):,} faces of {len(set(faces.people))} people, {len(others):,} others, held out in fifths"
    )
    print("components  faces right %  others right %  by reconstruction error %")
    for count, face, other, separated in rows:
        print(f"{count:10}  {100 * face:13.1f}  {100 * other:14.1f}  {100 * separated:25.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
