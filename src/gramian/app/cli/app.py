"""All commands, those of an application where it is installed; each is imported when it is called."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from gramian.app.cli.command import Group, application, command_of, help_alone
from gramian.app.verb import Verb
from gramian.app.verbs import GROUPS, VERBS
from gramian.core.package import __version__

# Commands that are no verbs, and what they need.
OTHERS = {"serve": "gramian.app", "demo": "gramian.models.pca"}


class LazyCommand(TyperCommand):
    """A command that knows its name; the rest is imported when it is called or listed.

    Parameters
    ----------
    name : str

    Attributes
    ----------
    load : callable
        Returns the command itself, with its options, or a group.
    summary : str
        Its line of the list of commands; by default the first sentence of the verb.
    """

    load: Callable[[], Any]
    summary = ""

    @cached_property
    def loaded(self) -> Any:
        """The command itself, with its options; for a group of commands the group."""
        return self.load()

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return its line of the list of commands."""
        return self.summary or _verb(str(self.name)).summary

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Return the context of the command itself, which runs it."""
        return self.loaded.make_context(*arguments, **options)


def _command(name: str) -> Any:
    return command_of(_verb(name))


def _verb(name: str) -> Verb:
    return Verb.named(name, f"gramian.app.verbs.{VERBS[name]}" if name in VERBS else "gramian.app.cli.others")


def _group(name: str) -> Any:
    made = application()
    made.callback(invoke_without_command=True, help=GROUPS[name])(help_alone)
    group: Any = typer.main.get_command(made)
    for verb_name in VERBS:
        if verb_name.startswith(f"{name} "):
            group.add_command(_command(verb_name))
    return group


class Commands(Group):
    """The group of all commands that are installed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name in (*VERBS, *OTHERS):
            group = name.split()[0]
            lazy = LazyCommand(group)
            lazy.load = partial(_group if group in GROUPS else _command, group)
            lazy.summary = GROUPS.get(group, "").partition("\n")[0]
            self.add_command(lazy)


app = application(add_completion=True)


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
