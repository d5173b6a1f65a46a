"""Fixtures and settings that every test may rely on."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

from helpers import script

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# Derandomized: the same tests give the same verdict on every machine and every run.
settings.register_profile("gramian", deadline=None, derandomize=True)
settings.load_profile("gramian")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Any:
    """Look for examples in the docstrings of src alone: here are none, and looking takes seconds."""
    return [one for one in (yield) if type(one).__name__ != "DoctestModule"]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of public data sets: $GRAMIAN_TEST_DATA, or shared/data beside the repository."""
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}; set GRAMIAN_TEST_DATA to their folder")
    return folder


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """Forget the figures of pyplot after each test, where it was loaded."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@dataclass(frozen=True)
class ArrayKind:
    """One kind of array that estimators take: how to make it, and how to recognise it."""

    name: str
    dtype: np.dtype[Any]
    make: Callable[[Any], Any]

    def same(self, array: Any) -> bool:
        """Whether ``array`` is of this kind: the library's class, the device and the dtype."""
        like = self.make(np.zeros((1, 1)))
        return (
            type(array) is type(like)
            and array.dtype == like.dtype
            and getattr(array, "device", None) == getattr(like, "device", None)
        )


def _read_only(X: Any) -> Any:
    X = np.array(X, dtype=np.float64)
    X.flags.writeable = False
    return X


def _strict(X: Any, device: str = "CPU_DEVICE") -> Any:
    xp = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return xp.asarray(np.array(X, dtype=np.float64), device=xp.Device(device))


def _torch(X: Any, dtype: str = "float64", device: str = "cpu") -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if device != "cpu" and not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU of CUDA")
    return torch.asarray(np.array(X, dtype=dtype), device=device)


def _cupy(X: Any, dtype: str = "float64") -> Any:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed", exc_type=ImportError)
    if not cupy.is_available():
        pytest.skip("CuPy sees no GPU")
    return cupy.asarray(np.array(X, dtype=dtype))


ARRAY_KINDS = (
    ArrayKind("numpy", np.dtype("f8"), lambda X: np.array(X, dtype=np.float64)),
    ArrayKind("numpy-read-only", np.dtype("f8"), _read_only),
    ArrayKind("numpy-float32", np.dtype("f4"), lambda X: np.array(X, dtype=np.float32)),
    ArrayKind("numpy-fortran", np.dtype("f8"), lambda X: np.array(X, dtype="f8", order="F")),
    ArrayKind("array-api-strict", np.dtype("f8"), _strict),
    # A pretended device: NumPy cannot read it, and nothing can be computed with arrays of the host.
    ArrayKind("array-api-strict-device", np.dtype("f8"), lambda X: _strict(X, "device1")),
    ArrayKind("pytorch", np.dtype("f8"), _torch),
    ArrayKind("pytorch-float32", np.dtype("f4"), lambda X: _torch(X, "float32")),
    ArrayKind("pytorch-gpu", np.dtype("f8"), lambda X: _torch(X, device="cuda")),
    ArrayKind("pytorch-gpu-float32", np.dtype("f4"), lambda X: _torch(X, "float32", "cuda")),
    ArrayKind("cupy", np.dtype("f8"), _cupy),
    ArrayKind("cupy-float32", np.dtype("f4"), lambda X: _cupy(X, "float32")),
)
ON_A_GPU = ("pytorch-gpu", "cupy")


SPARSE_KINDS = (
    ArrayKind("sparse", np.dtype("f8"), lambda X: sp.csr_matrix(np.array(X, dtype="f8"))),
    ArrayKind("sparse-float32", np.dtype("f4"), lambda X: sp.coo_array(np.array(X, dtype="f4"))),
)


def _dask(X: Any) -> Any:
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    X = np.array(X, dtype=np.float64)
    return da.from_array(X, chunks=(max(1, len(X) // 3), *X.shape[1:]))


# Of which rows are made; what is learnt from them is NumPy's.
DASK = ArrayKind("dask", np.dtype("f8"), _dask)


def _params(kinds: tuple[ArrayKind, ...]) -> list[Any]:
    """Parameters of a fixture, those that need a GPU marked as such (``pytest -m gpu``)."""
    marks = {True: (pytest.mark.gpu,), False: ()}
    return [pytest.param(kind, id=kind.name, marks=marks[kind.name.startswith(ON_A_GPU)]) for kind in kinds]


@pytest.fixture(params=_params((*ARRAY_KINDS, *SPARSE_KINDS, DASK)))
def rows_kind(request: pytest.FixtureRequest) -> ArrayKind:
    """Every kind of array and of sparse matrix in turn, as :func:`array_kind`."""
    kind: ArrayKind = request.param
    kind.make(np.zeros((1, 1)))
    return kind


@pytest.fixture(params=_params(ARRAY_KINDS))
def array_kind(request: pytest.FixtureRequest) -> ArrayKind:
    """Every kind of array in turn; the test is skipped where the library or a GPU is missing."""
    kind: ArrayKind = request.param
    kind.make(np.zeros((1, 1)))
    return kind


def _benchmark(name: str) -> Iterator[Any]:
    yield script(f"benchmarks/{name}.py")
    del sys.modules[name]


@pytest.fixture(scope="module")
def attack():
    """benchmarks/attack.py, which knows eigenvalues in extended precision."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("this machine has no extended precision")
    yield from _benchmark("attack")


@pytest.fixture(scope="module")
def calibrate():
    """benchmarks/calibrate.py, which measures coverage and false alarms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield from _benchmark("calibrate")


@pytest.fixture(scope="module")
def attack_server():
    """benchmarks/attack_server.py, which starts servers, and proxies in front of them."""
    yield from _benchmark("attack_server")
