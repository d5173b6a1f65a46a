"""The command that shows a page and answers over HTTP: ``serve``."""

import os
import secrets
import sys
import webbrowser

from gramian.core.checks import check_integer
from gramian.errors import ParameterError, needs


def serve(
    sources: list[str] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    store: str | None = None,
    token: str | None = None,
    no_token: bool = False,
    allow_host: list[str] | None = None,
    no_open: bool = False,
) -> None:
    """Show a page in the browser, and answer other programs over HTTP.

    On the page you upload data or take an example, see the plan, fit, and look at the figures. /docs lists
    the routes for programs. The server is for one person: its address contains a secret token. It runs until
    Ctrl-C.

    Parameters
    ----------
    sources : [FILE|MODEL ..]
        Read-only models and data.
    host : ADDRESS
        Where to listen. Other machines need the token: put TLS before it.
    port : NUMBER
        0 takes a free one.
    store : FOLDER, default: a temporary folder
        Keep uploads and models here for the next time: an empty folder, or an earlier store.
    token : TEXT, default: a new one
        The secret in the address, at least 16 characters. GRAMIAN_TOKEN hides it from other users.
    no_token
        Ask for no token; on this machine only.
    allow_host : NAME
        Another name of this machine, such as a proxy's; may be repeated.
    no_open
        Open no browser.
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
