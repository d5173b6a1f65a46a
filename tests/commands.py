"""Commands called as the shell calls them, but so that errors are raised; and what they load."""

import ast
import subprocess
import sys

from gramian.app.cli.command import Call
from gramian.app.verbs import verb


def called(name, **given):
    """Run a verb as its command does; errors are raised."""
    Call(verb(name), given).run()


def loaded_by(*calls, among):
    """Return which of some modules a new process has loaded after commands."""
    program = (
        f"import sys\nfrom gramian.app.cli import main\nassert not any(map(main, {calls!r}))\n"
        f"print([name for name in {among!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ast.literal_eval(ran.stdout.splitlines()[-1])
