"""Both PCA operators offer everything that solvers and certificates rely on."""

import numpy as np
import pytest

from gramian.operators.moments import center_rows
from gramian.operators.operator import Operator
from gramian.operators.scatter import CovarianceOperator, GramOperator
from gramian.rows import as_rows


@pytest.mark.parametrize("kind", [CovarianceOperator, GramOperator])
def test_operators_keep_the_protocol(kind):
    rows = as_rows(np.random.default_rng(0).standard_normal((8, 5)))
    operator: Operator = kind(center_rows(rows, center=True, scale=None, ddof=1))
    for name in Operator.__annotations__:
        assert hasattr(operator, name), name
    assert operator.error_kind in ("deterministic", "probabilistic")
    V = np.eye(operator.size)[:, :2]
    assert operator.matmat(V).shape == (operator.size, 2)
    assert operator.matmat(V).dtype == operator.like.dtype == np.float64
    assert operator.dense().shape == (operator.size, operator.size)
    assert operator.trace() == pytest.approx(float(np.trace(operator.dense())), rel=1e-13)
    assert operator.frobenius() is None or operator.frobenius() >= 0
    assert len(operator.fingerprint()) == 32
