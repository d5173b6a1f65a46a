"""Answers a person at a prompt: ``gramian fit``, ``transform``, ``reconstruct``, ``info``, ``plan``.

Only the definitions of commands and options are imported at first, so that ``gramian --help`` answers at
once; what a command needs is imported when it runs.
"""

import gc
import os
import sys
from collections.abc import Sequence

from gramian.core.package import __version__
from gramian.errors import MissingExtraError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    It is 0, 1 for data errors, 2 for usage, 3 for alarms with ``monitor --fail``, and 130 after Ctrl-C.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name; by default what the program was called with.
    """
    if arguments is None:
        # A command ends soon; most of what is collected until then are its imports and the names of columns.
        gc.set_threshold(50_000, 10, 10)
        # Idle threads of BLAS would turn for 25 ms after each product, before anything else starts.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    try:
        import typer

        from gramian.app.cli.app import app
        from gramian.app.cli.run import run

        command = typer.main.get_command(app)
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "pyarrow"}:
            raise
        if [*(sys.argv[1:] if arguments is None else arguments)] == ["--version"]:  # which needs no extra
            print(f"gramian {__version__}")
            return 0
        print(f"gramian: {MissingExtraError('cli', error.name, 'The command gramian')}", file=sys.stderr)
        return 1
    return run(command, arguments)
