"""Draws the figures of docs/pictures.md into docs/pictures: ``python docs/draw_pictures.py``.

All data are drawn here or come with scikit-learn. Draw the figures again after a change of their looks.
``python docs/draw_pictures.py maps`` draws the maps of docs/which_method.md into docs/images; UMAP
needs umap-learn, which gramian does not bring.
"""

import io
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_wine, make_circles
from sklearn.manifold import TSNE
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from gramian import (
    PCA,
    FeatureFilter,
    KernelPCA,
    Monitor,
    Whitener,
    choose_components,
    describe,
    explain,
    figures,
    relations,
    rotate,
    stability,
)
from gramian.figures import style
from gramian.tables.table import Table

FOLDER = Path(__file__).with_name("pictures")
MOST = 200_000  # bytes of an .svg


@cache
def wine() -> tuple[Table, Any]:
    """Return 178 wines with three cultivars, and their PCA."""
    given = load_wine()
    names = tuple(name.replace("od280/od315_of_diluted_wines", "od280/od315") for name in given.feature_names)
    cultivars = given.target_names[given.target]
    table = Table(given.data, names, labels=cultivars, label_name="cultivar", source="wine")
    return table, PCA(5, scale="unit").fit(table)


@cache
def rings() -> tuple[Any, Any, list[Any]]:
    """Return points of two rings, their names, and the models of both kinds."""
    X, inner = make_circles(160, noise=0.05, factor=0.4, random_state=0)
    models = [PCA(1).fit(X), KernelPCA(3, kernel="rbf", gamma=2.0).fit(X)]
    return X, np.where(inner == 1, "inner", "outer"), models


@cache
def process() -> tuple[Monitor, Any]:
    """Return a monitor of 120 normal rows, and 60 new rows of which the last ten drift."""
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((2, 6))
    X = rng.standard_normal((180, 2)) @ mix + 0.3 * rng.standard_normal((180, 6))
    X[-10:, 3] += np.linspace(0.5, 4, 10)
    names = tuple(f"sensor {j}" for j in range(1, 7))
    return Monitor(PCA(2, scale="unit")).fit(Table(X[:120], names)), Table(X[120:], names)


def plane() -> Any:
    """Return two measurements of each wine with their principal direction."""
    table, _ = wine()
    two = Table(table.values[:59, 5:7], table.feature_names[5:7])
    return figures.directions(PCA(2).fit(two), two)


def circle() -> Any:
    """Return points of a circle with the equation that they satisfy."""
    angle = np.linspace(0, 6, 60)
    points = Table(np.stack([3 + 1.5 * np.cos(angle), 2 + np.sin(angle)], axis=1), ("x", "y"))
    return figures.relation(relations(points)[0], points)


def whitened() -> Any:
    """Return two columns of the wines before and after whitening."""
    table, _ = wine()
    two = Table(table.values[:, 5:7], table.feature_names[5:7])
    return figures.whitening(Whitener().fit(two), two)


# Names are those of the functions of gramian.figures, in the order of the page.
PICTURES: dict[str, Callable[[], Any]] = {
    "scores": lambda: figures.scores(wine()[1], wine()[0], hue="cultivar"),
    "directions": plane,
    "biplot": lambda: figures.biplot(wine()[1], wine()[0], hue="cultivar"),
    "loadings": lambda: figures.loadings(wine()[1], ["PC1", "PC2"]),
    "correlation_circle": lambda: figures.correlation_circle(wine()[1]),
    "scree": lambda: figures.scree(wine()[1], choose_components(wine()[1], wine()[0], random_state=0)),
    "eigenvalues": lambda: figures.eigenvalues(wine()[1]),
    "stability": lambda: figures.stability(stability(wine()[1], wine()[0], n_resamples=200, random_state=0)),
    "rotation": lambda: figures.rotation(rotate(wine()[1], n_components=3)),
    "metadata": lambda: figures.metadata(describe(wine()[1], wine()[0])),
    "control_chart": lambda: figures.control_chart(*process()),
    "explanation": lambda: figures.explanation(explain(wine()[1], wine()[0], 121)),
    "contribution_map": lambda: figures.contribution_map(*process(), event=1),
    "components": lambda: figures.components(PCA(11).fit(load_digits().images)),
    "reconstructions": lambda: figures.reconstructions(
        PCA(30).fit(load_digits().images), load_digits().images[:3], [1, 5, 30]
    ),
    "kernel_contours": lambda: figures.kernel_contours(rings()[2], rings()[0], hue=rings()[1]),
    "whitening": whitened,
    "selection": lambda: figures.selection(
        FeatureFilter(k="cv", random_state=0).fit(wine()[0].values, wine()[0].labels)
    ),
    "relation": circle,
}


def tsne(X: Any) -> Any:
    """Return the map of t-SNE."""
    return TSNE(random_state=0).fit_transform(X)


def umap(X: Any) -> Any:
    """Return the map of UMAP."""
    from umap import UMAP

    return UMAP(random_state=0).fit_transform(X)


def kernel_pca(X: Any) -> Any:
    """Return the first two scores of kernel PCA."""
    return KernelPCA(2, kernel="rbf", gamma="median").fit_transform(X)


def draw_digits(ax: Any, method: Callable[[Any], Any]) -> None:
    """Draw a map of 600 handwritten digits, each as the digit that it is; print how good it is."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    Z = method(X)
    right = cross_val_score(KNeighborsClassifier(5), Z, y, cv=5).mean()
    print(f"{method.__name__}: {right:.0%} right, distances {spearmanr(pdist(X), pdist(Z)).statistic:.2f}")
    for digit in range(10):
        for place in Z[y == digit]:
            ax.text(*place, str(digit), color=f"C{digit}", fontsize=7, ha="center", va="center")
    ax.set(xlim=style.limits(Z[:, 0]), ylim=style.limits(Z[:, 1]), xticks=(), yticks=())


def digits_maps() -> Any:
    """Return the maps of the three methods side by side."""
    methods = {"kernel PCA": kernel_pca, "t-SNE": tsne, "UMAP": umap}
    axes = style.subplots(1, 3, height_mm=60)[0]
    for ax, (name, method) in zip(axes, methods.items(), strict=True):
        draw_digits(ax, method)
        ax.set_title(name)
    return axes


MAPS = {"digits_maps": digits_maps}


def draw(name: str, folder: Path = FOLDER) -> Path:
    """Draw one figure as .svg, or as .png what consists of pixels or of very many lines or letters."""
    figure = (PICTURES | MAPS)[name]
    with style.canvas(180 if name in MAPS else None), style.defaults():
        axes = figure()
    content = style.encoded(axes)
    if name in PICTURES and len(content) < MOST:
        path = folder / f"{name}.svg"
        path.write_bytes(content)
        return path
    path = folder / f"{name}.png"
    pixels = Image.open(io.BytesIO(style.encoded(axes, "png", dpi=200)))
    pixels.convert("RGB").quantize(128).save(path, optimize=True)
    return path


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in MAPS if sys.argv[1:] == ["maps"] else PICTURES:
        print(draw(each, FOLDER.with_name("images") if each in MAPS else FOLDER))
