"""Write the golden model files of the current format; run it once for each new format, and keep both.

``python tests/data/make_golden.py`` writes ``pca-format<N>.gramian`` and
``kernel-pca-format<N>.gramian`` beside itself, with the scores that they must give for ever in
``golden-format<N>.npz``. Files of a released format are never written again.
"""

from pathlib import Path

import numpy as np

from gramian import PCA, KernelPCA
from gramian.store.model_file import FORMAT_VERSION

HERE = Path(__file__).parent


def data() -> np.ndarray:
    """Twelve rows of five features from a formula, so that no generator is needed."""
    i, j = np.mgrid[0:12, 0:5]
    return np.sin(1.3 * i + 0.7 * j * j) + 0.1 * i * (j == 2) + 4.0 * (j == 4)


def models() -> dict[str, PCA | KernelPCA]:
    X = data()
    return {
        "pca": PCA(3, scale="unit", whiten=True, random_state=0).fit(X),
        "kernel-pca": KernelPCA(3, kernel="rbf", gamma=0.2, random_state=0).fit(X),
    }


def main() -> None:
    new = data()[::2] + 0.25
    scores = {}
    for name, model in models().items():
        file = HERE / f"{name}-format{FORMAT_VERSION}.gramian"
        if file.exists():
            raise SystemExit(f"{file} exists already: a released format must keep opening")
        model.save(file)
        scores[name] = model.transform(new)
    np.savez(HERE / f"golden-format{FORMAT_VERSION}.npz", new=new, **scores)


if __name__ == "__main__":
    main()
