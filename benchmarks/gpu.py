"""``python benchmarks/gpu.py``: PCA and kernel PCA on a GPU, beside PyTorch, scikit-learn and cuML.

Every figure is a warm median of five, the device synchronised before and after; eigenvalues are printed
beside. Without a GPU of CUDA nothing is measured; ``--device cpu --quick`` runs every row small on the host.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # for scikit-learn, before SciPy is imported

import generators
import numpy as np

import gramian

WARM = 5
GAMMA = 1 / 100


@dataclass(frozen=True)
class Row:
    """One kind of work, at one size."""

    name: str
    wanted: float | None  # seconds
    data: Callable[[], Any]
    contenders: dict[str, Callable[[Any], Any]]
    say: Callable[[Any], str]


def main() -> int:
    """Measure the rows asked for."""
    asked = _asked()
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("Nothing was measured: PyTorch is not installed.")
        return 0
    if asked.device != "cpu" and not torch.cuda.is_available():
        print(f"Nothing was measured: PyTorch {torch.__version__} sees no GPU of CUDA here.")
        return 0
    print(_heading(torch, asked.device))
    for row in _rows(torch, asked.device, asked.quick):
        if not asked.only or any(part in row.name for part in asked.only):
            _measure(row, torch, asked)
    return 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="every row, small")
    parser.add_argument("only", nargs="*", help="parts of names of rows")
    return parser.parse_args()


def _heading(torch: Any, device: str) -> str:
    what = "the host" if device == "cpu" else torch.cuda.get_device_name(device)
    versions = {"gramian": gramian.__version__, "numpy": np.__version__, "torch": torch.__version__}
    for name in ("sklearn", "cupy", "cuml"):
        try:
            versions[name] = importlib.import_module(name).__version__
        except ImportError:
            versions[name] = "none"
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"On {what}; Python {platform.python_version()}, CUDA {torch.version.cuda or 'none'}; {listed}\n"


def _measure(row: Row, torch: Any, asked: argparse.Namespace) -> None:
    X, result = row.data(), {}
    goal = "" if row.wanted is None or asked.quick else f", wanted {row.wanted:g} s"
    print(f"{row.name}{goal}")
    times: dict[str, list[float]] = {name: [] for name in row.contenders}
    for repeat in range(1 if asked.quick else WARM + 1):  # the first one warms up; then in turn
        for name, run in row.contenders.items():
            if name in result and isinstance(result[name], Exception):
                continue
            _wait(torch, asked.device)
            began = time.perf_counter()
            try:
                result[name] = run(X)
            except Exception as error:  # a peer that fails is part of the answer
                result[name] = error
                continue
            _wait(torch, asked.device)
            if repeat or asked.quick:
                times[name].append(time.perf_counter() - began)
    for name, seconds in times.items():
        answer = result[name]
        if isinstance(answer, Exception):
            print(f"  {name:34} {type(answer).__name__}: {str(answer)[:100]}")
            continue
        spread = f"{min(seconds):.4g} to {max(seconds):.4g}"
        print(f"  {name:34} {statistics.median(seconds):10.4g} s  ({spread})  {row.say(answer)}", flush=True)


def _wait(torch: Any, device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


# ----------------------------------------------------------------------------- rows


def _rows(torch: Any, device: str, quick: bool) -> Iterator[Row]:
    n, d, k = (5000, 60, 8) if quick else (1_000_000, 100, 50)
    yield Row(
        f"pca-{n}x{d}-k{k}, float32 on the device",
        0.005,
        lambda: torch.asarray(generators.decaying(n, d, 0), device=device),
        {
            "gramian.PCA": lambda X: gramian.PCA(k, random_state=0).fit(X),
            "PyTorch, covariance": lambda X: _covariance(torch, X, k),
            "scikit-learn, array API": lambda X: _sklearn_pca(X, k),
            **_cuml("PCA", lambda PCA: lambda X: PCA(n_components=k).fit(X)),
        },
        _say_pca,
    )
    yield from _kernel_rows(torch, device, quick)


def _kernel_rows(torch: Any, device: str, quick: bool) -> Iterator[Row]:
    def ours(**options: Any) -> Callable[[Any], Any]:
        settings = {"kernel": "rbf", "gamma": GAMMA, "random_state": 0} | options
        return lambda X: gramian.KernelPCA(5 if quick else 20, **settings).fit(X)

    def rows(n: int) -> Callable[[], Any]:
        return lambda: torch.asarray(generators.decaying(n, 100, 0) / 10, device=device)

    small, large = (200, 600) if quick else (100_000, 1_000_000)
    fits = ((small, "exact, residual 1e-5", 2.0), (large, "tiles made in every pass", 120.0))
    for n, what, wanted in fits:
        yield Row(
            f"kernel-pca-{n}, {what}", wanted, rows(n), {"gramian.KernelPCA": ours(tol=1e-5)}, _say_kernel
        )
    m = 40 if quick else 5000
    options: dict[str, Any] = {"solver": "nystroem", "n_landmarks": m, "landmarks": "uniform", "tol": 1e-5}
    yield Row(
        f"landmarks-{m}-of-{large}",
        3.0,
        rows(large),
        {"gramian.KernelPCA": ours(**options)},
        _say_kernel,
    )


def _covariance(torch: Any, X: Any, k: int) -> Any:
    """The shortest way in PyTorch, without a certificate."""
    C = X - X.mean(dim=0)
    values, vectors = torch.linalg.eigh(C.T @ C / (len(X) - 1))
    return values.flip(0)[:k].cpu(), vectors.flip(1)[:, :k]


def _sklearn_pca(X: Any, k: int) -> Any:
    from sklearn import config_context
    from sklearn.decomposition import PCA

    with config_context(array_api_dispatch=True):
        return PCA(k, svd_solver="covariance_eigh").fit(X)


def _cuml(name: str, make: Callable[[Any], Callable[[Any], Any]]) -> dict[str, Callable[[Any], Any]]:
    try:
        return {f"cuML {name}": make(getattr(importlib.import_module("cuml"), name))}
    except ImportError:
        return {}


def _say_pca(answer: Any) -> str:
    values = answer[0] if isinstance(answer, tuple) else answer.explained_variance_
    certificate = getattr(answer, "certificate_", None)
    said = "" if certificate is None else f", certified {certificate.ok}, {answer.plan_.arithmetic}"
    return f"eigenvalues {float(values[0]):.7g} to {float(values[-1]):.7g}{said}"


def _say_kernel(model: Any) -> str:
    values, residuals = model.eigenvalues_, model.spectrum_.residuals
    worst = float(residuals.max()) / float(model.spectrum_.values[0])
    return (
        f"eigenvalues {float(values[0]):.7g} to {float(values[-1]):.7g}, residual {worst:.1e}, certified "
        f"{model.certificate_.ok}, {model.spectrum_.passes} passes, {model.plan_.arithmetic}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
