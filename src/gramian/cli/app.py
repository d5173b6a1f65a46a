"""All commands, those of an application where it is installed; each is imported when it is called."""

import os
import shlex
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from gramian.applications import is_installed
from gramian.cli.options import Application, Group, help_alone
from gramian.operations import operations
from gramian.operations.operation import Operation
from gramian.version import __version__


class Entry(NamedTuple):
    """A line of the list of commands, and where the command is declared."""

    name: str
    module: str
    summary: str  # the first sentence of the command's help
    application: str = "gramian.pca"


ENTRIES = (
    Entry("fit", "fitting", "Find components; write model, tables, pictures."),
    Entry("info", "showing", "Show the contents of a saved model."),
    Entry(
        "serve",
        "serving",
        "Show a page in the browser, and answer other programs over HTTP.",
        "gramian.app.server",
    ),
    Entry(
        "demo",
        "demo",
        "Fit a table of penguins, then recognise people who were drawn.",
    ),
)
# The order of the list; others stand at its end.
ORDER = (
    *(
        "fit",
        "transform",
        "reconstruct",
        "denoise",
        "whiten",
        "describe",
        "monitor",
        "plot",
        "report",
        "info",
    ),
    *("stability", "rotate", "compare", "export", "plan", "choose-components", "relations", "select"),
    *("choose-kernel", "serve", "demo", "kernels", "faces"),
)
# Groups of operations, whose names begin with theirs.
GROUPS = {
    "kernels": """List kernels, or check one for positive semidefiniteness.

    A function is a kernel if it is symmetric and none of its Gram matrices has a negative eigenvalue.
    """,
    "faces": """Eigenfaces: compress, reconstruct and recognise pictures of faces.

    Pictures must be cropped and aligned, with the eyes at the same place in each. This is a baseline
    recogniser and a teaching tool, not a security system. It has no liveness check: a photograph of a person
    is accepted like the person.

    Pictures of faces and their vectors are biometric data, which many laws protect. Enroll people only with
    their informed consent, restrict access to the files, and remove people with faces forget when they ask.
    A model can reproduce the pictures it was fitted on: protect its file like the pictures.
    """,
}


class LazyCommand(TyperCommand):
    """A command that knows its line of the list; the rest is imported when it is called.

    Parameters
    ----------
    name, summary : str
    load : callable
        Returns the command itself, with its options, or a group.
    """

    def __init__(self, name: str, summary: str, load: Callable[[], Any]) -> None:
        super().__init__(name, short_help=summary)
        self.load = load

    @cached_property
    def loaded(self) -> Any:
        """The command itself, with its options; for a group of commands the group."""
        return typer.main.get_command(self.load())

    def make_context(self, *given: Any, **options: Any) -> Any:
        """Return the context of the command itself, which runs it."""
        return self.loaded.make_context(*given, **options)


def _declared(entry: Entry) -> typer.Typer:
    declared = getattr(import_module(f"gramian.cli.{entry.module}"), entry.name)
    if isinstance(declared, typer.Typer):
        return declared
    alone = Application()
    alone.command(entry.name)(declared)
    return alone


def _of_operations(*verbs: Operation, help: str = "") -> typer.Typer:
    """Return the command of an operation, or of several a group."""
    from gramian.cli.operating import command_of

    made = Application()
    if help:
        made.callback(invoke_without_command=True, help=help)(help_alone)
    for verb in verbs:
        made.add_command(verb.name.rpartition(" ")[2], command_of(verb))
    return made


class Commands(Group):
    """The group of all commands that are installed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        found = {
            one.name: LazyCommand(one.name, one.summary, partial(_declared, one))
            for one in ENTRIES
            if is_installed(one.application)
        }
        for name, verb in operations().items():
            found.setdefault(name, LazyCommand(name, verb.summary, partial(_of_operations, verb)))
        for name, help in GROUPS.items():
            if verbs := [verb for verb in operations().values() if verb.name.startswith(f"{name} ")]:
                summary = help.partition("\n\n")[0]
                found[name] = LazyCommand(name, summary, partial(_of_operations, *verbs, help=help))
        for name in sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)):
            if " " not in name:
                self.add_command(found[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named first; an error names the command line that is meant."""
        name, *others = args
        rest = shlex.join(others)
        meant = {
            "help": f"{rest} --help",
            "version": "--version",
            "pca": f"fit {rest}",
            "kernel-pca": f"fit {rest} --kernel rbf",
            "kpca": f"fit {rest} --kernel rbf",
        }.get(name.casefold(), f"fit {shlex.join(args)}" if os.path.exists(name) else None)
        if meant is not None and name not in self.commands:
            ctx.fail(f"No such command {name!r}. Did you mean: gramian {meant.strip()}?")
        return super().resolve_command(ctx, args)


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
    monitor --fail or a change beyond compare --tol, 130 interrupted.
    """
    help_alone(context)
