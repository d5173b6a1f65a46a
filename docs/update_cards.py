"""Draws what comes out of each example, for the start page of the server: ``python docs/update_cards.py``."""

from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image

from gramian import PCA, KernelPCA, propose, scan
from gramian.app.server.routes import EXAMPLES
from gramian.faces import FaceSpace, read_faces
from gramian.figures.images import grey, grey_range, signed
from gramian.figures.style import COLOURS
from gramian.statistics.groups import separation_of

PAGE = Path(__file__).parents[1] / "src" / "gramian" / "app" / "page"
WIDTH, HEIGHT, EDGE = 250, 140, 22
COLUMNS, GAP, SAMPLE = 5, 4, 300
LINE = "#7a828a"  # is seen on both grounds


def table_of(path):
    """Read a table as its proposals say, and return it with the parameters that they propose."""
    found = propose(path)
    return scan(path, **found.reading).read(), found.parameters


def drawn(scores, labels, pair):
    """Return a scatter plot of two components, as SVG: a path of round dots for each group."""
    places = scores[:, [one - 1 for one in pair]] * [1, -1]
    shown = np.linspace(0, len(places) - 1, min(SAMPLE, len(places))).astype(int)
    low, high = places.min(axis=0), places.max(axis=0)
    size = np.array([WIDTH - EDGE - 6, HEIGHT - EDGE - 6])
    points = (places - low) / (high - low) * size + [EDGE, 4]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="10" fill="{LINE}">',
        f'<path d="M{EDGE - 6} 2V{HEIGHT - EDGE + 4}H{WIDTH - 2}" fill="none" stroke="{LINE}"/>',
        f'<text x="{WIDTH - 2}" y="{HEIGHT - 6}" text-anchor="end">PC{pair[0]}</text>',
        f'<text x="10" y="4" text-anchor="end" transform="rotate(-90 10 4)">PC{pair[1]}</text>',
    ]
    for color, group in zip(COLOURS, np.unique(labels), strict=False):
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in points[shown[labels[shown] == group]])
        lines.append(f'<path d="{dots}" stroke="{color}" stroke-width="5" stroke-linecap="round"/>')
    return "\n".join([*lines, "</svg>", ""])


def tiled(mean, pictures, factor):
    """Return the mean and components on two rows, with nothing between them."""
    tiles = [grey(mean, *grey_range(mean)), *map(signed, pictures)]
    tiles = [tile.repeat(factor, axis=0).repeat(factor, axis=1) for tile in tiles]
    height, width = np.add(tiles[0].shape, GAP)
    sheet = np.zeros((2 * height - GAP, COLUMNS * width - GAP, 2), dtype=np.uint8)
    for place, tile in enumerate(tiles):
        top, left = place // COLUMNS * height, place % COLUMNS * width
        sheet[top : top + tile.shape[0], left : left + tile.shape[1]] = np.stack(
            [tile, np.full_like(tile, 255)], -1
        )
    return Image.fromarray(sheet, "LA")


def cards():
    """Return the pictures by the names of their files."""
    paths = {name: files("gramian") / "examples" / file for name, file in EXAMPLES.items()}
    penguins, parameters = table_of(paths["penguins"])
    rings, _ = table_of(paths["rings"])
    digits, faces = scan(paths["digits"]).read(), read_faces(paths["faces"])
    result = {}
    fits = {
        "penguins": (PCA(2, **parameters), penguins),
        "rings": (KernelPCA(3, kernel="rbf(sigma='median')"), rings),
    }
    for name, (model, table) in fits.items():
        scores = np.asarray(model.fit_transform(table))
        result[f"{name}.svg"] = drawn(scores, table.labels, separation_of(scores, table.labels).pair)
    count = 2 * COLUMNS - 1
    model = PCA(count).fit(digits)
    shape = digits.picture_shape
    result["digits.png"] = tiled(model.mean_.reshape(shape), model.components_.reshape(-1, *shape), 7)
    space = FaceSpace(count).fit(faces)
    result["faces.png"] = tiled(
        space.mean_face_, space.decomposition_.components_.reshape(count, *space.picture_shape_), 1
    )
    return result


if __name__ == "__main__":
    for name, content in cards().items():
        if isinstance(content, str):
            (PAGE / name).write_text(content, encoding="utf-8")
        else:
            content.save(PAGE / name, optimize=True)
