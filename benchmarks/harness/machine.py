"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "scikit-learn", "threadpoolctl")
PEERS = ("scikit-learn-intelex", "fbpca", "torch", "dask-ml", "mlxtend")


def machine() -> dict[str, Any]:
    """Processor, memory, versions, and the libraries that do the arithmetic."""
    return {
        "system": platform.platform(),
        "cpu": _first("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": _cores(),
        "memory_bytes": _memory(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "peers": {name: version for name in PEERS if (version := _version(name))},
        "libraries": _libraries(),
        "thread_variables": {k: v for k, v in os.environ.items() if k.endswith("_NUM_THREADS")},
    }


def commit() -> str:
    """The commit that is checked out, read from the repository's files; empty outside of one."""
    folder = ROOT / ".git"
    try:
        if folder.is_file():
            folder = ROOT / folder.read_text(encoding="utf-8").partition(":")[2].strip()
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        shared = folder / "commondir"
        if shared.is_file():
            folder = folder / shared.read_text(encoding="utf-8").strip()
        return _resolve(folder, head.removeprefix("ref: "))
    except OSError:
        return ""


def _resolve(folder: Path, name: str) -> str:
    loose = folder / name
    if loose.is_file():
        return loose.read_text(encoding="utf-8").strip()
    packed = (folder / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _memory() -> int | None:
    result = _first("/proc/meminfo", "MemTotal")
    return int(result.split()[0]) * 1024 if result else None


def _first(path: str, key: str) -> str:
    """The value of the first ``key: value`` line of a file of the system."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _libraries() -> list[dict[str, Any]]:
    kept = ("user_api", "internal_api", "version", "num_threads", "architecture")
    return [{k: info[k] for k in kept if k in info} for info in threadpool_info()]
