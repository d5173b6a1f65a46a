"""The routes under /api/v1 that store, fit and apply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from gramian.service.access import PASS, PASS_SECONDS
from gramian.service.caller import Caller, CurrentCaller, upload_payload
from gramian.service.cookies import set_cookie
from gramian.service.guard import sends_body
from gramian.service.item_storage import ItemStorage
from gramian.service.items import Item
from gramian.service.jobs import Job, JobFacts
from gramian.service.media import (
    FACES,
    ROWS,
    TABLES,
    UPLOADS,
    accepted_type,
    body_schema,
    output_path,
    produces,
    received,
    send_file,
)
from gramian.service.problems import Refusal, responses
from gramian.service.schemas import (
    ID,
    PLURALS,
    ApplyQuery,
    Fit,
    ItemFacts,
    Kind,
    Kinds,
    Login,
    PlanFacts,
    Reading,
    Recognised,
    ServerFacts,
    UploadQuery,
)
from gramian.service.state import AppState, describe
from gramian.version import __version__

api = APIRouter(prefix="/api/v1", responses=responses())
Id = Annotated[str, Path(pattern=ID)]
Name = Annotated[str, Query(min_length=1, max_length=200)]
KINDS = {plural: kind for kind, plural in PLURALS.items()}


def facts_of(item: Item, facts: dict[str, Any], changeable: bool = True) -> ItemFacts:
    """Return the response about an item."""
    known = {name: getattr(item, name) for name in ItemFacts.model_fields if name in Item.model_fields}
    return ItemFacts(**known, changeable=changeable, facts=facts)


@api.get("")
async def server(state: AppState) -> ServerFacts:
    """Return the version and the limits of the server."""
    keeps, limits = state.shared is not None, asdict(state.limits)
    return ServerFacts(version=__version__, keeps_models=keeps, limits=limits)


@api.post("/login", status_code=204)
async def log_in(request: Request, state: AppState, login: Login) -> None:
    """Exchange the token for a cookie that is valid for a day, for browsers."""
    access = request.state.access
    if state.settings.token is not None:
        if not await access.is_token(request.scope, login.token):
            raise Refusal(401, "The token is wrong.", "Enter the token that the server was started with.")
        set_cookie(request.scope, PASS, access.issue_pass(), PASS_SECONDS)


@api.post("/logout", status_code=204)
async def log_out(request: Request) -> None:
    """End the validity of the cookie of the login."""
    request.state.access.revoke_pass(request.scope)
    set_cookie(request.scope, PASS, "", 0)


# ------------------------------------------------------------------ fits


def fit_order(caller: Caller, fit: Fit) -> dict[str, Any]:
    """Return what a worker needs for a fit."""
    about = {"estimator": fit.estimator, "parameters": fit.parameters}
    return {"fit": about, "data": caller.data(fit.data, fit.reading)}


@api.post("/plans")
async def make_plan(caller: CurrentCaller, fit: Fit) -> PlanFacts:
    """Return the plan of a fit without running it."""
    return PlanFacts(**await caller.ask({"do": "plan", **fit_order(caller, fit)}))


@api.post("/jobs", status_code=202)
async def start_job(caller: CurrentCaller, fit: Fit) -> JobFacts:
    """Start a fit and return its plan; 429 when the server runs as many fits as it can."""
    order = fit_order(caller, fit)
    visitor = await caller.ensure_visitor()
    job = caller.state.start_fit(visitor, fit.name, order)
    try:
        await job.planned()
    except Refusal:
        visitor.jobs.pop(job.facts.id, None)
        raise
    return job.facts


def job_of(caller: CurrentCaller, id: Id) -> Job:
    """Return a visitor's job."""
    if caller.visitor is None or id not in caller.visitor.jobs:
        raise Refusal(404, "You have no job with this id.", "GET /api/v1/jobs lists yours.")
    return caller.visitor.jobs[id]


CurrentJob = Annotated[Job, Depends(job_of)]


@api.get("/jobs")
async def list_jobs(caller: CurrentCaller) -> list[JobFacts]:
    """List your fits, the latest last."""
    return [] if caller.visitor is None else [job.facts for job in caller.visitor.jobs.values()]


@api.get("/jobs/{id}")
async def job_info(job: CurrentJob) -> JobFacts:
    """Return the state and progress of a fit."""
    return job.facts


@api.get("/jobs/{id}/events", **produces("text/event-stream"))
async def job_events(job: CurrentJob) -> StreamingResponse:
    """Stream the state and progress of a fit as server-sent events."""
    return StreamingResponse(job.events(), media_type="text/event-stream")


@api.get("/jobs/{id}/result", responses=responses(409))
def job_result(caller: CurrentCaller, job: CurrentJob) -> ItemFacts:
    """Return the fitted model."""
    if job.item is None:
        raise Refusal(409, f"The fit is {job.facts.state}: there is no model.", "Wait until it is done.")
    return facts_of(*caller.items.with_facts("model", job.item.id))


@api.delete("/jobs/{id}")
async def cancel_job(job: CurrentJob) -> JobFacts:
    """Cancel a fit; one that has ended stays as it is."""
    await job.cancel()
    return job.facts


# ------------------------------------------------------------------ items


def takes(kind: Kind, status: int = 201) -> dict[str, Any]:
    """Return the OpenAPI description of a route that takes a file."""
    extra = body_schema(UPLOADS[kind])
    return {"status_code": status, "openapi_extra": extra, "responses": responses(415)}


async def store_upload(
    caller: Caller,
    kind: Kind,
    name: str,
    storage: ItemStorage | None = None,
    reading: Reading | None = None,
    draft: bool = False,
) -> ItemFacts:
    """Store the body, once a worker has checked it: in a storage, by default the visitor's."""
    async with received(caller.request, UPLOADS[kind], caller.state.work) as path:
        facts = await caller.ask(describe(kind, upload_payload(path, name, reading), draft))
        visitor = await caller.ensure_visitor()
        item = (storage or visitor.storage).put(path, kind, name, facts, owner=visitor.name)
        return facts_of(item, facts)


@api.post("/models", **takes("model"))
async def add_model(caller: CurrentCaller, name: Name = "model", keep: bool = True) -> ItemFacts:
    """Upload a .gramian file. With a store it is shared with all visitors, unless keep=false."""
    return await store_upload(caller, "model", name, caller.state.shared if keep else None)


@api.put("/models/{id}", **takes("model", 200))
async def replace_model(caller: CurrentCaller, id: Id) -> ItemFacts:
    """Replace a model; the old one stays until the new one is saved."""
    caller.changeable("model", id)
    async with received(caller.request, UPLOADS["model"], caller.state.work) as path:
        facts = await caller.ask(describe("model", upload_payload(path, "model")))
        item, storage = caller.changeable("model", id)  # it may have been deleted during the upload
        item = storage.put(path, "model", item.name, facts, instead=item)
        await caller.state.forget(item.id, path.stem)
        return facts_of(item, facts)


@api.post("/models/{id}/keep", status_code=201, responses=responses(409))
async def keep_model(caller: CurrentCaller, id: Id) -> ItemFacts:
    """Move one of your models to the store, shared with all visitors."""
    item, storage = caller.changeable("model", id)
    store, visitor = caller.state.shared, caller.visitor
    if store is None or visitor is None or storage is store:
        text = "The model is shared already, or the server has no store."
        raise Refusal(409, text, "Start the server with --store.")
    facts = storage.facts(item)
    shared = store.put(storage.folder / item.file, "model", item.name, facts, owner=visitor.name)
    storage.remove(item)
    return facts_of(shared, facts)


@api.get("/models/{id}/file", **produces("application/octet-stream"))
async def model_file(caller: CurrentCaller, id: Id) -> FileResponse:
    """Download a model for gramian.load."""
    path = caller.items.payload("model", id)["path"]
    return FileResponse(path, media_type="application/octet-stream", filename="model.gramian")


@api.post("/galleries", **takes("gallery"))
async def add_gallery(caller: CurrentCaller, name: Name = "gallery") -> ItemFacts:
    """Upload a gallery written by `gramian faces enroll`."""
    return await store_upload(caller, "gallery", name)


@api.post("/data", **takes("data"))
async def add_data(caller: CurrentCaller, query: Annotated[UploadQuery, Query()]) -> ItemFacts:
    """Upload a table or pictures in any readable format. The reading options are stored with it."""
    return await store_upload(caller, "data", query.name, reading=query, draft=query.draft)


# These routes read files, so FastAPI runs them in threads.


@api.get("/{kinds}")
def list_items(caller: CurrentCaller, kinds: Kinds) -> list[ItemFacts]:
    """List the items of the command line, the shared ones and yours, each with a summary."""
    items = caller.items.items(KINDS[kinds])
    return [facts_of(item, item.summary.plain(), caller.may_change(item)) for item in items]


@api.get("/{kinds}/{id}")
def info(caller: CurrentCaller, kinds: Kinds, id: Id) -> ItemFacts:
    """Return all facts of a model, a gallery or data."""
    item, facts = caller.items.with_facts(KINDS[kinds], id)
    return facts_of(item, facts, caller.may_change(item))


@api.delete("/{kinds}/{id}", status_code=204)
async def remove(caller: CurrentCaller, kinds: Kinds, id: Id) -> None:
    """Delete a model, a gallery or data, with the jobs that read or made it."""
    item, storage = caller.changeable(KINDS[kinds], id)
    storage.remove(item)
    await caller.state.forget(item.id)


# ------------------------------------------------------------------ models applied


@asynccontextmanager
async def rows_in(
    caller: Caller, query: ApplyQuery, kinds: Mapping[str, str]
) -> AsyncIterator[dict[str, Any]]:
    """Yield what a worker needs to read the rows: the body, or uploaded data."""
    if query.data is None:
        async with received(caller.request, kinds, caller.state.work) as path:
            yield upload_payload(path, "the data", query)
    elif sends_body(caller.request.headers):
        raise Refusal(422, "The request has a body and data=ID.", "Send one of them.")
    else:
        yield caller.data(query.data, query)


async def send_answer(
    caller: Caller, order: dict[str, Any], kind: str, filename: str | None = None
) -> Response:
    """Send a file that a worker writes, perhaps as a download."""
    async with output_path(caller.state.work) as path:
        answer = {"path": str(path), "name": "the answer", "kind": TABLES.get(kind, "")[1:]}
        await caller.ask(order | {"answer": answer})
        return send_file(path, kind, filename)


async def rows_out(caller: Caller, order: dict[str, Any]) -> Response:
    """Send the rows that a worker writes, in the format that Accept names."""
    return await send_answer(caller, order, accepted_type(caller.request))


ROWS_OUT: dict[str, Any] = {
    "response_class": Response,
    "responses": responses(406, 415) | {200: {"content": {kind: {} for kind in TABLES}}},
}


@api.post("/models/{id}/{do}", openapi_extra=body_schema(ROWS, required=False), **ROWS_OUT)
async def apply(
    caller: CurrentCaller,
    id: Id,
    do: Literal["transform", "reconstruct", "denoise", "monitor"],
    query: Annotated[ApplyQuery, Query()],
) -> Response:
    """Return the scores of each row, its reconstruction, its denoised version, or alarms.

    `error` of a reconstruction is |x - x~| / |x - mean|; of a denoised row it is the distance, in feature
    space, to the projection. `monitor` returns Hotelling's T2 and SPE, the squared distance of a row from the
    components, with their limits, alarms, and the columns that contribute most. Its limits are those of
    `normal` rows or of a saved monitor, else by theory from the model. Accept selects the format of the rows.
    """
    order: dict[str, Any] = {"do": do, "model": caller.items.payload("model", id)}
    if do == "reconstruct":
        order["components"] = query.components
    elif query.components is not None:
        raise Refusal(422, f"{do} takes no components.", "Leave out components, or use reconstruct.")
    if do == "monitor":
        normal = None if query.normal is None else caller.data(query.normal, query)
        order |= {"alpha": query.alpha, "normal": normal}
    elif query.alpha is not None or query.normal is not None:
        raise Refusal(422, f"{do} takes no alpha and no normal rows.", "Leave them out, or use monitor.")
    async with rows_in(caller, query, ROWS) as data:
        return await rows_out(caller, order | {"data": data})


@api.get("/models/{id}/components", **ROWS_OUT)
async def components(
    caller: CurrentCaller, id: Id, count: Annotated[int, Query(ge=1, le=1000)] = 24
) -> Response:
    """Return the mean and the first components as rows (pictures, for a model of pictures)."""
    order = {"do": "components", "model": caller.items.payload("model", id), "count": count}
    return await rows_out(caller, order)


async def recognised(caller: Caller, id: str, gallery: str, **how: Any) -> Recognised:
    """Recognise people."""
    order = {"do": "recognise", "model": caller.items.payload("model", id), **how}
    order["gallery"] = caller.items.payload("gallery", gallery)
    async with rows_in(caller, ApplyQuery(), FACES) as data:
        return Recognised(**await caller.ask(order | {"data": data}))


Share = Annotated[
    float | None, Query(gt=0, lt=1, description="Accepted share of strangers identified as known.")
]
GalleryId = Annotated[str, Query(pattern=ID, description="Id of the gallery.")]
OF_FACES: dict[str, Any] = {"openapi_extra": body_schema(FACES), "responses": responses(415, 501)}


@api.post("/faces/{id}/identify", **OF_FACES)
async def identify(caller: CurrentCaller, id: Id, gallery: GalleryId, far: Share = None) -> Recognised:
    """Identify each picture: a person of the gallery, an unknown person, or not a face."""
    return await recognised(caller, id, gallery, far=far, person=None)


@api.post("/faces/{id}/verify", **OF_FACES)
async def verify(
    caller: CurrentCaller, id: Id, gallery: GalleryId, person: Name, far: Share = None
) -> Recognised:
    """Check whether pictures show one person."""
    return await recognised(caller, id, gallery, far=far, person=person)
