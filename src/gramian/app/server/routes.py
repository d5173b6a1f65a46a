"""The routes under /api/v1."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, Response
from starlette.datastructures import Headers

from gramian.app.server import fields
from gramian.app.server.fields import ID, KINDS, DataQuery, Kinds, Reading, Refusal
from gramian.app.server.state import Item, Job, State
from gramian.app.verb import Verb
from gramian.app.verbs.show import LOOKS
from gramian.core.package import __version__

STATUSES = (400, 401, 403, 404, 413, 415, 422, 429, 501, 507)
ERROR = {"description": "error", "content": {"application/json": {"schema": {"type": "object"}}}}
api = APIRouter(prefix="/api/v1", responses=dict.fromkeys(STATUSES, ERROR))
Id = Annotated[str, InPath(pattern=ID)]
Shown = Annotated[DataQuery, Query()]
EXAMPLES = {"penguins": "penguins.csv", "rings": "rings.csv", "digits": "digits.npz", "faces": "faces.npz"}
JSON, CSV = "application/json", "text/csv"
ROWS = {JSON: ".json", CSV: ".csv"}
BINARY = "application/octet-stream"
FILE = {BINARY: ""}  # of any kind; its name or its content says which
FIGURES = {"json": JSON, "svg": "image/svg+xml", "png": "image/png", "csv": CSV}


async def state_of(request: Request) -> State:
    """Return the state of the application."""
    state: State = request.app.state.gramian
    return state


Server = Annotated[State, Depends(state_of)]


@api.get("")
async def server(state: Server) -> dict[str, Any]:
    """Return the version and the limits of the server."""
    return {"version": __version__, "limits": asdict(state.limits)}


# ------------------------------------------------------------------ bodies and files


def body(kinds: Mapping[str, str], required: bool = True) -> dict[str, Any]:
    """Return the OpenAPI description of a body."""
    content: dict[str, Any] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    if JSON in content:
        content[JSON] = {"schema": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}}
    return {"requestBody": {"required": required, "content": content}}


def produces(*kinds: str) -> dict[str, Any]:
    """Return the OpenAPI description of a response."""
    return {"response_class": Response, "responses": {200: {"content": {kind: {} for kind in kinds}}}}


def sends_body(headers: Headers) -> bool:
    """Return whether a request has a body."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


@asynccontextmanager
async def received(
    state: State, request: Request, kinds: Mapping[str, str], kind: fields.Kind, name: str, suffix: str = ""
) -> AsyncIterator[Item]:
    """Receive a body as an item that is not stored; its suffix is given or that of the kind of body.

    Raises
    ------
    Refusal
        415 for an unsupported kind of body, 400 for an empty one.
    """
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent not in kinds:
        raise Refusal(415, f"This Content-Type is not supported here. Send {', or '.join(kinds)}.")
    with state.building(kind, name, suffix or kinds[sent]) as item:
        with open(item.path, "xb") as file:
            async for chunk in request.stream():
                file.write(chunk)
            if not file.tell():
                raise Refusal(400, "The body is empty. Send the data as the body.")
        yield item


async def answer(state: State, do: str, kind: str = JSON, filename: str = "", /, **message: Any) -> Response:
    """Return what a process answers, perhaps as a download."""
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'} if filename else {}
    return Response(await state.ask(do, **message), headers=headers, media_type=kind)


def shown(state: State, id: str, query: DataQuery) -> dict[str, Any]:
    """Return what a process needs to show a model, and data with it."""
    data = None if query.data is None else state.find("data", query.data).source(query)
    return {"model": state.find("model", id).source(), "data": data}


# ------------------------------------------------------------------ fits


def order_of(state: State, fit: fields.Fit) -> dict[str, Any]:
    """Return what a process needs for a fit."""
    about = fit.model_dump(include={"data", "estimator", "parameters"})
    data = state.find("data", fit.data).source(fit.reading)
    return {"fit": about | {"reading": fit.reading.options()}, "data": data}


@api.post("/plans", **produces(JSON))
async def make_plan(state: Server, fit: fields.Fit) -> Response:
    """Return the plan of a fit without running it, and what it uses of the data."""
    return await answer(state, "plan", **order_of(state, fit), memory_limit=state.limits.fit_memory // 2)


@api.post("/jobs", status_code=202)
async def start_job(state: Server, fit: fields.Fit) -> dict[str, Any]:
    """Start a fit in a process of its own, and return its plan."""
    plan = json.loads(bytes((await make_plan(state, fit)).body))
    return state.start_fit(fit, plan, order_of(state, fit)).facts


def job_of(state: Server, id: Id) -> Job:
    """Return a fit."""
    if id not in state.jobs:
        raise Refusal(404, "There is no job with this id. GET /api/v1/jobs lists all.")
    return state.jobs[id]


CurrentJob = Annotated[Job, Depends(job_of)]


@api.get("/jobs")
async def list_jobs(state: Server) -> list[dict[str, Any]]:
    """List the fits, the latest last."""
    return [job.facts for job in state.jobs.values()]


@api.get("/jobs/{id}")
async def job_info(job: CurrentJob) -> dict[str, Any]:
    """Return the state and progress of a fit; at its end the id of the model, or the error."""
    return job.facts


@api.delete("/jobs/{id}")
async def cancel_job(job: CurrentJob) -> dict[str, Any]:
    """Cancel a fit; one that has ended stays as it is."""
    await job.cancel()
    return job.facts


# ------------------------------------------------------------------ items


def facts_of(item: Item, facts: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the response about an item."""
    return item.model_dump(exclude={"reading", "suffix"}) | {"facts": item.facts if facts is None else facts}


Name = Annotated[str, Query(min_length=1, max_length=200)]


@api.post("/models", status_code=201, openapi_extra=body(FILE))
async def add_model(state: Server, request: Request, name: Name = "model") -> dict[str, Any]:
    """Upload a .gramian file."""
    async with received(state, request, FILE, "model", name, ".gramian") as item:
        return facts_of(state.put(item, await state.describe(item)))


@api.post("/data", status_code=201, openapi_extra=body(FILE | ROWS))
async def add_data(
    state: Server, request: Request, query: Annotated[fields.UploadQuery, Query()]
) -> dict[str, Any]:
    """Upload a table or pictures in any readable format. The reading options are stored with it."""
    suffix = Path(query.name).suffix.lower()
    suffix = suffix if re.fullmatch(r"\.[a-z0-9]{1,10}", suffix) else ""
    async with received(state, request, FILE | ROWS, "data", query.name, suffix) as item:
        read = item.model_copy(update={"reading": Reading(**query.options())})
        return facts_of(state.put(read, await state.describe(read)))


@api.post("/examples/{name}", status_code=201)
async def add_example(state: Server, name: Literal["penguins", "rings", "digits", "faces"]) -> dict[str, Any]:
    """Add example data: penguins, two rings, handwritten digits, or drawn faces."""
    example = files("gramian") / "examples" / EXAMPLES[name]
    with state.building("data", EXAMPLES[name], Path(EXAMPLES[name]).suffix) as item:
        Path(item.path).write_bytes(example.read_bytes())
        return facts_of(state.put(item, await state.describe(item)))


@api.get("/operations")
async def list_verbs() -> list[dict[str, Any]]:
    """List what can be done with a model or with data, as POST /ON/ID/NAME, with its options."""
    return [fields.form_of(verb) for verb in fields.verbs().values()]


@api.get("/models/{id}/file", **produces(BINARY))
def model_file(state: Server, id: Id) -> Response:
    """Download a model for gramian.load."""
    return FileResponse(state.find("model", id).path, filename="model.gramian", media_type=BINARY)


@api.get("/{kinds}")
def list_items(state: Server, kinds: Kinds) -> list[dict[str, Any]]:
    """List the items of the command line and yours, without their facts."""
    return [facts_of(item, {}) for item in state.all(KINDS[kinds])]


@api.get("/{kinds}/{id}")
async def info(state: Server, kinds: Kinds, id: Id, reading: Annotated[Reading, Query()]) -> dict[str, Any]:
    """Return all facts of a model, or of data, these also as other reading options show them.

    Those of a table have a `preview` of its columns, and `proposals` for `pca` and `kernel-pca`: lists of
    `option`, `value`, `why` and `evidence`. A `problem` says why it cannot be used as it is.
    """
    item = state.find(KINDS[kinds], id)
    return facts_of(item, await state.describe(item, reading))


@api.delete("/{kinds}/{id}", status_code=204)
async def remove(state: Server, kinds: Kinds, id: Id) -> None:
    """Delete a model or data, and cancel the fits that read it."""
    state.remove(state.find(KINDS[kinds], id))
    for job in [job for job in state.jobs.values() if job.facts["data"] == id]:
        await job.cancel()
        del state.jobs[job.facts["id"]]


# ------------------------------------------------------------------ verbs


def add_verb(verb: Verb) -> None:
    """Add the route of a verb, whose other inputs are items; its rows may be the body."""
    first = verb.inputs[0]
    takes_rows = any(param.name == "data" for param in verb.inputs[1:])

    async def apply(state: Server, request: Request, id: Id, query: Any) -> Response:
        options = query.model_dump(exclude_unset=True, exclude=set(fields.RowsQuery.model_fields))
        ids = {param.name: options.pop(param.name, None) for param in verb.inputs} | {first.name: id}
        reading = query if isinstance(query, Reading) else None
        order: dict[str, Any] = {"operation": verb.name, "draw": query.draw, "options": options}
        for param in verb.inputs:
            if ids[param.name] is not None:
                item = state.find("model" if param.about.kind == "model" else "data", ids[param.name])
                order[param.name] = item.source(reading if param.about.kind == "data" else None)
        if not takes_rows or ("data" in order and not sends_body(request.headers)):
            return await answer(state, "operate", **order)
        if "data" in order:
            raise Refusal(422, "The request has a body and data=ID. Send one of them.")
        async with received(state, request, ROWS, "data", "the data") as item:
            return await answer(state, "operate", **order, data=item.source(reading))

    apply.__annotations__["query"] = Annotated[fields.query_of(verb), Query()]
    apply.__doc__ = verb.summary
    name = verb.name.split()[-1]
    described = body(ROWS, required=False) if takes_rows else None
    path = f"/{fields.subject(verb)}/{{id}}/{name}"
    api.add_api_route(path, apply, methods=["POST"], name=name, openapi_extra=described, **produces(JSON))


for verb in fields.verbs().values():
    add_verb(verb)


# ------------------------------------------------------------------ what is shown


@api.get("/models/{id}/figures", **produces(JSON))
async def figure_names(state: Server, id: Id, query: Shown) -> Response:
    """List the figures of a model, with data or without, and say what the data show."""
    return await answer(state, "figures", **shown(state, id, query))


@api.get("/models/{id}/figures/{name}", **produces(*FIGURES.values()))
async def figure(
    state: Server,
    id: Id,
    name: Annotated[str, InPath(pattern="^[a-z-]{1,40}$")],
    query: Annotated[fields.FigureQuery, Query()],
) -> Response:
    """Return a figure for a page, `spec`, a Vega-Lite specification, or `svg`; or its file.

    A figure for a page has a `title`, and a `caption`, the sentences below it.
    """
    options = query.model_dump(include={*LOOKS, "reference", "width", "format"})
    order, filename = shown(state, id, query), ""
    if query.format != "json":
        words = re.findall("[A-Za-z0-9]+", Path(order["model"]["name"]).stem)
        filename = f"{'-'.join([*words[:10], name])}.{query.format}"
    return await answer(state, "figure", FIGURES[query.format], filename, name=name, **order, **options)


@api.get("/models/{id}/report", **produces("text/html"))
async def report(state: Server, id: Id, query: Shown) -> Response:
    """Download the report of a model. With its data it shows scores and unusual rows."""
    order = shown(state, id, query) | {"operation": "report", "options": {}}
    return await answer(state, "operate", "text/html; charset=utf-8", "report.html", **order)


@api.get("/models/{id}/results", **produces("application/zip"))
async def results(state: Server, id: Id, query: Shown) -> Response:
    """Download the output of `gramian fit -o` as a .zip: model, tables, figures and pages."""
    if query.data is None:
        raise Refusal(422, "data: A folder of results needs data. Add ?data=ID.")
    order = shown(state, id, query)
    with state.building("model", "results") as item:
        return await answer(state, "results", "application/zip", "results.zip", path=item.path, **order)


@api.get("/models/{id}/code", **produces(JSON))
async def code(state: Server, id: Id, query: Shown) -> Response:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    return await answer(state, "code", **shown(state, id, query))


@api.post("/kernels", **produces(JSON))
async def kernel(state: Server, audit: fields.Audit) -> Response:
    """Check whether a function is a kernel: return a proof, or a counterexample."""
    return await answer(state, "operate", operation="kernels audit", options=audit.model_dump())
