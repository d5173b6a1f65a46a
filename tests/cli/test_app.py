import subprocess
import sys

import typer

from gramian.cli.app import app
from gramian.version import __version__

COMMANDS = (
    "fit", "transform", "reconstruct", "denoise", "whiten", "describe", "monitor", "plot", "report", "info",
    "stability", "rotate", "diagnose", "compare", "export", "plan", "choose-components", "relations",
    "select", "choose-kernel", "serve", "demo", "kernels", "faces"
)  # fmt: skip


def test_the_commands_are_those_promised(gramian):
    assert set(typer.main.get_command(app).commands) == set(COMMANDS)
    assert gramian("--version").out == f"gramian {__version__}\n"


def test_help_of_every_command(gramian):
    for command in COMMANDS:
        ran = gramian(command, "--help")
        assert ran.code == 0
        assert ran.out.startswith(f"Usage: gramian {command}")


def imported(*arguments):
    """Return the modules that a command line imports, run by a new interpreter."""
    program = f"""import sys
from gramian.cli import main
main({list(arguments)!r})
print("|".join(sys.modules), file=sys.stderr)"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(run.stderr.strip().split("|"))


HEAVY = {"numpy", "scipy", "sklearn", "pyarrow", "pydantic", "rich", "PIL"}


def test_help_of_all_commands_imports_none_of_them():
    modules = imported("--help")
    assert not HEAVY & modules
    assert {name for name in modules if name.startswith("gramian.cli.")} == {
        "gramian.cli.app", "gramian.cli.options", "gramian.cli.progress", "gramian.cli.run"
    }  # fmt: skip


def test_help_of_a_command_imports_its_options_alone():
    modules = imported("fit", "--help")
    assert not HEAVY & modules
    assert "gramian.cli.fitting" in modules
    assert not {"gramian.cli.applying", "gramian.cli.selecting", "gramian.cli.faces"} & modules


def test_help_of_a_command_of_a_group_imports_nothing_heavy():
    assert not HEAVY & imported("faces", "enroll", "--help")


def test_the_list_of_commands_shows_the_first_sentence_of_each():
    for command in typer.main.get_command(app).commands.values():
        sentence = command.loaded.help.split("\n\n")[0]
        assert command.short_help == " ".join(sentence.split())


def test_a_misspelt_command_is_corrected(gramian):
    ran = gramian("fti", "a.csv")
    assert ran.code == 2
    assert ran.err == "gramian: No such command 'fti'. Did you mean 'fit'? Try: gramian --help\n"
