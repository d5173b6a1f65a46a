"""How figures look, where they are drawn, and how they are written."""

from __future__ import annotations

import base64
import io
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from PIL import Image

from gramian.core.checks import counted, shown
from gramian.core.records import FloatArray
from gramian.errors import ParameterError

WIDTH, HEIGHT = 120.0, 90.0  # millimetres by default
INCH = 25.4
# Okabe and Ito (2008), brown in place of their yellow: distinguishable with every kind of colour vision.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#9a9a9a"
COLOURS = (BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#333333")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", ">")
INK, SOFT, PALE, LINE, ZERO, LEFT_OUT = "#333333", "#555555", "#e8e8e8", "#888888", "#aaaaaa", "#b5cfe0"
# The CSS variables by which a page sets the colours that depend on its background.
VARIABLES = {
    **{INK: "ink", SOFT: "soft", PALE: "grid", LINE: "line", ZERO: "zero", LEFT_OUT: "left-out"},
    **{BLUE.lower(): "blue", "#ffffff": "paper"},
}
SAMPLE = 10_000  # rows of very many
RASTER = 2000  # points above which they are pixels in an .svg or .pdf file
MOST_UNEQUAL = 3  # ratio of two ranges above which their axes have different scales
LONGEST = 40  # letters of a name
PLAIN = {"parse_math": False, "usetex": False}  # of texts that may hold a "$" of the user
# Letters that the first font lacks are those of the next one.
FALLBACKS = ("DejaVu Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei")
DEFAULTS: dict[str, Any] = {
    "figure.figsize": (WIDTH / INCH, HEIGHT / INCH),
    "figure.dpi": 150,
    "figure.titlesize": 9,
    "font.family": ["sans-serif", *(name for name in FALLBACKS if name in fontManager.get_font_names())],
    "font.sans-serif": ["Arial", "Helvetica", "Liberation Sans", "DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.formatter.limits": (-4, 5),
    "legend.handletextpad": 0.3,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "lines.linewidth": 1.2,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("legend.fontsize", "legend.title_fontsize", "xtick.labelsize", "ytick.labelsize"), 7),
    **dict.fromkeys(("axes.linewidth", "patch.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "axes.edgecolor": LINE,
}
METADATA = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate",), "png": ("Software",)}
_INKS = ("axes.facecolor", "text.color")
FIXED = {"svg.fonttype": "none", "svg.image_inline": True, "pdf.fonttype": 42}


# The width in millimetres of figures without pyplot, 0 for the default; None is with pyplot.
_canvas: ContextVar[float | None] = ContextVar("canvas", default=None)
_lock = threading.RLock()  # rcParams are those of the process
_own: WeakSet[Figure] = WeakSet()  # figures that we made
_captions: WeakKeyDictionary[Figure, list[Any]] = WeakKeyDictionary()


@contextmanager
def canvas(width_mm: float | None = None) -> Iterator[None]:
    """Draw figures of this width in millimetres without pyplot: no window, no list of figures."""
    token = _canvas.set(width_mm or 0)
    try:
        yield
    finally:
        _canvas.reset(token)


@contextmanager
def defaults(**more: Any) -> Iterator[None]:
    """Apply our defaults, while a figure is made, to those of rcParams that nobody has changed."""
    with _lock:
        now, usual = mpl.rcParams, mpl.rcParamsDefault
        unchanged = {name: value for name, value in DEFAULTS.items() if now[name] == usual[name]}
        if [now[name] for name in _INKS] != [usual[name] for name in _INKS]:  # a style with its own
            unchanged = {name: value for name, value in unchanged.items() if not name.endswith("color")}
        if "font.size" not in unchanged:
            larger, sizes = now["font.size"] / DEFAULTS["font.size"], ("titlesize", "labelsize", "fontsize")
            unchanged |= {name: larger * size for name, size in unchanged.items() if name.endswith(sizes)}
        with mpl.rc_context(unchanged | more):
            yield


def width_mm() -> float:
    """Return the width in millimetres of the figure that is drawn now."""
    return float(_canvas.get() or mpl.rcParams["figure.figsize"][0] * INCH)


def subplots(
    rows: int = 0, cols: int = 1, *, ax: Any = None, height_mm: float | None = None, **more: Any
) -> Any:
    """Return the axes to draw into: those of the user, or of a new figure.

    Parameters
    ----------
    rows, cols : int
        Of an array of axes; 0 rows are one, which is no array.
    ax : Axes or array of them, optional
        Those of the user.
    height_mm : float, optional
        The height of a new figure, unless ``rcParams["figure.figsize"]`` has one; by default three quarters
        of the width.
    **more
        For ``Figure.subplots``, such as ``sharex``, ``width_ratios``.

    Raises
    ------
    ParameterError
        If there are not enough axes.
    """
    count = max(rows, 1) * cols
    if ax is not None:
        axes = np.atleast_1d(np.asarray(ax, dtype=object))
        if axes.size != count or not all(isinstance(panel, Axes) for panel in axes.flat):
            many = f"{'one' if count == 1 else count} matplotlib Axes"
            raise ParameterError("ax", allowed=f"must be {many}", hint="Leave it out for a new figure.")
        return axes.reshape(rows, cols) if rows else axes.item()
    across, up = mpl.rcParams["figure.figsize"]
    if _canvas.get() or (across, up) == DEFAULTS["figure.figsize"]:
        across = width_mm() / INCH
        up = height_mm / INCH if height_mm else across * HEIGHT / WIDTH
    options = {"figsize": (across, up), "layout": "constrained"}
    if _canvas.get() is None:
        import matplotlib.pyplot as plt  # slow, and it would choose a window system in the server

        figure = plt.figure(**options)
    else:
        figure = Figure(**options)
    _own.add(figure)
    result = figure.subplots(max(rows, 1), cols, squeeze=False, **more)
    for panel in result.flat:  # ticks are made when they are drawn, with rcParams of then
        for side, axis in (("x", panel.xaxis), ("y", panel.yaxis)):
            panel.tick_params(side, labelsize=mpl.rcParams[f"{side}tick.labelsize"])
            axis.get_major_ticks(1)
            axis.get_minor_ticks(1)
    return result if rows else result.item()


def of_page(colour: str) -> str:
    """Return a colour as a page sets it, by a CSS variable."""
    variable = VARIABLES.get(colour.lower())
    return colour if variable is None else f"var(--figure-{variable}, {colour})"


def size(name: str) -> float:
    """Return a size of rcParams, such as "legend.fontsize", in typographic points."""
    return float(FontProperties(size=mpl.rcParams[name]).get_size_in_points())


def ink() -> str:
    """Return the colour of texts and arrows: ours, or that of a style sheet for another background."""
    return str(mpl.rcParams["text.color"])


# ------------------------------------------------------------------ captions


def note(ax: Any, *sentences: Any) -> None:
    """Add sentences to the caption of a figure; an object is asked for its ``sentence()`` when it is read."""
    _captions.setdefault(_figure_of(ax), []).extend(sentence for sentence in sentences if sentence)


def caption(drawn: Any) -> str:
    """Return the sentences below a figure, of its Axes; what is known when it is drawn is said afterwards."""
    sentences = [
        item if isinstance(item, str) else item.sentence() for item in _captions.get(_figure_of(drawn), [])
    ]
    return " ".join(dict.fromkeys(filter(None, sentences)))


def _figure_of(drawn: Any) -> Figure:
    if isinstance(drawn, Figure):
        return drawn
    result: Figure = next(np.asarray(drawn, dtype=object).flat).figure.canvas.figure  # not a SubFigure
    return result


# ---------------------------------------------------------------------- texts


def drawable(text: Any, longest: int = LONGEST) -> str:
    r"""Return text of the user as one line for a figure; of a long one the ends.

    Examples
    --------
    >>> print(drawable("a\x1b"), drawable("x" * 30 + "y" * 30, 9))
    a\x1b xxxx…yyyy
    """
    line = text if type(text) is str and text.isprintable() else shown(text)
    half = (longest - 1) // 2
    return line if len(line) <= longest else f"{line[: longest - 1 - half]}…{line[-half:]}"


def words(ax: Axes, *, x: str | None = None, y: str | None = None, title: str | None = None) -> None:
    """Set the titles of axes, and of a figure, where these are texts and not None or ""."""
    for side, text in (("x", x), ("y", y)):
        if text:
            getattr(ax, f"set_{side}label")(drawable(text, 80), **PLAIN)
    if title:
        ax.set_title(drawable(title, 120), **PLAIN)


def heading(ax: Any, title: str | None) -> None:
    """Set the title of a whole figure: above the legend of its own figure, or of the axes of a user."""
    figure, first = _figure_of(ax), next(np.asarray(ax, dtype=object).flat)
    if title and figure in _own and figure.axes[0] is first:
        figure.suptitle(drawable(title, 120), x=0.01, ha="left", **PLAIN)
    elif title:
        words(first, title=title)


def ticks(
    ax: Axes, side: str, positions: Sequence[float], names: Sequence[Any], most: int = LONGEST, **look: Any
) -> None:
    """Set names at places of the axis "x" or "y", without ticks; ``look`` is of matplotlib's Text."""
    labels = [drawable(name, most) for name in names]
    getattr(ax, f"set_{side}ticks")(list(positions), labels, **PLAIN, **look)
    ax.tick_params(side, length=0)


def legend(ax: Axes, handles: Sequence[Any], names: Sequence[Any], title: str = "") -> Any:
    """Add a legend: above the axes of our own figure, in rows with room, else inside."""
    labels, columns = [drawable(name) for name in names], 1
    position: dict[str, Any] = {"loc": "best"}
    if _figure_of(ax) in _own:
        letters = 0.5 * max(map(len, labels), default=1) + 3.4  # in sizes of the font
        room = (width_mm() - 16) / INCH * 72 / size("legend.fontsize")
        columns = max(1, min(int(room // letters), len(labels)))
        position = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "ncols": columns, "alignment": "left"}
    order = [j for first in range(columns) for j in range(first, len(labels), columns)]  # it fills columns
    result = ax.legend([handles[j] for j in order], list(map(str, order)), title=drawable(title), **position)
    result.get_title().set(**PLAIN)
    for text, j in zip(result.get_texts(), order, strict=True):  # afterwards: a name may begin with "_"
        text.set(text=labels[j], **PLAIN)
    return result


# ----------------------------------------------------------------------- axes


def limits(*values: Any, zero: bool = False, margin: float = 0.06) -> list[float]:
    """Return axis limits around all numbers with a margin, optionally with 0."""
    every = np.concatenate([np.ravel(np.asarray(array, dtype=np.float64)) for array in values])
    every = every[np.isfinite(every)]
    every = np.append(every, 0.0) if zero or not every.size else every
    low, high = float(every.min()), float(every.max())
    space = margin * (high - low) or 0.5 * abs(high) or 1.0
    return [low - space, high + space]


def edges_of(*points: FloatArray, margin: float = 0.06) -> list[list[float]]:
    """Return axis limits around all points of shape (n, 2)."""
    return [limits(*(array[:, j] for array in points), margin=margin) for j in (0, 1)]


def set_edges(ax: Axes, edges: Sequence[Sequence[float]], equal: bool = False) -> None:
    """Set the limits of both axes, at the end; ``equal`` keeps units of one length at any size."""
    if equal:
        ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlim(*edges[0], auto=None)
    ax.set_ylim(*edges[1], auto=None)


def is_comparable(edges: Sequence[Sequence[float]] | FloatArray) -> bool:
    """Return whether the longer range is at most three times the shorter, so that a unit may be the same."""
    spans = [high - low for low, high in edges]
    return max(spans) <= MOST_UNEQUAL * min(spans)


def widened(edges: Sequence[Sequence[float]], size: Any) -> list[list[float]]:
    """Return limits of which a unit is as long along both axes of a size, given as (across, up)."""
    spans = np.ptp(edges, axis=1)
    more = 0.5 * (np.max(spans / size) * np.asarray(size) - spans)
    return [[float(low - m), float(high + m)] for (low, high), m in zip(edges, more, strict=True)]


def equal_units(ax: Axes, edges: Sequence[Sequence[float]]) -> tuple[list[list[float]], bool]:
    """Return limits of which a unit has about the same length, for :func:`set_edges`, and whether it has.

    Ranges of very different lengths keep their own scales, because one of them would be a line.
    """
    if not is_comparable(edges):
        return [list(map(float, edge)) for edge in edges], False
    return widened(edges, ax.bbox.size), True


def millimetres(ax: Axes) -> FloatArray:
    """Return the width and the height of axes, before they are laid out."""
    return np.asarray(ax.bbox.size / _figure_of(ax).dpi * INCH)


def colour_bar(ax: Axes, drawn: Any, title: str) -> None:
    """Add the scale of the colours of something drawn, beside the axes and without changing their figure."""
    bar = _figure_of(ax).colorbar(drawn, cax=ax.inset_axes((1.03, 0, 0.025, 1)))
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1)
    bar.set_label(drawable(title), **PLAIN)
    bar.ax.tick_params(length=2, width=0.6, labelsize=size("xtick.labelsize"))


def zero_lines(ax: Axes, x: bool = True, y: bool = True) -> None:
    """Draw the lines x = 0 and y = 0 behind everything."""
    look: Any = {"color": ZERO, "linewidth": 0.5, "zorder": 0.5}
    if x:
        ax.axvline(0, **look)
    if y:
        ax.axhline(0, **look)


def sampled_rows(n: int, most: int = SAMPLE) -> tuple[Any, str]:
    """Return the places of at most so many rows, drawn at random, and a sentence about them."""
    if n <= most:
        return np.arange(n), f"{counted(n, 'row')}."
    rows = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    return rows, f"A random sample of {most:,} of {n:,} rows (seed 0)."


# -------------------------------------------------------------------- writing


def encoded(drawn: Any, kind: str = "svg", *, dpi: float | None = None, salt: str = "gramian") -> bytes:
    """Return a figure as "svg", "png" or "pdf", the same bytes for the same figure.

    Text stays text in an .svg: whoever shows it may have the letters that our fonts lack. Ids to which an
    .svg refers depend on ``salt``.
    """
    content, figure = io.BytesIO(), _figure_of(drawn)
    metadata: Any = dict.fromkeys(METADATA[kind])
    with defaults(**FIXED | {"svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        options = {"dpi": dpi or (300 if kind == "png" else 150), "metadata": metadata}
        if kind == "svg" and figure.canvas.manager is None:  # savefig would draw it twice
            figure.dpi = options["dpi"]
            FigureCanvasSVG(figure).print_svg(content, metadata=metadata)
        else:
            figure.savefig(content, format=kind, **options)
    return PIXELS.sub(_few_colours, content.getvalue()) if kind == "svg" else content.getvalue()


PIXELS = re.compile(rb"(data:image/png;base64,)\s*([A-Za-z0-9+/=\s]+)")


def _few_colours(pixels: re.Match[bytes]) -> bytes:
    """Return pixels of points with 64 colours, which look like all of them, in a third of the bytes."""
    content = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(pixels[2]))) as image:
        image.quantize(64).save(content, "png", optimize=True)
    return pixels[1] + base64.b64encode(content.getvalue())


FONTS = "Arial, Helvetica, 'Liberation Sans', sans-serif"  # in whose widths texts are placed
HEAD = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
ROOT = re.compile(r"<svg[^>]*?( viewBox=\"[^\"]*\")[^>]*>")
NAMES = re.compile(r' id="[A-Za-z0-9.]+_\d+"')  # to which nothing refers
TAG, STYLE = re.compile("<[^>]+>"), re.compile(r' style="([^"]*)"')
TURNED = re.compile(r' transform="rotate\(-?0 [^"]*"')
NUMBER = re.compile(r"(\d)(?:\.0+\b|(\.\d\d?)\d*)")
ALIKE = re.compile(r"<use \S+ \S+ \S+( [^>]*)/>(?:<use \S+ \S+ \S+\1/>)+")  # neighbouring points
DPI = 144  # of pixels in an .svg


@dataclass(frozen=True)
class Drawn:
    """A figure that is drawn.

    Attributes
    ----------
    content : bytes
        A file, without the title.
    title, caption : str
        A heading, or "", and the sentences below the figure.
    """

    content: bytes
    title: str
    caption: str

    def inline(self) -> str:
        """Return the .svg as a part of a page in its colours, which may forbid styles in tags."""
        looks = f'font-family="{FONTS}" stroke-linejoin="round" stroke-linecap="butt" aria-hidden="true"'
        svg = NAMES.sub("", HEAD.sub("", self.content.decode()))
        svg = ROOT.sub(lambda root: f'<svg xmlns="http://www.w3.org/2000/svg"{root[1]} {looks}>', svg, 1)
        svg = TAG.sub(lambda tag: _small(tag[0]), re.sub(r">\s+<", "><", svg))
        return ALIKE.sub(lambda points: f"<g{points[1]}>{points[0].replace(points[1], '')}</g>", svg)


def _small(tag: str) -> str:
    """Return a tag with attributes for its style, and numbers of two digits after the point."""
    tag = STYLE.sub(lambda looks: _attributes(looks[1]), tag).replace("xlink:href", "href")
    if "base64" in tag:
        return tag
    tag = NUMBER.sub(r"\1\2", TURNED.sub("", tag))
    return re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0].strip()), tag)


def _attributes(looks: str) -> str:
    """Return a style as attributes, in the font and in the colours of the page."""
    if looks == "fill: #ffffff":  # a background
        return ' fill="none"'
    pairs = (look.split(": ") for look in looks.split("; ") if look and not look.startswith("font-family"))
    return "".join(f' {key}="{of_page(value)}"' for key, value in pairs)


def content(draw: Callable[[], Any], kind: str, width: float | None = None) -> bytes:
    """Return a figure as a file of this kind, so many millimetres wide."""
    with canvas(width):
        return encoded(draw(), kind)


def drawn(draw: Callable[[], Any], name: str, width: float | None = None, kind: str = "svg") -> Drawn:
    """Return a figure as a file, so many millimetres wide, with its title and its sentences apart from it.

    Its name makes its ids differ from those of other figures of a page.
    """
    with canvas(width):
        axes = draw()
        figure = next(np.asarray(axes, dtype=object).flat).figure
        if title := figure.get_suptitle():
            figure.suptitle("").set_in_layout(False)
        file = encoded(axes, kind, dpi=DPI if kind == "svg" else None, salt=name)
    return Drawn(file, title, caption(axes))


def in_page(draw: Callable[[], Any], width: float, name: str) -> dict[str, Any]:
    """Return a figure for the page of the server, as JSON."""
    drawing = drawn(draw, name, width)
    return {"svg": drawing.inline(), "title": drawing.title, "caption": drawing.caption}
