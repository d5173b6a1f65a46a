"""The command that shows a page and answers over HTTP: ``serve``."""

import os
import secrets
import sys
import webbrowser
from typing import Annotated

from gramian.app.verb import Option
from gramian.core.checks import check_integer
from gramian.errors import ParameterError, needs


def serve(
    sources: Annotated[
        list[str] | None,
        Option("[FILE|MODEL ..]", "Read-only models, galleries and data."),
    ] = None,
    *,
    host: Annotated[
        str, Option("ADDRESS", "Where to listen. Other machines need the token: put TLS before it.")
    ] = "127.0.0.1",
    port: Annotated[int, Option("NUMBER", "0 takes a free one.")] = 8765,
    store: Annotated[
        str | None,
        Option(
            "FOLDER",
            "Keep uploads and models here for the next time: an empty folder, or an earlier store.",
            "a temporary folder",
        ),
    ] = None,
    token: Annotated[
        str | None,
        Option(
            "TEXT",
            "The secret in the address, at least 16 characters. GRAMIAN_TOKEN hides it from other users.",
            "a new one",
        ),
    ] = None,
    no_token: Annotated[bool, Option("", "Ask for no token; on this machine only.")] = False,
    allow_host: Annotated[
        list[str] | None, Option("NAME", "Another name of this machine, such as a proxy's; may be repeated.")
    ] = None,
    no_open: Annotated[bool, Option("", "Open no browser.")] = False,
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
