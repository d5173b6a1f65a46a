"""All commands, those of an application where it is installed; what they need is imported when they run."""

from typing import Annotated

import typer

from gramian.applications import is_installed
from gramian.cli.applying import denoise, reconstruct, transform
from gramian.cli.bootstrapping import stability
from gramian.cli.choosing import choose_kernel
from gramian.cli.comparing import compare
from gramian.cli.demonstration import demo
from gramian.cli.describing import describe
from gramian.cli.exporting import export
from gramian.cli.faces_app import faces
from gramian.cli.fitting import fit, plan
from gramian.cli.kernels import kernels
from gramian.cli.monitoring import monitor
from gramian.cli.options import help_alone, spread
from gramian.cli.plotting import plot
from gramian.cli.relating import relations
from gramian.cli.reporting import report
from gramian.cli.selecting import select
from gramian.cli.serving import serve
from gramian.cli.showing import info
from gramian.cli.whitening import whiten
from gramian.version import __version__

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gramian {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def gramian(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Fast PCA and kernel PCA that explain the method chosen and bound the error of every result.

    Exit codes: 0 success, 1 fault in the data or a file, 2 fault in the command, 3 alarms with
    monitor --fail or a change beyond compare --tolerance, 130 interrupted.
    """
    help_alone(context)


READ = describe, monitor, plot, report, info, stability, compare
for command in (fit, transform, reconstruct, denoise, whiten, *READ, export, plan):
    app.command()(spread(command))
if is_installed("gramian.laws"):
    app.command()(spread(relations))
if is_installed("gramian.selection"):
    app.command()(select)
    app.command()(choose_kernel)
if is_installed("gramian.service"):
    app.command()(serve)
app.command()(spread(demo))
app.add_typer(kernels, name="kernels")
if is_installed("gramian.faces"):
    app.add_typer(faces, name="faces")
