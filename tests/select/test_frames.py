import numpy as np

from gramian.select.relation_points import frame_of, points_of

EPS = 2.0**-52


def rows(scale=1.0, offset=0.0):
    return np.random.default_rng(0).normal(size=(100, 2)) * scale + offset


def test_scaled_rows_have_mean_0_and_spread_1():
    for scale in [1e-150, 1e-3, 1.0, 1e150, 1e307]:
        X = rows(scale, 3 * scale)
        scaled = frame_of(points_of(X), 2, EPS).scaled(X)
        np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-13)


def test_shifted_rows_are_counted_from_the_origin():
    X = rows(1, 1e6)
    frame = frame_of(points_of(X), 2, EPS)
    np.testing.assert_array_equal(frame.origin, 1e6)
    np.testing.assert_allclose(frame.shifted(X), (X - 1e6) / X.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(frame.shifted(X) - frame.offset, frame.scaled(X), atol=1e-9)


def test_an_origin_is_taken_only_where_digits_would_be_lost():
    assert not frame_of(points_of(rows(1, 1e3)), 2, EPS).origin.any()
    assert frame_of(points_of(rows(1, 1e3)), 3, EPS).origin.all()


def test_a_unit_is_taken_only_where_powers_would_overflow():
    np.testing.assert_array_equal(frame_of(points_of(rows(1e30)), 3, EPS).unit, 1)
    np.testing.assert_allclose(frame_of(points_of(rows(1e150)), 2, EPS).unit, 1e150)
    np.testing.assert_allclose(frame_of(points_of(rows(1e-150)), 2, EPS).unit, 1e-150)


def test_a_constant_column_is_measured_in_its_value():
    X = np.column_stack([np.full(50, 0.1), np.zeros(50), np.full(50, 7.0) + 1e-16])
    frame = frame_of(points_of(X), 2, EPS)
    np.testing.assert_allclose(frame.spread, [0.1, 1, 7])
    np.testing.assert_allclose(frame.scaled(X), 0, atol=1e-15)


def test_rounding_is_relative_to_spread():
    frame = frame_of(points_of(rows(1, 1e4)), 1, 2.0**-23)
    np.testing.assert_allclose(frame.rounding, 0.5 * 2.0**-23 * 1e4, rtol=0.3)
