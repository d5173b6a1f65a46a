"""The files that the examples in the README and the pages about gramian use; ``demo`` writes them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from gramian.applications import is_installed

GENES, SAMPLES, CHANGED = 300, 12, 40
SEED = 0


def write_examples(folder: Path) -> list[str]:
    """Write digits.npz and tables: penguins, flowers, new, genes, rings, circle; and faces if installed.

    Parameters
    ----------
    folder : Path
        Created if it is not there; files of these names are replaced.

    Returns
    -------
    list of str
        Remarks for the person who asked.
    """
    import numpy as np
    from sklearn.datasets import load_digits

    from gramian.report.tables import write_table
    from gramian.store import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    made = {"genes.csv": _genes(), "rings.csv": _rings(), "circle.csv": _circle()}
    for name, columns in {**_flowers(), **made}.items():
        write_table(folder / name, columns, "csv")
    penguins = files("gramian").joinpath("examples", "penguins.csv").read_bytes()
    with atomic_write(folder / "penguins.csv") as file:
        file.write(penguins)
    digits = load_digits()
    with atomic_write(folder / "digits.npz") as file:
        np.savez_compressed(file, X=digits.images.astype(np.uint8), y=digits.target)
    if not is_installed("gramian.faces"):
        return []
    from gramian.cli.faces_demo import write_examples as write_faces

    return write_faces(folder)


def _flowers() -> dict[str, dict[str, Any]]:
    """Return Fisher's irises as two tables: one in ten is new."""
    import numpy as np
    from sklearn.datasets import load_iris

    iris = load_iris()
    species = iris.target_names[iris.target]
    columns = {
        "flower": np.array([f"{name} {i % 50 + 1}" for i, name in enumerate(species)]),
        "species": species,
        **dict(zip(("sepal_length", "sepal_width", "petal_length", "petal_width"), iris.data.T, strict=True)),
    }
    new = np.arange(len(species)) % 10 == 9
    return {
        name: {title: values[chosen] for title, values in columns.items()}
        for name, chosen in (("flowers.csv", ~new), ("new.csv", new))
    }


def _genes() -> dict[str, Any]:
    """Return made-up expression levels, a row for each gene; some differ where samples were treated."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    levels = rng.uniform(3, 12, (GENES, 1)) + rng.normal(0, 0.4, (GENES, SAMPLES))
    half = SAMPLES // 2
    levels[:CHANGED, half:] += rng.choice([-2.0, 2.0], (CHANGED, 1))
    samples = [f"{kind}{i + 1}" for kind in ("control", "treated") for i in range(half)]
    names = [f"gene{i + 1}" for i in range(GENES)]
    return {"gene": names, **dict(zip(samples, levels.round(3).T, strict=True))}


def _rings() -> dict[str, Any]:
    import numpy as np
    from sklearn.datasets import make_circles

    places, inner = make_circles(200, noise=0.05, factor=0.4, random_state=SEED)
    return {
        "ring": np.where(inner == 1, "inner", "outer"),
        "x": places[:, 0].round(4),
        "y": places[:, 1].round(4),
    }


def _circle() -> dict[str, Any]:
    import numpy as np

    angle = np.arange(60.0)
    return {"x": 3 + 1.5 * np.cos(angle), "y": 2 + 1.5 * np.sin(angle)}
