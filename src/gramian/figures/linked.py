"""Figures that answer the pointer, for the page of the server: specifications of Vega-Lite as plain dicts.

They draw the same data as the figures of matplotlib. In ``scores`` and ``biplot`` the page reads the data set
``rows`` and the box ``chosen``, and sets ``picked``, whose keys are "r" and the name or number of a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gramian.core.checks import evenly, shown
from gramian.core.records import FloatArray
from gramian.figures import style
from gramian.figures.columns import LoadingsData
from gramian.figures.labels import NAMED, NEAR, PALE, Arrows, Room, along
from gramian.figures.points import Groups, ScoresData

PIXELS = 96 / 25.4  # of a millimetre
MARGIN = 66  # pixels of the labels and the title of a Y axis, and the padding
LETTER, TEXT = 6.0, 13.0  # pixels of a letter, and of a line
TICKS = 5  # of an axis of times
UNEQUAL = "The axes have different scales."
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "triangle-down", "cross"),
    *("M-.4,-1L0,-.5L.4,-1L1,-.4L.5,0L1,.4L.4,1L0,.5L-.4,1L-1,.4L-.5,0L-1,-.4Z", "triangle-right"),
)
# What ends a script in a page, and properties of every JavaScript object.
END_OF_SCRIPT = re.compile("<(?=/?script|!--)", re.IGNORECASE)
OF_OBJECTS = re.compile("__.+__|constructor|valueOf|to(Locale)?String|(hasOwn|isPrototype|propertyIs).*")

INK, SOFT, LINE, ZERO = map(style.of_page, (style.INK, style.SOFT, style.LINE, style.ZERO))
BLUE, VERMILION = style.of_page(style.BLUE), style.of_page(style.VERMILION)
WORDS = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontWeight": "normal"}
CONFIG: dict[str, Any] = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "background": "transparent",
    "tooltipFormat": {"numberFormat": ".4~g"},
    "aria": False,  # descriptions of every point would make answers ten times larger
    "view": {"stroke": None},
    "axis": {**WORDS, "titleFontSize": 12, "grid": False, "domainColor": LINE, "tickColor": LINE},
    "axisY": {"minExtent": 32},  # so that plots below each other begin at the same place
    "legend": {**WORDS, "orient": "top", "offset": 6, "symbolBaseFillColor": INK},
    "header": {**WORDS, "labelFontSize": 12, "labelAnchor": "start"},
}


def drawable(text: str) -> str:
    r"""Return text of the user that is safe in a specification, on one line.

    Control characters stop Vega, and the end of a script in a label would end the script of a page: both are
    escaped. Vega looks names up in JavaScript objects, where properties of ``Object.prototype`` are
    functions: such names get a trailing blank, which is invisible.

    Examples
    --------
    >>> print(drawable("a\x1b </script>"))
    a\x1b \x3c/script>
    >>> drawable("constructor")
    'constructor '
    """
    line = END_OF_SCRIPT.sub(r"\\x3c", shown(text))
    return f"{line} " if OF_OBJECTS.fullmatch(line) else line


def table(columns: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Return columns as data, a record for each row; numbers that are not finite are missing."""
    rows = zip(*(map(_value, np.asarray(column).tolist()) for column in columns.values()), strict=True)
    values = [dict(zip(columns, row, strict=True)) for row in rows]
    return {"values": values, "name": name} if name else {"values": values}


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return drawable(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def field(name: str, kind: str = "quantitative", **more: Any) -> dict[str, Any]:
    """Return a channel of a column."""
    return {"field": name, "type": kind, **more}


def axis(name: str, title: str, edges: Sequence[float] | None = None, **look: Any) -> dict[str, Any]:
    """Return an axis of a column with a title and limits."""
    if edges is not None and not 1e-3 < max(map(abs, edges)) < 1e6:
        look = {"labelFlush": False, "format": ".3~e"} | look
    scale = {"zero": False, "nice": False} | ({} if edges is None else {"domain": edges})
    return field(name, title=drawable(title) or None, scale=scale, axis=look)


def layer(mark: str, data: Any = None, looks: Any = None, **channels: Any) -> dict[str, Any]:
    """Return marks that look like this, of the data of the figure or of their own."""
    source = {} if data is None else {"data": data}
    return {**source, "mark": {"type": mark, **(looks or {})}, "encoding": channels}


def size_of(width: float) -> int:
    """Return the pixels across of the drawing area of a figure of so many millimetres."""
    return max(round(width * PIXELS) - MARGIN, 120)


def content(spec: dict[str, Any], data: Any, *notes: str) -> dict[str, Any]:
    """Return a figure for the page: a specification, a title, and sentences below."""
    caption = " ".join(filter(None, (*data.notes, *notes)))
    return {"spec": {"config": CONFIG} | spec, "title": data.title, "caption": caption}


def scores(data: ScoresData, width: float) -> dict[str, Any]:
    """Return scores of which rows can be picked, in a biplot with an arrow for each column."""
    pair = len(data.components) > 1
    edges, size, equal = framed(data.edges(), width, pair)
    names = Names(edges, size, data.values[data.drawn])
    arrows, about = ([], "") if data.arrows is None else _arrows(data.arrows, names, equal)
    return content(_cloud(data, names, arrows), data, UNEQUAL if pair and not equal else "", about)


def biplot(data: ScoresData, width: float) -> dict[str, Any]:
    """Return scores with an arrow for each column."""
    result = scores(data, width)
    return result | {"title": result["title"] or "Biplot"}


def _arrows(arrows: Arrows, names: Names, equal: bool) -> tuple[list[dict[str, Any]], str]:
    """Return layers of arrows, and a sentence about their length."""
    tips, about = arrows.scaled(names.edges, equal)
    order = arrows.longest(tips)
    tips, named = tips[order], [arrows.names[j] for j in order.tolist()]
    across, up = (tips / names.pixel).T
    names.dots = np.vstack([names.dots, names.pixels(along(tips[:NAMED]))])
    columns = {"tip_x": tips[:, 0], "tip_y": tips[:, 1], "angle": np.degrees(np.arctan2(across, up))}
    columns["weight"] = np.where(np.arange(len(order)) < NAMED, 1.0, PALE)
    source = table(columns | {"arrow": named})
    channels: Any = {"x": field("tip_x"), "y": field("tip_y"), "tooltip": [field("arrow", "nominal")]}
    channels["opacity"] = field("weight", scale=None, legend=None)
    shaft, head = {"color": INK, "strokeWidth": 1.4}, {"filled": True, "shape": "triangle", "size": 45}
    layers = [
        layer("rule", source, shaft, **channels, x2={"datum": 0}, y2={"datum": 0}),
        layer("point", source, head | {"color": INK}, **channels, angle=field("angle", scale=None)),
        *names.layers("arrows", tips[:NAMED], named[:NAMED], fontWeight="bold"),
    ]
    return layers, about


def _cloud(data: ScoresData, names: Names, arrows: Sequence[Any]) -> dict[str, Any]:
    columns, n = data.columns, len(data.values)
    key = "name" if "name" in columns else "row"
    x, y = (*data.components, "position")[:2]
    picked = {"test": f"!picked || picked['r' + datum.{key}]", "value": 0.85 if n <= 2000 else 0.6}
    channels: Any = {"opacity": {"condition": picked, "value": 0.12}}
    channels["x"] = axis(x, data.x, names.edges[0])
    channels["y"] = axis(y, data.y, names.edges[1])
    channels["tooltip"] = [_tip(name, values) for name, values in columns.items() if name != "position"]
    look = {"filled": True, "size": 36 if n <= 500 else 18}
    points = layer("point", looks=look, **channels, **_looks(data))
    points["params"] = [{"name": "chosen", "select": "interval"}]
    zero = map(_zero, "xy"[: len(data.components)])
    return {
        "data": table(columns, "rows"),
        "params": [{"name": "picked", "value": None}],
        "layer": [*zero, *_outlines(data), points, *arrows, *_texts(data, names)],
        "resolve": {"scale": {"color": "independent", "shape": "independent"}},
        "width": names.size[0],
        "height": names.size[1],
    }


def framed(
    edges: list[list[float]], width: float, pair: bool = True
) -> tuple[list[list[float]], tuple[int, int], bool]:
    """Return limits, pixels across and up, and whether a unit has the same length along both axes."""
    across = size_of(width)
    if not (pair and style.is_comparable(edges)):
        return edges, (across, round(across * style.HEIGHT / style.WIDTH)), False
    spans = np.ptp(edges, axis=1)
    size = across, round(across * min(max(spans[1] / spans[0], 0.55), 0.75))
    return style.widened(edges, size), size, True


def _tip(name: str, values: Any) -> dict[str, Any]:
    return field(name, "quantitative" if np.asarray(values).dtype.kind == "f" else "nominal")


def _looks(data: ScoresData) -> dict[str, Any]:
    """Return the channels of colour and shape."""
    hue, named = data.hue, not data.hue.is_many
    looks: dict[str, Any] = {"color": {"value": BLUE}}
    if hue.is_scale:
        looks["color"] = field("group", title=drawable(hue.title) or None, scale={"scheme": "viridis"})
    elif hue.kinds:
        colours = [style.of_page(hue.colours()[kind]) for kind in hue.kinds]
        looks["color"] = _kinds("group", hue, colours, named)
    name, marked = ("style", data.style) if data.style.kinds else ("group", hue)
    if marked.kinds:
        shapes = [SHAPES[style.MARKERS.index(marked.markers()[kind])] for kind in marked.kinds]
        looks["shape"] = _kinds(name, marked, shapes, named or name == "style")
    return looks


def _kinds(name: str, groups: Groups, looks: Sequence[str], named: bool) -> dict[str, Any]:
    scale = {"domain": list(map(drawable, groups.kinds)), "range": looks}
    legend = {"columns": 4} if named else None
    return field(name, "nominal", title=drawable(groups.title) or None, scale=scale, legend=legend)


def _outlines(data: ScoresData) -> list[dict[str, Any]]:
    layers, channels = [], {"x": field("edge_x"), "y": field("edge_y"), "order": field("corner")}
    for ellipse in data.ellipses:
        x, y = ellipse.corners.T
        colour, thick = style.of_page(data.hue.colours()[ellipse.group]), 2.4 if ellipse.of == "mean" else 1
        look = {"clip": True, "color": colour, "strokeWidth": thick, "opacity": 0.9}
        corners = table({"edge_x": x, "edge_y": y, "corner": np.arange(len(x))})
        layers.append(layer("line", corners, look, **channels))
    return layers


def _texts(data: ScoresData, names: Names) -> list[dict[str, Any]]:
    """Return the names of many groups, or of a few rows."""
    if data.hue.is_many:
        return names.layers("groups", data.medians(), data.hue.classes)
    return names.layers("points", data.values, data.labels, color=SOFT) if data.labels else []


class Names(Room):
    """A figure of so many pixels with these limits, in which names stand near points."""

    def __init__(self, edges: Any, size: Any, points: FloatArray) -> None:
        self.edges, self.size = edges, size
        self.corner, self.pixel = np.array(edges)[:, 0], np.ptp(edges, axis=1) / size
        super().__init__(np.zeros(2), np.array(size), self.pixels(points), 96 / 72, rings=NEAR)

    def pixels(self, points: Any) -> FloatArray:
        """Return where points are."""
        return np.asarray((points - self.corner) / self.pixel)

    def layers(
        self, kind: str, points: FloatArray, texts: Sequence[str], **look: Any
    ) -> list[dict[str, Any]]:
        """Return a layer of the names that have room."""
        halves = np.array([(LETTER * len(text) / 2, TEXT / 2) for text in texts])
        placed = dict(self.places(self.pixels(points), halves, kind, self.pixels(np.zeros(2))))
        x, y = (self.corner + np.reshape(list(placed.values()), (-1, 2)) * self.pixel).T
        columns = {"text": [texts[index] for index in placed], "text_x": x, "text_y": y}
        look = {"fontSize": 10.5, "baseline": "middle", "color": INK} | look
        channels = {"x": field("text_x"), "y": field("text_y"), "text": {"field": "text"}}
        return [layer("text", table(columns), look, **channels)] if placed else []


def control_chart(data: Any, width: float) -> dict[str, Any]:
    """Return a control chart of which rows can be read."""
    columns = data.columns | {"state": np.where(data.columns["alarm"] == "", "normal", "alarm")}
    statistics = [name for name in ("T2", "SPE") if name in columns]
    looks = {"color": [BLUE, VERMILION], "shape": ["circle", "diamond"]}
    state = {
        channel: field("state", "nominal", scale={"domain": ["normal", "alarm"], "range": look}, title=None)
        for channel, look in looks.items()
    }
    ticks = _times(columns) if "time" in columns else {"format": "d"}
    panels = []
    for name in statistics:
        last = name == statistics[-1]
        x = field(
            "position", title="row" if last and "time" not in columns else None, axis=ticks | {"labels": last}
        )
        y = field(name, scale={"type": "sqrt"}, axis={"format": ".6~g"})
        tips = ("row", name, f"{name} limit", "alarm", *(f"contributor {j}" for j in (1, 2, 3)))
        shown = [_tip(name, columns[name]) for name in tips]
        point = {"filled": True, "size": 18, "opacity": 0.8}
        line = {"color": BLUE, "strokeWidth": 0.5, "opacity": 0.4}
        layers = [layer("line", looks=line, x=x, y=y)]
        box = {"type": "interval", "encodings": ["x"], "translate": False, "zoom": False}
        dragged = {"name": f"period_{name}", "select": box}
        layers += [layer("point", looks=point, x=x, y=y, **state, tooltip=shown) | {"params": [dragged]}]
        if np.isfinite(columns[f"{name} limit"]).any():  # Vega warns of an axis for no number
            limit = field(f"{name} limit", title=name, aggregate="max")
            layers += [layer("rule", looks={"color": VERMILION, "strokeDash": [5, 3]}, y=limit)]
        panels.append({"layer": layers, "width": size_of(width), "height": 150})
    return content({"data": table(columns, "rows"), "vconcat": panels, "spacing": 8}, data)


def _times(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return an axis of positions that is labelled by the times of some of them."""
    some = np.array(evenly(len(columns["time"]), TICKS))
    times, ticks = columns["time"][some], columns["position"][some].tolist()
    days = (times[-1] - times[0]) / np.timedelta64(1, "D")
    texts = [text.replace("T", " ") for text in np.datetime_as_string(times, "D" if days > TICKS else "m")]
    labels = f"{json.dumps(dict(zip(ticks, texts, strict=True)))}[datum.value]"
    return {"values": ticks, "labelExpr": labels, "labelFlush": 9, "labelOverlap": True}


def loadings(data: LoadingsData, width: float) -> dict[str, Any]:
    """Return loadings that can be read: bars, or lines over an axis."""
    columns, across = data.columns, size_of(width)
    rows, titles = table(columns, "rows"), list(dict.fromkeys(map(drawable, columns["component"])))
    tips = [_tip(name, columns[name]) for name in ("component", "column", "loading")]
    edges = style.limits(columns["loading"], zero=True, margin=0.04)
    if data.kind == "lines":
        component = field("component", "nominal", title=None, scale={"domain": titles})
        colours = list(map(style.of_page, style.COLOURS[: len(titles)]))
        colour = component | {"scale": {"domain": titles, "range": colours}}
        x, y = axis("position", data.x, format=".6~r"), axis("loading", "loading", edges)
        look = {"strokeWidth": 1.4}
        line = layer("line", looks=look, x=x, y=y, color=colour, strokeDash=component, tooltip=tips)
        size = {"width": across, "height": round(across * style.HEIGHT / style.WIDTH * 0.8)}
        return content({"data": rows, **size, "layer": [_zero("y"), line]}, data)
    longest = min(130.0, LETTER * max(map(len, columns["column"]))) + 16
    beside = int(max(1, min(len(titles), 3, (across + MARGIN) // (longest + 90))))
    sign = {"condition": {"test": "datum.loading < 0", "value": VERMILION}, "value": BLUE}
    look = {"labelOverlap": False, "labelLimit": 130, "minExtent": 0, "domain": False, "ticks": False}
    y = field("column", "nominal", sort=None, title=None, axis=look)
    x = axis("loading", "loading", edges, tickCount=4)
    bars = layer("bar", x=x, y=y, color=sign, tooltip=tips)
    bars |= {"width": int((across + MARGIN) / beside - longest - 8), "height": {"step": 15}}
    panels = {"facet": field("component", "nominal", sort=titles, title=None), "columns": beside}
    separate = {"scale": {"y": "independent"}}
    return content({"data": rows, **panels, "spec": bars, "spacing": 10, "resolve": separate}, data)


def _zero(side: str) -> dict[str, Any]:
    """Return the line where x or y is 0."""
    return layer("rule", {"values": [{}]}, {"color": ZERO}, **{side: {"datum": 0}})
