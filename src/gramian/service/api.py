"""The routes under /api/v1 that store, fit and apply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, Response, StreamingResponse

from gramian.service.access import PASS, network_of, pass_of
from gramian.service.cookies import get_cookie, set_cookie
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
from gramian.service.state import AppState, State, describe
from gramian.service.visitors import COOKIE, REMEMBERED, Visitor, name_of
from gramian.version import __version__

api = APIRouter(prefix="/api/v1", responses=responses())
Id = Annotated[str, Path(pattern=ID)]
Name = Annotated[str, Query(min_length=1, max_length=200)]
KINDS = {plural: kind for kind, plural in PLURALS.items()}
READING = set(Reading.model_fields)
ANY_BINARY: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}


def cookie_of(request: Request) -> str | None:
    """Return the cookie that identifies a visitor."""
    return get_cookie(request.scope, COOKIE)


def visitor_of(request: Request, state: AppState) -> Visitor | None:
    """Return the visitor, if they have items here."""
    return state.visitors.find(cookie_of(request), network_of(request.scope))


CurrentVisitor = Annotated[Visitor | None, Depends(visitor_of)]


async def ensure_visitor(request: Request, state: State, visitor: Visitor | None) -> Visitor:
    """Return the visitor; a new one receives a cookie with the response."""
    # A long upload may have outlasted the visitor.
    if visitor is not None and state.visitors.is_here(visitor.name):
        return visitor
    name, network = name_of(cookie_of(request)), network_of(request.scope)
    if name is not None and state.shared is not None:
        shared = await run_in_threadpool(state.shared.items)
        if any(item.owner == name for item in shared):
            return state.visitors.enter(name, network)  # the owner of a shared model may still change it
    visitor, cookie = state.visitors.make(network)
    set_cookie(request.scope, COOKIE, cookie, REMEMBERED)
    return visitor


def may_change(request: Request, state: State, item: Item) -> bool:
    """Return whether the visitor may replace or delete an item.

    A shared model belongs to the visitor who added it. A server without a token serves only this machine,
    whose users may change any.
    """
    if item.whose == "kept":
        own = item.owner is not None and item.owner == name_of(cookie_of(request))
        return own or state.settings.token is None
    return item.whose == "yours"


def facts_of(item: Item, facts: dict[str, Any], changeable: bool = True) -> ItemFacts:
    """Return the response about an item."""
    known = {name: getattr(item, name) for name in ItemFacts.model_fields if name in Item.model_fields}
    return ItemFacts(**known, changeable=changeable, facts=facts)


def upload_payload(path: Any, name: str, reading: Reading | None = None) -> dict[str, Any]:
    """Return what a worker needs to read a body."""
    options = {} if reading is None else reading.model_dump(exclude_defaults=True, include=READING)
    return {"path": str(path), "name": name, "kind": path.suffix, "given": False, "reading": options}


def data_payload(state: State, visitor: Visitor | None, id: str, reading: Reading) -> dict[str, Any]:
    """Return what a worker needs to read uploaded data with the reading options of this request."""
    data = state.visible_to(visitor).payload("data", id)
    data["reading"] |= reading.model_dump(exclude_defaults=True, include=READING)
    return data


@api.get("")
async def server(state: AppState) -> ServerFacts:
    """Return the version and the limits of the server."""
    return ServerFacts(
        version=__version__, keeps_models=state.shared is not None, limits=asdict(state.limits)
    )


@api.post("/login", status_code=204)
async def log_in(request: Request, state: AppState, login: Login) -> None:
    """Exchange the token for a cookie, for browsers."""
    token = state.settings.token
    if token is not None:
        if not await request.state.access.is_token(request.scope, login.token):
            raise Refusal(401, "The token is wrong.", "Enter the token that the server was started with.")
        set_cookie(request.scope, PASS, pass_of(token), REMEMBERED)


# ------------------------------------------------------------------ fits


def fit_order(state: State, visitor: Visitor | None, fit: Fit) -> dict[str, Any]:
    """Return what a worker needs for a fit."""
    data = data_payload(state, visitor, fit.data, fit.reading)
    return {"fit": {"estimator": fit.estimator, "parameters": fit.parameters}, "data": data}


@api.post("/plans")
async def make_plan(state: AppState, visitor: CurrentVisitor, fit: Fit) -> PlanFacts:
    """Return the plan of a fit without running it."""
    return PlanFacts(**await state.quick.ask({"do": "plan", **fit_order(state, visitor, fit)}))


@api.post("/jobs", status_code=202)
async def start_job(request: Request, state: AppState, visitor: CurrentVisitor, fit: Fit) -> JobFacts:
    """Start a fit and return its plan; 429 when the server runs as many fits as it can."""
    order = fit_order(state, visitor, fit)
    visitor = await ensure_visitor(request, state, visitor)
    job = state.start_fit(visitor, fit.name, order)
    try:
        await job.planned()
    except Refusal:
        del visitor.jobs[job.facts.id]
        raise
    return job.facts


def job_of(visitor: CurrentVisitor, id: Id) -> Job:
    """Return a visitor's job."""
    if visitor is None or id not in visitor.jobs:
        raise Refusal(404, "You have no job with this id.", "GET /api/v1/jobs lists yours.")
    return visitor.jobs[id]


CurrentJob = Annotated[Job, Depends(job_of)]


@api.get("/jobs")
async def list_jobs(visitor: CurrentVisitor) -> list[JobFacts]:
    """List your fits, the latest last."""
    return [] if visitor is None else [job.facts for job in visitor.jobs.values()]


@api.get("/jobs/{id}")
async def job_info(job: CurrentJob) -> JobFacts:
    """Return the state and progress of a fit."""
    return job.facts


@api.get(
    "/jobs/{id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}}
)
async def job_events(job: CurrentJob) -> StreamingResponse:
    """Stream the state and progress of a fit as server-sent events."""
    return StreamingResponse(job.events(), media_type="text/event-stream")


@api.get("/jobs/{id}/result", responses=responses(409))
def job_result(state: AppState, visitor: CurrentVisitor, job: CurrentJob) -> ItemFacts:
    """Return the fitted model."""
    if job.item is None:
        raise Refusal(409, f"The fit is {job.facts.state}: there is no model.", "Wait until it is done.")
    return facts_of(*state.visible_to(visitor).with_facts("model", job.item.id))


@api.delete("/jobs/{id}")
async def cancel_job(job: CurrentJob) -> JobFacts:
    """Cancel a fit; one that has ended stays as it is."""
    await job.cancel()
    return job.facts


# ------------------------------------------------------------------ items


async def store_upload(
    request: Request,
    state: State,
    visitor: Visitor | None,
    name: str,
    kind: Kind,
    storage: ItemStorage | None = None,
    reading: Reading | None = None,
    draft: bool = False,
) -> ItemFacts:
    """Store the body, once a worker has checked it: in a storage, by default the visitor's."""
    async with received(request, UPLOADS[kind], state.work) as path:
        facts = await state.quick.ask(describe(kind, upload_payload(path, name, reading), draft))
        visitor = await ensure_visitor(request, state, visitor)
        item = (storage or visitor.storage).put(path, kind, name, facts, owner=visitor.name)
        return facts_of(item, facts)


def changeable_item(
    request: Request, state: State, visitor: Visitor | None, kind: Kind, id: str
) -> tuple[Item, ItemStorage]:
    """Return an item that the visitor may change, and its storage."""
    item, storage = state.visible_to(visitor).find(kind, id)
    if storage is None:
        raise Refusal(403, "This item is read-only: the server was started with it.", "Change one of yours.")
    if not may_change(request, state, item):
        raise Refusal(
            403,
            "Only the visitor who added this shared model may replace or delete it.",
            "Send the cookie that you received with the upload, or ask the administrator.",
        )
    return item, storage


@api.post("/models", status_code=201, openapi_extra=body_schema(UPLOADS["model"]), responses=responses(415))
async def add_model(
    request: Request, state: AppState, visitor: CurrentVisitor, name: Name = "model", keep: bool = True
) -> ItemFacts:
    """Upload a .gramian file. With a store it is shared with all visitors, unless keep=false."""
    return await store_upload(request, state, visitor, name, "model", state.shared if keep else None)


@api.put("/models/{id}", openapi_extra=body_schema(UPLOADS["model"]), responses=responses(415))
async def replace_model(request: Request, state: AppState, visitor: CurrentVisitor, id: Id) -> ItemFacts:
    """Replace a model; the old one stays until the new one is saved."""
    changeable_item(request, state, visitor, "model", id)
    async with received(request, UPLOADS["model"], state.work) as path:
        facts = await state.quick.ask(describe("model", upload_payload(path, "model")))
        # It may have been deleted during the upload.
        item, storage = changeable_item(request, state, visitor, "model", id)
        item = storage.put(path, "model", item.name, facts, instead=item)
        return facts_of(item, facts)


@api.post("/models/{id}/keep", status_code=201, responses=responses(409))
async def keep_model(request: Request, state: AppState, visitor: CurrentVisitor, id: Id) -> ItemFacts:
    """Move one of your models to the store, shared with all visitors."""
    item, storage = changeable_item(request, state, visitor, "model", id)
    if state.shared is None or visitor is None or storage is state.shared:
        raise Refusal(
            409, "The model is shared already, or the server has no store.", "Start it with --store."
        )
    facts = storage.facts(item)
    shared = state.shared.put(storage.folder / item.file, "model", item.name, facts, owner=visitor.name)
    storage.remove(item)
    return facts_of(shared, facts)


@api.get("/models/{id}/file", responses=ANY_BINARY)
async def model_file(state: AppState, visitor: CurrentVisitor, id: Id) -> FileResponse:
    """Download a model for gramian.load."""
    path = state.visible_to(visitor).payload("model", id)["path"]
    return FileResponse(path, media_type="application/octet-stream", filename="model.gramian")


@api.post(
    "/galleries", status_code=201, openapi_extra=body_schema(UPLOADS["gallery"]), responses=responses(415)
)
async def add_gallery(
    request: Request, state: AppState, visitor: CurrentVisitor, name: Name = "gallery"
) -> ItemFacts:
    """Upload a gallery written by `gramian faces enroll`."""
    return await store_upload(request, state, visitor, name, "gallery")


@api.post("/data", status_code=201, openapi_extra=body_schema(UPLOADS["data"]), responses=responses(415))
async def add_data(
    request: Request, state: AppState, visitor: CurrentVisitor, query: Annotated[UploadQuery, Query()]
) -> ItemFacts:
    """Upload a table or pictures in any readable format. The reading options are stored with it."""
    return await store_upload(request, state, visitor, query.name, "data", reading=query, draft=query.draft)


# These routes read files, so FastAPI runs them in threads.


@api.get("/{kinds}")
def list_items(request: Request, state: AppState, visitor: CurrentVisitor, kinds: Kinds) -> list[ItemFacts]:
    """List the items of the command line, the shared ones and yours, each with a summary."""
    items = state.visible_to(visitor).items(KINDS[kinds])
    return [facts_of(item, item.summary.plain(), may_change(request, state, item)) for item in items]


@api.get("/{kinds}/{id}")
def info(request: Request, state: AppState, visitor: CurrentVisitor, kinds: Kinds, id: Id) -> ItemFacts:
    """Return all facts of a model, a gallery or data."""
    item, facts = state.visible_to(visitor).with_facts(KINDS[kinds], id)
    return facts_of(item, facts, may_change(request, state, item))


@api.delete("/{kinds}/{id}", status_code=204)
async def remove(request: Request, state: AppState, visitor: CurrentVisitor, kinds: Kinds, id: Id) -> None:
    """Delete a model, a gallery or data."""
    item, storage = changeable_item(request, state, visitor, KINDS[kinds], id)
    storage.remove(item)


# ------------------------------------------------------------------ models applied


@asynccontextmanager
async def rows_in(
    request: Request, state: State, visitor: Visitor | None, query: ApplyQuery, kinds: Mapping[str, str]
) -> AsyncIterator[dict[str, Any]]:
    """Yield what a worker needs to read the rows: the body, or uploaded data."""
    if query.data is None:
        async with received(request, kinds, state.work) as path:
            yield upload_payload(path, "the data", query)
    elif sends_body(request.headers):
        raise Refusal(422, "The request has a body and data=ID.", "Send one of them.")
    else:
        yield data_payload(state, visitor, query.data, query)


async def rows_out(request: Request, state: State, order: dict[str, Any]) -> Response:
    """Send the rows that a worker writes, in the format that Accept names."""
    kind = accepted_type(request)
    async with output_path(state.work) as path:
        answer = {"path": str(path), "name": "the answer", "kind": TABLES[kind][1:]}
        await state.quick.ask(order | {"answer": answer})
        return send_file(path, kind)


ROWS_OUT = responses(406, 415) | {200: {"content": {kind: {} for kind in TABLES}}}


@api.post(
    "/models/{id}/{do}",
    openapi_extra=body_schema(ROWS, required=False),
    response_class=Response,
    responses=ROWS_OUT,
)
async def apply(
    request: Request,
    state: AppState,
    visitor: CurrentVisitor,
    id: Id,
    do: Literal["transform", "reconstruct", "denoise", "unusual"],
    query: Annotated[ApplyQuery, Query()],
) -> Response:
    """Return the scores of each row, its reconstruction, its denoised version, or how unusual it is.

    `error` of a reconstruction is |x - x~| / |x - mean|; of a denoised row it is the distance, in feature
    space, to the projection. `unusual` returns Hotelling's T squared and, for PCA, Q, the squared distance
    of a row to its reconstruction. Accept selects the format of the rows.
    """
    order: dict[str, Any] = {"do": do, "model": state.visible_to(visitor).payload("model", id)}
    if do == "reconstruct":
        order["components"] = query.components
    elif query.components is not None:
        raise Refusal(422, f"{do} takes no components.", "Leave out components, or use reconstruct.")
    async with rows_in(request, state, visitor, query, ROWS) as data:
        return await rows_out(request, state, order | {"data": data})


@api.get("/models/{id}/components", response_class=Response, responses=ROWS_OUT)
async def components(
    request: Request,
    state: AppState,
    visitor: CurrentVisitor,
    id: Id,
    count: Annotated[int, Query(ge=1, le=1000)] = 24,
) -> Response:
    """Return the mean and the first components as rows (pictures, for a model of pictures)."""
    model = state.visible_to(visitor).payload("model", id)
    return await rows_out(request, state, {"do": "components", "model": model, "count": count})


async def recognised(
    request: Request, state: State, visitor: Visitor | None, id: str, gallery: str, **how: Any
) -> Recognised:
    """Recognise people."""
    items = state.visible_to(visitor)
    order = {"do": "recognise", "model": items.payload("model", id), **how}
    order["gallery"] = items.payload("gallery", gallery)
    async with rows_in(request, state, visitor, ApplyQuery(), FACES) as data:
        return Recognised(**await state.quick.ask(order | {"data": data}))


Share = Annotated[
    float | None, Query(gt=0, lt=1, description="Accepted share of strangers identified as somebody.")
]
GalleryId = Annotated[str, Query(pattern=ID, description="Id of the gallery.")]
OF_FACES: dict[str, Any] = {"openapi_extra": body_schema(FACES), "responses": responses(415, 501)}


@api.post("/faces/{id}/identify", **OF_FACES)
async def identify(
    request: Request,
    state: AppState,
    visitor: CurrentVisitor,
    id: Id,
    gallery: GalleryId,
    far: Share = None,
) -> Recognised:
    """Identify each picture: a person of the gallery, an unknown person, or not a face."""
    return await recognised(request, state, visitor, id, gallery, far=far, person=None)


@api.post("/faces/{id}/verify", **OF_FACES)
async def verify(
    request: Request,
    state: AppState,
    visitor: CurrentVisitor,
    id: Id,
    gallery: GalleryId,
    person: Name,
    far: Share = None,
) -> Recognised:
    """Check whether pictures show one person."""
    return await recognised(request, state, visitor, id, gallery, far=far, person=person)
