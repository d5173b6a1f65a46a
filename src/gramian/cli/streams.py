"""Standard input, output and error, so prepared that any text can be printed on them."""

from __future__ import annotations

import codecs
import os
import sys

__all__ = ["ESCAPED", "lead_nowhere", "prepare_streams"]

ESCAPED = "gramian-escaped"


def prepare_streams() -> None:
    """Let the standard streams take any text, and be there.

    What an encoding lacks is written as ``\\u00eb``, and so are the bytes of file names that are no text:
    JSON stays JSON by it. A stream that is closed becomes one to nowhere.
    """
    # First of all, so that no file that is opened later takes the place of a closed one.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error(ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and getattr(stream, "errors", ESCAPED) != ESCAPED:
            reconfigure(errors=ESCAPED)


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


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # In the units of UTF-16, as JSON has it.
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), error.end
