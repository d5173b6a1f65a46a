"""The routes under /api/v1."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Literal, get_type_hints

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, Response, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError

from gramian.operations import operations
from gramian.operations.operation import Operation
from gramian.service import media, schemas
from gramian.service.guard import PASS, PASS_SECONDS, sends_body, set_cookie
from gramian.service.schemas import ID, DataQuery, ItemFacts, Refusal, responses
from gramian.service.sessions import AppState, Caller, CurrentCaller, state_of
from gramian.service.storage import Item, payload
from gramian.service.workers import Job, JobFacts
from gramian.version import __version__

api = APIRouter(prefix="/api/v1", responses=responses())
Id = Annotated[str, InPath(pattern=ID)]
IdOf = Annotated[str, Query(pattern=ID)]
Name = Annotated[str, Query(min_length=1, max_length=200)]
Shown = Annotated[DataQuery, Query()]
EXAMPLES = {
    "penguins": "penguins.csv",
    "digits": "digits.zip",
    "circle": "circle.csv",
    "faces": "drawn-faces.zip",
}
OF_FITS = ("fit", "plan")
SEARCHED = 0.7  # of the time of a request; the rest is for shrinking and drawing the counterexample
KINDS = {plural: kind for kind, plural in schemas.PLURALS.items()}
ROWS_OUT: dict[str, Any] = {
    "response_class": Response,
    "responses": responses(406, 415) | {200: {"content": {kind: {} for kind in media.TABLES}}},
}


@api.get("")
async def server(state: AppState) -> schemas.ServerFacts:
    """Return the version and the limits of the server."""
    keeps, limits = state.shared is not None, asdict(state.limits)
    return schemas.ServerFacts(version=__version__, keeps_models=keeps, limits=limits)


@api.post("/login", status_code=204)
async def log_in(request: Request, state: AppState, login: schemas.Login) -> None:
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


@api.post("/plans")
async def make_plan(caller: CurrentCaller, fit: schemas.Fit) -> schemas.PlanFacts:
    """Return the plan of a fit without running it."""
    return schemas.PlanFacts(**await caller.ask("plan", **caller.fit(fit)))


@api.post("/jobs", status_code=202)
async def start_job(caller: CurrentCaller, fit: schemas.Fit) -> JobFacts:
    """Start a fit and return its plan; 429 when the server runs as many fits as it can."""
    parts = caller.fit(fit)
    session = await caller.ensure_session()
    job = caller.state.start_fit(session, fit, parts)
    try:
        await job.planned()
    except Refusal:
        session.jobs.pop(job.facts.id, None)
        raise
    return job.facts


def job_of(caller: CurrentCaller, id: Id) -> Job:
    """Return a visitor's job."""
    if caller.session is None or id not in caller.session.jobs:
        raise Refusal(404, "You have no job with this id.", "GET /api/v1/jobs lists yours.")
    return caller.session.jobs[id]


CurrentJob = Annotated[Job, Depends(job_of)]


@api.get("/jobs")
async def list_jobs(caller: CurrentCaller) -> list[JobFacts]:
    """List your fits, the latest last."""
    return [] if caller.session is None else [job.facts for job in caller.session.jobs.values()]


@api.get("/jobs/{id}")
async def job_info(job: CurrentJob) -> JobFacts:
    """Return the state and progress of a fit."""
    return job.facts


@api.get("/jobs/{id}/events", **media.produces("text/event-stream"))
async def job_events(job: CurrentJob) -> StreamingResponse:
    """Stream the state and progress of a fit as server-sent events."""
    return StreamingResponse(job.events(), media_type="text/event-stream")


@api.get("/jobs/{id}/result", responses=responses(409))
def job_result(caller: CurrentCaller, job: CurrentJob) -> ItemFacts:
    """Return the fitted model."""
    if job.item is None:
        raise Refusal(409, f"The fit is {job.facts.state}: there is no model.", "Wait until it is done.")
    return facts_of(*caller.with_facts("model", job.item.id))


@api.delete("/jobs/{id}")
async def cancel_job(job: CurrentJob) -> JobFacts:
    """Cancel a fit; one that has ended stays as it is."""
    await job.cancel()
    return job.facts


# ------------------------------------------------------------------ items


def facts_of(item: Item, facts: dict[str, Any], changeable: bool = True) -> ItemFacts:
    """Return the response about an item."""
    known = item.model_dump(include=set(ItemFacts.model_fields))
    return ItemFacts(**known, changeable=changeable, facts=facts)


def takes(kind: schemas.Kind, status: int = 201) -> dict[str, Any]:
    """Return the OpenAPI description of a route that takes a file."""
    extra = media.body_schema(media.UPLOADS[kind])
    return {"status_code": status, "openapi_extra": extra, "responses": responses(415)}


async def store_upload(
    caller: Caller,
    kind: schemas.Kind,
    name: str,
    query: schemas.UploadQuery | None = None,
    keep: bool = False,
) -> ItemFacts:
    """Store the body once a worker has checked it: for the visitor, or if there is a store, for all."""
    async with media.received(caller.request, media.UPLOADS[kind], caller.state.work) as path:
        facts = await caller.describe(kind, payload(path, name, query), query is not None and query.draft)
        if query is not None:
            facts["reading"] = query.options()
        session = await caller.ensure_session()
        storage = (keep and caller.state.shared) or session
        return facts_of(storage.put(path, kind, name, facts, owner=session.name), facts)


async def create_item(caller: Caller, kind: schemas.Kind, name: str, do: str, /, **parts: Any) -> ItemFacts:
    """Store a file that a worker writes as an item of the visitor."""
    if caller.session is not None:
        caller.session.check_space(0)
    async with media.output_path(caller.state.work, Path(name).suffix) as path:
        answer = payload(path, name)
        facts = await caller.ask(do, answer=answer, **parts)
        if kind == "data":
            facts = await caller.describe(kind, answer, draft=True)
        session = await caller.ensure_session()
        return facts_of(session.put(path, kind, name, facts), facts)


@api.post("/models", **takes("model"))
async def add_model(caller: CurrentCaller, name: Name = "model", keep: bool = True) -> ItemFacts:
    """Upload a .gramian file. With a store it is shared with all visitors, unless keep=false."""
    return await store_upload(caller, "model", name, keep=keep)


@api.put("/models/{id}", **takes("model", 200))
async def replace_model(caller: CurrentCaller, id: Id) -> ItemFacts:
    """Replace a model; the old one stays until the new one is saved."""
    caller.changeable("model", id)
    async with media.received(caller.request, media.UPLOADS["model"], caller.state.work) as path:
        facts = await caller.describe("model", payload(path, "model"))
        item, storage = caller.changeable("model", id)  # it may have been deleted during the upload
        item = storage.put(path, "model", item.name, facts, instead=item)
        await caller.state.forget(item.id, path.stem)
        return facts_of(item, facts)


@api.post("/models/{id}/keep", status_code=201, responses=responses(409))
async def keep_model(caller: CurrentCaller, id: Id) -> ItemFacts:
    """Move one of your models to the store, shared with all visitors."""
    item, storage = caller.changeable("model", id)
    store, session = caller.state.shared, caller.session
    if store is None or session is None or storage is store:
        text = "The model is shared already, or the server has no store."
        raise Refusal(409, text, "Start the server with --store.")
    facts = storage.facts(item)
    shared = store.put(storage.folder / item.file, "model", item.name, facts, owner=session.name)
    storage.remove(item)
    return facts_of(shared, facts)


@api.get("/models/{id}/file", **media.produces("application/octet-stream"))
async def model_file(caller: CurrentCaller, id: Id) -> FileResponse:
    """Download a model for gramian.load."""
    path = caller.payload("model", id)["path"]
    return FileResponse(path, media_type="application/octet-stream", filename="model.gramian")


@api.post("/galleries", **takes("gallery"))
async def add_gallery(caller: CurrentCaller, name: Name = "gallery") -> ItemFacts:
    """Upload a gallery written by `gramian faces enroll`."""
    return await store_upload(caller, "gallery", name)


@api.post("/data", **takes("data"))
async def add_data(caller: CurrentCaller, query: Annotated[schemas.UploadQuery, Query()]) -> ItemFacts:
    """Upload a table or pictures in any readable format. The reading options are stored with it."""
    return await store_upload(caller, "data", query.name, query)


@api.post("/examples/{name}", status_code=201)
async def add_example(
    caller: CurrentCaller, name: Literal["penguins", "digits", "circle", "faces"]
) -> ItemFacts:
    """Add example data to your items: penguins, handwritten digits, two rings, or drawn faces."""
    return await create_item(caller, "data", EXAMPLES[name], "example", name=name)


@api.post("/faces/{id}/enroll", status_code=201)
async def enroll(
    caller: CurrentCaller,
    id: Id,
    data: IdOf,
    agreed: Annotated[bool, Query(description="The people in the pictures consent.")] = False,
) -> ItemFacts:
    """Create a gallery of the people in pictures, one folder for each person."""
    if not agreed:
        raise Refusal(
            422, "People must consent to being recognised.", "Ask them first, then add &agreed=true."
        )
    parts = caller.shown(id, DataQuery(data=data))
    return await create_item(caller, "gallery", "people.gallery", "enroll", **parts)


@api.get("/operations")
async def list_operations(state: AppState) -> list[schemas.OperationFacts]:
    """List what can be done with a model or with data, as POST /ON/ID/NAME, with its options."""
    return [schemas.OperationFacts.of(one) for one in with_routes()]


# These routes read files, so FastAPI runs them in threads.


@api.get("/{kinds}")
def list_items(caller: CurrentCaller, kinds: schemas.Kinds) -> list[ItemFacts]:
    """List the items of the command line, the shared ones and yours, each with a summary."""
    items = caller.items(KINDS[kinds])
    return [facts_of(item, item.summary.plain(), caller.may_change(item)) for item in items]


@api.get("/data/{id}")
async def data_info(caller: CurrentCaller, id: Id, reading: Annotated[schemas.Reading, Query()]) -> ItemFacts:
    """Return all facts of data, also as other reading options show them."""
    item, facts = await caller.data_facts(id, reading)
    return facts_of(item, facts, caller.may_change(item))


@api.get("/{kinds}/{id}")
def info(caller: CurrentCaller, kinds: schemas.Kinds, id: Id) -> ItemFacts:
    """Return all facts of a model, a gallery or data."""
    item, facts = caller.with_facts(KINDS[kinds], id)
    return facts_of(item, facts, caller.may_change(item))


@api.delete("/{kinds}/{id}", status_code=204)
async def remove(caller: CurrentCaller, kinds: schemas.Kinds, id: Id) -> None:
    """Delete a model, a gallery or data, with the jobs that read or made it."""
    item, storage = caller.changeable(KINDS[kinds], id)
    storage.remove(item)
    await caller.state.forget(item.id)


# ------------------------------------------------------------------ operations


@asynccontextmanager
async def rows_in(
    caller: Caller, data: str | None, reading: schemas.Reading, kinds: Mapping[str, str] = media.ROWS
) -> AsyncIterator[dict[str, Any]]:
    """Yield what a worker needs to read the rows: the body, or uploaded data."""
    if data is None:
        if caller.sends_little and (content := await media.received_json(caller.request, kinds)) is not None:
            part = payload(Path(f"{token_hex(16)}.json"), "the data", reading)
            yield part | {"once": True, "content": content}
            return
        async with media.received(caller.request, kinds, caller.state.work) as path:
            yield payload(path, "the data", reading) | {"once": True}
    elif sends_body(caller.request.headers):
        raise Refusal(422, "The request has a body and data=ID.", "Send one of them.")
    else:
        yield caller.data(data, reading)


async def send(
    caller: Caller, kind: str | None, do: str, filename: str | None = None, /, **parts: Any
) -> Response:
    """Send a file that a worker writes, perhaps as a download; its kind is by default that of Accept."""
    kind = kind or media.accepted_type(caller.request)
    async with media.output_path(caller.state.work) as path:
        answer = {"path": str(path), "name": "the answer", "kind": media.TABLES.get(kind, "")[1:]}
        await caller.ask(do, answer=answer, **parts)
        return media.send_file(path, kind, filename)


def with_routes() -> list[Operation]:
    """Return the operations on a model or on data; a fit and its plan have routes of their own."""
    named = [one for one in operations().values() if one.inputs and not one.shell_only]
    return [one for one in named if one.inputs[0].kind in ("model", "data") and one.name not in OF_FITS]


class OperationRoute(APIRoute):
    """Calls an operation at once where no option is chosen: looking for each of 40 takes longer than rows."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        validated = super().get_route_handler()
        try:
            unset = get_type_hints(self.endpoint)["query"]()
        except ValidationError:  # an option is required
            return validated

        async def handle(request: Request) -> Response:
            id = request.path_params["id"]
            if request.scope["query_string"] or not re.fullmatch(ID, id):
                return await validated(request)
            answer: Response = await self.endpoint(Caller(request, await state_of(request)), id, unset)
            return answer

        return handle


def add_operation(operation: Operation) -> None:
    """Add the route of an operation, whose other inputs are uploads, or rows in the body."""
    first, *others = operation.inputs
    takes_rows = any(one.name == "data" for one in others)

    async def apply(caller: CurrentCaller, id: Id, query: Any) -> Response:
        options = query.model_dump(exclude_unset=True, exclude=set(schemas.DrawQuery.model_fields))
        rows = options.pop("data", None)
        given = {first.name: id} | {one.name: options.pop(one.name, None) for one in others}
        parts: dict[str, Any] = {"operation": operation.name, "draw": query.draw, "options": options}
        for one in operation.inputs:
            if (its := given[one.name]) is not None:
                is_model = one.kind == "model"
                parts[one.name] = caller.payload("model", its) if is_model else caller.data(its, query)
        if not takes_rows:
            return await send(caller, None, "operate", **parts)
        async with rows_in(caller, rows, query) as data:
            return await send(caller, None, "operate", data=data, **parts)

    apply.__annotations__["query"] = Annotated[schemas.query_of(operation), Query()]
    apply.__doc__ = f"{operation.summary}\n\nAccept selects the format of its table."
    body = media.body_schema(media.ROWS, required=False) if takes_rows else None
    path = f"/{schemas.on(operation)}/{{id}}/{operation.name}"
    api.add_api_route(
        path,
        apply,
        methods=["POST"],
        name=operation.name,
        openapi_extra=body,
        route_class_override=OperationRoute,
        **ROWS_OUT,
    )


for one in with_routes():
    add_operation(one)
# A request looks for its route from the first to the last, and most are for operations.
api.routes.sort(key=lambda route: not isinstance(route, OperationRoute))


@api.get("/models/{id}/components", **ROWS_OUT)
async def components(
    caller: CurrentCaller, id: Id, count: Annotated[int, Query(ge=1, le=1000)] = 24
) -> Response:
    """Return the mean and the first components as rows (pictures, for a model of pictures)."""
    return await send(caller, None, "components", model=caller.payload("model", id), count=count)


async def recognised(caller: Caller, id: str, gallery: str, **how: Any) -> schemas.Recognised:
    """Recognise people."""
    parts = {"model": caller.payload("model", id), "gallery": caller.payload("gallery", gallery), **how}
    async with rows_in(caller, None, schemas.Reading(), media.FACES) as data:
        return schemas.Recognised(**await caller.ask("recognise", data=data, **parts))


Share = Annotated[
    float | None, Query(gt=0, lt=1, description="Accepted share of strangers identified as known.")
]
OF_FACES: dict[str, Any] = {"openapi_extra": media.body_schema(media.FACES), "responses": responses(415, 501)}


@api.post("/faces/{id}/identify", **OF_FACES)
async def identify(caller: CurrentCaller, id: Id, gallery: IdOf, far: Share = None) -> schemas.Recognised:
    """Identify each picture: a person of the gallery, an unknown person, or not a face."""
    return await recognised(caller, id, gallery, far=far, person=None)


@api.post("/faces/{id}/verify", **OF_FACES)
async def verify(
    caller: CurrentCaller, id: Id, gallery: IdOf, person: Name, far: Share = None
) -> schemas.Recognised:
    """Check whether pictures show one person."""
    return await recognised(caller, id, gallery, far=far, person=person)


# ------------------------------------------------------------------ what is shown


@api.get("/examples/door/{who}", **media.produces("image/png"))
async def example_visitor(caller: CurrentCaller, who: Literal["known", "stranger", "house"]) -> Response:
    """Return a test picture for the drawn faces: a known person, a stranger, or a house."""
    return await send(caller, "image/png", "example_visitor", who=who)


@api.get("/data/{id}/width")
async def width(
    caller: CurrentCaller, id: Id, query: Annotated[schemas.WidthQuery, Query()]
) -> dict[str, float]:
    """Return the median distance between rows, a first guess of a kernel's sigma."""
    return await caller.ask("width", data=caller.data(id, query), scale=query.scale)


@api.get("/data/{id}/pictures", **media.produces("image/png"))
async def pictures(caller: CurrentCaller, id: Id) -> Response:
    """Return some of the pictures on one sheet."""
    return await send(caller, "image/png", "sheet", data=caller.payload("data", id))


@api.get("/models/{id}/figures")
async def figure_names(caller: CurrentCaller, id: Id, query: Shown) -> schemas.FigureNames:
    """List the figures of a model, with data or without, and say what the data show."""
    return schemas.FigureNames(**await caller.ask("figures", **caller.shown(id, query)))


@api.get("/models/{id}/figures/{name}", **media.produces(*media.FIGURES.values()))
async def figure(
    caller: CurrentCaller,
    id: Id,
    name: Annotated[str, InPath(pattern="^[a-z-]{1,40}$")],
    query: Annotated[schemas.FigureQuery, Query()],
) -> Response:
    """Return a figure: `spec`, a Vega-Lite specification, or `png`, a picture in base64; or its file."""
    options = query.model_dump(include={"x", "y", "color", "shape", "width", "format"})
    shown, filename = caller.shown(id, query), None
    if query.format != "json":
        words = re.findall("[A-Za-z0-9]+", Path(shown["model"]["name"]).stem)
        filename = f"{'-'.join([*words[:10], name])}.{query.format}"
    return await send(caller, media.FIGURES[query.format], "figure", filename, name=name, **shown, **options)


@api.get("/models/{id}/report", **media.produces("text/html"))
async def report(caller: CurrentCaller, id: Id, query: Shown) -> Response:
    """Download the report of a model. With its data it shows scores and unusual rows."""
    return await send(caller, "text/html; charset=utf-8", "report", "report.html", **caller.shown(id, query))


@api.get("/models/{id}/results", **media.produces("application/zip"))
async def results(caller: CurrentCaller, id: Id, query: Shown) -> Response:
    """Download the output of `gramian fit -o` as a .zip: model, tables, figures and pages."""
    if query.data is None:
        raise Refusal(422, "A folder of results needs data.", "Add ?data=ID.")
    return await send(caller, "application/zip", "results", "results.zip", **caller.shown(id, query))


@api.get("/models/{id}/code")
async def code(caller: CurrentCaller, id: Id, query: Shown) -> dict[str, str]:
    """Return Python code that fits the same model, and a paragraph for a methods section."""
    return await caller.ask("code", **caller.shown(id, query))


@api.post("/kernels")
async def kernel(caller: CurrentCaller, query: schemas.KernelQuery) -> dict[str, Any]:
    """Check whether a function is a kernel: return a proof, or a counterexample with its figure."""
    seconds = SEARCHED * caller.state.limits.worker_seconds
    return await caller.ask("kernel", seconds=seconds, **query.model_dump())


@api.post("/kernels/contours")
async def contours(caller: CurrentCaller, query: schemas.ContoursQuery) -> dict[str, Any]:
    """Fit a kernel PCA to points in the plane, and return lines of equal score of its first components."""
    return await caller.ask("contours", **query.model_dump())
