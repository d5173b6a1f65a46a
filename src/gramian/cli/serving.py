"""The command that shows a page and answers over HTTP: ``serve``."""

import os
import sys
import webbrowser
from typing import Annotated

import typer

from gramian.checks import check_integer
from gramian.cli.options import option
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
        option(
            "--store",
            "DIR",
            "Keep models here, for everybody and for the next time: a new or an empty folder, or an earlier "
            "store. [nothing is kept]",
        ),
    ] = None,
    store_bytes: Annotated[
        str | None,
        option("--store-bytes", "SIZE", "The most that models of --store may take, such as 50GB. [10GiB]"),
    ] = None,
    token: Annotated[
        str | None,
        option(
            "--token",
            "TEXT",
            "What visitors must know, 16 characters or more. GRAMIAN_TOKEN hides it from others. [none]",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", "NAME", "Another name of this machine, as of a proxy; may be repeated."),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="An HTTPS proxy is in front, which passes on Host, X-Forwarded-Proto and X-Forwarded-For.",
        ),
    ] = False,
    proxy_address: Annotated[
        list[str] | None,
        option("--proxy-address", "ADDRESS", "Where that proxy is; may be repeated. [this machine]"),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    api_only: Annotated[
        bool, typer.Option("--api-only", help="Serve no page for people; opens no browser.")
    ] = False,
) -> None:
    """Show a page in the browser, and answer other programs over HTTP.

    On the page: upload data or take an example, see the plan, fit, look at the figures. The routes for
    programs are listed under /docs. Only this machine is answered unless there is a token. Runs until
    Ctrl-C; standard error has lines of JSON only, one for every request.
    """
    from gramian.arrays import parse_bytes
    from gramian.service import Limits, create_app
    from gramian.service.listening import Server
    from gramian.service.logs import LOG, log_as_json
    from gramian.service.settings import is_loopback

    check_integer("--port", port, 0, 65535)
    token = token or os.environ.get("GRAMIAN_TOKEN") or None
    opening = [] if is_loopback(host) else [f"--host {host}"]
    opening += [f"--allow-host {name}" for name in allow_host or ()]
    opening += ["--behind-proxy"] * behind_proxy + ["--proxy-address"] * bool(proxy_address)
    if token is None and opening:
        raise ParameterError(
            f"{opening[0]} lets other machines in, and there is no token. Give --token or set "
            f"GRAMIAN_TOKEN, or leave {opening[0].split()[0]} out to answer this machine only."
        )
    if store_bytes is not None and store is None:
        raise ParameterError("--store-bytes is about a store. Give --store DIR too, or leave it out.")
    most = {} if store_bytes is None else {"store_bytes": parse_bytes(store_bytes, "--store-bytes ")}
    names = [*(allow_host or ()), *([] if host in ("0.0.0.0", "::") else [host])]
    app = create_app(
        *(sources or ()),
        store=store,
        token=token,
        hosts=names,
        behind_proxy=proxy_address or behind_proxy,
        limits=Limits(**most),
        api_only=api_only,
    )

    def ready(url: str) -> None:
        known = "" if token is None else " Visitors need the token."
        page = "" if api_only else "open it in a browser, or see "
        where = f"gramian answers at {url} until Ctrl-C: {page}the routes at {url}docs.{known}"
        LOG.info(where)
        print(where, flush=True)
        if not no_open and not api_only:
            webbrowser.open(url)

    server = Server(app, host, port, ready)
    log_as_json()
    try:
        server.listen()
    except KeyboardInterrupt:
        LOG.info("stopped")
        sys.exit(130)  # the last line is JSON, too
