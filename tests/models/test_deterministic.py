"""OMP_NUM_THREADS=1: the same bits in every process."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from gramian import PCA, KernelPCA, Whitener
from gramian.core.arrays import as_float64

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((3000, 120)) * 0.95 ** np.arange(120) + 1.0
WIDE = RNG.standard_normal((200, 1500)) * 0.98 ** np.arange(1500)


def streamed(model):
    for batch in np.array_split(TALL, 3):
        model.partial_fit(batch)
    return model


def fits():
    """Models by every way to a sum: products of blocks, tiles, features, moments of batches."""
    for solver in ("full", "covariance", "krylov"):
        yield PCA(5, solver=solver, random_state=0).fit(TALL)
    yield PCA(5, random_state=0).fit(TALL.astype(np.float32))
    yield PCA(5, solver="gram", random_state=0).fit(WIDE)
    for solver in ("dense", "krylov"):
        yield KernelPCA(5, kernel="rbf", solver=solver, random_state=0).fit(TALL[:1000])
    few = {"kernel": "rbf", "n_landmarks": 100, "random_state": 0}
    for landmarks in ("rpcholesky", "uniform"):
        yield KernelPCA(5, solver="nystroem", landmarks=landmarks, **few).fit(TALL)
    yield streamed(PCA(5))
    yield Whitener("zca-cor", random_state=0).fit(TALL)


def digests():
    for model in fits():
        vectors = getattr(model, "projection_coef_", None)
        vectors = model.components_ if vectors is None else vectors
        hashed = hashlib.sha256()
        for array in (
            model.explained_variance_,
            vectors,
            model.transform(WIDE[:50] if model.n_features_in_ == 1500 else TALL[:50]),
        ):
            hashed.update(np.ascontiguousarray(as_float64(array)).tobytes())
        yield f"{' '.join(repr(model).split())} {hashed.hexdigest()}"


@pytest.mark.walk
def test_bits_are_the_same_in_two_processes():
    printed = []
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, __file__], env=os.environ | alone, capture_output=True, text=True, check=True
        )
        printed.append(done.stdout.splitlines())
    assert len(printed[0]) == 11
    assert printed[0] == printed[1]


if __name__ == "__main__":
    print(*digests(), sep="\n")
