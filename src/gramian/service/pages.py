"""What is beside the API: pages for people who look, and answers for machines that watch."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import ChainableUndefined, Environment, FunctionLoader

from gramian.checks import amount, counted, duration
from gramian.service.api import Id, Whose
from gramian.service.guard import may_enter
from gramian.service.media import written
from gramian.service.problems import Refusal
from gramian.service.shelves import ID, Item
from gramian.service.state import Here
from gramian.version import __version__

PAGE = files("gramian.service").joinpath("page")
KINDS = {"css": "text/css", "js": "text/javascript"}
TRIED = ("rbf + linear", "sigmoid", "exp(linear).normalized()", "(1 + linear) ** 1.5", "rbf - 0.5*laplacian")


def about(item: Item) -> str:
    """Return what an item is, in a few words."""
    facts = item.facts
    if item.kind == "data" and "rows" in facts:
        what = "picture" if facts.get("picture_shape") else "row"
        return f"{counted(facts['rows'], what)}, {amount(item.bytes)}"
    if item.kind == "gallery":
        return counted(len(facts.get("people", ())), "person", "people")
    model = facts.get("model", {})
    return f"{model.get('kind', item.kind)}" + (
        f", {counted(model['n_components'], 'component')}" if "n_components" in model else ""
    )


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
    async def start(request: Request, here: Here, visitor: Whose) -> HTMLResponse:
        if not may_enter(request.scope, here.settings.token):
            return page("login.html")
        reach, limits = here.reach(visitor), here.limits
        known: Any = {"data": reach.items("data"), "models": reach.items("model")}
        known |= {"limit": amount(limits.upload_bytes), "idle": duration(limits.idle_seconds)}
        return page("start.html", galleries=reach.items("gallery"), **known)

    @beside.get("/data/{id}", include_in_schema=False)
    async def data(here: Here, visitor: Whose, id: Id) -> Response:
        item = here.reach(visitor).find("data", id)[0]
        return page("data.html", item=item, facts=item.facts)

    @beside.get("/models/{id}", include_in_schema=False)
    async def model(
        here: Here,
        visitor: Whose,
        id: Id,
        shown: Annotated[str | None, Query(alias="data", pattern=ID)] = None,
    ) -> Response:
        reach = here.reach(visitor)
        item = reach.find("model", id)[0]
        told = item.facts.get("model", {})
        galleries = [one for one in reach.items("gallery") if told.get("kind") == "FaceSpace"]
        known: Any = {"item": item, "facts": item.facts, "model": told, "title": item.name}
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
