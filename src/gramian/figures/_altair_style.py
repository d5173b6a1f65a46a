"""The theme of all figures, and how they are written without a browser."""

from __future__ import annotations

import base64
import copy
import io
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
from altair.utils.schemapi import debug_mode

from gramian.core.atomic import atomic_write
from gramian.core.checks import names_its_arguments, shown
from gramian.core.records import FloatArray
from gramian.errors import ParameterError, needs

WIDTH, HEIGHT = 440, 330  # pixels, by default
SAMPLE = 2000  # rows of very many
NARROW = 360  # pixels below which legends are drawn below each other
MARGIN = 66  # pixels of the labels and the title of a Y axis, and the padding
MOST_UNEQUAL = 3  # ratio of two ranges above which their axes have different scales
FLATTEST, TALLEST = 0.55, 0.75  # height of a plot relative to its width
FORMATS = ("svg", "png", "pdf", "html", "json")
# Okabe and Ito (2008): distinguishable with every kind of colour vision.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#9a9a9a"
COLOURS = (
    *(BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00"),
    *("#56B4E9", "#8C6D31", "#B10026", "#7F3C8D", "#A5AA00"),
)
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross"),
    *("triangle-down", "triangle-right", "triangle-left", "circle", "square"),
)
INK, SOFT, PALE, LINE, ZERO, LEFT_OUT = "#333333", "#555555", "#e8e8e8", "#888888", "#aaaaaa", "#b5cfe0"
# The CSS variables by which a page sets the colours that depend on its background.
VARIABLES = {
    **{INK: "ink", SOFT: "soft", PALE: "grid", LINE: "line", ZERO: "zero", LEFT_OUT: "left-out"},
    **{BLUE: "blue", "#7F3C8D": "purple", "#B10026": "red"},
}
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
    "tooltipFormat": {"numberFormat": ".4~g"},
    "aria": False,  # descriptions of every point would make files ten times larger
    "view": {"stroke": LINE, "strokeWidth": 0.6},
    "axis": {
        **{"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8},
        **{"labelColor": INK, "titleColor": INK, "gridColor": PALE, "domainColor": LINE},
        **{"tickColor": LINE, "labelOverlap": True, "labelSeparation": 4},
    },
    "axisY": {"minExtent": 32},  # so that plots below each other begin at the same place
    "legend": {
        **{"labelFontSize": 11, "titleFontSize": 11, "symbolSize": 60, "orient": "top", "offset": 6},
        **{"labelColor": INK, "titleColor": INK, "gradientLength": 120, "columnPadding": 14},
        **{"symbolBaseFillColor": INK, "symbolBaseStrokeColor": INK},
    },
    "text": {"color": INK},
    "title": {
        **{"anchor": "start", "frame": "group", "fontSize": 14, "color": INK, "offset": 10},
        **{"subtitleFontSize": 11, "subtitleColor": SOFT, "subtitlePadding": 5, "subtitleLineHeight": 14},
    },
    "headerRow": {"labelFontSize": 11},
    "headerColumn": {"labelFontSize": 11},
}
STACKED: dict[str, Any] = {"columns": 3, "layout": {"top": {"direction": "vertical", "anchor": "start"}}}
_width: ContextVar[int] = ContextVar("width", default=WIDTH)
_is_page: ContextVar[bool] = ContextVar("is_page", default=False)  # whether figures are for a page or file


def width() -> int:
    """Return the width of the plot that is drawn now, in pixels."""
    return _width.get()


@contextmanager
def room(pixels: int | None) -> Iterator[None]:
    """Draw figures that are so many pixels wide, with axes and labels; None for the default.

    Nobody changes them afterwards: their parts are not copied, nor compared with Vega-Lite's schema.
    """
    token = _width.set(WIDTH if pixels is None else max(pixels - MARGIN, 120)), _is_page.set(True)
    try:
        with debug_mode(False):
            yield
    finally:
        _width.reset(token[0])
        _is_page.reset(token[1])


def in_page(spec: Any) -> Any:
    """Return a specification whose colours follow the page around it, by CSS variables."""
    if isinstance(spec, dict):
        # Texts of the user, and scales of numbers: Vega cannot interpolate between variables.
        fixed = ["datasets", "domain", "equal"] + ["scale"] * (spec.get("type") == "quantitative")
        result = {key: value if key in fixed else in_page(value) for key, value in spec.items()}
        return result | ({"background": "transparent"} if "background" in result else {})
    if isinstance(spec, list):
        return [in_page(value) for value in spec]
    return _variable(spec) if isinstance(spec, str) and spec in VARIABLES else spec


def svg_in_page(svg: str) -> str:
    """Return an .svg whose colours follow the page around it, and whose width is that of its place."""
    svg = COLOUR_OF.sub(lambda match: f'{match[1]}="{_variable(match[2])}"', svg)
    head, end, rest = svg.partition(">")
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return head + end + rest.replace('fill="white"', 'fill="none"', 1)


def _variable(colour: str) -> str:
    return f"var(--figure-{VARIABLES[colour]}, {colour})"


COLOUR_OF = re.compile(rf'\b(fill|stroke)="({"|".join(VARIABLES)})"')


class Part:
    """A chart or a part of one: Altair would look through its table with functions of Arrow."""

    data: Any

    def copy(self, deep: Any = True, ignore: list[str] | None = None) -> Any:
        """Return a copy, as of Altair; one of a figure for a page shares what the figure has inside."""
        return super().copy(False if _is_page.get() and deep is True else deep, ignore)  # type: ignore[misc]

    def to_dict(self, validate: bool = True, **options: Any) -> Any:
        """Return the Vega-Lite specification, as of Altair."""
        if not isinstance(self.data, pa.Table) or alt.data_transformers.active != "default":
            return super().to_dict(validate, **options)  # type: ignore[misc]
        columns = (column.to_pylist() for column in self.data.columns)
        names = self.data.column_names
        values = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        other: Any = copy.copy(self)
        other.__dict__["_kwds"] = other._kwds | {"data": alt.InlineData(values=values)}
        return super(Part, other).to_dict(validate, **options)  # type: ignore[misc]


class Drawn(Part):
    """Adds to Altair charts: our theme, any number of rows, and writing offline."""

    def to_dict(self, validate: bool = False, **options: Any) -> Any:
        """Return the Vega-Lite specification, by default without its slow validation."""
        with alt.data_transformers.disable_max_rows():
            spec = _drawable(super().to_dict(validate, **options))
        if "vega-lite" in spec.get("$schema", ""):  # of the chart as a whole, not of one inside another
            theme = THEME if width() >= NARROW else _nested(THEME, {"legend": STACKED})
            spec["config"] = _nested(theme, spec.get("config", {}))
        return spec

    def _repr_mimebundle_(self, *include: Any, **exclude: Any) -> Any:
        """Return the figure for a notebook without network: the specification, and an .svg of it.

        The page that Altair shows by default fetches its JavaScript. A renderer that you enable in Altair is
        used instead.
        """
        if alt.renderers.active != "default" or find_spec("vl_convert") is None:
            return super()._repr_mimebundle_(*include, **exclude)  # type: ignore[misc]
        with alt.renderers.enable("mimetype"):
            result = super()._repr_mimebundle_(*include, **exclude)  # type: ignore[misc]
        bundle = result[0] if isinstance(result, tuple) else result  # with metadata
        svg = io.StringIO()
        self.save(svg, "svg")
        return bundle | {"image/svg+xml": svg.getvalue()}

    @names_its_arguments
    def save(
        self,
        fp: Any,
        format: str | None = None,
        *,
        inline: bool = True,
        ppi: float | None = None,
        scale_factor: float = 1,
    ) -> None:
        """Write the figure atomically to a file.

        Parameters
        ----------
        fp : path or open file
            Named .svg, .png, .pdf, .html (self-contained) or .json.
        format : str, optional
            For an open file, or a path with another suffix.
        inline : bool, default=True
            For .html: include the JavaScript, instead of fetching it when the file is opened.
        ppi : float, optional
            Dots per inch of a .png file, by default 144.
        scale_factor : float, default=1
            Times its size, of a .png or .svg file.

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
                *("fp", os.fspath(fp) if is_path else fp, "has no known format"),
                f"Use a name with .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}, or give format.",
            )
        options: dict[str, Any] = {"inline": inline} if kind == "html" else {"scale_factor": scale_factor}
        if kind == "png":
            options["ppi"] = 144 if ppi is None and scale_factor == 1 else ppi
        buffer = io.BytesIO() if kind in ("png", "pdf") else io.StringIO()
        super().save(buffer, format=kind, **options)  # type: ignore[misc]
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


class Chart(Part, alt.Chart):  # type: ignore[misc]
    """Marks that make channels of texts directly; Altair searches its whole schema for each."""

    def encode(self, **channels: Any) -> Any:
        """Return a copy with these channels, as of Altair."""
        return super().encode(**{name: _channel(name, given) for name, given in channels.items()})


def _channel(name: str, given: Any) -> Any:
    kind = f"{name[0].upper()}{name[1:]}"
    if isinstance(given, list | tuple):
        return [_channel(name, one) for one in given]
    if isinstance(given, str):
        return getattr(alt, kind)(given)
    if isinstance(given, dict) and "value" in given:
        return getattr(alt, f"{kind}Value")(**given)
    return given


class Panel(Part, alt.LayerChart):  # type: ignore[misc]
    """Layered marks of a figure with several."""


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
    size = dict(zip(("height", "width"), shape, strict=True))
    mark = Chart().mark_image(align="left", baseline="top", **size)
    corner = mark.encode(x=alt.value(0), y=alt.value(0), url="url:N")
    return Layers(data=table({"url": [url]}), layer=[corner], view=alt.ViewConfig(stroke=None), **size)


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


def headed(title: str, *sentences: str, width: int | None = None) -> Any:
    """Return a title with a wrapped caption below."""
    caption = " ".join(sentence for sentence in sentences if sentence)
    letters = int((width or _width.get()) / CAPTION_LETTER)
    return alt.Title(title, subtitle=textwrap.wrap(caption, letters) or [""])


def panel(layers: Sequence[Any], height: int, across: int = 0) -> Any:
    """Return marks over each other, as wide as there is room; a figure has one or several."""
    return Panel(layer=list(layers), width=across or width(), height=height)


def layered(
    columns: Mapping[str, Any], marks: Sequence[Any], title: str, *said: str, height: int, across: int = 0
) -> Layers:
    """Return a figure of marks over each other, which draw one table, with a caption."""
    size = {"width": across or width(), "height": height}
    return Layers(data=table(columns), layer=list(marks), title=headed(title, *said), **size)


def stacked(
    columns: Mapping[str, Any], panels: Sequence[Any], title: str, *said: str, spacing: int = 8
) -> Lines:
    """Return a figure of panels below each other, which draw one table, with a caption."""
    head = headed(title, *said)
    return Lines(data=table(columns), vconcat=list(panels), title=head, spacing=spacing)


def limits(*values: Any, zero: bool = False, margin: float = 0.06) -> list[float]:
    """Return axis limits around all numbers with a margin, optionally with 0."""
    every = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    every = every[np.isfinite(every)]
    every = np.append(every, 0.0) if zero or not every.size else every
    low, high = float(every.min()), float(every.max())
    space = margin * (high - low) or 0.5 * abs(high) or 1.0
    return [low - space, high + space]


def edges_of(*points: FloatArray, margin: float = 0.06) -> list[list[float]]:
    """Return axis limits around all points of shape (n, 2)."""
    return [limits(*(part[:, j] for part in points), margin=margin) for j in (0, 1)]


def axis(kind: Any, field: str, title: str, domain: Sequence[float] | None = None, **more: Any) -> Any:
    """Return a quantitative channel with a title and limits."""
    scale = alt.Scale(zero=False)
    if domain is not None:
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        largest = max(map(abs, domain))
        if not 1e-3 < largest < 1e6:
            more.setdefault("axis", alt.Axis(format=".3~e", labelFlush=False))
    return kind(field, type="quantitative", title=title, scale=scale, **more)


def xy(fields: Sequence[str], titles: Sequence[str], edges: Sequence[Sequence[float]], **more: Any) -> Any:
    """Return the channels x and y with titles and limits; ``more`` is for both."""
    both = zip((alt.X, alt.Y), fields, titles, edges, strict=False)
    return dict(zip("xy", (axis(*parts, **more) for parts in both), strict=True))


def chart(columns: Mapping[str, Any]) -> Any:
    """Return an empty chart of a table of its own."""
    return Chart(table(columns))


def segments(starts: FloatArray, ends: FloatArray, **looks: Any) -> Any:
    """Return straight lines between points of shape (n, 2)."""
    columns = {"from_x": starts[:, 0], "from_y": starts[:, 1], "to_x": ends[:, 0], "to_y": ends[:, 1]}
    return chart(columns).mark_rule(**looks).encode(x="from_x:Q", y="from_y:Q", x2="to_x", y2="to_y")


def sampled_rows(n: int) -> Any:
    """Return the places of at most ``SAMPLE`` rows, drawn at random."""
    if n <= SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))


def equal_axes(edges: Sequence[Sequence[float]]) -> tuple[list[list[float]], int, bool]:
    """Return axis limits of which a unit has the same length, the height of the plot, and whether it has.

    Ranges of very different lengths keep their own scales, because one of them would be a line.

    Examples
    --------
    >>> equal_axes([[0, 10], [0, 7]])
    ([[0.0, 10.0], [0.0, 7.0]], 308, True)
    >>> equal_axes([[0, 10], [0, 1000]])
    ([[0, 10], [0, 1000]], 330, False)
    """
    across = width()
    spans = [high - low for low, high in edges]
    if not max(spans) <= MOST_UNEQUAL * min(spans):
        return [list(edge) for edge in edges], round(across * HEIGHT / WIDTH), False
    up = round(across * min(max(spans[1] / spans[0], FLATTEST), TALLEST))
    unit = max(spans[0] / across, spans[1] / up)
    result = []
    for (low, high), size in zip(edges, (across, up), strict=True):
        more = 0.5 * (unit * size - (high - low))
        result.append([float(low - more), float(high + more)])
    return result, up, True


def outline(corners: FloatArray, **looks: Any) -> Any:
    """Return a closed line through corners of shape (n, 2)."""
    columns = {"edge_x": corners[:, 0], "edge_y": corners[:, 1], "corner": np.arange(len(corners))}
    return chart(columns).mark_line(**looks).encode(x="edge_x:Q", y="edge_y:Q", order="corner:Q")


def zero_lines() -> list[Any]:
    """Return the lines x = 0 and y = 0."""
    zero = chart({"zero": [0.0]}).mark_rule(color=ZERO, clip=True)
    return [zero.encode(x="zero:Q"), zero.encode(y="zero:Q")]
