"""Commands called as the shell calls them, but so that errors are raised; and what they load."""

import ast
import subprocess
import sys
from dataclasses import fields

from gramian.cli.operating import Call
from gramian.cli.options import Reading
from gramian.operations import operations


def called(name, reading=None, as_json=False, **given):
    """Run an operation as its command does; errors are raised."""
    verb = operations()[name]
    options = verb.options(
        **{one.name: given.pop(one.name) for one in fields(verb.options) if one.name in given}
    )
    given = {one.name: None for one in verb.inputs} | {one.name: one.default for one in verb.outs} | given
    Call(verb, given | {"as_json": as_json}, reading or Reading()).run(options)


def loaded_by(*calls, among):
    """Return which of some modules a new process has loaded after commands."""
    program = (
        f"import sys\nfrom gramian.cli import main\nassert not any(map(main, {calls!r}))\n"
        f"print([name for name in {among!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ast.literal_eval(ran.stdout.splitlines()[-1])
