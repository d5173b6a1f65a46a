"""The pages, made of templates."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import ChainableUndefined, Environment, PackageLoader

from gramian.app.server import routes
from gramian.app.server.fields import ID, KINDS, PageQuery, Reading, Refusal
from gramian.app.server.routes import Server
from gramian.app.server.state import Item, State
from gramian.core.checks import amount, counted, number
from gramian.core.package import __version__
from gramian.tables.formats import FORMATS

MOST_GROUPS, MOST_LISTED = 12, 8  # different texts of a column of groups; columns listed as left out
READ_FIRST = ("na_values", "slips", "answers", "pivot")  # proposals by which the file is read
# Of files that are told by their content; the others are folders, or several files.
UPLOADED = [suffix for format in FORMATS if format.magic or format.marks for suffix in format.suffixes]
PROPOSED_FOR = {"pca": "PCA", "kernel-pca": "KernelPCA"}


def short(text: str) -> str:
    """Return a number with decimals in four significant digits; what is none stays as it is."""
    return number(float(text)) if re.fullmatch(r"-?\d*\.\d+", text) else text


pages = APIRouter(include_in_schema=False)
TEMPLATES = Environment(
    autoescape=True,
    trim_blocks=True,
    undefined=ChainableUndefined,
    loader=PackageLoader("gramian.app", "page"),
)
TEMPLATES.globals |= {"version": __version__, "counted": counted, "number": number, "short": short}


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(TEMPLATES.get_template(name).render(values, status=status), status)


@pages.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Return the page of the API."""
    return page("docs.html", paths=request.app.openapi()["paths"], reading=[*Reading.model_fields])


@pages.get("/static/vega.js")
async def vega(state: Server) -> Response:
    """Return the JavaScript that draws figures, which a process writes once."""
    if state.program is None:
        state.program = await state.ask("program")
    return Response(state.program, media_type="text/javascript")


@pages.get("/")
def start(state: Server) -> HTMLResponse:
    """Return the start page."""
    items: dict[str, Any] = {where: state.all(kind)[::-1] for where, kind in KINDS.items()}
    suffixes = ",".join([*UPLOADED, ".gz", ".json"])
    return page("start.html", **items, limit=amount(state.limits.upload_bytes), suffixes=suffixes)


@pages.get("/data/{id}")
async def data(state: Server, id: routes.Id, query: Annotated[PageQuery, Query()]) -> Response:
    """Return the page of data, on which a method is chosen, read as the query says."""
    try:
        return data_page(*await _read_as(state, id, query), query.method)
    except Refusal as refusal:
        if refusal.status_code == 404:
            raise
        arguments = await _read_as(state, id, PageQuery(pivot=[]))
        return data_page(*arguments, query.method, problem=refusal.detail)


async def _read_as(
    state: State, id: str, query: PageQuery
) -> tuple[Item, dict[str, Any], dict[str, Any], list[str]]:
    """Return data, their facts, how they are read, and columns of a long table that may be groups.

    Marks of missing values, what slips mean, answers and a pivot are applied as chosen, else as proposed; ""
    is none.
    """
    item, options = state.find("data", id), query.options()
    asked = {name: options.pop(name) for name in READ_FIRST if name in options}
    # Answers and a pivot are proposed for the table without them.
    marks = {name: asked[name] for name in READ_FIRST[:2] if asked.get(name, "") not in ("", [""])}
    facts = await state.describe(item, Reading(**options, **marks))
    proposed = facts.get("proposals") or {}
    first = [proposal for proposal in proposed.get("pca", ()) if proposal["option"] in READ_FIRST]
    values = {proposal["option"]: proposal["value"] for proposal in first}
    chosen = {
        name: value if isinstance(value, str) else [*filter(None, value)]
        for name, value in (values | asked).items()
    }
    undone = {name: "" for name in values if not chosen[name]}
    columns = [column["name"] for column in (facts.get("preview") or {}).get("columns", ())]
    reading = options | {name: value for name, value in chosen.items() if value}
    if any(chosen.values()):
        facts = await state.describe(item, Reading(**reading))
    pivot = reading.get("pivot", [])
    if not pivot and undone:  # what else is proposed is about the other table
        facts["proposals"] = dict.fromkeys(proposed, first)
    elif not pivot or "pivot" in values:
        facts["proposals"] = proposed
    return item, facts, reading | undone, [name for name in columns if pivot and name not in pivot]


def data_page(
    item: Item,
    facts: dict[str, Any],
    reading: dict[str, Any],
    beside: list[str],
    method: str = "PCA",
    problem: str = "",
) -> HTMLResponse:
    """Return the page of data, with what is proposed for its columns.

    Parameters
    ----------
    item, facts
    reading : dict
        The options by which the file is read.
    beside : list of str
        Columns of a long table that may be groups.
    method : str
    problem : str
        Why it cannot be read so.
    """
    preview = facts.get("preview") or {}
    proposed = _proposed(facts.get("proposals") or {})
    start = {proposal["option"]: proposal["value"] for proposal in proposed if method in proposal["methods"]}
    if reading.get("pivot"):
        start["id"] = reading["pivot"][0]
    dropped = [proposal for proposal in proposed if proposal["option"] == "drop"]
    dropped.sort(key=lambda proposal: proposal["evidence"]["reason"] == "text")  # the others are judgements
    texts = [column for column in preview.get("columns", ()) if column["kind"] == "text"]
    most = min(MOST_GROUPS, (facts.get("rows", 0) - 1) // 2)
    return page(
        "data.html",
        item=item,
        facts=facts,
        seen=preview,
        reading=reading,
        method=method,
        problem=problem,
        shown=[column["name"] for column in texts if 1 < column["distinct"] <= most],
        drops=[proposal["value"] for proposal in dropped],
        proposed=[proposal for proposal in proposed if proposal not in dropped[MOST_LISTED:]],
        start=start,
        beside=beside,
    )


def _proposed(by_method: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is proposed for some method, and for which ones."""
    result: dict[Any, dict[str, Any]] = {}
    for name, method in PROPOSED_FOR.items():
        for proposal in by_method.get(name, ()):
            value = proposal["value"] if isinstance(proposal["value"], list) else str(proposal["value"])
            if proposal["option"] == "exclude":  # as its field has it
                value = ", ".join(f'"{entry}"' if set(',"') & set(entry) else entry for entry in value)
            key = proposal["option"], str(value), proposal["why"]
            result.setdefault(key, proposal | {"value": value, "methods": []})["methods"].append(method)
    return list(result.values())


@pages.get("/models/{id}")
def model(
    state: Server, id: routes.Id, chosen: Annotated[str | None, Query(alias="data", pattern=ID)] = None
) -> Response:
    """Return the page of a model, perhaps with data to plot."""
    item, sources = state.find("model", id), state.all("data")
    fit = item.facts.get("fit")
    return page(
        "model.html",
        item=item,
        facts=item.facts,
        sources=sources,
        chosen=chosen,
        # Without its data it cannot be fitted again.
        fit=fit if fit and any(source.id == fit["data"] for source in sources) else None,
        back=_back(item, fit) if fit else "",
    )


def _back(item: Item, fit: dict[str, Any]) -> str:
    """Return the address of the data of a fit, read and with the settings as it was."""
    reading = dict.fromkeys(READ_FIRST, "") | fit["reading"]
    of_file = ("sheet", "header", "skip_footer", "skip_after_header", "below_limit", *READ_FIRST)
    query = {name: reading[name] for name in of_file if name in reading}
    query |= {"method": fit["estimator"], "model": item.id}
    return f"/data/{fit['data']}?{urlencode(query, doseq=True)}"


@pages.get("/kernels")
async def kernels(state: Server) -> Response:
    """Return the page of kernels."""
    table = json.loads(await state.ask("operate", operation="kernels table", options={}))
    return page("kernels.html", **table["facts"])
