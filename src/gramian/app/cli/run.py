"""Runs a command: what goes wrong becomes one line and an exit code, never a traceback for a mistake."""

import gc
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from gramian import errors
from gramian.core.checks import shown, six_digits
from gramian.core.package import __version__
from gramian.core.progress import say

DONE, DATA_ERROR, USAGE, INTERRUPTED = 0, 1, 2, 130


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

        command = typer.main.get_command(app)
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich", "pyarrow"}:
            raise
        if [*(sys.argv[1:] if arguments is None else arguments)] == ["--version"]:  # which needs no extra
            print(f"gramian {__version__}")
            return 0
        missing = errors.MissingExtraError("cli", error.name, "The command gramian")
        print(f"gramian: {missing}", file=sys.stderr)
        return 1
    return run(command, arguments)


def run(command: Any, arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    command : Command
        The parser's own, which knows all subcommands.
    arguments : sequence of str, optional
        By default those of the process.
    """
    prepare_streams()
    with warnings.catch_warnings():
        warnings.simplefilter("always", errors.GramianWarning)
        warnings.showwarning = _show_warning
        try:
            code = _invoke(command, list(sys.argv[1:] if arguments is None else arguments))
            sys.stdout.flush()
        except BrokenPipeError:
            lead_nowhere("stdout")
            code = DATA_ERROR
        except OSError as error:
            if error.errno not in errors.FULL:
                raise
            lead_nowhere("stdout")
            text = f"standard output was not written: {errors.reason(error)}."
            code = _fail(f"{text} Free some space, or send it elsewhere.", DATA_ERROR)
        try:
            sys.stderr.flush()
        except OSError:
            lead_nowhere("stderr")
        return code


def _invoke(command: Any, arguments: list[str]) -> int:
    import typer

    # Base of everything that the parser says about arguments; typer has moved it from package to package.
    parser_error: Any = typer.BadParameter.__mro__[2]
    try:
        code = command.main(args=arguments, prog_name="gramian", standalone_mode=False)
    except parser_error as error:
        return _parser_error(error)
    except (errors.ParameterError, errors.InputTypeError) as error:
        return _fail(str(error), USAGE)
    except errors.GramianError as error:
        return _fail(str(error), DATA_ERROR)
    except MemoryError as error:
        return _fail(f"memory ran out. {error}".strip(), DATA_ERROR)
    except OSError as error:
        # Those of standard output have no name of a file.
        if not isinstance(error.filename, str):
            raise
        if error.errno in errors.FULL:
            return _fail(str(errors.not_written(error.filename, error)), DATA_ERROR)
        name = errors.shortened(error.filename)
        text = f"{name} cannot be used: {errors.reason(error)}. Check its name and permissions."
        return _fail(text, DATA_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as end:
        # Of the parser, when the reader of its output went away, or of a command that has said why.
        return end.code if isinstance(end.code, int) else DATA_ERROR
    if code == INTERRUPTED:
        return _fail("interrupted; no file was left half-written.", INTERRUPTED)
    return code if isinstance(code, int) else DONE


def _fail(message: str, code: int) -> int:
    first, *drawn = message.split("\n")
    if not drawn or drawn[-1].strip() != "^":
        say(f"gramian: {_rounded(message)}")
        return code
    # An expression with a mark under the column where reading stopped.
    say(f"gramian: {first}")
    with suppress(OSError):
        for line in drawn:
            print(shown(line), file=sys.stderr, flush=True)
    return code


def _parser_error(error: Any) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "gramian"
    message = error.format_message().rstrip(".")
    end = "" if message.endswith("?") else "."
    return _fail(f"{message}{end} Try: {path} --help", USAGE)


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    text = str(message)
    if "does not have valid feature names" in text:  # of scikit-learn
        text = "the data have no column names, so their columns are taken in the order of the fitted ones."
    say(f"gramian: warning: {_rounded(text)}")


def _rounded(text: str) -> str:
    """Return a message with few digits in the parameters of kernels; names of files keep theirs."""
    return re.sub(r"(?<=\w=)\d+\.\d{6,}", lambda match: six_digits(match[0]), text)


# ---------------------------------------------------------- the standard streams


def prepare_streams() -> None:
    """Let the standard streams take any text, and be there.

    What an encoding lacks, and the bytes of file names that are no text, are written as escapes. A closed
    stream becomes one to nowhere.
    """
    # First of all, so that no file that is opened later takes the place of a closed one.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def lead_nowhere(name: str) -> None:
    """Send what is still buffered in a stream that has no room or reader, and what follows, to nowhere.

    The interpreter would otherwise complain when it ends, and change the exit code.

    Parameters
    ----------
    name : {"stdout", "stderr"}
    """
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), getattr(sys, name).fileno())
    except (OSError, ValueError):
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
