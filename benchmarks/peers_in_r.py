"""Suite ``r``: PCA and kernel PCA beside R's functions, each in an R process that holds the table."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import generators
import numpy as np
import references
from contenders import our_kernel_pca, our_pca
from everyday import TABLES
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow

GAMMA = 1 / 50
# Each makes a list of values, as variances with n - 1 or eigenvalues of Kc, and of vectors as columns.
CALLS = {
    "prcomp": "r <- prcomp(X, rank. = k); list(r$sdev^2, r$rotation)",
    "princomp": "r <- princomp(X); list(r$sdev^2 * n / (n - 1), r$loadings)",
    "FactoMineR::PCA": (
        "r <- FactoMineR::PCA(X, scale.unit = FALSE, ncp = k, graph = FALSE); "
        "list(r$eig[, 1] * n / (n - 1), r$svd$V)"
    ),
    "irlba::prcomp_irlba": "r <- irlba::prcomp_irlba(X, n = k); list(r$sdev^2, r$rotation)",
    "RSpectra::svds": (
        "r <- RSpectra::svds(X, k, nu = 0, opts = list(center = TRUE)); list(r$d^2 / (n - 1), r$v)"
    ),
    "kernlab::kpca": (
        f"r <- kernlab::kpca(X, kpar = list(sigma = {GAMMA}), features = k); "
        "list(kernlab::eig(r) * n, kernlab::pcv(r))"
    ),
}
# Fits whenever it reads "fit"; writes the first k of what it found into files, and frees it, at "write".
PROGRAM = """
folder <- commandArgs(TRUE)[1]; n <- {n}; d <- {d}; k <- {k}
X <- matrix(readBin(file.path(folder, "X"), "double", n * d), n)
colnames(X) <- paste0("V", seq_len(d))
invisible(loadNamespace("{package}"))
invisible(gc())
fit <- function() {{ {call} }}
lines <- file("stdin", "r")
while (length(line <- readLines(lines, 1))) {{
  if (line == "fit") result <- fit()
  if (line == "write") {{
    writeBin(as.double(result[[1]][1:k]), file.path(folder, "values"))
    writeBin(as.double(unclass(result[[2]])[, 1:k]), file.path(folder, "vectors"))
    result <- NULL
    invisible(gc())
  }}
  cat("done\\n")
}}
"""


class Table:
    """A table in an R process, which ends with its standard input."""

    def __init__(self, X: Any, function: str, k: int) -> None:
        n, d = X.shape
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        np.asarray(X, dtype=np.float64).ravel(order="F").tofile(self._path / "X")
        program = PROGRAM.format(n=n, d=d, k=k, call=CALLS[function], package=_package(function))
        self._errors = (self._path / "errors").open("w")
        self._process = subprocess.Popen(
            ["Rscript", "-e", program, str(self._path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.do("wait")
        with contextlib.suppress(OSError):  # the peak of its memory is that of fits
            Path(f"/proc/{self._process.pid}/clear_refs").write_text("5", encoding="utf-8")

    def do(self, command: str) -> None:
        """Send a line and wait until it is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(command, file=self._process.stdin, flush=True)
        if self._process.stdout.readline() != "done\n":
            raise RuntimeError((self._path / "errors").read_text()[-200:])

    def read(self, name: str) -> FloatArray:
        return np.fromfile(self._path / name)


def in_r(function: str, k: int, *, kernel: bool = False) -> Contender:
    """A function of R; R's copying of the result into a file is not timed."""

    def prepare(X: Any) -> Table:
        return Table(X, function, k)

    def run(table: Table) -> Table:
        table.do("fit")
        return table

    def outcome(_: Any, table: Table) -> Outcome:
        table.do("write")
        # Columns, as R stores them: kernel PCA's vectors are columns here too.
        vectors = table.read("vectors").reshape(k, -1)
        return Outcome(values=table.read("values"), vectors=vectors.T if kernel else vectors)

    return Contender(function, run, outcome, prepare, available=lambda: _knows(_package(function)))


def _package(function: str) -> str:
    return function.partition("::")[0] if "::" in function else "stats"


@cache
def _knows(package: str) -> bool:
    """Whether R is here with a package."""
    asked = ["Rscript", "-e", f'quit(status = !requireNamespace("{package}", quietly = TRUE))']
    return shutil.which("Rscript") is not None and subprocess.run(asked, check=False).returncode == 0


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    repeats = 3 if quick else 100
    truncated = ("irlba::prcomp_irlba", "RSpectra::svds")
    return [
        *(replace(_small(f"r-{size}", TABLES[size]), repeats=repeats) for size in ("178x13", "569x30")),
        _pca("r-60x2000", TABLES["60x2000"], 3, "prcomp", *truncated),
        _decaying("r-tall", *((2000, 60) if quick else (500_000, 60)), 10, "prcomp", "princomp", *truncated),
        _decaying("r-wide", *((100, 700) if quick else (500, 20_000)), 10, "prcomp", *truncated),
        _decaying("r-square", *((300, 300) if quick else (3000, 3000)), 50, "prcomp", *truncated),
        _kernel_pca(300 if quick else 3000),
    ]


def _pca(name: str, data: Callable[[], Any], k: int, *functions: str) -> TimedRow:
    return TimedRow(
        name,
        f"PCA, {k} components, float64, {name[2:]}; peers: {', '.join(functions)} of R with their defaults",
        data=data,
        contenders=(our_pca(n_components=k), *(in_r(function, k) for function in functions)),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-6},
        ratio=1.0,
    )


def _small(name: str, data: Callable[[], Any]) -> TimedRow:
    # As small fits beside scikit-learn: checks, the plan and the certificate take as long as the arithmetic.
    return replace(_pca(name, data, 3, "prcomp", "princomp", "FactoMineR::PCA"), ratio=2.0)


def _decaying(name: str, n: int, d: int, k: int, *functions: str) -> TimedRow:
    row = _pca(name, lambda: generators.decaying(n, d, 8).astype(np.float64), k, *functions)
    return replace(row, about=f"{row.about}; {n:,} x {d:,}: {generators.DECAYING}, as float64, seed 8")


def _kernel_pca(n: int) -> TimedRow:
    return TimedRow(
        "r-kernel",
        f"kernel PCA, RBF gamma=1/50 on {n:,} x 50 float64 standard normal, seed 0, 10 components; peer: "
        "kernlab::kpca of R",
        data=lambda: generators.normal(n, 50, seed=0),
        contenders=(
            our_kernel_pca(n_components=10, gamma=GAMMA),
            in_r("kernlab::kpca", 10, kernel=True),
        ),
        reference=lambda X: references.kernel_reference(X, GAMMA, 10),
        errors=references.kernel_errors,
        tolerances={"residual": 1e-6, "eigenvalue": 1e-6},
        ratio=1.0,
        repeats=3,
    )
