"""What can be asked by who would rather look: examples, figures, reports and kernels, under /api/v1."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from gramian.service.api import READING, Id, Whose, facts_of, somebody
from gramian.service.media import sent
from gramian.service.problems import Refusal, responses
from gramian.service.schemas import Asked, Drawn, FigureNames, ItemFacts, Reading, Shown
from gramian.service.shelves import ID, Kind
from gramian.service.state import Here, State, look
from gramian.service.visitors import Visitor

looks = APIRouter(prefix="/api/v1", responses=responses())
EXAMPLES = {"digits": ".zip", "circle": ".csv", "faces": ".zip"}
NAMES = {"digits": "digits.zip", "circle": "circle.csv", "faces": "drawn-faces.zip"}
PNG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/png": {}}}}


@asynccontextmanager
async def written(here: State, suffix: str = "") -> AsyncIterator[FilePath]:
    """Name a file for what a process writes, which is gone afterwards unless it was taken or sent."""
    path = here.work / f"{secrets.token_hex(16)}{suffix}"
    try:
        yield path
    except BaseException:
        path.unlink(missing_ok=True)
        raise


async def answered(
    here: State, order: dict[str, Any], kind: str, called: str | None = None, suffix: str = ""
) -> Response:
    """Send what a process writes, perhaps as a file to be kept."""
    async with written(here, suffix) as path:
        await here.quick.ask(order | {"answer": {"path": str(path), "name": "the answer"}})
        response = sent(path, kind)
    if called is not None:
        response.headers["Content-Disposition"] = f'attachment; filename="{called}"'
    return response


def parts_of(here: State, visitor: Visitor | None, id: str, shown: Shown) -> dict[str, Any]:
    """Return what a process must know of a model, and of data beside it."""
    reach, data = here.reach(visitor), None
    if shown.data is not None:
        data = reach.part("data", shown.data)
        data["reading"] |= shown.model_dump(exclude_defaults=True, include=READING)
    return {"model": reach.part("model", id), "data": data}


def needing_data(shown: Shown) -> None:
    """Refuse to go on without data."""
    if shown.data is None:
        raise Refusal(422, "This needs data.", "Add ?data=ID.")


# ------------------------------------------------------------------ data


@looks.post("/examples/{name}", status_code=201)
async def add_example(
    request: Request, here: Here, visitor: Whose, name: Literal["digits", "circle", "faces"]
) -> ItemFacts:
    """Get data to try things on: handwritten digits, two rings, or drawn faces. It is then yours."""
    return await made(
        request, here, visitor, {"do": "example", "name": name}, "data", NAMES[name], EXAMPLES[name]
    )


async def made(
    request: Request,
    here: State,
    visitor: Visitor | None,
    order: dict[str, Any],
    kind: Kind,
    name: str,
    suffix: str,
) -> ItemFacts:
    """Put what a process makes on the visitor's shelf."""
    visitor = somebody(request, here, visitor)
    visitor.check_room(here.limits, 0)
    async with written(here, suffix) as path:
        part = {"path": str(path), "name": name, "kind": suffix, "given": False, "reading": {}}
        facts = await here.quick.ask(order | {"answer": part})
        if kind == "data":
            facts = await here.quick.ask(look(kind, part, draft=True))
        return facts_of(visitor.shelf.put(path, kind, name, facts))


@looks.get("/examples/door/{who}", response_class=Response, responses=PNG)
async def at_the_door(here: Here, who: Literal["known", "stranger", "house"]) -> Response:
    """Return a picture for a model of the drawn faces: somebody it may know, a stranger, or a house."""
    return await answered(here, {"do": "visitor at the door", "who": who}, "image/png")


@looks.get("/data/{id}/width")
async def width(here: Here, visitor: Whose, id: Id, reading: Annotated[Reading, Query()]) -> dict[str, float]:
    """Return the median distance between rows: a first guess of a kernel's sigma."""
    data = here.reach(visitor).part("data", id)
    data["reading"] |= reading.model_dump(exclude_defaults=True)
    return await here.quick.ask({"do": "width", "data": data})


@looks.get("/data/{id}/pictures", response_class=Response, responses=PNG)
async def pictures(here: Here, visitor: Whose, id: Id) -> Response:
    """Return some of the pictures of data, on one sheet."""
    return await answered(here, {"do": "sheet", "data": here.reach(visitor).part("data", id)}, "image/png")


# ------------------------------------------------------------------ models


@looks.get("/models/{id}/figures")
async def figure_names(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> FigureNames:
    """Say which figures there are of a model, with data beside it or without."""
    return FigureNames(**await here.quick.ask({"do": "figures", **parts_of(here, visitor, id, shown)}))


@looks.get(
    "/models/{id}/figures/{name}",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}},
)
async def figure(
    here: Here,
    visitor: Whose,
    id: Id,
    name: Annotated[str, Path(pattern="^[a-z-]{1,40}$")],
    drawn: Annotated[Drawn, Query()],
) -> Response:
    """Return a figure: `spec`, which Vega-Lite draws, or `png`, a picture in base64."""
    order = {"do": "figure", "name": name, **parts_of(here, visitor, id, drawn)}
    return await answered(
        here, order | {"x": drawn.x, "y": drawn.y, "color": drawn.color}, "application/json"
    )


@looks.get("/models/{id}/report", response_class=Response, responses={200: {"content": {"text/html": {}}}})
async def report(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> Response:
    """Download the page that explains a model, better with the data it was fitted to."""
    order = {"do": "report", **parts_of(here, visitor, id, shown)}
    return await answered(here, order, "text/html; charset=utf-8", "report.html")


@looks.get(
    "/models/{id}/results", response_class=Response, responses={200: {"content": {"application/zip": {}}}}
)
async def results(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> Response:
    """Download what `gramian fit -o` writes, as a .zip: model, tables, figures and pages."""
    needing_data(shown)
    order = {"do": "results", **parts_of(here, visitor, id, shown)}
    return await answered(here, order, "application/zip", "results.zip")


@looks.get("/models/{id}/code")
async def code(here: Here, visitor: Whose, id: Id, shown: Annotated[Shown, Query()]) -> dict[str, str]:
    """Return the Python that fits such a model again."""
    return await here.quick.ask({"do": "code", **parts_of(here, visitor, id, shown)})


# ------------------------------------------------------------------ faces and kernels


@looks.post("/faces/{id}/enroll", status_code=201)
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
    return await made(request, here, visitor, order, "gallery", "people", ".gallery")


@looks.post("/kernels")
async def kernel(here: Here, asked: Asked) -> dict[str, Any]:
    """Say whether a function is a kernel, with the proof, or with points that refute it and their figure."""
    return await here.quick.ask({"do": "kernel", **asked.model_dump()})
