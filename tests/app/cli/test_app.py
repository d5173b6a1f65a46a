import shutil
import subprocess
import sys

import typer

from gramian.app.cli.app import app
from gramian.core.package import __version__

COMMANDS = (
    "fit", "transform", "reconstruct", "denoise", "whiten", "describe", "monitor", "plot", "report", "info",
    "stability", "rotate", "diagnose", "explain", "compare", "export", "plan", "choose-components",
    "relations", "select", "choose-kernel", "serve", "demo", "kernels", "faces"
)  # fmt: skip


def test_the_commands_are_those_promised_and_have_a_help(gramian):
    assert set(typer.main.get_command(app).commands) == set(COMMANDS)
    assert gramian("--version").out == f"gramian {__version__}\n"
    for command in COMMANDS:
        ran = gramian.works(f"{command} --help")
        assert ran.out.startswith(f"Usage: gramian {command}")


def imported(*arguments):
    """Return the modules that a command line imports, run by a new interpreter."""
    program = f"""import sys
from gramian.app.cli import main
main({list(arguments)!r})
print("|".join(sys.modules), file=sys.stderr)"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(run.stderr.strip().split("|"))


HEAVY = {"numpy", "scipy", "sklearn", "pyarrow", "pydantic", "rich", "PIL"}


def test_help_imports_no_more_than_it_shows():
    modules = imported("--help")
    assert not HEAVY & modules
    assert {name for name in modules if name.startswith("gramian.app.cli.")} == {
        *("gramian.app.cli.app", "gramian.app.cli.command", "gramian.app.cli.inputs"),
        *("gramian.app.cli.others", "gramian.app.cli.outputs", "gramian.app.cli.run"),
    }  # fmt: skip
    modules = imported("fit", "--help")
    assert not HEAVY & modules
    assert {name for name in modules if name.startswith("gramian.app.verbs.")} == {"gramian.app.verbs.fit"}
    assert not HEAVY & imported("faces", "enroll", "--help")


def test_commands_are_listed_by_their_first_sentences_and_misspelt_ones_corrected(gramian):
    for command in typer.main.get_command(app).commands.values():
        sentence = command.loaded.help.split("\n\n")[0]
        assert command.get_short_help_str() == " ".join(sentence.split())
    gramian.refuses(
        "fti a.csv", 2, "gramian: No such command 'fti'. Did you mean 'fit'? Try: gramian --help\n"
    )


def test_the_help_of_fit_begins_with_examples_that_run(folder, gramian):
    shutil.copy("flowers.csv", "table.csv")
    _, summary, examples, *_ = gramian("fit --help").out.split("\n\n")
    assert summary == "  Find components; write model, tables, pictures."
    lines = examples.splitlines()
    assert len(lines) == 3
    for line in lines:
        gramian.works(line.strip().removeprefix("gramian "))
