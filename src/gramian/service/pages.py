"""The routes outside the API: pages for people, health and metrics for machines."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import ChainableUndefined, Environment, PackageLoader

from gramian.checks import amount, counted
from gramian.service.api import Id
from gramian.service.caller import CurrentCaller
from gramian.service.items import Item
from gramian.service.media import output_path
from gramian.service.problems import Refusal
from gramian.service.schemas import ID
from gramian.service.state import AppState
from gramian.version import __version__

PAGE = files("gramian.service").joinpath("page")
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "png": "image/png"}
EXAMPLES = (
    *("rbf + linear", "sigmoid", "exp(linear).normalized()", "(1 + linear) ** 1.5"),
    *("rbf - 0.5*laplacian", "exp(-norm(x - y))", "min(x, y)"),
)
# Kernels of the playground: name, expression of the number *, what it is, and the slider: its range, step and
# start, as powers of ten unless the step is 1.
SLIDERS = (
    ("RBF", "rbf(sigma=*)", "Width σ", -1.2, 0.5, 0.01, -0.5),
    ("Laplacian", "laplacian(gamma=*)", "Rate γ", -1.0, 1.5, 0.01, 0.5),
    ("Matérn", "matern(length_scale=*, nu=1.5)", "Length scale", -1.5, 0.7, 0.01, -0.3),
    ("polynomial", "poly(degree=*, gamma=1)", "Degree", 1, 8, 1, 2),
    ("RBF + linear", "* * rbf(sigma=0.3) + linear", "Weight of the RBF kernel", -2.0, 2.0, 0.01, 0.0),
)
# The name of the data, a picture of the result, and the method that a click on it chooses.
CARDS = (
    ("penguins", "penguins.svg", "Penguins", "344 birds of three species, measured in mm and g", "PCA"),
    ("circle", "rings.svg", "Two rings", "300 points that linear PCA cannot separate", "KernelPCA"),
    ("digits", "digits.png", "Handwritten digits", "1,797 pictures of 8 × 8 pixels", "PCA"),
    ("faces", "faces.png", "Drawn faces", "24 people, for face recognition", "FaceSpace"),
)
METHODS = {"KernelPCA": "Kernel PCA", "FaceSpace": "Eigenfaces", "Whitener": "Whitening"}
machines = APIRouter()
people = APIRouter(include_in_schema=False)


def about(item: Item) -> str:
    """Return the kind and size of an item."""
    summary, model = item.summary, item.summary.model
    if summary.rows is not None:
        what = "picture" if summary.picture_shape else "row"
        return f"{counted(summary.rows, what)}, {amount(item.bytes)}"
    if item.kind == "gallery":
        return counted(summary.people_count or 0, "person", "people")
    if model is None or model.n_components is None:
        return item.kind if model is None else model.kind
    return f"{METHODS.get(model.kind, model.kind)}, {counted(model.n_components, 'component')}"


TEMPLATES = Environment(
    autoescape=True,
    undefined=ChainableUndefined,
    loader=PackageLoader("gramian.service", "page"),
)
TEMPLATES.globals |= {"version": __version__, "about": about}


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(TEMPLATES.get_template(name).render(values), status)


# ------------------------------------------------------------------ for machines


@machines.get("/healthz")
async def healthz(state: AppState) -> dict[str, str]:
    """Return ok while the server answers and has its folders."""
    return {"status": "ok"}


@machines.get("/metrics", response_class=Response)
async def metrics(state: AppState) -> Response:
    """Return metrics in the format of Prometheus."""
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@machines.get("/docs", include_in_schema=False)
async def docs(request: Request, state: AppState) -> HTMLResponse:
    """Return the page of the API."""
    return page("docs.html", alone=state.settings.api_only, paths=request.app.openapi()["paths"])


@machines.get("/static/{name}", include_in_schema=False)
async def static(
    caller: CurrentCaller, name: Annotated[str, Path(pattern=r"^[a-z]+\.(css|js|svg|png)$")]
) -> Response:
    """Return a stylesheet, a script, or the picture of an example."""
    if name == "vega.js":
        return await _vega(caller)
    if not PAGE.joinpath(name).is_file():
        raise Refusal(404, "There is no such file.")
    return Response(PAGE.joinpath(name).read_bytes(), media_type=MEDIA_TYPES[name.rpartition(".")[2]])


async def _vega(caller: CurrentCaller) -> Response:
    """Return the JavaScript that draws figures, which a worker writes once."""
    path = caller.state.work / "vega.js"
    if not path.is_file():
        async with output_path(caller.state.work) as fresh:
            answer = {"path": str(fresh), "name": "the program"}
            await caller.ask({"do": "program", "answer": answer})
            fresh.replace(path)
    return FileResponse(path, media_type=MEDIA_TYPES["js"])


# ------------------------------------------------------------------ for people


@people.get("/")
def start(caller: CurrentCaller) -> HTMLResponse:
    """Return the start page, or the login."""
    if not caller.request.state.entered:
        return page("login.html")
    items, limits = caller.items, caller.state.limits
    return page(
        "start.html",
        cards=CARDS,
        data=items.items("data")[::-1],
        models=items.items("model")[::-1],
        galleries=items.items("gallery")[::-1],
        changeable=caller.may_change,
        limit=amount(limits.upload_bytes),
        token=caller.state.settings.token is not None,
        idle=counted(max(1, round(limits.idle_seconds / 60)), "minute"),
    )


@people.get("/data/{id}")
def data(caller: CurrentCaller, id: Id, method: Literal["PCA", "KernelPCA", "FaceSpace"] = "PCA") -> Response:
    """Return the page of data, on which a method is chosen."""
    item, facts = caller.items.with_facts("data", id)
    proposed = facts.get("proposals") or []
    found = {one["option"]: one["value"] for one in proposed if one["option"] != "drop"}
    dropped = {one["value"] for one in proposed if one["option"] == "drop"}
    return page("data.html", item=item, facts=facts, method=method, proposed=found, dropped=dropped)


@people.get("/models/{id}")
def model(
    caller: CurrentCaller,
    id: Id,
    chosen: Annotated[str | None, Query(alias="data", pattern=ID)] = None,
) -> Response:
    """Return the page of a model, perhaps with data to plot."""
    items = caller.items
    item, facts = items.with_facts("model", id)
    known = facts.get("model", {})
    galleries = items.items("gallery") if known.get("kind") == "FaceSpace" else []
    values: Any = {"item": item, "facts": facts, "model": known, "sources": items.items("data")}
    return page("model.html", galleries=galleries, chosen=chosen, **values)


@people.get("/kernels")
async def kernels(caller: CurrentCaller) -> Response:
    """Return the page of kernels."""
    table = await caller.ask({"do": "kernel_table"})
    return page("kernels.html", examples=EXAMPLES, sliders=SLIDERS, kernels=table["kernels"])
