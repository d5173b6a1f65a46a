"""The command that shows a page and answers over HTTP: ``serve``."""

import sys
import webbrowser
from typing import Annotated

import typer

from gramian.checks import check_integer
from gramian.errors import ParameterError
from gramian.options import flag, option


def serve(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|MODEL ..]",
            help="Read-only models, galleries and data, shared with all visitors.",
            show_default=False,
        ),
    ] = None,
    host: str = option("ADDRESS", "Where to listen; any other machine needs a token.", "127.0.0.1"),
    port: int = option("NUMBER", "0 takes a free one.", 8765),
    store: str | None = option(
        "DIR",
        "Keep models here for everybody and for the next time: an empty folder, or an earlier store.",
        usual="none",
    ),
    store_bytes: str | None = option("SIZE", "The most that the models of --store may take.", usual="10GiB"),
    token: str | None = option(
        "TEXT",
        "A secret of at least 16 characters for visitors. GRAMIAN_TOKEN hides it from others.",
        usual="none",
    ),
    allow_host: list[str] | None = option(
        "NAME", "Another name of this machine, such as a proxy's; may be repeated."
    ),
    behind_proxy: bool = flag(
        "An HTTPS proxy is in front and passes on Host, X-Forwarded-Proto and X-Forwarded-For."
    ),
    proxy_address: list[str] | None = option(
        "ADDRESS", "Address of that proxy; may be repeated.", usual="this machine"
    ),
    no_open: bool = flag("Open no browser."),
    api_only: bool = flag("Serve the routes for programs, without the page; opens no browser."),
) -> None:
    """Show a page in the browser, and answer other programs over HTTP.

    On the page you upload data or take an example, see the plan, fit, and look at the figures. /docs lists
    the routes for programs. Without a token only this machine can connect. The server runs until Ctrl-C; its
    log on standard error has one line of JSON per request.
    """
    from gramian.arrays import parse_bytes
    from gramian.service import Limits, create_app
    from gramian.service.listening import Server
    from gramian.service.logs import LOG, log_as_json

    check_integer("--port", port, 0, 65535)
    if store_bytes is not None and store is None:
        raise ParameterError(
            "--store-bytes", allowed="is about a store", hint="Give --store DIR too, or leave it out."
        )
    most = {} if store_bytes is None else {"store_bytes": parse_bytes(store_bytes, "--store-bytes")}
    app = create_app(
        *(sources or ()),
        store=store,
        token=token,
        hosts=[host, *(allow_host or ())],
        behind_proxy=proxy_address or behind_proxy,
        limits=Limits(**most),
        api_only=api_only,
    )

    def ready(url: str) -> None:
        known = " Visitors need the token." if app.state.gramian.settings.token else ""
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
