"""What is beside the API: pages for people who look, and answers for machines that watch."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import ChainableUndefined, Environment, FunctionLoader

from gramian.checks import amount, counted, duration
from gramian.service.api import Id, Whose, may_change
from gramian.service.items import Item
from gramian.service.media import written
from gramian.service.problems import Refusal
from gramian.service.schemas import ID
from gramian.service.state import Here
from gramian.version import __version__

PAGE = files("gramian.service").joinpath("page")
KINDS = {"css": "text/css", "js": "text/javascript"}
TRIED = ("rbf + linear", "sigmoid", "exp(linear).normalized()", "(1 + linear) ** 1.5", "rbf - 0.5*laplacian")


def about(item: Item) -> str:
    """Return what an item is, in a few words."""
    summary, model = item.summary, item.summary.model
    if summary.rows is not None:
        what = "picture" if summary.picture_shape else "row"
        return f"{counted(summary.rows, what)}, {amount(item.bytes)}"
    if item.kind == "gallery":
        return counted(summary.people_count or 0, "person", "people")
    if model is None or model.n_components is None:
        return item.kind if model is None else model.kind
    return f"{model.kind}, {counted(model.n_components, 'component')}"


TEMPLATES = Environment(
    autoescape=True,
    undefined=ChainableUndefined,
    loader=FunctionLoader(lambda name: PAGE.joinpath(name).read_text(encoding="utf-8")),
)
TEMPLATES.globals |= {"version": __version__, "about": about}


def page(name: str, status: int = 200, **known: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(TEMPLATES.get_template(name).render(known), status)


def pages(api_only: bool) -> APIRouter:
    """Return the routes for people and for machines that watch."""
    beside = APIRouter()

    @beside.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the server answers."""
        return {"status": "ok"}

    @beside.get("/metrics", response_class=Response)
    async def metrics(here: Here) -> Response:
        """Return counts as Prometheus reads them."""
        return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @beside.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        return page("docs.html", alone=api_only, paths=request.app.openapi()["paths"])

    @beside.get("/static/{name}", include_in_schema=False)
    async def static(here: Here, name: Annotated[str, Path(pattern=r"^[a-z]+\.(css|js)$")]) -> Response:
        if name == "vega.js":
            return await _program(here)
        if not PAGE.joinpath(name).is_file():
            raise Refusal(404, "There is no such file.")
        return Response(PAGE.joinpath(name).read_bytes(), media_type=KINDS[name.rpartition(".")[2]])

    if api_only:
        return beside

    @beside.get("/", include_in_schema=False)
    def start(request: Request, here: Here, visitor: Whose) -> HTMLResponse:
        if not request.state.entered:
            return page("login.html")
        reach, limits = here.reach(visitor), here.limits
        known: Any = {"data": reach.items("data"), "models": reach.items("model")}
        known |= {"limit": amount(limits.upload_bytes), "idle": duration(limits.idle_seconds)}
        known["changeable"] = lambda item: may_change(request, here, item)
        return page("start.html", galleries=reach.items("gallery"), **known)

    @beside.get("/data/{id}", include_in_schema=False)
    def data(here: Here, visitor: Whose, id: Id) -> Response:
        item, facts = here.reach(visitor).described("data", id)
        return page("data.html", item=item, facts=facts)

    @beside.get("/models/{id}", include_in_schema=False)
    def model(
        here: Here,
        visitor: Whose,
        id: Id,
        shown: Annotated[str | None, Query(alias="data", pattern=ID)] = None,
    ) -> Response:
        reach = here.reach(visitor)
        item, facts = reach.described("model", id)
        told = facts.get("model", {})
        galleries = [one for one in reach.items("gallery") if told.get("kind") == "FaceSpace"]
        known: Any = {"item": item, "facts": facts, "model": told, "title": item.name}
        return page("model.html", galleries=galleries, sources=reach.items("data"), shown=shown, **known)

    @beside.get("/kernels", include_in_schema=False)
    async def kernels(here: Here) -> Response:
        known = await here.quick.ask({"do": "kernel table"})
        return page("kernels.html", tried=TRIED, table=known["text"])

    return beside


async def _program(here: Here) -> Response:
    """Return the program that draws, which a process writes once."""
    path = here.work / "vega.js"
    if not path.is_file():
        async with written(here.work) as fresh:
            await here.quick.ask({"do": "program", "answer": {"path": str(fresh), "name": "the program"}})
            fresh.replace(path)
    return FileResponse(path, media_type=KINDS["js"])
