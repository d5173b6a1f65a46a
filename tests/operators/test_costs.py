"""What a plan says of memory, beside what is taken."""

import tracemalloc

import numpy as np

from gramian.operators.costs import TableCosts
from gramian.operators.covariance import CovarianceOperator
from gramian.operators.gram import GramOperator
from gramian.operators.moments import center_rows
from gramian.rows import as_rows


def test_a_formed_matrix_takes_no_more_than_is_planned():
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
