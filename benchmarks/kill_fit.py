"""Kill ``gramian fit -o FOLDER`` at random moments, and fill its disk: how often is something lost?

    python benchmarks/kill_fit.py [--kills 30]

A folder with the results of one table is fitted again with another one, and the process is killed with
SIGKILL at a random moment after it has begun to write. Then the folder is finished as the next command does
it, and must hold the old results or the new ones, complete, and a file of the user. A full disk is a limit on
how long a file may become (``ulimit -f``): the old results must be there and the exit code be 1.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gramian
from gramian.app.cli import main


def content(folder: Path) -> dict[str, str]:
    """Return a hash of every file that a person sees; how long a fit took is left out."""
    entries = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".gramian-" not in name:
            data = re.sub(rb"It took .* s|`gramian fit .*`|gramian fit .*", b"", path.read_bytes())
            if path.suffix == ".gramian":
                # The file says how long it took; it must open, and hold the same directions.
                data = gramian.load(path).components_.tobytes()
            entries[name] = hashlib.sha256(data).hexdigest()
    return entries


def fit(data: Path, folder: Path, largest: int | None = None) -> int:
    """Start a fit in a process of its own, which starts at once because gramian is imported here."""
    assert gramian.PCA
    child = os.fork()
    if not child:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        code = main(["fit", str(data), "-o", str(folder)])
        told = [line for line in sys.stderr.getvalue().splitlines() if "was not written" in line]
        os._exit(code if code != 1 or len(told) == 1 else 3)
    return child


def ended(child: int) -> int:
    """Wait for the end of a process and return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def before(place: str) -> Path:
    """Return a folder with the old results and a file of the user."""
    folder = Path(place, "r")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(Path(place, "old"), folder)
    (folder / "mine.txt").write_bytes(b"mine")
    return folder


def measure() -> None:
    """Print how many runs lost anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    kills = parser.parse_args().kills
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        tables, results = [], []
        for name in ("old", "new"):
            tables.append(Path(place, f"{name}.npy"))
            np.save(tables[-1], rng.integers(0, 255, size=(300, 24, 20)).astype(np.uint8))
            assert ended(fit(tables[-1], Path(place, name))) == 0
            results.append(content(Path(place, name)) | {"mine.txt": hashlib.sha256(b"mine").hexdigest()})
        lost = killed = writing = 0
        for _ in range(kills):
            folder = before(place)
            child = fit(tables[1], folder)
            alive = os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT
            while not any(folder.glob(".gramian-*")) and os.waitid(*alive) is None:
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.5))
            os.kill(child, signal.SIGKILL)
            killed += ended(child) == -signal.SIGKILL
            writing += any(folder.glob(".gramian-*"))
            lost += content(folder) not in results
        print(
            f"{kills} runs, {killed} killed, {writing} of them while writing: {lost} lost anything.",
            flush=True,
        )
        lost = full = 0
        for largest in (0, 100, 1000, 10_000, 50_000):
            folder = before(place)
            full += ended(fit(tables[1], folder, largest)) == 1
            lost += content(folder) != results[0]
        print(f"5 full disks, {full} told in one line with exit code 1: {lost} lost anything.")


if __name__ == "__main__":
    measure()
