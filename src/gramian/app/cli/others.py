"""The commands that are no verbs: ``demo``, by the commands themselves on its own files, and ``serve``."""

import io
import os
import re
import secrets
import shlex
import shutil
import sys
import textwrap
import webbrowser
from contextlib import redirect_stdout
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from gramian.app.cli.outputs import check_place
from gramian.app.cli.run import run
from gramian.app.verb import Option
from gramian.core.checks import check_integer
from gramian.errors import GramianError, ParameterError, needs

# Of what a command answers, so that the whole demo is one screen.
SHOWN = re.compile(
    r"PC1 \w|PCA of |[\d,]+ rows (are enough|cannot) |The eigenvalues |"
    r"\d+ (components|pictures).*[:.]|.*\.png: "
)


def demo(context: typer.Context, *, out: Annotated[str, Option(short="-o")] = "gramian-demo") -> None:
    """Fit a table of penguins, then recognise people who were drawn.

    Each command is printed before it runs, with the main lines of its answer. FOLDER/data gets small files to
    try commands on.

    Parameters
    ----------
    out : FOLDER
        Where the results go.
    """
    from gramian.core.atomic import as_file_error
    from gramian.faces import example_faces
    from gramian.figures.images import Picture
    from gramian.report.results import check_folder

    folder = Path(out)
    data, penguins, faces, door = (folder / name for name in ("data", "penguins", "faces", "door"))
    model, gallery = faces / "faces.gramian", faces / "people.gallery"
    check_place(folder)
    check_folder(penguins)
    with as_file_error(folder):
        shutil.copytree(str(files("gramian") / "examples"), data, dirs_exist_ok=True)
        for subfolder in (faces, door):
            subfolder.mkdir(exist_ok=True)
        visitors = example_faces("visitors")
        for name, pixels in zip(visitors.names, visitors.pictures, strict=True):
            Picture(pixels).save(door / name)
        if model.exists():  # an earlier demo's, whose gallery holds vectors of it
            gallery.unlink(missing_ok=True)
    rebuilt = ("-k", "10,25,50,100", "-o", faces / "strip.png")
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("fit", data / "penguins.csv", "--report", "-o", penguins),
        ("faces", "fit", data / "faces.npz", "--n-components", "100", "-o", model),
        ("plot", model, "components", "-o", faces / "components.png"),
        ("faces", "reconstruct", model, door / "p03.png", *rebuilt),  # a picture that the model has not seen
        ("faces", "enroll", model, gallery, data / "faces.npz"),
        ("faces", "identify", model, gallery, door, "--far", "0.01"),
    )
    print(f"Example files to try commands on: {data}")
    for step in steps:
        arguments = [str(argument) for argument in step]
        print(f"$ gramian {shlex.join(arguments)}", flush=True)
        with redirect_stdout(io.StringIO()) as answer:
            code = run(context.find_root().command, arguments)
        for line in filter(SHOWN.match, answer.getvalue().splitlines()):
            print(textwrap.shorten(line, 160, placeholder=" ..."), flush=True)
        if code and "identify" not in step:  # which says by its code that somebody is unknown
            raise GramianError(f"gramian {shlex.join(arguments)} ended with {code}, so the demo ends here.")
    print(
        "Three things to try:\n"
        f"  open {penguins / 'report.html'} in a browser\n"
        f"  gramian fit {data / 'flowers.csv'} --report -o flowers    (or your own table)\n"
        f"  gramian serve {data / 'flowers.csv'}    (the same in a browser)"
    )


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
