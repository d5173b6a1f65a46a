"""The benchmark on a GPU: that it runs through, small and on the host."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "gpu.py"


def printed(*arguments):
    one = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=one).stdout


@pytest.mark.walk
def test_every_row_runs_small_on_the_host():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    said = printed("--device", "cpu", "--quick")
    rows = [line.split(",")[0] for line in said.splitlines() if line and not line.startswith(" ")][1:]
    assert rows == [
        "pca-5000x60-k8",
        "kernel-pca-200",
        "kernel-pca-600",
        "landmarks-40-of-600",
    ]
    assert said.count("certified True") == 4
    assert "Error" not in said
