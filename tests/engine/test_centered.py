"""The centred data matrix, its moments and its products, against their formulas."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from gramian.core.arrays import as_float64
from gramian.engine.centered import center_rows, scatter
from gramian.tables.as_rows import as_rows

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((9000, 3)) * [1, 10, 0.1] + [100, -3, 0]


def view_of(X, *, center=True, scale=None, ddof=1):
    return center_rows(as_rows(X), center=center, scale=scale, ddof=ddof)


def dense(view):
    return as_float64(view.block(slice(None), slice(None)))


# --------------------------------------------------------------------- moments


@pytest.mark.parametrize(
    ("center", "scale"), [(True, None), (True, "unit"), (False, "pareto"), (True, "pareto"), (False, "array")]
)
def test_blocks_of_the_view(array_kind, center, scale):
    exact = np.random.default_rng(1).standard_normal((30, 4)) * [1, 5, 0.1, 2] + [3, 0, 1, -9]
    exact = exact.astype(array_kind.dtype).astype(np.float64)
    given = np.array([1.0, 2.0, 4.0, 8.0])
    view = view_of(array_kind.make(exact), center=center, scale=given if scale == "array" else scale)
    C = exact - exact.mean(axis=0) if center else exact
    deviation = np.sqrt((C**2).sum(axis=0) / 29)
    divisor = {None: 1.0, "unit": deviation, "pareto": np.sqrt(deviation), "array": given}[scale]
    tol = 1e-13 if array_kind.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(dense(view), C / divisor, atol=tol * 10)
    np.testing.assert_allclose(view.column_squares, ((C / divisor) ** 2).sum(axis=0), rtol=tol)
    assert view.total == pytest.approx(((C / divisor) ** 2).sum(), rel=tol)
    part = as_float64(view.block(slice(3, 9), slice(1, 3)))
    np.testing.assert_allclose(part, (C / divisor)[3:9, 1:3], atol=tol * 10)
    assert view.constant.tolist() == [False] * 4


def test_the_input_is_never_written_to():
    X = TALL.copy()
    view = view_of(X)
    view.times(np.ones((3, 2)))
    view.transposed_times(np.ones((9000, 2)))
    scatter(as_rows(X), center=True)
    np.testing.assert_array_equal(X, TALL)


def test_float32_keeps_the_mean_as_a_pair():
    X = (np.random.default_rng(2).standard_normal((200, 3)) * 1e-2 + 1000.1).astype(np.float32)
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(dense(view_of(X)), C, atol=1e-7 * np.abs(C).max())


@pytest.mark.parametrize("offset", [1e8, 1e12, 1e15])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_far_from_the_origin_nothing_is_lost(offset, scale):
    """The numbers are multiples of 1/4, so that their differences are known exactly."""
    steps = np.random.default_rng(4).integers(-9, 9, (40, 3)) / 4.0
    C = steps - steps.mean(axis=0)
    C = C / C.std(axis=0, ddof=1) if scale else C
    view = view_of(steps + offset, scale=scale)
    # At 1e8 the second half of the mean is not worth a pass: its square is what counts.
    np.testing.assert_allclose(dense(view), C, atol=1e-8 if offset == 1e8 else 1e-14)
    assert view.mean_error <= 1e-17 * view.total
    assert view_of(steps, scale=scale)._mean_in_parts[1] is None


def test_what_is_not_subtracted_of_the_mean_is_stated():
    view = view_of(TALL[:, :1] + 1e10)
    assert 0 < abs(view.rest[0]) <= 1e-6
    wider = replace(view, column_squares=view.column_squares * 1e30)
    assert wider.mean_error == pytest.approx(len(TALL) * float(view.rest[0]) ** 2)
    assert wider.forming_error >= wider.mean_error
    shifted = float(np.linalg.norm(dense(wider)) ** 2) - view.total
    assert shifted == pytest.approx(wider.mean_error, abs=1e-13 * view.total)


def test_a_fingerprint_follows_the_data():
    X = TALL[:100].copy()
    kept = view_of(X).fingerprint()
    assert view_of(X.copy()).fingerprint() == kept
    changed = X.copy()
    changed[7, 1] *= 1 + 1e-9
    others = [view_of(changed), view_of(X[:99]), view_of(X, scale="unit"), view_of(sp.csr_matrix(X + 1))]
    assert len({kept, *(other.fingerprint() for other in others)}) == 5
