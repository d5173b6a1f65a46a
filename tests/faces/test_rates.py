"""Rates against a literal sweep over thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.errors import DataError
from gramian.faces.evaluation import equal_error, mean_and_error, rejects_at, roc

scores = st.lists(st.integers(-5, 5).map(lambda i: i / 4), min_size=1, max_size=12)


def sweep(genuine, impostor):
    thresholds = [*sorted({*genuine, *impostor}), np.inf]
    return [
        (t, sum(s >= t for s in impostor) / len(impostor), sum(g < t for g in genuine) / len(genuine))
        for t in thresholds
    ]


@given(scores, scores)
def test_roc_is_the_sweep(genuine, impostor):
    found = roc(genuine, impostor)
    np.testing.assert_allclose(np.transpose(found), sweep(genuine, impostor))


@given(scores, scores)
def test_equal_error_is_the_sweep(genuine, impostor):
    gaps = [(abs(far - frr), (far + frr) / 2) for _, far, frr in sweep(genuine, impostor)]
    assert equal_error(genuine, impostor) == pytest.approx(min(gaps, key=lambda gap: round(gap[0], 12))[1])


@given(scores, scores, st.sampled_from([0.0, 0.01, 0.25, 0.5, 1.0]))
def test_rejects_are_the_fewest_allowed(genuine, impostor, far):
    expected = min(frr for _, accepted, frr in sweep(genuine, impostor) if accepted <= far)
    assert rejects_at(genuine, impostor, [far])[0] == pytest.approx(expected)


def test_two_normal_distributions():
    rng = np.random.default_rng(0)
    found = equal_error(rng.normal(2, 1, 20_000), rng.normal(0, 1, 20_000))
    assert found == pytest.approx(0.1587, abs=0.005)  # the normal distribution beyond one deviation


@pytest.mark.parametrize(("genuine", "impostor"), [([], [1.0]), ([1.0], [])])
def test_nothing_to_compare(genuine, impostor):
    with pytest.raises(DataError, match="Error rates need at least one of each"):
        roc(genuine, impostor)


def test_standard_error_over_splits():
    mean, error = mean_and_error([0.9, 0.95, 1.0])
    assert mean == pytest.approx(0.95)
    assert error == pytest.approx(0.05 / np.sqrt(3))
    assert mean_and_error([0.9]) == (0.9, None)
