"""``python -m gramian.connect script.py``: run a script with gramian in the place of scikit-learn."""

import runpy
import sys
from pathlib import Path

USAGE = """usage: python -m gramian.connect SCRIPT [ARGUMENTS ...]

Runs a Python script in which PCA, IncrementalPCA and KernelPCA of sklearn.decomposition are gramian's, and
says so on standard error.
"""


def main() -> int:
    """Run the script that is named first; the rest are its own arguments."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(USAGE)
        return 0 if arguments else 2
    script = Path(arguments[0])
    if not script.is_file():
        sys.stderr.write(f"{script}: there is no such file. Check the path.\n")
        return 2
    sys.argv = arguments
    # As when Python itself runs it.
    sys.path[0] = str(script.parent.resolve())
    # scikit-learn takes longer to import than everything before.
    from gramian.connect import sklearn

    sklearn.put_in_place()
    sys.stderr.write(f"gramian.connect: replaced sklearn.decomposition: {', '.join(sklearn.__all__)}\n")
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
