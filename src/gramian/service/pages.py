"""What is beside the API: for people who look, and for machines that watch."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import ChainableUndefined, Environment

from gramian.service.state import Here
from gramian.version import __version__

LISTING = """<!doctype html><html lang="en"><meta charset="utf-8"><title>gramian {{ version }}</title>
<h1>gramian {{ version }}</h1><p>The API, as <a href="/api/v1/openapi.json">OpenAPI</a> too.</p>
{% for path, methods in paths.items() %}{% for method, about in methods.items() %}
<h2><code>{{ method.upper() }} {{ path }}</code></h2><p>{{ about.description or about.summary }}</p>
<ul>{% for one in about.parameters %}<li><code>{{ one.name }}</code> ({{ one["in"] }}{{ "" if one.required
else ", optional" }}) {{ one.description }}</li>{% endfor %}
{% for kind in about.requestBody.content %}<li>body <code>{{ kind }}</code></li>{% endfor %}</ul>
{% endfor %}{% endfor %}</html>"""


def pages(api_only: bool) -> APIRouter:
    """Return the routes for people and for machines that watch."""
    beside = APIRouter()
    template = Environment(autoescape=True, undefined=ChainableUndefined).from_string(LISTING)

    @beside.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the server answers."""
        return {"status": "ok"}

    @beside.get("/metrics", response_class=Response)
    async def metrics(here: Here) -> Response:
        """Return counts as Prometheus reads them."""
        return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @beside.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        """List the routes."""
        return HTMLResponse(template.render(paths=request.app.openapi()["paths"], version=__version__))

    @beside.get("/", include_in_schema=False)
    async def page() -> RedirectResponse:
        """Lead people to the list of routes."""
        return RedirectResponse("/docs")

    if api_only:
        beside.routes.pop()
    return beside
