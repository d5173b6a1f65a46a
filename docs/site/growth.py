"""Charts of time and memory over the size of the data, from the rows of the benchmark suite ``growth``."""

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

from gramian.figures import style

# What grows, by the family in the rows' names ``growth-FAMILY-SIZE``: a heading, and the title of the axis.
FAMILIES = {
    "rows": ("PCA of n x 50 float32", "rows n"),
    "columns": ("PCA of 100 x d float32", "columns d"),
    "kernel": ("Kernel PCA of all rows, n x 50 float64", "rows n"),
    "square": ("PCA of n x n float32", "rows and columns n"),
    "landmarks": ("Kernel PCA with 1000 landmarks, n x 50 float32", "rows n"),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00")
UNITS = {"seconds": "seconds", "MB": "memory in addition to the data, MB"}


def points(rows: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return size, median seconds and megabytes of every contender, by family."""
    families: dict[str, list[dict[str, Any]]] = {}
    for name, row in rows.items():
        _, family, size = name.split("-")
        for contender in row["contenders"]:
            if contender["seconds"]:
                memory = contender["peak_growth"]
                point = {
                    "contender": contender["name"],
                    "size": int(size),
                    "seconds": statistics.median(contender["seconds"]),
                    "MB": None if memory is None else max(memory / 1e6, 1.0),
                }
                families.setdefault(family, []).append(point)
    return {family: families[family] for family in FAMILIES if family in families}


def exponents(values: list[dict[str, Any]]) -> list[str]:
    """Return a line of a table for every contender: the exponents of time and memory in the size."""
    lines = []
    for name in dict.fromkeys(value["contender"] for value in values):
        own = sorted((value for value in values if value["contender"] == name), key=lambda v: v["size"])
        slopes = [slope([v for v in own if v[what] is not None], what) for what in ("seconds", "MB")]
        last = own[-1]
        memory = "" if last["MB"] is None else f"{last['MB']:,.0f}"
        lines.append(
            f"| {name} | {' | '.join(slopes)} | {last['size']:,} | {last['seconds']:.3g} | {memory} |"
        )
    return lines


def slope(values: list[dict[str, Any]], what: str) -> str:
    """Return the slope of the logarithms of the two largest sizes."""
    if len(values) <= 1:
        return ""
    (a, b), (x, y) = ([np.log(value[key]) for value in values[-2:]] for key in ("size", what))
    return f"{(y - x) / (b - a):.2f}"


def svg(family: str, values: list[dict[str, Any]]) -> str:
    """Return both charts of a family side by side."""
    with style.canvas(180), style.defaults():
        panels = style.subplots(1, 2, height_mm=75)[0]
        for panel, (what, title) in zip(panels, UNITS.items(), strict=True):
            for name, colour in zip(
                dict.fromkeys(value["contender"] for value in values), COLOURS, strict=False
            ):
                own = [(v["size"], v[what]) for v in values if v["contender"] == name and v[what] is not None]
                panel.plot(*zip(*sorted(own), strict=True), "o-", color=colour, label=name)
            panel.set(xscale="log", yscale="log", xlabel=FAMILIES[family][1], ylabel=title)
        panels[0].legend()
        return style.encoded(panels).decode()


def section(family: str, values: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the page about a family."""
    heading = FAMILIES[family][0]
    return [
        f"### {heading}",
        "",
        f"![Seconds and memory of {heading}, over the size](growth-{family}.svg)",
        "",
        "| contender | time | memory | size | s | MB |",
        "|---|---|---|---|---|---|",
        *exponents(values),
        "",
    ]
