import dataclasses

import pytest

from gramian.kernels import RBF, Sigmoid
from gramian.kernels.auditing.mercer import audit, counted


def test_numbers_have_their_plural():
    assert counted(1, "point") == "1 point"
    assert counted(1234, "trial") == "1,234 trials"


def test_reports_are_frozen():
    report = audit(RBF(sigma=1.0), [[0.0], [1.0]])
    with pytest.raises(dataclasses.FrozenInstanceError, match="verdict"):
        report.verdict = "not a kernel"


def test_a_report_says_what_counts():
    text = str(audit(Sigmoid(gamma=1.0), random_state=0))
    for part in (
        "Verdict: not a kernel, by a witness of 3 points.",
        "Symmetric: yes",
        "it could be rounding of the values of k",
    ):
        assert part in text
    assert "Assumed" not in text


def test_a_large_entry_hides_nothing():
    K = [[1e20, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]
    report = audit("precomputed", K, value_tol=0.0)
    assert report.witness.rows == (1, 2)


def test_a_scaled_matrix_is_called_so():
    report = audit("precomputed", [[1e20, 2e6], [2e6, 1e-8]], value_tol=0.0)
    assert (report.witness.scaling != 1).any()
    assert "rows and columns scaled to a diagonal near 1" in str(report)


def test_small_asymmetries_are_rounding():
    report = audit("precomputed", [[1.0, 0.5], [0.5 + 1e-13, 1.0]])
    assert "Symmetric: yes, within rounding: differences reach 1.0e-13" in str(report)
