"""Suite ``exact``: PCA and exact kernel PCA beside scikit-learn."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import generators
import references
from contenders import (
    NewRows,
    as_accurate_as,
    fbpca_pca,
    intel_pca,
    our_kernel_pca,
    our_pca,
    peer_kernel_pca,
    peer_pca,
    standardized_peer_pca,
    torch_pca,
    transforming,
)
from harness.processes import Command, ProcessRow
from harness.rows import Contender, Outcome, Row
from harness.timing import TimedRow

FLOATS = {"float32": 4, "float64": 8}
COLUMNS = 50
GAMMA = 1 / COLUMNS
PEOPLE = slice(0, 2286)
EIGENVALUES = {"eigenvalue": 1e-4}


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    flat = _flat("float32", "auto", *((600, 400) if quick else (2000, 1200)))
    flat_tall = _flat_tall(20_000 if quick else 1_000_000, 50)
    return [
        _kernel_pca("kernel-pca-10k", 1500 if quick else 10_000, with_default=True),
        _kernel_pca("kernel-pca-20k", 2000 if quick else 20_000, with_default=False),
        _kernel_transform(1500 if quick else 10_000),
        _kernel_limited(
            "kernel-pca-60k-limited", *((6000, 80_000_000) if quick else (60_000, 4_000_000_000))
        ),
        replace(
            _kernel_limited(
                "kernel-pca-100k-limited", *((7000, 80_000_000) if quick else (100_000, 4_000_000_000))
            ),
            slow=not quick,
        ),
        _yale_fraction(quick),
        replace(_yale_many(quick), slow=not quick),
        _unit(*((200, 1500) if quick else (957, 14_079))),
        _noise(*((1200, 500) if quick else (10_000, 4000))),
        _tall_offset(20_000 if quick else 1_000_000),
        *(
            _flat(dtype, solver, *((600, 400) if quick else (2000, 1200)))
            for solver in ("auto", "krylov")
            for dtype in FLOATS
        ),
        _as_accurate(flat, "PCA arpack tol=0"),
        flat_tall,
        _as_accurate(flat_tall, "PCA covariance_eigh"),
        _import(),
        _first_use(),
        _help(),
        # Last, because the libraries of their peers stay loaded and slow small fits down.
        _yale("yale-50", 50, quick),
        _yale("yale-100", 100, quick),
        _tall(20_000 if quick else 1_000_000),
        _wide(*((4000, 300) if quick else (100_000, 1000))),
        _square(1000 if quick else 5000),
        _square_rough(1000 if quick else 5000),
    ]


# ----------------------------------------------------------------- kernel PCA


def _kernel_peers() -> tuple[Contender, ...]:
    settings: dict[str, Any] = {"n_components": 10, "gamma": GAMMA}
    return (
        peer_kernel_pca("arpack tol=0", eigen_solver="arpack", tol=0, **settings),
        peer_kernel_pca("arpack tol=1e-6", eigen_solver="arpack", tol=1e-6, **settings),
        peer_kernel_pca("randomized", eigen_solver="randomized", **settings),
    )


def _kernel_pca(name: str, n: int, *, with_default: bool) -> TimedRow:
    peers = _kernel_peers()
    if with_default:
        default = peer_kernel_pca("default (dense)", n_components=10, gamma=GAMMA)
        peers = (*peers, replace(default, slow=True))
    return TimedRow(
        name,
        f"fit, RBF gamma=1/50 on {n:,} x 50 float64 standard normal, seed 0, 10 components; "
        "peers: KernelPCA arpack with tol 0 (its default) and 1e-6, randomized with its defaults",
        data=lambda: generators.normal(n, COLUMNS, seed=0),
        contenders=(our_kernel_pca(n_components=10, gamma=GAMMA), *peers),
        reference=lambda X: references.kernel_reference(X, GAMMA, 10),
        errors=references.kernel_errors,
        tolerances={"residual": 1e-6, "eigenvalue": 1e-6},
        ratio=0.28 if n <= 10_000 else 0.18,
        growth=0.40 * n * n * 8,
        ratios={"KernelPCA default (dense)": 1 / 30},
        repeats=3,
        warm=n <= 10_000,
    )


def _kernel_transform(n: int) -> TimedRow:
    settings: dict[str, Any] = {"n_components": 10, "gamma": GAMMA}
    peer = peer_kernel_pca("arpack tol=1e-6", eigen_solver="arpack", tol=1e-6, **settings)
    return TimedRow(
        "kernel-transform-10k",
        f"transform of {n:,} new rows by a model of {n:,}, RBF gamma=1/50, 50 columns float64 "
        "standard normal, seeds 0 (fitted) and 1 (new), 10 components; the fit is not timed",
        data=lambda: NewRows(generators.normal(n, COLUMNS, 0), generators.normal(n, COLUMNS, 1)),
        contenders=(transforming(our_kernel_pca(**settings)), transforming(peer)),
        reference=lambda data: references.ScoresReference(data.fitted, data.new, GAMMA),
        errors=references.scores_errors,
        tolerances={"scores": 1e-8},
        ratio=0.35,
        growth=300e6,
    )


def _kernel_limited(name: str, n: int, limit: int) -> TimedRow:
    settings: dict[str, Any] = {"n_components": 10, "gamma": GAMMA}
    peer = peer_kernel_pca("arpack tol=1e-6", eigen_solver="arpack", tol=1e-6, **settings)
    return TimedRow(
        name,
        f"fit, RBF gamma=1/50 on {n:,} x 50 float32 standard normal, seed 0, 10 components, "
        f"memory_limit {limit / 1e9:g} GB; the peer's kernel matrix alone takes n^2 x 4 = "
        f"{4 * n * n / 1e9:.3g} GB, and it runs in a process with that much address space to spare",
        data=lambda: generators.normal(n, COLUMNS, 0, "float32"),
        contenders=(
            our_kernel_pca(memory_limit=limit, **settings),
            replace(peer, allowance=limit),
        ),
        reference=lambda X: references.KernelReference(X.astype("float64"), GAMMA),
        errors=references.kernel_errors,
        tolerances={"residual": 1e-5},
        growth=limit,
        warm=False,
        only_once=True,
    )


# ---------------------------------------------------------------------- faces


def _pictures(quick: bool) -> Any:
    return generators.faces(slice(0, 600), 4) if quick else generators.faces(PEOPLE)


def _faces_about(quick: bool) -> str:
    size = "600 x 2016 (quick)" if quick else "2286 x 32,256"
    return f"Extended Yale B cropped, first 36 people, {size} float32"


def _yale(name: str, k: int, quick: bool) -> TimedRow:
    return TimedRow(
        name,
        f"fit, {_faces_about(quick)}, {k} components; peers: PCA arpack with tol 0 (its default), "
        "default (auto: randomized), randomized with 20 power iterations, fbpca, torch.pca_lowrank",
        data=lambda: _pictures(quick),
        contenders=(
            our_pca(n_components=k),
            peer_pca("arpack tol=0", n_components=k, svd_solver="arpack"),
            peer_pca("default (randomized)", n_components=k),
            peer_pca(
                "randomized, 20 iterations",
                n_components=k,
                svd_solver="randomized",
                iterated_power=20,
            ),
            fbpca_pca(k),
            torch_pca(k, niter=4),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances=EIGENVALUES,
        ratio=0.33 if k <= 50 else 0.30,
        repeats=3,
        requires=generators.no_faces,
    )


def _yale_fraction(quick: bool) -> TimedRow:
    def errors(reference: references.PcaReference, outcome: Outcome) -> dict[str, float]:
        assert outcome.values is not None
        off = abs(len(outcome.values) - reference.count_for(0.95))
        return references.pca_errors(reference, outcome) | {"components off": float(off)}

    return TimedRow(
        "yale-95",
        f"fit, {_faces_about(quick)}, n_components=0.95; the peer offers fractions with full only"
        + ("" if quick else "; 61 components by the float64 reference"),
        data=lambda: _pictures(quick),
        contenders=(
            our_pca(n_components=0.95),
            peer_pca("full", n_components=0.95, svd_solver="full"),
        ),
        reference=references.pca_reference,
        errors=errors,
        tolerances=EIGENVALUES | {"components off": 0.0},
        ratio=0.07,
        repeats=3,
        warm=False,
        requires=generators.no_faces,
    )


def _yale_many(quick: bool) -> TimedRow:
    k = 300 if quick else 1600

    def errors(reference: references.PcaReference, outcome: Outcome) -> dict[str, float]:
        assert outcome.values is not None
        short = k - int((outcome.values > 0).sum())
        return references.pca_errors(reference, outcome) | {"components short": float(short)}

    return TimedRow(
        "yale-1600",
        f"fit, {_faces_about(quick)}, {k} components; peer: PCA full",
        data=lambda: _pictures(quick),
        contenders=(our_pca(n_components=k), peer_pca("full", n_components=k, svd_solver="full")),
        reference=references.pca_reference,
        errors=errors,
        tolerances=EIGENVALUES | {"components short": 0.0},
        ratio=1.0,
        repeats=3,
        warm=False,
        requires=generators.no_faces,
    )


def _unit(n: int, d: int) -> TimedRow:
    return TimedRow(
        "unit-wide",
        f"fit, 10 components, scale='unit', {n:,} x {d:,}: {generators.DECAYING}; columns times numbers "
        "from 0.1 to 10, seed 6; peer: StandardScaler and PCA arpack with tol 0",
        data=lambda: generators.uneven(generators.decaying(n, d, 6)),
        contenders=(
            our_pca(n_components=10, scale="unit"),
            standardized_peer_pca("arpack tol=0", n_components=10, svd_solver="arpack"),
        ),
        reference=lambda X: references.pca_reference(references.standardized(X)),
        errors=references.pca_errors,
        tolerances=EIGENVALUES,
        ratio=0.6,
    )


def _noise(n: int, d: int) -> TimedRow:
    return TimedRow(
        "noise-10k",
        f"fit, 10 components, {n:,} x {d:,} float32 standard normal, seed 7; peer: PCA arpack with tol 0",
        data=lambda: generators.normal(n, d, 7, "float32"),
        contenders=(
            our_pca(n_components=10),
            peer_pca("arpack tol=0", n_components=10, svd_solver="arpack"),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances=EIGENVALUES,
        ratio=1.0,
        repeats=3,
        warm=False,
    )


# ----------------------------------------------------------- decaying spectra


@dataclass(frozen=True)
class _Shape:
    """Size, seed and mean of a table with the decaying spectrum."""

    n: int
    d: int
    seed: int
    mean: float = 0.0

    def __str__(self) -> str:
        return f"{self.n:,} x {self.d:,}: {generators.DECAYING}; mean {self.mean:g}, seed {self.seed}"

    def make(self) -> Any:
        return generators.decaying(self.n, self.d, self.seed, self.mean)


def _decaying(name: str, shape: _Shape, peers: str, *contenders: Contender) -> TimedRow:
    return TimedRow(
        name,
        f"fit, 50 components, {shape}; peers: {peers}",
        data=shape.make,
        contenders=(our_pca(n_components=50), *contenders),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances=EIGENVALUES,
    )


def _tall(n: int) -> TimedRow:
    row = _decaying(
        "tall-1m",
        _Shape(n, 100, seed=2),
        "PCA covariance_eigh (the default at this shape) of scikit-learn and of Intel's extension, fbpca, "
        "torch.pca_lowrank",
        peer_pca("covariance_eigh", n_components=50, svd_solver="covariance_eigh"),
        intel_pca("covariance_eigh", n_components=50, svd_solver="covariance_eigh"),
        fbpca_pca(50),
        torch_pca(50, niter=4),
    )
    return replace(row, ratio=0.7)


def _tall_offset(n: int) -> TimedRow:
    return _decaying(
        "tall-1m-offset",
        _Shape(n, 100, seed=2, mean=1000.0),
        "PCA covariance_eigh (the default at this shape), full",
        peer_pca("covariance_eigh", n_components=50, svd_solver="covariance_eigh"),
        peer_pca("full", n_components=50, svd_solver="full"),
    )


def _wide(n: int, d: int) -> TimedRow:
    row = _decaying(
        "wide-100k",
        _Shape(n, d, seed=3),
        "PCA default (auto: covariance_eigh), randomized with its defaults, Intel's covariance_eigh, fbpca, "
        "torch.pca_lowrank",
        peer_pca("default (covariance_eigh)", n_components=50),
        peer_pca("randomized", n_components=50, svd_solver="randomized"),
        intel_pca("covariance_eigh", n_components=50, svd_solver="covariance_eigh"),
        fbpca_pca(50),
        torch_pca(50, niter=4),
    )
    return replace(row, ratio=0.85, repeats=3)


def _square(n: int) -> TimedRow:
    row = _decaying(
        "square-5k",
        _Shape(n, n, seed=4),
        "PCA arpack with tol 0 (its default), default (auto: randomized), fbpca, torch.pca_lowrank with "
        "4 and 6 rounds",
        peer_pca("arpack tol=0", n_components=50, svd_solver="arpack"),
        peer_pca("default (randomized)", n_components=50),
        fbpca_pca(50),
        torch_pca(50, niter=4),
        torch_pca(50, niter=6),
    )
    return replace(row, ratios={"PCA arpack tol=0": 0.35})


def _square_rough(n: int) -> TimedRow:
    """The square table once more, at a tolerance that is nearer to the peer's errors."""
    row = _decaying(
        "square-5k-tol-1e-4",
        _Shape(n, n, seed=4),
        "torch.pca_lowrank with 4 and 6 rounds; ours with tol=1e-4",
        torch_pca(50, niter=4),
        torch_pca(50, niter=6),
    )
    ours = our_pca("gramian.PCA tol=1e-4", n_components=50, tol=1e-4)
    return replace(row, contenders=(ours, *row.contenders[1:]), ratio=1.0)


# -------------------------------------------------------------- flat spectrum


def _flat(dtype: str, solver: str, n: int, d: int) -> TimedRow:
    suffix = "" if solver == "auto" else f"-{solver}"
    return TimedRow(
        f"flat-{dtype}{suffix}",
        f"fit, {n:,} x {d:,} {dtype} standard normal, seed 5, 10 components, ours with "
        f"solver={solver!r}; peers: PCA default (auto: randomized), arpack with tol 0",
        data=lambda: generators.normal(n, d, 5, dtype),
        contenders=(
            our_pca(n_components=10, solver=solver),
            peer_pca("default (randomized)", n_components=10),
            peer_pca("arpack tol=0", n_components=10, svd_solver="arpack"),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances=EIGENVALUES if dtype == "float32" else {"eigenvalue": 1e-6},
        ratio=1.5 if (dtype, solver) == ("float32", "auto") else None,
    )


def _flat_tall(n: int, d: int) -> TimedRow:
    return TimedRow(
        "flat-1m",
        f"fit, {n:,} x {d:,} float32 standard normal, seed 0, 10 components; peers: PCA covariance_eigh (the "
        "default at this shape) of scikit-learn and of Intel's extension",
        data=lambda: generators.normal(n, d, 0, "float32"),
        contenders=(
            our_pca(n_components=10),
            peer_pca("covariance_eigh", n_components=10, svd_solver="covariance_eigh"),
            intel_pca("covariance_eigh", n_components=10, svd_solver="covariance_eigh"),
        ),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances=EIGENVALUES,
        ratio=1.5,
        repeats=9,
    )


def _as_accurate(row: TimedRow, peer: str) -> TimedRow:
    """Ours with ``tol`` equal to what a peer reaches, which is measured before the clock counts."""
    ours = as_accurate_as(row.contender(peer), n_components=10)
    return replace(
        row,
        name=f"{row.name}-peer-tol",
        about=f"{row.about}; ours with tol equal to the residual of {peer}, measured beforehand",
        contenders=(ours, *row.contenders[1:]),
        ratio=1.2,
    )


# ------------------------------------------------------------------- start-up


def _python(name: str, statement: str, *, ours: bool, reports: bool = False) -> Command:
    code = statement
    if reports:
        code = "import time; start = time.perf_counter()\n" + statement
        code += "\nprint(time.perf_counter() - start)"
    return Command(name, (sys.executable, "-c", code), ours, reports)


def _import() -> ProcessRow:
    return ProcessRow(
        "import",
        "`import gramian` in a fresh interpreter, start of the interpreter included",
        (_python("import gramian", "import gramian", ours=True),),
        seconds=0.25,
    )


def _first_use() -> ProcessRow:
    return ProcessRow(
        "first-use",
        "first use of gramian.PCA in a fresh interpreter, beside importing sklearn.decomposition; "
        "seconds inside the interpreter, its own start not counted",
        (
            _python("gramian.PCA", "import gramian\ngramian.PCA", ours=True, reports=True),
            _python("sklearn.decomposition", "import sklearn.decomposition", ours=False, reports=True),
        ),
        ratio=1.1,
    )


def _help() -> ProcessRow:
    installed = shutil.which("gramian", path=str(Path(sys.executable).parent))
    call = "import sys; sys.argv = ['gramian', '--help']\nfrom gramian.app.cli import main\nmain()"
    command = (
        Command("gramian --help", (installed, "--help"), ours=True)
        if installed
        else _python("gramian --help", call, ours=True)
    )
    return ProcessRow(
        "help",
        "`gramian --help`, start of the interpreter included",
        (command,),
        seconds=0.4,
    )
