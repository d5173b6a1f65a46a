"""``python -m gramian.compat script.py``: run a script with gramian in the place of scikit-learn."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

USAGE = """usage: python -m gramian.compat SCRIPT [ARGUMENTS ...]

Runs a Python script in which these names of scikit-learn are gramian's, and says so on standard error:
  sklearn.decomposition: PCA, IncrementalPCA, KernelPCA
  sklearn.kernel_approximation: Nystroem
  sklearn.feature_selection: SequentialFeatureSelector, mutual_info_classif, mutual_info_regression
"""


def main() -> int:
    """Run the script that is named first; the rest are its own arguments."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        (sys.stdout if arguments else sys.stderr).write(USAGE)
        return 0 if arguments else 2
    script = Path(arguments[0])
    if not script.is_file():
        what = (
            "is a folder. Name the script in it"
            if script.is_dir()
            else "there is no such file. Check the path"
        )
        sys.stderr.write(f"{script}: {what}.\n")
        return 2
    sys.argv = arguments
    # As when Python itself runs it.
    sys.path[0] = str(script.parent.resolve())
    # scikit-learn takes longer to import than everything before.
    from gramian.compat.sklearn import put_in_place

    replaced = [f"{module}: {', '.join(names)}" for module, names in put_in_place().items()]
    sys.stderr.write(f"gramian.compat: replaced {'; '.join(replaced)}\n")
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
