"""What a plan says of memory, beside what is taken."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from gramian import PCA, scan
from gramian.engine.centered import center_rows
from gramian.engine.operator import TableCosts
from gramian.engine.scatter import CovarianceOperator, GramOperator
from gramian.tables.as_rows import as_rows


def test_plans_count_memory_and_batches():
    rng, planned = np.random.default_rng(0), []
    for columns in (3, 400):
        results = []
        for batches in (1, 8):
            model = PCA(2)
            for part in np.array_split(rng.standard_normal((400, columns)), batches):
                model.partial_fit(part)
            results.append(model.plan_.seconds)
        planned.append(results[1] - results[0])
    # Small ones take some tenths of a millisecond.
    assert planned[0] < 7 * 1e-3 < 1.5 * planned[1]
    for shape, dtype in (((900, 2500), "f4"), ((2500, 700), "f8")):
        rows = as_rows(np.random.default_rng(0).standard_normal(shape).astype(dtype))
        costs = TableCosts(rows.shape, rows.dtype)
        (form,) = (f for f in costs.forms()[:2] if f.whole and f.arithmetic == rows.dtype.name)
        kind = GramOperator if form.matrix == "gram" else CovarianceOperator
        operator = kind(center_rows(rows, center=True, scale=None, ddof=1))
        tracemalloc.start()
        operator.dense()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= costs.build(form)[1]
    tables = (sparse.random(9000, 900, share, random_state=0) for share in (0.005, 0.1))
    few, many = (PCA(3, solver="krylov").plan(X).seconds for X in tables)
    assert 3 * few < many


def test_a_pass_over_a_file_costs_what_unpacking_it_takes(tmp_path):
    h5py = pytest.importorskip("h5py", reason='needs pip install "gramian[hdf5]"')
    entries = {}
    for packed in (None, "gzip"):
        path = tmp_path / f"{packed}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=np.zeros((4000, 300)), chunks=(100, 300), compression=packed)
        stored = scan(path).open(8 << 20).values
        entries[packed] = PCA(3, solver="krylov").plan(stored).seconds
    assert entries["gzip"] > 2.5 * entries[None]
    half = stored.picked(columns=range(0, 300, 2))
    assert PCA(3, solver="krylov").plan(half).seconds > 0.7 * entries["gzip"]
