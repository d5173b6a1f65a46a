"""The command that shows a page and answers over HTTP: ``serve``."""

import os
import webbrowser
from typing import Annotated

import typer

from gramian.checks import check_integer
from gramian.cli.options import option
from gramian.cli.progress import say
from gramian.errors import ParameterError


def serve(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|MODEL ..]",
            help="Models, galleries and data that every visitor may use and nobody change.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str,
        option("--host", "ADDRESS", "Where to listen; anything but this machine needs a token. [127.0.0.1]"),
    ] = "127.0.0.1",
    port: Annotated[int, option("--port", "NUMBER", "0 takes a free one. [8765]")] = 8765,
    store: Annotated[
        str | None,
        option("--store", "DIR", "Keep models here, for everybody and for the next time. [nothing is kept]"),
    ] = None,
    token: Annotated[
        str | None,
        option(
            "--token", "TEXT", "What visitors must know. GRAMIAN_TOKEN does not show it to others. [none]"
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", "NAME", "Another name of this machine, as of a proxy; may be repeated."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    api_only: Annotated[
        bool, typer.Option("--api-only", help="Serve no page for people; opens no browser.")
    ] = False,
) -> None:
    """Show a page in the browser, and answer other programs over HTTP.

    On the page: upload data or take an example, see the plan, fit, look at the figures. The routes for
    programs are listed under /docs. Only this machine is answered unless there is a token. Runs until
    Ctrl-C; standard error has one line of JSON for every request.
    """
    from gramian.service import create_app
    from gramian.service.listening import Server
    from gramian.service.logs import log_as_json
    from gramian.service.settings import is_loopback

    check_integer("--port", port, 0, 65535)
    token = token or os.environ.get("GRAMIAN_TOKEN") or None
    if token is None and not is_loopback(host):
        raise ParameterError(
            f"--host {host} lets other machines in, and there is no token. Give --token or set "
            "GRAMIAN_TOKEN, or leave --host out to answer this machine only."
        )
    names = [*(allow_host or ()), *([] if host in ("0.0.0.0", "::") else [host])]
    app = create_app(*(sources or ()), store=store, token=token, hosts=names, api_only=api_only)
    log_as_json()

    def ready(url: str) -> None:
        known = "" if token is None else " Visitors need the token."
        page = "" if api_only else "open it in a browser, or see "
        say(f"gramian answers at {url} until Ctrl-C: {page}the routes at {url}docs.{known}")
        if not no_open and not api_only:
            webbrowser.open(url)

    Server(app, host, port, ready).listen()
