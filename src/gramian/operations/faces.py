"""Options of models and galleries of faces."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.operations.shared import SEED
from gramian.options import flag, option


@dataclass(frozen=True)
class FitFaces:
    """The parameters of ``gramian.faces.FaceSpace``."""

    components: str = option(
        "K",
        "Number of components such as 300, or explained variance ratio.",
        "0.95",
        label="number of components",
        parameters=("n_components",),
    )
    kernel: str | None = option("KERNEL", "Kernel for kernel PCA, such as rbf.", usual="PCA")
    light: str = option("HOW", "Illumination correction: none, log, equalise or dog.", "none")
    shift: float = option(
        "SHARE",
        "Also fit on copies shifted by this share of the width, against bad alignment; try 0.04.",
        0.0,
    )
    seed: int = SEED


@dataclass(frozen=True)
class Enroll:
    """What is kept of enrolled people."""

    keep_pictures: bool = flag(
        "Store the picture files too, not only their vectors and hashes.",
        label="storing pictures",
        parameters=("keep_files",),
    )


@dataclass(frozen=True)
class Recognise:
    """When somebody is recognised."""

    far: float | None = option(
        "SHARE",
        "False accept rate: share of strangers that may be accepted.",
        usual="as stored in the gallery, or the smallest rate that its people can show",
        label="false accept rate",
    )
