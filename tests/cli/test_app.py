import subprocess
import sys

import pytest
import typer

from gramian.cli.app import app
from gramian.version import __version__

COMMANDS = (
    "fit", "transform", "reconstruct", "denoise", "whiten", "describe", "monitor", "plot", "report", "info",
    "stability", "compare", "export", "plan", "relations", "select", "choose-kernel", "serve", "demo",
    "kernels", "faces"
)  # fmt: skip


def test_the_commands_are_those_promised(gramian):
    assert set(typer.main.get_command(app).commands) == set(COMMANDS)
    assert gramian("--version").out == f"gramian {__version__}\n"


def test_help_of_every_command(gramian):
    for command in COMMANDS:
        ran = gramian(command, "--help")
        assert ran.code == 0
        assert ran.out.startswith(f"Usage: gramian {command}")


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_nothing_heavy_is_imported_for_help_and_version(asked):
    program = (
        f"import sys; from gramian.cli import main; main([{asked!r}]); "
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'rich', 'PIL'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stderr.strip() == "[]"
