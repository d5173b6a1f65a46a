"""Figures that answer the pointer, for the page of the server: specifications of Vega-Lite as plain dicts.

They draw the same data as the figures of matplotlib. In ``scores`` and ``biplot`` the page reads the data set
``rows`` and the box ``chosen``, and sets ``picked``, whose keys are "r" and the name or number of a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gramian.core.checks import shown
from gramian.figures import style
from gramian.figures.columns import NAMED_ARROWS, PALE, BiplotData, LoadingsData
from gramian.figures.points import Groups, ScoresData

PIXELS = 96 / 25.4  # of a millimetre
MARGIN = 66  # pixels of the labels and the title of a Y axis, and the padding
LETTER, TEXT = 6.0, 13.0  # pixels of a letter, and of a line
UNEQUAL = "The axes have different scales."
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "triangle-down", "cross"),
    *("M-.4,-1L0,-.5L.4,-1L1,-.4L.5,0L1,.4L.4,1L0,.5L-.4,1L-1,.4L-.5,0L-1,-.4Z", "triangle-right"),
)
# What ends a script in a page, and properties of every JavaScript object.
END_OF_SCRIPT = re.compile("<(?=/?script|!--)", re.IGNORECASE)
OF_OBJECTS = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString"),
    *("valueOf", "__proto__"),
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
}


def of_page(colour: str) -> str:
    """Return a colour as a page sets it, by a CSS variable."""
    variable = style.VARIABLES.get(colour.lower())
    return colour if variable is None else f"var(--figure-{variable}, {colour})"


INK, SOFT, LINE, ZERO = map(of_page, (style.INK, style.SOFT, style.LINE, style.ZERO))
BLUE, VERMILION = of_page(style.BLUE), of_page(style.VERMILION)
CONFIG: dict[str, Any] = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "background": "transparent",
    "tooltipFormat": {"numberFormat": ".4~g"},
    "aria": False,  # descriptions of every point would make answers ten times larger
    "view": {"stroke": None},
    "axis": {
        **{"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8},
        **{"labelColor": INK, "titleColor": INK, "grid": False, "domainColor": LINE, "tickColor": LINE},
        **{"labelOverlap": True, "labelSeparation": 4},
    },
    "axisY": {"minExtent": 32},  # so that plots below each other begin at the same place
    "legend": {
        **{"labelFontSize": 11, "titleFontSize": 11, "symbolSize": 60, "orient": "top", "offset": 6},
        **{"labelColor": INK, "titleColor": INK, "gradientLength": 120, "columnPadding": 14},
        **{"symbolBaseFillColor": INK, "symbolBaseStrokeColor": INK},
    },
    "text": {"color": INK},
    "title": {"color": INK, "fontSize": 12, "fontWeight": "normal"},
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
    return f"{line} " if line in OF_OBJECTS else line


def table(columns: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """Return columns as data, a record for each row; numbers that are not finite are missing."""
    lists = [[_value(value) for value in np.asarray(column).tolist()] for column in columns.values()]
    values = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
    return {"values": values} | ({"name": name} if name else {})


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return drawable(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def channel(
    field: str, title: Any = None, domain: Sequence[float] | None = None, **more: Any
) -> dict[str, Any]:
    """Return a quantitative channel with a title and limits."""
    scale: dict[str, Any] = {"zero": False, "nice": False} | ({} if domain is None else {"domain": domain})
    axis = {"labelFlush": False, "format": ".3~e"}
    if domain is not None and not 1e-3 < max(map(abs, domain)) < 1e6:
        more.setdefault("axis", axis)
    return {"field": field, "type": "quantitative", "title": title and drawable(title), "scale": scale} | more


def size_of(width: float) -> int:
    """Return the pixels across of the drawing area of a figure of so many millimetres."""
    return max(round(width * PIXELS) - MARGIN, 120)


def content(spec: dict[str, Any], data: Any, *notes: str) -> dict[str, Any]:
    """Return a figure for the page: a specification, a title, and sentences below."""
    caption = " ".join(filter(None, (*data.notes, *notes)))
    return {"spec": {"config": CONFIG} | spec, "title": getattr(data, "title", ""), "caption": caption}


def scores(data: ScoresData, width: float) -> dict[str, Any]:
    """Return scores of which rows can be picked."""
    edges, single = data.edges(), not data.components[1:]
    edges, size, equal = (edges, (size_of(width), 0), True) if single else framed(edges, width)
    size = (size[0], 64 * max(1, len(data.hue.kinds))) if single else size
    return content(_cloud(data, edges, size), data, "" if equal else UNEQUAL)


def biplot(data: BiplotData, width: float) -> dict[str, Any]:
    """Return scores of which rows can be picked, with an arrow for each column."""
    edges, size, equal = framed([data.arrows.widened(edge) for edge in data.points.edges()], width)
    tips, about = data.arrows.scaled(edges, equal)
    order = data.arrows.longest(tips)
    named = [data.arrows.names[j] for j in order.tolist()]
    units = tips / np.ptp(edges, axis=1) * size
    angles = np.degrees(np.arctan2(units[order, 0], units[order, 1]))
    weights = np.where(np.arange(len(order)) < NAMED_ARROWS, 1.0, PALE)
    columns = {"tip_x": tips[order, 0], "tip_y": tips[order, 1], "arrow": named, "zero": np.zeros(len(order))}
    places: Any = {side: {"field": f"tip_{side}", "type": "quantitative"} for side in "xy"}
    places["opacity"] = {"field": "weight", "type": "quantitative", "scale": None, "legend": None}
    places["tooltip"] = [{"field": "arrow", "type": "nominal"}]
    angle = {"angle": {"field": "angle", "type": "quantitative", "scale": None}}
    ends = {f"{side}2": {"field": "zero"} for side in "xy"}
    head = {"type": "point", "filled": True, "shape": "triangle", "size": 45, "color": INK}
    arrows = table(columns | {"angle": angles, "weight": weights})
    layers = [
        {
            "data": arrows,
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1.4},
            "encoding": places | ends,
        },
        {"data": arrows, "mark": head, "encoding": places | angle},
        *names(tips[order][:NAMED_ARROWS], named, edges, size, outward=True, fontWeight="bold"),
    ]
    result = content(_cloud(data.points, edges, size, layers), data.points, "" if equal else UNEQUAL, about)
    return result | {"title": result["title"] or "Biplot"}


def _cloud(
    data: ScoresData, edges: Any, size: tuple[int, int], arrows: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    columns, single = data.columns, not data.components[1:]
    fields = [name for name in columns if name.startswith("PC") or name == "position"]
    places = [channel(*parts) for parts in zip(fields, data.axis_titles, edges, strict=True)]
    if single:
        places[1] |= {"title": None, "axis": {"labels": False, "ticks": False, "domain": False}}
    key, opacity = "name" if "name" in columns else "row", 0.85 if len(data.values) <= 2000 else 0.6
    picked = {"test": f"!picked || picked['r' + datum.{key}]", "value": opacity}
    encoding = {
        **{"x": places[0], "y": places[1], "opacity": {"condition": picked, "value": 0.12}},
        "tooltip": [_tip(name, values) for name, values in columns.items() if name != "position"],
        **_looks(data, single),
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 36 if len(data.values) <= 500 else 18},
        "params": [{"name": "chosen", "select": "interval"}],
        "encoding": encoding,
    }
    zero, texts = map(_zero, "x" if single else "xy"), _texts(data, edges, size)
    return {
        "data": table(columns, "rows"),
        "params": [{"name": "picked", "value": None}],
        "layer": [*zero, *_outlines(data), points, *arrows, *texts],
        "resolve": {"scale": {"color": "independent", "shape": "independent"}},
        **dict(zip(("width", "height"), size, strict=True)),
    }


def framed(edges: list[list[float]], width: float) -> tuple[list[list[float]], tuple[int, int], bool]:
    """Return limits, pixels across and up, and whether a unit has the same length along both axes."""
    across = size_of(width)
    if not style.is_comparable(edges):
        return edges, (across, round(across * style.HEIGHT / style.WIDTH)), False
    edges, up = equal_units(edges, across)
    return edges, (across, up), True


def equal_units(edges: Sequence[Sequence[float]], across: int) -> tuple[list[list[float]], int]:
    """Return limits of which a unit has the same length, and the height in pixels.

    Examples
    --------
    >>> equal_units([[0, 10], [0, 7]], 400)
    ([[0.0, 10.0], [0.0, 7.0]], 280)
    """
    spans = [high - low for low, high in edges]
    up = round(across * min(max(spans[1] / spans[0], 0.55), 0.75))
    unit = max(spans[0] / across, spans[1] / up)
    wider = [0.5 * (unit * size - span) for size, span in zip((across, up), spans, strict=True)]
    return [
        [float(low - more), float(high + more)] for (low, high), more in zip(edges, wider, strict=True)
    ], up


def _tip(name: str, values: Any) -> dict[str, Any]:
    number = np.asarray(values).dtype.kind == "f"
    return {"field": name, "type": "quantitative" if number else "nominal"}


def _looks(data: ScoresData, single: bool) -> dict[str, Any]:
    """Return the channels of colour and shape."""
    hue = data.hue
    looks: dict[str, Any] = {"color": {"value": BLUE}}
    if hue.values is not None and not hue.kinds:
        looks["color"] = {"field": "group", "type": "quantitative", "title": drawable(hue.title) or None}
        looks["color"]["scale"] = {"scheme": "viridis"}
    elif hue.kinds:
        named = not (single or hue.is_many)
        looks["color"] = _kinds("group", hue, [of_page(hue.colours()[kind]) for kind in hue.kinds], named)
        if not data.style.kinds:
            looks["shape"] = _kinds("group", hue, _shapes(hue), named)
    if data.style.kinds:
        looks["shape"] = _kinds("style", data.style, _shapes(data.style), True)
    return looks


def _kinds(field: str, groups: Groups, values: Sequence[str], named: bool) -> dict[str, Any]:
    scale = {"domain": list(map(drawable, groups.kinds)), "range": list(values)}
    legend = {"columns": 4} if named else None
    title = drawable(groups.title) or None
    return {"field": field, "type": "nominal", "title": title, "scale": scale, "legend": legend}


def _shapes(groups: Groups) -> list[str]:
    shape = dict(zip(style.MARKERS, SHAPES, strict=True))
    return [shape[groups.markers()[kind]] for kind in groups.kinds]


def _outlines(data: ScoresData) -> list[dict[str, Any]]:
    layers = []
    for one in data.ellipses:
        x, y = one.corners.T
        colour, thick = of_page(data.hue.colours()[one.group]), 2.4 if one.of == "mean" else 1
        mark = {"type": "line", "clip": True, "color": colour, "strokeWidth": thick, "opacity": 0.9}
        order = {"field": "corner", "type": "quantitative"}
        places = {side: {"field": f"edge_{side}", "type": "quantitative"} for side in "xy"}
        corners = table({"edge_x": x, "edge_y": y, "corner": np.arange(len(x))})
        layers.append({"data": corners, "mark": mark, "encoding": {**places, "order": order}})
    return layers


def _texts(data: ScoresData, edges: Any, size: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the names of strips, of many groups, or of a few rows."""
    hue, single = data.hue, not data.components[1:]
    if single:
        above = np.array([[edges[0][0], 0.4 - place] for place in range(len(hue.kinds))]).reshape(-1, 2)
        return names(above, hue.kinds, edges, size, align="left")
    if hue.is_many:
        medians = [np.median(data.values[hue.values == kind], axis=0) for kind in hue.classes]
        return names(np.array(medians), hue.classes, edges, size)
    return names(data.values, data.names or (), edges, size, color=SOFT) if data.is_labelled else []


def names(
    points: Any,
    texts: Sequence[str],
    edges: Any,
    size: tuple[int, int],
    *,
    outward: bool = False,
    align: str = "",
    **look: Any,
) -> list[dict[str, Any]]:
    """Return a layer of names beside points, as many as do not cover each other: an earlier one wins."""
    corner, unit = np.array(edges)[:, 0], np.ptp(edges, axis=1) / size
    boxes, columns = np.empty((0, 4)), dict[str, list[Any]]({"text": [], "text_x": [], "text_y": []})
    origin = -corner / unit
    for at, text in zip((np.asarray(points) - corner) / unit, texts, strict=False):
        half, away = np.array([LETTER * len(text), TEXT]) / 2, at - origin
        sides = [(1, 0)] if align else [(1, 0), (-1, 0), (0, 1), (0, -1)]
        for side in sorted(sides, key=lambda side: -float(away @ side)) if outward else sides:
            middle = at + side * (half + 6)
            box = np.hstack([middle - half, middle + half])
            apart = (boxes[:, :2] >= box[2:]) | (boxes[:, 2:] <= box[:2])
            if apart.any(axis=1).all() and (box[:2] >= 0).all() and (box[2:] <= size).all():
                boxes = np.vstack([boxes, box])
                for name, value in zip(columns, (text, *(corner + middle * unit)), strict=True):
                    columns[name].append(value)
                break
    mark = {"type": "text", "fontSize": 10.5, "baseline": "middle", "color": INK, **look}
    places = {side: {"field": f"text_{side}", "type": "quantitative"} for side in "xy"}
    words = {"data": table(columns), "mark": mark, "encoding": {**places, "text": {"field": "text"}}}
    return [words] if columns["text"] else []


def control_chart(data: Any, width: float) -> dict[str, Any]:
    """Return a control chart of which rows can be read."""
    columns = data.columns | {"state": np.where(data.columns["alarm"] == "", "normal", "alarm")}
    statistics = [name for name in ("T2", "SPE") if name in columns]
    scale = {"domain": ["normal", "alarm"], "range": [BLUE, VERMILION]}
    state = {"field": "state", "type": "nominal", "scale": scale, "title": None}
    tips = ("row", "alarm", *(f"contributor {j}" for j in (1, 2, 3)))
    panels = []
    for name in statistics:
        last = name == statistics[-1]
        axis = {"format": "d", "labels": last}
        x = {"field": "position", "type": "quantitative", "title": "row" if last else None, "axis": axis}
        y = {"field": name, "type": "quantitative", "title": name, "scale": {"type": "sqrt"}}
        y["axis"] = {"format": ".6~g"}
        shown = [_tip(one, columns[one]) for one in (tips[0], name, f"{name} limit", *tips[1:])]
        line = {"mark": {"type": "line", "color": BLUE, "strokeWidth": 0.5, "opacity": 0.4}}
        points = {"mark": {"type": "point", "filled": True, "size": 18, "opacity": 0.8}}
        layers: list[dict[str, Any]] = [line | {"encoding": {"x": x, "y": y}}]
        layers.append(points | {"encoding": {"x": x, "y": y, "color": state, "tooltip": shown}})
        if np.isfinite(columns[f"{name} limit"]).any():  # Vega warns of an axis for no number
            limit = {"field": f"{name} limit", "type": "quantitative", "title": name, "aggregate": "max"}
            mark = {"type": "rule", "color": VERMILION, "strokeDash": [5, 3]}
            layers.append({"mark": mark, "encoding": {"y": limit}})
        panels.append({"layer": layers, "width": size_of(width), "height": 150})
    return content({"data": table(columns, "rows"), "vconcat": panels, "spacing": 8}, data)


def loadings(data: LoadingsData, width: float) -> dict[str, Any]:
    """Return loadings that can be read: bars, or lines over an axis."""
    columns, across = data.columns, size_of(width)
    tips = [_tip(name, columns[name]) for name in ("component", "column", "loading")]
    edges = style.limits(data.values, zero=True, margin=0.04)
    if data.kind == "lines":
        colours = {"domain": list(data.components), "range": list(map(of_page, style.COLOURS))}
        own = {"field": "component", "type": "nominal", "title": None}
        x = channel("position", data.position_title, axis={"format": ".6~r"})
        y = channel("loading", data.value_title, edges)
        places = {"x": x, "y": y, "color": own | {"scale": colours}, "strokeDash": own, "tooltip": tips}
        line = {"mark": {"type": "line", "strokeWidth": 1.4}, "encoding": places}
        size = {"width": across, "height": round(across * style.HEIGHT / style.WIDTH * 0.8)}
        return content({"data": table(columns, "rows"), **size, "layer": [_zero("y"), line]}, data)
    longest = min(130.0, LETTER * max(map(len, data.names))) + 16
    beside = int(max(1, min(len(data.components), 3, (across + MARGIN) // (longest + 90))))
    sign = {"condition": {"test": "datum.loading < 0", "value": VERMILION}, "value": BLUE}
    panels = []
    for place, component in enumerate(data.components):
        shown = data.shown(place)
        axis = {"labelOverlap": False, "labelLimit": 130, "minExtent": 0, "domain": False, "ticks": False}
        y = {"field": "column", "type": "nominal", "sort": None, "title": None, "axis": axis}
        bars = {"component": [component] * len(shown), "column": [data.names[i] for i in shown.tolist()]}
        loading = {"loading": data.values[shown, place]}
        x = channel("loading", data.value_title, edges, axis={"tickCount": 4})
        panels.append(
            {
                "data": table(bars | loading),
                "title": {"text": component},
                "mark": "bar",
                "encoding": {"x": x, "y": y, "color": sign, "tooltip": tips},
                "width": int((across + MARGIN) / beside - longest - 8),
                "height": 15 * max(4, len(shown)),
            }
        )
    rows = [{"hconcat": panels[i : i + beside], "spacing": 10} for i in range(0, len(panels), beside)]
    return content({"vconcat": rows, "spacing": 10}, data)


def _zero(side: str) -> dict[str, Any]:
    """Return the line where x or y is 0."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rule", "color": ZERO},
        "encoding": {side: {"datum": 0}},
    }
