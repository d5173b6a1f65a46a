"""Single cells: PCA of sparse counts, beside scanpy, which computes it by ARPACK as it comes."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import references
from harness.rows import Contender, Outcome, Row
from harness.timing import TimedRow
from scipy import sparse

import gramian

GENES, COMPONENTS = 2000, 50
SHARE = 0.07  # of the entries that are not 0
LIMIT = 0.6
MOST = 5000  # cells that are drawn at a time
SIZES = {"3k": 3000, "100k": 100_000}


def rows(quick: bool) -> list[Row]:
    """Return the rows; quick ones have a tenth of the cells or fewer."""
    made = [_row(name, 1000 if quick else cells, kinds) for name, cells in SIZES.items() for kinds in (12, 0)]
    return [replace(row, repeats=3) for row in made] if quick else made


def counts(cells: int, kinds: int, seed: int = 0) -> Any:
    """Return logarithms of counts of cells as CSR in float32, of so many kinds.

    Levels of genes are log-normal, so that few genes have most entries, and each kind has more of some. With
    no kinds every entry is there with the same probability: the spectrum of noise.
    """
    rng = np.random.default_rng(seed)
    if not kinds:
        return sparse.random(cells, GENES, SHARE, format="csr", dtype=np.float32, random_state=rng)
    levels = rng.lognormal(-0.5, 1.3, GENES)
    more = np.where(rng.random((kinds, GENES)) < 0.08, rng.lognormal(1.0, 0.7, (kinds, GENES)), 1.0)
    low, high = 1e-6, 10.0
    for _ in range(50):  # the share of zeros of Poisson counts follows from the rates
        rate = (low * high) ** 0.5
        low, high = (rate, high) if 1.0 - np.exp(-rate * levels * more).mean() < SHARE else (low, rate)
    parts = []
    for start in range(0, cells, MOST):
        size = min(MOST, cells - start)
        rates = rate * (levels * more)[rng.integers(kinds, size=size)] * rng.lognormal(0.0, 0.3, (size, 1))
        drawn = rng.poisson(rates).astype(np.float32)
        total = np.maximum(drawn.sum(axis=1, keepdims=True), 1.0)
        parts.append(sparse.csr_matrix(np.log1p(drawn / total * np.float32(200.0))))
    return sparse.vstack(parts, format="csr")


def _row(name: str, cells: int, kinds: int) -> TimedRow:
    what = f"{kinds} kinds of cells" if kinds else "entries at random: a flat spectrum"
    return TimedRow(
        f"cells-{name}-{'kinds' if kinds else 'flat'}",
        f"{COMPONENTS} components and scores of {cells} x {GENES} CSR in float32, {SHARE:.0%} of the "
        f"entries, {what}, seed 0; peer: scanpy.pp.pca as it comes (ARPACK), on AnnData without a mask",
        data=lambda: counts(cells, kinds),
        contenders=(
            Contender("gramian.PCA", _ours, _outcome, ours=True),
            Contender("scanpy.pp.pca", _scanpy, _scanpys_outcome, requires="scanpy"),
        ),
        reference=lambda X: references.pca_reference(X.toarray()),
        errors=lambda reference, outcome: {
            "eigenvalue": references.eigenvalue_error(outcome.values, reference.values)
        },
        tolerances={"eigenvalue": 1e-4},
        ratio=LIMIT if find_spec("scanpy") else None,
        repeats=3,
        patience=60.0,
    )


def _ours(X: Any) -> Any:
    model = gramian.PCA(COMPONENTS, random_state=0, tol=1e-7)  # as gramian.connect.anndata.pca does
    return model, model.fit_transform(X)


def _outcome(X: Any, result: Any) -> Outcome:
    model = result[0]
    note = f"{model.plan_.solver} in {model.plan_.arithmetic}, {model.spectrum_.passes or 0} passes"
    return Outcome(
        values=model.explained_variance_,
        certificate=bool(model.certificate_.ok),
        note=note,
        predicted=sum(attempt.plan.seconds for attempt in model.attempts_),
    )


def _scanpy(X: Any, components: int = COMPONENTS) -> Any:
    import scanpy
    from anndata import AnnData

    adata = AnnData(X)
    scanpy.pp.pca(adata, n_comps=components)
    return adata


def _scanpys_outcome(X: Any, adata: Any) -> Outcome:
    return Outcome(values=np.asarray(adata.uns["pca"]["variance"], dtype=np.float64))
