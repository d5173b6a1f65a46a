"""Data of known making: every generator takes its seed and says what spectrum it has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

RANK = 50
DECAY = 0.9
NOISE = 0.01
BLOCK = 1 << 23  # entries drawn at a time
DECAYING = (
    "X = G diag(s) Q.T + noise + mean, float32: G standard normal (n, 50), Q orthonormal (d, 50), "
    "s_j = sqrt(d) 0.9^j for j = 0..49, noise normal with standard deviation 0.01"
)


def normal(n: int, d: int, seed: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Standard normal entries: a flat spectrum."""
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype, copy=False)


def decaying(n: int, d: int, seed: int, mean: float = 0.0) -> npt.NDArray[np.float32]:
    """Rank 50 decaying plus noise (``DECAYING``), drawn in blocks to need little memory beside."""
    rng = np.random.default_rng(seed)
    right = np.linalg.qr(rng.standard_normal((d, RANK)))[0]
    mixing = (np.sqrt(d) * DECAY ** np.arange(RANK))[:, None] * right.T
    mixing = mixing.astype(np.float32)
    X = np.empty((n, d), dtype=np.float32)
    step = max(1, BLOCK // d)
    for start in range(0, n, step):
        block = X[start : start + step]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= np.float32(NOISE)
        block += rng.standard_normal((len(block), RANK), dtype=np.float32) @ mixing
        block += np.float32(mean)
    return X


def uneven(X: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Columns of different size, 0.1 to 10 times as they were."""
    X *= np.geomspace(0.1, 10.0, X.shape[1], dtype=np.float32)
    return X


# ---------------------------------------------------------------------- faces


def data_folder() -> Path:
    """Public data: $GRAMIAN_TEST_DATA, or shared/data beside the repository."""
    named = os.environ.get("GRAMIAN_TEST_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


def faces_file() -> Path:
    """Extended Yale B."""
    return data_folder() / "faces" / "extended_yale_b_cropped_u8.npz"


def no_faces() -> str:
    """Why the rows on faces cannot run here, or nothing."""
    path = faces_file()
    if path.is_file():
        return ""
    return f"no {path.name} in {path.parent}; set GRAMIAN_TEST_DATA to the folder that holds faces/"


def faces(people: slice, step: int = 1) -> npt.NDArray[np.float32]:
    """Pictures as rows of float32 grey values 0 to 255, every ``step``-th pixel each way."""
    with np.load(faces_file()) as archive:
        pictures = archive["X"][people, ::step, ::step]
    flat: npt.NDArray[np.float32] = pictures.reshape(len(pictures), -1).astype(np.float32)
    return flat
