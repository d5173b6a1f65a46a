"""Where gramian is faster and where it is slower than the fastest accurate peer, by the shape of data."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from math import exp, log
from typing import Any

from growth import COLOURS

from gramian.figures import style

# Rows of the benchmarks by what they have in common. A row counts where it has an accurate peer.
GROUPS = {
    "PCA of small tables": ("everyday-fit-*",),
    "kernel PCA of small tables": ("everyday-kernel-*x*",),
    "one row by a fitted model": ("everyday-row", "everyday-kernel-row"),
    "a grid search of a pipeline": ("everyday-search",),
    "bootstrap intervals": ("everyday-stability",),
    "tall tables whose variances decay": ("tall-1m", "wide-100k"),
    "noise in which no direction stands out": ("growth-rows-*", "flat-float??", "flat-1m", "noise-10k"),
    "square tables": ("growth-square-*", "square-5k"),
    "wide tables and pictures": ("growth-columns-*", "yale-*", "unit-wide"),
    "kernel PCA from 1,000 rows": ("growth-kernel-*", "kernel-pca-?0k"),
    "mapping many rows by kernel PCA": ("kernel-transform-*",),
    "kernel PCA with landmarks": ("growth-landmarks-*", "nystroem-*"),
    "batches and clusters": ("stream-1m", "cluster-threads", "cluster-workers"),
    "Gram matrices": ("gram-*",),
    "selection of features": ("mi-*", "forward-*"),
}
# For these README.md has no room.
LEFT_OUT = (
    "a grid search of a pipeline",
    "bootstrap intervals",
    "Gram matrices",
    "kernel PCA with landmarks",
)
# Lines of the figure: rows of growing size, of which the first number in the name is drawn.
LINES = {
    "small": "everyday-fit-*",
    "tall": "growth-rows-*",
    "square": "growth-square-*",
    "wide": "growth-columns-*",
    "kernel PCA": "growth-kernel-*",
}
# Single rows of these shapes, drawn as points at their larger side, or at the rows of a kernel matrix.
POINTS = {
    "tall": {"tall-1m": 1_000_000, "wide-100k": 100_000},
    "square": {"square-5k": 5000, "flat-float32": 2000, "noise-10k": 10_000},
    "wide": {"unit-wide": 14_079, "yale-50": 32_256, "yale-100": 32_256},
    "kernel PCA": {
        "everyday-kernel-100x5": 100,
        "everyday-kernel-178x13": 178,
        "everyday-kernel-569x30": 569,
        "everyday-kernel-60x2000": 60,
        "kernel-pca-20k": 20_000,
    },
}
FASTER, SLOWER = 0.9, 1.1  # ratios between these are a draw


def ratios(suites: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the ratio of every row that has an accurate peer."""
    return {name: row["ratio"] for rows in suites.values() for name, row in rows.items() if row["ratio"]}


def groups(known: Mapping[str, float]) -> dict[str, list[float]]:
    """Return the ratios of each group in ascending order, the group with the smallest mean first."""
    results = {
        name: sorted(ratio for row, ratio in known.items() if any(fnmatch(row, one) for one in patterns))
        for name, patterns in GROUPS.items()
    }
    measured = {name: values for name, values in results.items() if values}
    return dict(sorted(measured.items(), key=lambda item: _mean(item[1])))


def table(known: Mapping[str, float]) -> list[str]:
    """Return a line for each group, the slowest first."""
    lines = ["| work | rows | ratio | mean | gramian is |", "|---|---|---|---|---|"]
    for name, values in reversed(groups(known).items()):
        cells = (name, str(len(values)), span(values), number(_mean(values)), verdict(values))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def sentences(known: Mapping[str, float]) -> list[str]:
    """Return an item of a list for each verdict, with its groups and their ratios, for README.md."""
    by_verdict: dict[str, list[str]] = {}
    for name, values in groups(known).items():
        if name in LEFT_OUT:
            continue
        by_verdict.setdefault(verdict(values), []).append(f"{name} ({span(values)})")
    order = ("faster", "as fast", "faster or slower", "slower")
    return [
        line
        for word in order
        if word in by_verdict
        for line in wrapped(f"- **{word[0].upper()}{word[1:]}:** {', '.join(by_verdict[word])}.")
    ]


def verdict(values: list[float]) -> str:
    """Return what the smallest and the largest ratio say."""
    if values[-1] < FASTER:
        return "faster"
    if values[0] > SLOWER:
        return "slower"
    return "as fast" if values[0] >= FASTER and values[-1] <= SLOWER else "faster or slower"


def span(values: list[float]) -> str:
    """Return the smallest and the largest ratio."""
    low, high = number(values[0]), number(values[-1])
    return low if low == high else f"{low} to {high}"


def number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"


def _mean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def wrapped(text: str, width: int = 120) -> Iterator[str]:
    """Break an item of a list into lines."""
    line = ""
    for word in text.split(" "):
        if len(line) + 1 + len(word) > width:
            yield line
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield line


def points(known: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    """Return shape, size and ratio of every row of the figure; ``line`` says whether it is on a line."""
    for shape, pattern in LINES.items():
        for row, ratio in known.items():
            if fnmatch(row, pattern):
                size = int(re.findall(r"\d+", row)[0])
                yield {"shape": shape, "size": size, "ratio": ratio, "line": True}
            elif row in POINTS.get(shape, {}):
                yield {"shape": shape, "size": POINTS[shape][row], "ratio": ratio, "line": False}


def svg(known: Mapping[str, float]) -> str:
    """Return the figure: ratio over size, with logarithmic axes and a line at 1."""
    values = list(points(known))
    with style.canvas(180), style.defaults():
        ax = style.subplots(height_mm=85)
        for shape, colour, marker in zip(LINES, (*COLOURS, "#CC79A7"), "osD^P", strict=True):
            label = shape
            for on_line in (True, False):
                own = sorted(
                    (v["size"], v["ratio"]) for v in values if (v["shape"], v["line"]) == (shape, on_line)
                )
                if own:
                    look = {} if on_line else {"linestyle": "", "markerfacecolor": "none"}
                    ax.plot(*zip(*own, strict=True), marker=marker, color=colour, label=label, **look)
                    label = "_"  # a shape is named once
        ax.axhline(1, color=style.INK, linewidth=1)
        for side, height in (("slower ↑", "bottom"), ("faster ↓", "top")):
            ax.annotate(side, (1.01, 1), xycoords=("axes fraction", "data"), va=height)
        ax.set(xscale="log", yscale="log", xlabel="rows n (wide: columns)")
        ax.set_ylabel("seconds of gramian / fastest accurate peer")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(LINES))
        return style.encoded(ax).decode()
