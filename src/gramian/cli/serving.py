"""The command that shows a page and answers over HTTP: ``serve``."""

import os
import secrets
import sys
import webbrowser
from typing import Annotated

import typer

from gramian.checks import check_integer
from gramian.errors import ParameterError, needs
from gramian.options import flag, option


def serve(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|MODEL ..]",
            help="Read-only models, galleries and data.",
            show_default=False,
        ),
    ] = None,
    host: str = option(
        "ADDRESS", "Where to listen. Other machines need the token: put TLS before it.", "127.0.0.1"
    ),
    port: int = option("NUMBER", "0 takes a free one.", 8765),
    store: str | None = option(
        "FOLDER",
        "Keep uploads and models here for the next time: an empty folder, or an earlier store.",
        usual="a temporary folder",
    ),
    token: str | None = option(
        "TEXT",
        "The secret in the address, at least 16 characters. GRAMIAN_TOKEN hides it from other users.",
        usual="a new one",
    ),
    no_token: bool = flag("Ask for no token; on this machine only."),
    allow_host: list[str] | None = option(
        "NAME", "Another name of this machine, such as a proxy's; may be repeated."
    ),
    no_open: bool = flag("Open no browser."),
) -> None:
    """Show a page in the browser, and answer other programs over HTTP.

    On the page you upload data or take an example, see the plan, fit, and look at the figures. /docs lists
    the routes for programs. The server is for one person: its address contains a secret token. It runs until
    Ctrl-C.
    """
    with needs("app", "fastapi", "the server"):
        from gramian.app.server.app import Listener, create_app, is_loopback

    check_integer("port", port, 0, 65535)
    if no_token and token:
        raise ParameterError("token", allowed="is about a server with a token", hint="Leave out one option.")
    secret = None if no_token else token or os.environ.get("GRAMIAN_TOKEN") or secrets.token_urlsafe(24)
    app = create_app(*(sources or ()), store=store, token=secret, hosts=[host, *(allow_host or ())])

    def ready(url: str) -> None:
        address = url if secret is None else f"{url}?token={secret}"
        print(f"gramian answers at {address} until Ctrl-C; the routes for programs are at /docs.", flush=True)
        if not is_loopback(host):
            print("Anybody can read along between machines: put TLS before it.", file=sys.stderr)
        if not no_open:
            webbrowser.open(address)

    Listener(app, host, port, ready).listen()
