"""Kill ``gramian fit -o FOLDER`` at random moments, and fill its disk: how often is something lost?

    python benchmarks/kill_fit.py [--kills 30]

A folder with the results of one table is fitted again with another one, and the process is killed with
SIGKILL at a random moment after it has begun to write. Then the next command looks at the folder, ``gramian
info``, and it must hold the old results or the new ones, complete, and a file of the user. A full disk is a
limit on how long a file may become (``ulimit -f``): the old results must be there and the exit code be 1.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GRAMIAN = [sys.executable, "-m", "gramian"]


def content(folder: Path) -> dict[str, str]:
    """Return a hash of every file that a person sees; how long a fit took is left out."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and ".gramian-" not in name:
            data = re.sub(rb"It took .* s|`gramian fit .*`|gramian fit .*", b"", path.read_bytes())
            found[name] = hashlib.sha256(data).hexdigest()
    return found


def fit(data: Path, folder: Path, **given: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*GRAMIAN, "fit", str(data), "-o", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        **given,  # type: ignore[call-overload]
    )


def main() -> None:
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
            fit(tables[-1], Path(place, name)).communicate()
            results.append(content(Path(place, name)) | {"mine.txt": hashlib.sha256(b"mine").hexdigest()})
        lost = killed = interrupted = 0
        folder = Path(place, "r")
        for _ in range(kills):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(Path(place, "old"), folder)
            (folder / "mine.txt").write_bytes(b"mine")
            process = fit(tables[1], folder)
            while process.poll() is None and not any(folder.glob(".gramian-*")):
                time.sleep(0.001)
            time.sleep(random.uniform(0, 0.5))
            killed += process.poll() is None
            process.kill()
            process.communicate()
            interrupted += any(path.name.startswith(".gramian-") for path in folder.iterdir())
            subprocess.run([*GRAMIAN, "info", str(folder)], stdout=subprocess.DEVNULL, check=True)
            lost += content(folder) not in results
        print(f"{kills} runs, {killed} killed, {interrupted} of them while writing: {lost} lost anything.")
        lost = full = 0
        for limit in (0, 100, 1000, 10_000, 50_000):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(Path(place, "old"), folder)
            (folder / "mine.txt").write_bytes(b"mine")

            def limited(limit: int = limit) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            process = fit(tables[1], folder, preexec_fn=limited)
            errors = process.communicate()[1].decode().splitlines()
            full += (
                process.returncode == 1 and len([line for line in errors if "was not written" in line]) == 1
            )
            lost += content(folder) != results[0]
        print(f"5 full disks, {full} told in one line with exit code 1: {lost} lost anything.")


if __name__ == "__main__":
    main()
