"""Where gramian is faster and where it is slower than the fastest accurate peer, by the shape of data."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from math import exp, log
from typing import Any

import altair as alt
import vl_convert
from growth import COLOURS

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
    names = [shape for shape in LINES if any(value["shape"] == shape for value in values)]
    colours = dict(zip(LINES, (*COLOURS, "#CC79A7"), strict=True))
    marks = dict(zip(LINES, ("circle", "square", "diamond", "triangle-up", "cross"), strict=True))
    x = alt.X(
        "size:Q",
        title="rows n (wide: columns)",
        scale=alt.Scale(type="log", nice=False, domain=_domain((v["size"] for v in values), 2.5)),
        axis=alt.Axis(format="~s", tickCount=5, grid=False),
    )
    low, high = _domain(value["ratio"] for value in values)
    y = alt.Y(
        "ratio:Q",
        title="seconds of gramian / fastest accurate peer",
        scale=alt.Scale(type="log", nice=False, domain=[low, max(high, 1.5)]),
        axis=alt.Axis(format="~g", values=[0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]),
    )
    legend = alt.Legend(title=None, orient="top", columns=5, labelLimit=300, symbolSize=80)
    encoding = {
        "color": alt.Color(
            "shape:N", scale=alt.Scale(domain=names, range=[colours[n] for n in names]), legend=legend
        ),
        "shape": alt.Shape("shape:N", scale=alt.Scale(domain=names, range=[marks[n] for n in names])),
    }
    on_lines, single = (alt.Data(values=[v for v in values if v["line"] is line]) for line in (True, False))
    sides = alt.Data(values=[{"ratio": 1.06, "side": "slower ↑"}, {"ratio": 0.94, "side": "faster ↓"}])
    chart = alt.layer(
        alt.Chart(alt.Data(values=[{"ratio": 1}])).mark_rule(color="#333", size=1.5).encode(y=y),
        alt.Chart(on_lines).mark_line(size=2).encode(x=x, y=y, color=encoding["color"]),
        alt.Chart(on_lines).mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, **encoding),
        alt.Chart(single).mark_point(filled=False, size=60, opacity=1).encode(x=x, y=y, **encoding),
        *(
            alt.Chart(alt.Data(values=[value]))
            .mark_text(align="right", baseline=baseline, color="#333", fontSize=11)
            .encode(x=alt.value(676), y=y, text="side:N")
            for value, baseline in zip(sides.values, ("bottom", "top"), strict=True)
        ),
    ).properties(width=680, height=300, background="white")
    return vl_convert.vegalite_to_svg(chart.to_dict())


def _domain(values: Iterable[float], room: float = 1.3) -> list[float]:
    """Return the range of values with some room on both sides."""
    known = list(values)
    return [min(known) / 1.3, max(known) * room]
