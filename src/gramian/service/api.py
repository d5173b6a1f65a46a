"""What can be asked: the routes under /api/v1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, Response, StreamingResponse

from gramian.service.access import PASS, network_of, pass_of
from gramian.service.cookies import get_cookie, set_cookie
from gramian.service.guard import sends_body
from gramian.service.items import Item, Shelf
from gramian.service.jobs import Job, JobFacts
from gramian.service.media import FACES, ROWS, TABLES, TAKEN, body_of, received, sent, wanted, written
from gramian.service.problems import Refusal, responses
from gramian.service.schemas import (
    ID,
    PLURALS,
    Applied,
    Fit,
    ItemFacts,
    Kind,
    Kinds,
    Login,
    New,
    PlanFacts,
    Reading,
    Recognised,
    ServerFacts,
)
from gramian.service.state import Here, State, look
from gramian.service.visitors import COOKIE, REMEMBERED, Visitor, name_of
from gramian.version import __version__

api = APIRouter(prefix="/api/v1", responses=responses())
Id = Annotated[str, Path(pattern=ID)]
Name = Annotated[str, Query(min_length=1, max_length=200)]
KINDS = {plural: kind for kind, plural in PLURALS.items()}


def cookie_of(request: Request) -> str | None:
    """Return the cookie by which a visitor is known."""
    return get_cookie(request.scope, COOKIE)


def visitor_of(request: Request, here: Here) -> Visitor | None:
    """Return who asks, if they keep something here."""
    return here.visitors.find(cookie_of(request), network_of(request.scope))


Whose = Annotated[Visitor | None, Depends(visitor_of)]


async def somebody(request: Request, here: State, visitor: Visitor | None) -> Visitor:
    """Return who asks; a newcomer gets a cookie with the answer."""
    if visitor is not None and here.visitors.is_here(visitor.name):  # else they made room during an upload
        return visitor
    name, network = name_of(cookie_of(request)), network_of(request.scope)
    if name is not None and here.kept is not None:
        kept = await run_in_threadpool(here.kept.items)
        if any(item.owner == name for item in kept):
            return here.visitors.enter(name, network)  # what they put into the store stays theirs to change
    visitor, cookie = here.visitors.make(network)
    set_cookie(request.scope, COOKIE, cookie, REMEMBERED)
    return visitor


def may_change(request: Request, here: State, item: Item) -> bool:
    """Say whether who asks may replace or delete an item.

    A kept model may be changed by the visitor who put it there. A server without a token answers this machine
    only, whose people may change any.
    """
    if item.whose == "kept":
        mine = item.owner is not None and item.owner == name_of(cookie_of(request))
        return mine or here.settings.token is None
    return item.whose == "yours"


def facts_of(item: Item, facts: dict[str, Any], changeable: bool = True) -> ItemFacts:
    """Return what is said of an item."""
    return ItemFacts(
        id=item.id,
        kind=item.kind,
        name=item.name,
        created=item.created,
        bytes=item.bytes,
        whose=item.whose,
        changeable=changeable,
        facts=facts,
    )


def sent_part(path: Any, name: str, reading: Reading | None = None) -> dict[str, Any]:
    """Return what a process must know of a body."""
    read = {} if reading is None else reading.model_dump(exclude_defaults=True, include=READING)
    return {"path": str(path), "name": name, "kind": path.suffix, "given": False, "reading": read}


def data_part(here: State, visitor: Visitor | None, id: str, reading: Reading) -> dict[str, Any]:
    """Return what a process must know of data that was uploaded, and how it is read for this."""
    data = here.reach(visitor).part("data", id)
    data["reading"] |= reading.model_dump(exclude_defaults=True, include=READING)
    return data


READING = set(Reading.model_fields)


@api.get("")
async def server(here: Here) -> ServerFacts:
    """Say what the server is and allows."""
    return ServerFacts(version=__version__, keeps_models=here.kept is not None, limits=asdict(here.limits))


@api.post("/login", status_code=204)
async def log_in(request: Request, here: Here, login: Login) -> None:
    """Get a cookie that stands for the token, for browsers."""
    token = here.settings.token
    if token is not None:
        if not await request.state.access.is_token(request.scope, login.token):
            raise Refusal(401, "This is not the token.", "It is what the server was started with.")
        set_cookie(request.scope, PASS, pass_of(token), REMEMBERED)


# ------------------------------------------------------------------ fits


def order_of(here: State, visitor: Visitor | None, fit: Fit) -> dict[str, Any]:
    """Return what a process must know of a fit."""
    data = data_part(here, visitor, fit.data, fit.reading)
    return {"fit": {"estimator": fit.estimator, "parameters": fit.parameters}, "data": data}


@api.post("/plans")
async def make_plan(here: Here, visitor: Whose, fit: Fit) -> PlanFacts:
    """Say how a fit would compute, without computing it."""
    return PlanFacts(**await here.quick.ask({"do": "plan", **order_of(here, visitor, fit)}))


@api.post("/jobs", status_code=202)
async def start_job(request: Request, here: Here, visitor: Whose, fit: Fit) -> JobFacts:
    """Begin a fit, and say how it will compute; 429 when as many are running as may."""
    order = order_of(here, visitor, fit)
    visitor = await somebody(request, here, visitor)
    job = here.start_fit(visitor, fit.name, order)
    try:
        await job.planned()
    except Refusal:
        del visitor.jobs[job.facts.id]
        raise
    return job.facts


def job_of(visitor: Whose, id: Id) -> Job:
    """Return a visitor's job."""
    if visitor is None or id not in visitor.jobs:
        raise Refusal(404, "You have no job of this id.", "GET /api/v1/jobs lists yours.")
    return visitor.jobs[id]


TheJob = Annotated[Job, Depends(job_of)]


@api.get("/jobs")
async def list_jobs(visitor: Whose) -> list[JobFacts]:
    """List your fits, the latest last."""
    return [] if visitor is None else [job.facts for job in visitor.jobs.values()]


@api.get("/jobs/{id}")
async def job_info(job: TheJob) -> JobFacts:
    """Say how far a fit is."""
    return job.facts


@api.get(
    "/jobs/{id}/events", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}}
)
async def job_events(job: TheJob) -> StreamingResponse:
    """Say how far a fit is whenever that changes, as server-sent events."""
    return StreamingResponse(job.events(), media_type="text/event-stream")


@api.get("/jobs/{id}/result", responses=responses(409))
def job_result(here: Here, visitor: Whose, job: TheJob) -> ItemFacts:
    """Return the model that a fit found."""
    if job.item is None:
        raise Refusal(409, f"The fit is {job.facts.state}: there is no model.", "Wait until it is done.")
    return facts_of(*here.reach(visitor).described("model", job.item.id))


@api.delete("/jobs/{id}")
async def cancel_job(job: TheJob) -> JobFacts:
    """End a fit; one that has ended stays as it is."""
    await job.cancel()
    return job.facts


# ------------------------------------------------------------------ what is kept


async def taken_in(
    request: Request,
    here: State,
    visitor: Visitor | None,
    name: str,
    kind: Kind,
    shelf: Shelf | None = None,
    reading: Reading | None = None,
    draft: bool = False,
) -> ItemFacts:
    """Take in what was sent, once a process has looked at it: to a shelf, or to the visitor's."""
    async with received(request, TAKEN[kind], here.work) as path:
        facts = await here.quick.ask(look(kind, sent_part(path, name, reading), draft))
        visitor = await somebody(request, here, visitor)
        item = (shelf or visitor.shelf).put(path, kind, name, facts, owner=visitor.name)
        return facts_of(item, facts)


def changeable(
    request: Request, here: State, visitor: Visitor | None, kind: Kind, id: str
) -> tuple[Item, Shelf]:
    """Return an item that may be changed, and where it is."""
    item, shelf = here.reach(visitor).find(kind, id)
    if shelf is None:
        raise Refusal(403, "The server was started with this one, and it stays.", "Change what is yours.")
    if not may_change(request, here, item):
        raise Refusal(
            403,
            "Only the visitor who put this model into the store may replace or delete it.",
            "Send the cookie that you had then, or ask whoever runs the server.",
        )
    return item, shelf


@api.post("/models", status_code=201, openapi_extra=body_of(TAKEN["model"]), responses=responses(415))
async def add_model(
    request: Request, here: Here, visitor: Whose, name: Name = "model", keep: bool = True
) -> ItemFacts:
    """Upload a .gramian file; where the server keeps models it is for everybody, unless keep=false."""
    return await taken_in(request, here, visitor, name, "model", here.kept if keep else None)


@api.put("/models/{id}", openapi_extra=body_of(TAKEN["model"]), responses=responses(415))
async def replace_model(request: Request, here: Here, visitor: Whose, id: Id) -> ItemFacts:
    """Put another file in the place of a model; until it is saved the old one stays."""
    changeable(request, here, visitor, "model", id)
    async with received(request, TAKEN["model"], here.work) as path:
        facts = await here.quick.ask(look("model", sent_part(path, "model")))
        item, shelf = changeable(request, here, visitor, "model", id)  # it may have gone meanwhile
        item = shelf.put(path, "model", item.name, facts, instead=item)
        return facts_of(item, facts)


@api.post("/models/{id}/keep", status_code=201, responses=responses(409))
async def keep_model(request: Request, here: Here, visitor: Whose, id: Id) -> ItemFacts:
    """Move a model of yours to those that the server keeps, for everybody."""
    item, shelf = changeable(request, here, visitor, "model", id)
    if here.kept is None or visitor is None or shelf is here.kept:
        raise Refusal(409, "The model is kept already, or the server keeps none.", "Start it with --store.")
    facts = shelf.facts(item)
    kept = here.kept.put(shelf.folder / item.file, "model", item.name, facts, owner=visitor.name)
    shelf.remove(item)
    return facts_of(kept, facts)


@api.get("/models/{id}/file", responses={200: {"content": {"application/octet-stream": {}}}})
async def model_file(here: Here, visitor: Whose, id: Id) -> FileResponse:
    """Download a model, as gramian.load opens it."""
    part = here.reach(visitor).part("model", id)
    return FileResponse(part["path"], media_type="application/octet-stream", filename="model.gramian")


@api.post("/galleries", status_code=201, openapi_extra=body_of(TAKEN["gallery"]), responses=responses(415))
async def add_gallery(request: Request, here: Here, visitor: Whose, name: Name = "gallery") -> ItemFacts:
    """Upload a gallery that `gramian faces enroll` has written."""
    return await taken_in(request, here, visitor, name, "gallery")


@api.post("/data", status_code=201, openapi_extra=body_of(TAKEN["data"]), responses=responses(415))
async def add_data(request: Request, here: Here, visitor: Whose, new: Annotated[New, Query()]) -> ItemFacts:
    """Upload a table or pictures, of any kind that gramian reads; how it is read is remembered."""
    return await taken_in(request, here, visitor, new.name, "data", reading=new, draft=new.draft)


# Files are read in a thread of their own: these routes do not wait for anything else.


@api.get("/{kinds}")
def list_items(request: Request, here: Here, visitor: Whose, kinds: Kinds) -> list[ItemFacts]:
    """List what the server was started with, what it keeps, and what is yours, with a summary of each."""
    items = here.reach(visitor).items(KINDS[kinds])
    return [facts_of(item, item.summary.plain(), may_change(request, here, item)) for item in items]


@api.get("/{kinds}/{id}")
def info(request: Request, here: Here, visitor: Whose, kinds: Kinds, id: Id) -> ItemFacts:
    """Say what is known of a model, a gallery or data."""
    item, facts = here.reach(visitor).described(KINDS[kinds], id)
    return facts_of(item, facts, may_change(request, here, item))


@api.delete("/{kinds}/{id}", status_code=204)
async def remove(request: Request, here: Here, visitor: Whose, kinds: Kinds, id: Id) -> None:
    """Delete a model, a gallery or data."""
    item, shelf = changeable(request, here, visitor, KINDS[kinds], id)
    shelf.remove(item)


# ------------------------------------------------------------------ models applied


async def ask_of_data(
    request: Request,
    here: State,
    visitor: Visitor | None,
    order: dict[str, Any],
    asked: Applied,
    kinds: Mapping[str, str],
) -> dict[str, Any]:
    """Let a process do something with the body, or with data that was uploaded."""
    if asked.data is None:
        async with received(request, kinds, here.work) as path:
            return await here.quick.ask(order | {"data": sent_part(path, "the data", asked)})
    if sends_body(request.headers):
        raise Refusal(422, "There is a body beside data=ID.", "Send one of them.")
    return await here.quick.ask(order | {"data": data_part(here, visitor, asked.data, asked)})


async def rows_of(
    request: Request,
    here: State,
    order: dict[str, Any],
    ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
) -> Response:
    """Send the rows that a process writes, in the form that is wanted."""
    kind = wanted(request)
    async with written(here.work) as path:
        await ask(order | {"answer": {"path": str(path), "name": "the answer", "kind": TABLES[kind][1:]}})
        return sent(path, kind)


ROWS_OUT = responses(406, 415) | {200: {"content": {kind: {} for kind in TABLES}}}


@api.post(
    "/models/{id}/{do}",
    openapi_extra=body_of(ROWS, required=False),
    response_class=Response,
    responses=ROWS_OUT,
)
async def apply(
    request: Request,
    here: Here,
    visitor: Whose,
    id: Id,
    do: Literal["transform", "reconstruct", "denoise", "unusual"],
    asked: Annotated[Applied, Query()],
) -> Response:
    """Return, for each row, its scores, what is rebuilt from components, or what a kernel PCA cleans it to.

    `error` is, of a row rebuilt, |x - x~| / |x - mean|; of a cleaned one how far it is, in feature space,
    from the projection. `unusual` is Hotelling's T squared, and of a PCA Q, the squared distance of a row to
    what components tell of it. Rows come in the form that Accept names.
    """
    order: dict[str, Any] = {"do": do, "model": here.reach(visitor).part("model", id)}
    if do == "reconstruct":
        order["components"] = asked.components
    elif asked.components is not None:
        raise Refusal(422, f"components belongs to reconstruct, and not to {do}.", "Leave it out.")
    return await rows_of(
        request, here, order, lambda order: ask_of_data(request, here, visitor, order, asked, ROWS)
    )


@api.get("/models/{id}/components", response_class=Response, responses=ROWS_OUT)
async def components(
    request: Request, here: Here, visitor: Whose, id: Id, count: Annotated[int, Query(ge=1, le=1000)] = 24
) -> Response:
    """Return the mean and the first components, each as a row, which for pictures is a picture."""
    order = {"do": "components", "model": here.reach(visitor).part("model", id), "count": count}
    return await rows_of(request, here, order, here.quick.ask)


async def recognised(
    request: Request, here: State, visitor: Visitor | None, id: str, gallery: str, **how: Any
) -> Recognised:
    """Recognise people."""
    reach = here.reach(visitor)
    order = {"do": "recognise", "model": reach.part("model", id), "gallery": reach.part("gallery", gallery)}
    return Recognised(**await ask_of_data(request, here, visitor, order | how, Applied(), FACES))


Share = Annotated[float | None, Query(gt=0, lt=1, description="Share of strangers that may get a name.")]
GalleryId = Annotated[str, Query(pattern=ID, description="Id of the gallery.")]
OF_FACES: dict[str, Any] = {"openapi_extra": body_of(FACES), "responses": responses(415, 501)}


@api.post("/faces/{id}/identify", **OF_FACES)
async def identify(
    request: Request, here: Here, visitor: Whose, id: Id, gallery: GalleryId, far: Share = None
) -> Recognised:
    """Say who is on pictures: a person of the gallery, somebody unknown, or not a face."""
    return await recognised(request, here, visitor, id, gallery, far=far, person=None)


@api.post("/faces/{id}/verify", **OF_FACES)
async def verify(
    request: Request, here: Here, visitor: Whose, id: Id, gallery: GalleryId, person: Name, far: Share = None
) -> Recognised:
    """Say whether pictures show a person."""
    return await recognised(request, here, visitor, id, gallery, far=far, person=person)
