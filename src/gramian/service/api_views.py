"""What can be asked by who would rather look: examples, figures, reports and kernels, under /api/v1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastapi.responses import Response

from gramian.service.api import Id, Whose, data_part, facts_of, sent_part, somebody
from gramian.service.media import sent, written
from gramian.service.problems import Refusal, responses
from gramian.service.schemas import ID, Asked, Drawn, FigureNames, ItemFacts, Kind, Reading, Shown
from gramian.service.state import Here, State, look
from gramian.service.visitors import Visitor

views = APIRouter(prefix="/api/v1", responses=responses())
EXAMPLES = {"digits": "digits.zip", "circle": "circle.csv", "faces": "drawn-faces.zip"}
SEARCHED = 0.7  # of the time for a request: the rest is for shrinking and drawing what was found
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}}}


async def answered(here: State, order: dict[str, Any], kind: str, called: str | None = None) -> Response:
    """Send what a process writes, perhaps as a file to be kept."""
    async with written(here.work) as path:
        await here.quick.ask(order | {"answer": {"path": str(path), "name": "the answer"}})
        return sent(path, kind, called)


async def made(
    request: Request, here: State, visitor: Visitor | None, order: dict[str, Any], kind: Kind, name: str
) -> ItemFacts:
    """Put what a process makes on the visitor's shelf."""
    if visitor is not None:
        visitor.shelf.check_room(0)
    async with written(here.work, Path(name).suffix) as path:
        part = sent_part(path, name)
        facts = await here.quick.ask(order | {"answer": part})
        if kind == "data":
            facts = await here.quick.ask(look(kind, part, draft=True))
        visitor = await somebody(request, here, visitor)
        item = visitor.shelf.put(path, kind, name, facts)
        return facts_of(item, facts)


def parts_of(here: State, visitor: Visitor | None, id: str, shown: Shown) -> dict[str, Any]:
    """Return what a process must know of a model, and of data beside it."""
    data = None if shown.data is None else data_part(here, visitor, shown.data, shown)
    return {"model": here.reach(visitor).part("model", id), "data": data}


# ------------------------------------------------------------------ data


@views.post("/examples/{name}", status_code=201)
async def add_example(
    request: Request, here: Here, visitor: Whose, name: Literal["digits", "circle", "faces"]
) -> ItemFacts:
    """Get data to try things on: handwritten digits, two rings, or drawn faces. It is then yours."""
    return await made(request, here, visitor, {"do": "example", "name": name}, "data", EXAMPLES[name])


@views.get("/examples/door/{who}", response_class=Response, responses=PNG)
async def at_the_door(here: Here, who: Literal["known", "stranger", "house"]) -> Response:
    """Return a picture for a model of the drawn faces: somebody it may know, a stranger, or a house."""
    return await answered(here, {"do": "visitor at the door", "who": who}, "image/png")


@views.get("/data/{id}/width")
async def width(here: Here, visitor: Whose, id: Id, reading: Annotated[Reading, Query()]) -> dict[str, float]:
    """Return the median distance between rows: a first guess of a kernel's sigma."""
    return await here.quick.ask({"do": "width", "data": data_part(here, visitor, id, reading)})


@views.get("/data/{id}/pictures", response_class=Response, responses=PNG)
async def pictures(here: Here, visitor: Whose, id: Id) -> Response:
    """Return some of the pictures of data, on one sheet."""
    return await answered(here, {"do": "sheet", "data": here.reach(visitor).part("data", id)}, "image/png")


# ------------------------------------------------------------------ models


@views.get("/models/{id}/figures")
async def figure_names(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> FigureNames:
    """Say which figures there are of a model, with data beside it or without."""
    return FigureNames(**await here.quick.ask({"do": "figures", **parts_of(here, visitor, id, shown)}))


@views.get(
    "/models/{id}/figures/{name}",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}},
)
async def figure(
    here: Here,
    visitor: Whose,
    id: Id,
    name: Annotated[str, InPath(pattern="^[a-z-]{1,40}$")],
    drawn: Annotated[Drawn, Query()],
) -> Response:
    """Return a figure: `spec`, which Vega-Lite draws, or `png`, a picture in base64."""
    order = {"do": "figure", "name": name, **parts_of(here, visitor, id, drawn)}
    return await answered(
        here, order | {"x": drawn.x, "y": drawn.y, "color": drawn.color}, "application/json"
    )


@views.get("/models/{id}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
async def report(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> Response:
    """Download the page that explains a model, better with the data it was fitted to."""
    order = {"do": "report", **parts_of(here, visitor, id, shown)}
    return await answered(here, order, "text/html; charset=utf-8", "report.html")


@views.get(
    "/models/{id}/results", response_class=Response, responses={200: {"content": {"application/zip": {}}}}
)
async def results(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> Response:
    """Download what `gramian fit -o` writes, as a .zip: model, tables, figures and pages."""
    if shown.data is None:
        raise Refusal(422, "A folder of results is about data.", "Add ?data=ID.")
    order = {"do": "results", **parts_of(here, visitor, id, shown)}
    return await answered(here, order, "application/zip", "results.zip")


@views.get("/models/{id}/code")
async def code(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> dict[str, str]:
    """Return the Python that fits such a model again."""
    return await here.quick.ask({"do": "code", **parts_of(here, visitor, id, shown)})


# ------------------------------------------------------------------ faces and kernels


@views.post("/faces/{id}/enroll", status_code=201)
async def enroll(
    request: Request,
    here: Here,
    visitor: Whose,
    id: Id,
    data: Annotated[str, Query(pattern=ID)],
    agreed: Annotated[bool, Query(description="That the people on the pictures agree.")] = False,
) -> ItemFacts:
    """Make a gallery of your own of people whose pictures are in folders, one for each."""
    if not agreed:
        raise Refusal(422, "People must agree to be recognised.", "Ask them; then add &agreed=true.")
    order = {"do": "enroll", **parts_of(here, visitor, id, Shown(data=data))}
    return await made(request, here, visitor, order, "gallery", "people.gallery")


@views.post("/kernels")
async def kernel(here: Here, asked: Asked) -> dict[str, Any]:
    """Say whether a function is a kernel, with the proof, or with points that refute it and their figure."""
    seconds = SEARCHED * here.limits.worker_seconds
    return await here.quick.ask({"do": "kernel", "seconds": seconds, **asked.model_dump()})
