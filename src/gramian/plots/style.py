"""The theme of all figures, and how they are written without a browser."""

from __future__ import annotations

import base64
import io
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from gramian.checks import shown
from gramian.errors import ParameterError, needs
from gramian.records import FloatArray
from gramian.store import atomic_write

WIDTH, HEIGHT = 440, 330
FORMATS = ("svg", "png", "pdf", "html", "json")
# Okabe and Ito (2008): distinguishable with every kind of colour vision.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#9a9a9a"
COLOURS = (
    *(BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00"),
    *("#56B4E9", "#8C6D31", "#000000", "#7F3C8D", "#A5AA00"),
)
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross"),
    *("triangle-down", "triangle-right", "triangle-left", "circle", "square"),
)
INK, PALE = "#333333", "#e8e8e8"
# What ends a script in a page, and properties of every JavaScript object.
END_OF_SCRIPT = re.compile("<(?=/?script|!--)", re.IGNORECASE)
OF_OBJECTS = {
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString"),
    *("valueOf", "__proto__"),
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
}
CAPTION_LETTER = 5.4  # pixels, the width of a character of a caption
THEME: dict[str, Any] = {
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "background": "white",
    "aria": False,  # descriptions of every point would make files ten times larger
    "view": {"stroke": "#888888", "strokeWidth": 0.6},
    "axis": {
        **{"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8},
        **{"labelColor": INK, "titleColor": INK, "gridColor": PALE, "domainColor": "#888888"},
        **{"tickColor": "#888888", "labelOverlap": True},
    },
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "symbolSize": 60},
    "title": {
        **{"anchor": "start", "frame": "group", "fontSize": 14, "color": INK, "offset": 10},
        **{
            "subtitleFontSize": 11,
            "subtitleColor": "#555555",
            "subtitlePadding": 5,
            "subtitleLineHeight": 14,
        },
    },
    "headerRow": {"labelFontSize": 11},
    "headerColumn": {"labelFontSize": 11},
}


class Drawn:
    """Adds to Altair charts: our theme, any number of rows, and writing offline."""

    def to_dict(self, validate: bool = False, **options: Any) -> Any:
        """Return the Vega-Lite specification, by default without its slow validation."""
        with alt.data_transformers.disable_max_rows():
            spec = _drawable(super().to_dict(validate, **options))  # type: ignore[misc]
        if "vega-lite" in spec.get("$schema", ""):  # of the chart as a whole, not of one inside another
            spec["config"] = _nested(THEME, spec.get("config", {}))
        return spec

    def save(self, fp: Any, format: str | None = None, *, inline: bool = True, **options: Any) -> None:
        """Write the figure atomically to a file.

        Parameters
        ----------
        fp : path or open file
            Named .svg, .png, .pdf, .html (self-contained) or .json.
        format : str, optional
            For an open file, or a path with another suffix.
        inline : bool, default=True
            For .html: include the JavaScript, instead of fetching it when the file is opened.
        **options
            As for Altair, such as ``ppi=300`` for a .png file.

        Raises
        ------
        ParameterError
            For an unknown format.
        MissingExtraError
            Without vl-convert-python.
        """
        with needs("plots", "vl-convert-python", "Writing figures"):
            import vl_convert  # noqa: F401
        is_path = isinstance(fp, str | os.PathLike)
        kind = (format or (Path(fp).suffix[1:].lower() if is_path else "")).lower()
        if kind not in FORMATS:
            raise ParameterError(
                f"Unknown format of figure {os.fspath(fp) if is_path else fp!r}. Use a name with "
                f".{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}, or give format=."
            )
        if kind == "png" and not {"scale_factor", "ppi"} & options.keys():
            options["ppi"] = 144
        buffer = io.BytesIO() if kind in ("png", "pdf") else io.StringIO()
        super().save(buffer, format=kind, inline=inline and kind == "html", **options)  # type: ignore[misc]
        content = buffer.getvalue()
        if not is_path:
            fp.write(content)
            return
        with atomic_write(fp) as file:
            file.write(content.encode() if isinstance(content, str) else content)


def browser_program() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed, which sets ``vegaEmbed`` in a page.

    Raises
    ------
    MissingExtraError
        Without vl-convert-python.
    """
    with needs("plots", "vl-convert-python", "Drawing figures in a page"):
        import vl_convert
    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]


class Layers(Drawn, alt.LayerChart):  # type: ignore[misc]
    """Layered marks."""


class Columns(Drawn, alt.HConcatChart):  # type: ignore[misc]
    """Panels in a row."""


class Lines(Drawn, alt.VConcatChart):  # type: ignore[misc]
    """Panels in a column."""


class Panels(Drawn, alt.ConcatChart):  # type: ignore[misc]
    """Panels in a grid."""


def _nested(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {**base, **over}
    for name in base.keys() & over.keys():
        if isinstance(base[name], Mapping) and isinstance(over[name], Mapping):
            both[name] = _nested(base[name], over[name])
    return both


def framed(png: bytes, shape: tuple[int, ...]) -> Layers:
    """Return a picture as a figure."""
    url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    height, width = shape
    mark = alt.Chart().mark_image(width=width, height=height, align="left", baseline="top")
    corner = mark.encode(x=alt.value(0), y=alt.value(0), url="url:N")
    frame = alt.ViewConfig(stroke=None)
    return Layers(data=table({"url": [url]}), layer=[corner], width=width, height=height, view=frame)


def drawable(text: str) -> str:
    r"""Return text of the user that is safe in a figure, on one line.

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


def _drawable(part: Any) -> Any:
    """Make every text of a specification safe; :func:`table` does so for data."""
    if isinstance(part, dict):
        return {key: value if key == "datasets" else _drawable(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_drawable(value) for value in part]
    return drawable(part) if isinstance(part, str) else part


def table(columns: Mapping[str, Any]) -> Any:
    """Return columns as an Arrow table; numbers that are not finite are missing."""
    return pa.table({name: pa.array(_plain(values), from_pandas=True) for name, values in columns.items()})


def _plain(values: Any) -> Any:
    values = np.asarray(values)
    if values.dtype.kind in "OU":
        return [drawable(value) if isinstance(value, str) else value for value in values.tolist()]
    return np.where(np.isfinite(values), values, np.nan) if values.dtype.kind == "f" else values.tolist()


def headed(title: str, *sentences: str, width: int = WIDTH) -> Any:
    """Return a title with a wrapped caption below."""
    caption = " ".join(sentence for sentence in sentences if sentence)
    return alt.Title(title, subtitle=textwrap.wrap(caption, int(width / CAPTION_LETTER)) or [""])


def limits(*values: Any, zero: bool = False, margin: float = 0.06) -> list[float]:
    """Return axis limits around all numbers with a margin, optionally with 0."""
    every = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    every = every[np.isfinite(every)]
    every = np.append(every, 0.0) if zero or not every.size else every
    low, high = float(every.min()), float(every.max())
    space = margin * (high - low) or 0.5 * abs(high) or 1.0
    return [low - space, high + space]


def axis(kind: Any, field: str, title: str, domain: Sequence[float] | None = None, **more: Any) -> Any:
    """Return a quantitative channel with a title and limits."""
    scale = alt.Scale(zero=False)
    if domain is not None:
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        largest = max(map(abs, domain))
        if not 1e-3 < largest < 1e6:
            more.setdefault("axis", alt.Axis(format=".3~e", labelFlush=False))
    return kind(field, type="quantitative", title=title, scale=scale, **more)


def outline(corners: FloatArray, **looks: Any) -> Any:
    """Return a closed line through corners of shape (n, 2)."""
    columns = {"edge_x": corners[:, 0], "edge_y": corners[:, 1], "corner": np.arange(len(corners))}
    return alt.Chart(table(columns)).mark_line(**looks).encode(x="edge_x:Q", y="edge_y:Q", order="corner:Q")


def zero_lines() -> list[Any]:
    """Return the lines x = 0 and y = 0."""
    return [
        alt.Chart(table({"zero": [0.0]})).mark_rule(color="#aaaaaa", clip=True).encode(**{side: "zero:Q"})
        for side in ("x", "y")
    ]
