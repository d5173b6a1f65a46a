"""All commands, those of an application where it is installed; each is imported when it is called."""

from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from gramian.applications import is_installed
from gramian.cli.options import Application, Group, help_alone
from gramian.version import __version__


class Entry(NamedTuple):
    """A line of the list of commands, and where the command is declared."""

    name: str
    module: str
    summary: str  # the first sentence of the command's help
    application: str = "gramian.estimators"


ENTRIES = (
    Entry("fit", "fitting", "Find components; write model, tables, pictures."),
    Entry("transform", "applying", "Write the scores of new rows."),
    Entry("reconstruct", "applying", "Rebuild rows from a few components."),
    Entry("denoise", "applying", "Denoise rows with a kernel PCA."),
    Entry("whiten", "whitening", "Make columns uncorrelated, with variance 1."),
    Entry("describe", "describing", "Say what columns and metadata have to do with each component."),
    Entry("monitor", "monitoring", "Find rows that are unlike the normal rows."),
    Entry("plot", "plotting", "Draw a saved model."),
    Entry("report", "reporting", "Explain a saved model on one page for a browser."),
    Entry("info", "showing", "Show the contents of a saved model."),
    Entry(
        "stability",
        "bootstrapping",
        "Show how much the components of a saved PCA would change with another sample.",
    ),
    Entry(
        "compare",
        "comparing",
        "Compare two saved PCA models: did an upgrade, a machine or new rows change the result?",
    ),
    Entry("export", "exporting", "Write a saved model as ONNX."),
    Entry("plan", "fitting", "Show the solver that fit would use, and why."),
    Entry("relations", "relating", "Find polynomial equations that all rows satisfy.", "gramian.laws"),
    Entry("select", "selecting", "Select the columns that predict a label best.", "gramian.selection"),
    Entry("choose-kernel", "choosing", "Choose a kernel and its width.", "gramian.selection"),
    Entry(
        "serve",
        "serving",
        "Show a page in the browser, and answer other programs over HTTP.",
        "gramian.service",
    ),
    Entry(
        "demo",
        "demonstration",
        "Try PCA and kernel PCA on handwritten digits, then recognition on drawn faces.",
    ),
    Entry("kernels", "kernels", "List kernels, or check one for positive semidefiniteness."),
    Entry(
        "faces",
        "faces_app",
        "Eigenfaces: compress, reconstruct and recognise pictures of faces.",
        "gramian.faces",
    ),
)


class LazyCommand(TyperCommand):
    """A command that knows its line of the list; the rest is imported when it is called.

    Parameters
    ----------
    entry : Entry
    """

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name, short_help=entry.summary)
        self.entry = entry

    @cached_property
    def loaded(self) -> Any:
        """The command itself, with its options; for a group of commands the group."""
        module = import_module(f"gramian.cli.{self.entry.module}")
        declared = getattr(module, self.entry.name.replace("-", "_"))
        if not isinstance(declared, typer.Typer):
            function, declared = declared, Application()
            declared.command(self.entry.name)(function)
        return typer.main.get_command(declared)

    def make_context(self, *given: Any, **options: Any) -> Any:
        """Return the context of the command itself, which runs it."""
        return self.loaded.make_context(*given, **options)


class Commands(Group):
    """The group of all commands that are installed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for entry in ENTRIES:
            if is_installed(entry.application):
                self.add_command(LazyCommand(entry))


app = Application(add_completion=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gramian {__version__}")
        raise typer.Exit


@app.callback(cls=Commands, invoke_without_command=True)
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
