"""Answers a person at a prompt: ``gramian fit``, ``transform``, ``reconstruct``, ``info``, ``plan``.

Only the definitions of commands and options are imported at first, so that ``gramian --help`` answers at
once; what a command needs is imported when it runs.
"""

from gramian.app.cli.run import main

__all__ = ["main"]
