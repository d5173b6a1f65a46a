"""The routes outside the API: pages for people, health and metrics for machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, HTMLResponse, Response
from jinja2 import ChainableUndefined, Environment, PackageLoader
from prometheus_client import generate_latest

from gramian.checks import amount, counted, most_of, percent
from gramian.inspect.diagnose import NOTHING_FOUND, ONLY_MODEL
from gramian.service import api, media, schemas, storage
from gramian.service.sessions import AppState, CurrentCaller
from gramian.version import __version__

PAGE = files("gramian.service").joinpath("page")
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "png": "image/png"}
MOST_GROUPS, MOST_LISTED = 12, 8  # different texts of a column of groups; columns listed as left out
NUMBERS = ("number", "constant")  # kinds of columns
PROPOSED_FOR = {"pca": "PCA", "kernel-pca": "KernelPCA"}
# The control that undoes a proposal, and what is done about it.
DONE: dict[str, tuple[str | None, str | dict[str, str]]] = {
    "id": ("row-names", "used as row names"),
    "label": ("label", "used as groups"),
    "drop": ("columns-table", "left out"),
    "missing": (
        "missing",
        {
            "drop-rows": "these rows are left out",
            "drop-columns": "these columns are left out",
            "mean": "filled with the mean of the column",
            "em": "imputed by EM",
            "iterative": "imputed by iterative PCA",
        },
    ),
    "transform": (
        "transform",
        {
            "log1p": "log(1 + x) is taken of all numbers",
            "sqrt": "the square root is taken of all numbers",
            "clr": "the centred log-ratio is taken in each row",
        },
    ),
    "transpose": ("transpose", "rows and columns are swapped"),
    "pivot": ("reading", "each variable becomes a column"),
    "na_values": ("reading", "read as missing values"),
    "scale": ("scale", "columns are scaled to standard deviation 1"),
    "n_components": ("components", "{} components are computed"),
    "kernel": (None, "the RBF (Gaussian) kernel is used"),
    "gamma": (None, "the slider begins there"),
}
METHODS = {"KernelPCA": "Kernel PCA", "FaceSpace": "Eigenfaces", "Whitener": "Whitening"}
machines = APIRouter()
people = APIRouter(include_in_schema=False)


def about(item: storage.Item) -> str:
    """Return the kind and size of an item."""
    summary, model = item.summary, item.summary.model
    if summary.rows is not None:
        what = "picture" if summary.picture_shape else "row"
        return f"{counted(summary.rows, what)}, {amount(item.bytes)}"
    if item.kind == "gallery":
        return counted(summary.people_count or 0, "person", "people")
    if model is None or model.n_components is None:
        return item.kind if model is None else model.kind
    return f"{METHODS.get(model.kind, model.kind)}, {counted(model.n_components, 'component')}"


TEMPLATES = Environment(
    autoescape=True,
    trim_blocks=True,
    undefined=ChainableUndefined,
    loader=PackageLoader("gramian.service", "page"),
)
TEMPLATES.globals |= {"version": __version__, "about": about, "counted": counted}


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(TEMPLATES.get_template(name).render(values), status)


# ------------------------------------------------------------------ for machines


@machines.get("/healthz")
async def healthz(state: AppState) -> dict[str, str]:
    """Return ok while the server answers and has its folders."""
    return {"status": "ok"}


@machines.get("/metrics", response_class=Response)
async def metrics(state: AppState) -> Response:
    """Return metrics in the format of Prometheus."""
    return Response(
        generate_latest(state.metrics.registry), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


@machines.get("/docs", include_in_schema=False)
async def docs(request: Request, state: AppState) -> HTMLResponse:
    """Return the page of the API."""
    return page("docs.html", alone=state.settings.api_only, paths=request.app.openapi()["paths"])


@machines.get("/static/{name}", include_in_schema=False)
async def static(
    caller: CurrentCaller, name: Annotated[str, Path(pattern=r"^[a-z]+\.(css|js|svg|png)$")]
) -> Response:
    """Return a stylesheet, a script, or the picture of an example."""
    if name == "vega.js":
        return await _vega(caller)
    if not PAGE.joinpath(name).is_file():
        raise schemas.Refusal(404, "There is no such file.")
    return Response(PAGE.joinpath(name).read_bytes(), media_type=MEDIA_TYPES[name.rpartition(".")[2]])


async def _vega(caller: CurrentCaller) -> Response:
    """Return the JavaScript that draws figures, which a worker writes once."""
    path = caller.state.work / "vega.js"
    if not path.is_file():
        async with media.output_path(caller.state.work) as fresh:
            answer = {"path": str(fresh), "name": "the program"}
            await caller.ask("program", answer=answer)
            fresh.replace(path)
    return FileResponse(path, media_type=MEDIA_TYPES["js"])


# ------------------------------------------------------------------ for people


@people.get("/")
def start(caller: CurrentCaller) -> HTMLResponse:
    """Return the start page, or the login."""
    if not caller.request.state.entered:
        return page("login.html")
    limits = caller.state.limits
    return page(
        "start.html",
        data=caller.items("data")[::-1],
        models=caller.items("model")[::-1],
        galleries=caller.items("gallery")[::-1],
        changeable=caller.may_change,
        limit=amount(limits.upload_bytes),
        token=caller.state.settings.token is not None,
        idle=counted(max(1, round(limits.idle_seconds / 60)), "minute"),
    )


@people.get("/data/{id}")
async def data(caller: CurrentCaller, id: api.Id, query: Annotated[schemas.PageQuery, Query()]) -> Response:
    """Return the page of data, on which a method is chosen, read as the query says."""
    others = [one for one in await run_in_threadpool(caller.items, "data") if one.id != id]
    try:
        return data_page(*await _read_as(caller, id, query), query.method, others=others)
    except schemas.Refusal as refusal:
        if refusal.status == 404:
            raise
        parts = await _read_as(caller, id, schemas.PageQuery(pivot=[]))
        problem = " ".join(filter(None, (refusal.problem.error, refusal.problem.what_to_do)))
        return data_page(*parts, query.method, others=others, problem=problem)


async def _read_as(
    caller: CurrentCaller, id: str, query: schemas.PageQuery
) -> tuple[storage.Item, dict[str, Any], dict[str, Any], list[str]]:
    """Return data, their facts, how they are read, and columns of a long table that may be groups."""
    reading = query.reading().options()
    item, facts = await caller.data_facts(id, schemas.Reading(**reading))
    proposed = facts.get("proposals") or {}
    marks, pivots = (
        [one for one in proposed.get("pca", ()) if one["option"] == option]
        for option in ("na_values", "pivot")
    )
    undone = {"na_values": ""} if marks and query.na_values == [""] else {}
    if marks and query.na_values is None:
        reading["na_values"] = marks[0]["value"]
        _, facts = await caller.data_facts(id, schemas.Reading(**reading))
        facts["proposals"] = proposed
    value = query.pivot if query.pivot is not None else pivots[0]["value"] if pivots else []
    if not value:  # what else is proposed is about the other table
        facts["proposals"] = {one: [*marks, *pivots] for one in proposed} if pivots or undone else proposed
        return item, facts, reading | undone | ({"pivot": ""} if pivots else {}), []
    columns = (facts.get("preview") or {}).get("columns", ())
    beside = [one["name"] for one in columns if one["name"] not in value]
    reading["pivot"] = value
    _, facts = await caller.data_facts(id, schemas.Reading(**reading))
    return item, facts | ({"proposals": proposed} if pivots else {}), reading | undone, beside


def data_page(
    item: storage.Item,
    facts: dict[str, Any],
    reading: dict[str, Any],
    beside: Sequence[str],
    method: str = "PCA",
    **more: Any,
) -> HTMLResponse:
    """Return the page of data, with what is proposed for its columns.

    Parameters
    ----------
    item, facts
    reading : dict
        The options by which the file is read.
    beside : sequence of str
        Columns of a long table that may be groups.
    method : str
    **more : object
        Further values of the template.
    """
    seen, shape, rows = facts.get("preview") or {}, facts.get("picture_shape"), facts.get("rows", 0)
    listed, size = seen.get("columns", ()), ""
    if shape:
        size = f"{rows:,} pictures, {shape[1]} × {shape[0]} pixels each"
    elif "rows" in facts:
        size = f"{counted(rows, 'row')}, {counted(facts['columns'], 'column')}"
    method = method if shape or method != "FaceSpace" else "PCA"
    kinds = {column["name"]: column["kind"] for column in listed}
    shown = {column["name"] for column in listed if _groups(column, rows)}
    proposed = _proposed(facts.get("proposals") or {}, kinds, shown)
    start = {one["option"]: one["value"] for one in proposed if method in one["methods"]}
    if reading.get("pivot"):
        start["id"] = reading["pivot"][0]
    drops = {one["value"] for one in proposed if one["option"] == "drop"}
    roles = {start.get("id"), start.get("label")}
    columns = [
        column
        | {
            "use": column["kind"] in NUMBERS and column["name"] not in drops | roles,
            "show": column["name"] in shown - roles,
            "first": [_short(one) if column["kind"] in NUMBERS else one for one in column["first"]],
            "marked": column["kind"] == "constant" or column["missing"] > 0,
            "numbers": [f"{column['missing']:,}" if column["missing"] else "", f"{column['distinct']:,}"]
            + ["" if column[end] is None else f"{column[end]:.4g}" for end in ("low", "high")],
        }
        for column in listed
    ]
    dropped = [one for one in proposed if one["option"] == "drop"]
    missing, holes = sum(column["missing"] for column in listed), ""
    if missing:
        where = ", ".join(column["name"] for column in listed if column["missing"])
        holes = f"{missing:,} {'values are' if missing > 1 else 'value is'} missing in {where}."
    named = [(name, name) for name in kinds]
    return page(
        "data.html",
        item=item,
        facts=facts,
        seen=seen,
        reading=reading,
        method=method,
        size=size,
        said=_lines_said(seen, reading),
        names=seen.get("row_names") or "",
        columns=columns,
        more_columns=seen.get("width", 0) - len(columns),
        proposed=[one for one in proposed if one not in dropped[MOST_LISTED:]],
        more_dropped=max(0, len(dropped) - MOST_LISTED),
        start=start,
        named=[("", "none"), *named],
        groups=[("", "none"), *named, *((name, name) for name in beside)],
        numeric=[("", "none"), *(one for one in named if kinds[one[0]] in NUMBERS)],
        sheets=[(name, name) for name in seen.get("sheets", ())],
        holes=holes,
        notes=list(dict.fromkeys([*seen.get("notes", ()), *(facts.get("notes") or ())])),
        **more,
    )


def _short(text: str) -> str:
    """Return a number with decimals in four significant digits; what is none stays as it is."""
    return f"{float(text):.4g}" if re.fullmatch(r"-?\d*\.\d+", text) else text


def _groups(column: dict[str, Any], rows: int) -> bool:
    few = 1 < column["distinct"] <= min(MOST_GROUPS, (rows - 1) // 2)
    return few and column["kind"] == "text"  # type: ignore[no-any-return]


def _proposed(by_method: dict[str, Any], kinds: dict[str, str], shown: set[str]) -> list[dict[str, Any]]:
    """Return what is proposed for some method: for which ones, what is done, and what undoes it."""
    result: dict[Any, dict[str, Any]] = {}
    for name, method in PROPOSED_FOR.items():
        for one in by_method.get(name, ()):
            target, words = DONE[one["option"]]
            words = words.get(one["value"], one["value"]) if isinstance(words, dict) else words
            if one["option"] == "drop" and kinds.get(one["value"]) not in NUMBERS:
                target = None  # there is nothing to choose for a text
                words = "shown, but not used" if one["value"] in shown else words
            value = one["value"] if isinstance(one["value"], list) else str(one["value"])
            known = one | {"value": value, "words": words.format(one["value"])}
            known |= {"target": target, "methods": []}
            entry = result.setdefault((one["option"], str(value), one["why"]), known)
            entry["methods"].append(method)
    return list(result.values())


def _lines_said(seen: dict[str, Any], reading: dict[str, Any]) -> str:
    """Return which lines of a file are read."""
    header, footer = seen.get("header"), int(reading.get("skip_footer") or 0)
    if header is None or not seen.get("lines"):
        return "How the file is read"
    said = f"The header is line {header} of the file" if header else "The file is read without a header"
    return said + (f"; {counted(footer, 'line')} at the end left out" if footer else "")


@people.get("/models/{id}")
def model(
    caller: CurrentCaller,
    id: api.Id,
    chosen: Annotated[str | None, Query(alias="data", pattern=schemas.ID)] = None,
) -> Response:
    """Return the page of a model, perhaps with data to plot."""
    item, facts = caller.with_facts("model", id)
    known, sources, fit = facts.get("model", {}), caller.items("data"), facts.get("fit")
    serious, notes = (
        [one for one in facts.get("diagnosis", ()) if (one["severity"] == "serious") is wanted]
        for wanted in (True, False)
    )
    sample = (known.get("sampling") or {}).get("brief")
    return page(
        "model.html",
        item=item,
        facts=facts,
        model=known,
        sources=sources,
        chosen=chosen,
        # Without its data it cannot be fitted again.
        fit=fit if fit and any(one.id == fit["data"] for one in sources) else None,
        back=_back(item, fit) if fit else "",
        serious=serious,
        clean=" ".join([NOTHING_FOUND, *([] if facts.get("diagnosed_rows") else [ONLY_MODEL])])
        if known.get("kind") in ("PCA", "KernelPCA") and not serious
        else "",
        notes=[
            *(f"{one['sentence']} {one['remedy']}" for one in notes if one["code"] != "not-separated"),
            *([sample] if sample else []),
        ],
        warnings=[
            text for text in facts.get("warnings", ()) if not any(one["sentence"] in text for one in serious)
        ],
        numbers=numbers(facts),
        galleries=caller.items("gallery") if known.get("kind") == "FaceSpace" else [],
    )


def _back(item: storage.Item, fit: dict[str, Any]) -> str:
    """Return the address of the data of a fit, read and with the settings as it was."""
    reading = {"na_values": "", "pivot": ""} | fit["reading"]
    of_file = ("sheet", "header", "skip_footer", "below_limit", "na_values", "pivot")
    asked = {name: reading[name] for name in of_file if name in reading}
    asked |= {"method": fit["estimator"], "model": item.id}
    return f"/data/{fit['data']}?{urlencode(asked, doseq=True)}"


def numbers(facts: dict[str, Any]) -> list[str]:
    """Return the sizes of a model in words: rows, columns, components, and their share of the variance."""
    model = facts.get("model", {})
    if model.get("n_components") is None:
        return []
    row, column = ("picture", "pixel") if model["picture_shape"] else ("row", "column")
    sizes = (model["n_samples"], row), (model["n_features"], column), (model["n_components"], "component")
    result = [counted(number, noun) for number, noun in sizes]
    ratios = facts["components"]["explained variance ratio"]
    if model["explained_variance_ratio"] is not None and ratios:
        number, share = most_of(ratios)
        who = "" if number == len(ratios) else f"the first {'one has' if number == 1 else f'{number} have'} "
        result.append(f"{who}{percent(share)} of the variance")
    if model["imputed_share"]:
        result.append(f"{percent(model['imputed_share'])} of the entries imputed")
    return result


@people.get("/kernels")
async def kernels(caller: CurrentCaller) -> Response:
    """Return the page of kernels."""
    table = await caller.ask("kernel_table")
    return page("kernels.html", kernels=table["kernels"])
