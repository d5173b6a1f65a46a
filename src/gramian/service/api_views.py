"""The routes under /api/v1 that show: examples, figures, reports, galleries and kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from fastapi.responses import Response

from gramian.service.api import Id, facts_of, send_answer
from gramian.service.caller import Caller, CurrentCaller, upload_payload
from gramian.service.media import output_path, produces
from gramian.service.problems import Refusal, responses
from gramian.service.schemas import (
    ID,
    ContoursQuery,
    DataQuery,
    FigureNames,
    FigureQuery,
    ItemFacts,
    KernelQuery,
    Kind,
    Reading,
)
from gramian.service.state import describe

views = APIRouter(prefix="/api/v1", responses=responses())
EXAMPLES = {
    "penguins": "penguins.csv",
    "digits": "digits.zip",
    "circle": "circle.csv",
    "faces": "drawn-faces.zip",
}
SEARCHED = 0.7  # of the time of a request; the rest is for shrinking and drawing the counterexample


async def create_item(caller: Caller, order: dict[str, Any], kind: Kind, name: str) -> ItemFacts:
    """Store a file that a worker writes as an item of the visitor."""
    if caller.visitor is not None:
        caller.visitor.storage.check_space(0)
    async with output_path(caller.state.work, Path(name).suffix) as path:
        answer = upload_payload(path, name)
        facts = await caller.ask(order | {"answer": answer})
        if kind == "data":
            facts = await caller.ask(describe(kind, answer, draft=True))
        visitor = await caller.ensure_visitor()
        return facts_of(visitor.storage.put(path, kind, name, facts), facts)


def view_payload(caller: Caller, id: str, query: DataQuery) -> dict[str, Any]:
    """Return what a worker needs to show a model, and data with it."""
    data = None if query.data is None else caller.data(query.data, query)
    return {"model": caller.items.payload("model", id), "data": data}


# ------------------------------------------------------------------ data


@views.post("/examples/{name}", status_code=201)
async def add_example(
    caller: CurrentCaller, name: Literal["penguins", "digits", "circle", "faces"]
) -> ItemFacts:
    """Add example data to your items: penguins, handwritten digits, two rings, or drawn faces."""
    order = {"do": "example", "name": name}
    return await create_item(caller, order, "data", EXAMPLES[name])


@views.get("/examples/door/{who}", **produces("image/png"))
async def example_visitor(caller: CurrentCaller, who: Literal["known", "stranger", "house"]) -> Response:
    """Return a test picture for the drawn faces: a known person, a stranger, or a house."""
    return await send_answer(caller, {"do": "example_visitor", "who": who}, "image/png")


@views.get("/data/{id}/width")
async def width(caller: CurrentCaller, id: Id, reading: Annotated[Reading, Query()]) -> dict[str, float]:
    """Return the median distance between rows, a first guess of a kernel's sigma."""
    return await caller.ask({"do": "width", "data": caller.data(id, reading)})


@views.get("/data/{id}/pictures", **produces("image/png"))
async def pictures(caller: CurrentCaller, id: Id) -> Response:
    """Return some of the pictures on one sheet."""
    data = caller.items.payload("data", id)
    return await send_answer(caller, {"do": "sheet", "data": data}, "image/png")


# ------------------------------------------------------------------ models


@views.get("/models/{id}/figures")
async def figure_names(caller: CurrentCaller, id: Id, query: Annotated[DataQuery, Query()]) -> FigureNames:
    """List the figures of a model, with data or without, and say what the data show."""
    return FigureNames(**await caller.ask({"do": "figures", **view_payload(caller, id, query)}))


@views.get("/models/{id}/figures/{name}", **produces("application/json"))
async def figure(
    caller: CurrentCaller,
    id: Id,
    name: Annotated[str, InPath(pattern="^[a-z-]{1,40}$")],
    query: Annotated[FigureQuery, Query()],
) -> Response:
    """Return a figure: `spec`, a Vega-Lite specification, or `png`, a picture in base64."""
    order = {"do": "figure", "name": name, **view_payload(caller, id, query)}
    options = {"x": query.x, "y": query.y, "color": query.color, "shape": query.shape, "width": query.width}
    return await send_answer(caller, order | options, "application/json")


@views.get("/models/{id}/report", **produces("text/html"))
async def report(caller: CurrentCaller, id: Id, query: Annotated[DataQuery, Query()]) -> Response:
    """Download the report of a model. With its data it shows scores and unusual rows."""
    order = {"do": "report", **view_payload(caller, id, query)}
    return await send_answer(caller, order, "text/html; charset=utf-8", "report.html")


@views.get("/models/{id}/results", **produces("application/zip"))
async def results(caller: CurrentCaller, id: Id, query: Annotated[DataQuery, Query()]) -> Response:
    """Download the output of `gramian fit -o` as a .zip: model, tables, figures and pages."""
    if query.data is None:
        raise Refusal(422, "A folder of results needs data.", "Add ?data=ID.")
    order = {"do": "results", **view_payload(caller, id, query)}
    return await send_answer(caller, order, "application/zip", "results.zip")


@views.get("/models/{id}/code")
async def code(caller: CurrentCaller, id: Id, query: Annotated[DataQuery, Query()]) -> dict[str, str]:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    return await caller.ask({"do": "code", **view_payload(caller, id, query)})


# ------------------------------------------------------------------ faces and kernels


@views.post("/faces/{id}/enroll", status_code=201)
async def enroll(
    caller: CurrentCaller,
    id: Id,
    data: Annotated[str, Query(pattern=ID)],
    agreed: Annotated[bool, Query(description="The people in the pictures consent.")] = False,
) -> ItemFacts:
    """Create a gallery of the people in pictures, one folder for each person."""
    if not agreed:
        raise Refusal(
            422, "People must consent to being recognised.", "Ask them first, then add &agreed=true."
        )
    order = {"do": "enroll", **view_payload(caller, id, DataQuery(data=data))}
    return await create_item(caller, order, "gallery", "people.gallery")


@views.post("/kernels")
async def kernel(caller: CurrentCaller, query: KernelQuery) -> dict[str, Any]:
    """Check whether a function is a kernel: return a proof, or a counterexample with its figure."""
    seconds = SEARCHED * caller.state.limits.worker_seconds
    return await caller.ask({"do": "kernel", "seconds": seconds, **query.model_dump()})


@views.post("/kernels/contours")
async def contours(caller: CurrentCaller, query: ContoursQuery) -> dict[str, Any]:
    """Fit a kernel PCA to points in the plane, and return lines of equal score of its first components."""
    return await caller.ask({"do": "contours", **query.model_dump()})
