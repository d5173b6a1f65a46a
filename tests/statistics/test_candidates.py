"""The record that selections share: scores, rules and the table."""

import math

import numpy as np
import pytest

from gramian.errors import MissingExtraError
from gramian.statistics import candidates
from gramian.statistics import candidates as module


def in_folds(*rows, sizes=None):
    sizes = sizes or range(1, len(rows) + 1)
    return [
        candidates.Candidate.in_folds(f"c{k}", k, np.array(row)) for k, row in zip(sizes, rows, strict=True)
    ]


def selection(**more):
    tried = tuple(in_folds([0.5, 0.7], [0.8, 1.0], [0.9, 1.0]))
    return candidates.Selection(tried, "What is best", candidates.Choice(1, "It won."), **more)


def test_one_standard_error_is_the_formula_in_a_sequence_a_frame_and_a_table():
    result = selection()
    assert (len(result), result[-1], result[:2]) == (3, result.tried[2], result.tried[:2])
    assert list(result) == list(result.tried)
    assert result.chosen is result[1]
    frame = result.to_frame()
    assert frame.index.tolist() == ["c1", "c2", "c3"]
    assert frame["chosen"].tolist() == [False, True, False]
    assert frame.loc["c3", "score"] == pytest.approx(0.95)
    assert str(selection(notes=("A note.",))).splitlines() == [
        "What is best",
        "",
        "   features   score  ± s.e.",
        "          1  0.6000  0.1000  c1",
        "*         2  0.9000  0.1000  c2",
        "          3  0.9500  0.0500  c3",
        "",
        "It won.",
        "A note.",
    ]
    assert repr(selection()) == str(selection())
    page = selection()._repr_html_()
    assert page.startswith("<div>What is best")
    assert page.count("<tr>") == 1 + len(selection())
    assert "s.e." not in str(
        candidates.Selection(tuple(in_folds([0.5])), "One fold", candidates.Choice(0, ""))
    )
    for value, written in (
        (2861.0, "2,861"),
        (3.1e-9, "3.100e-09"),
        (0.0, "0.000e+00"),
        (0.0015, "0.001500"),
        (1.0, "1.000"),
        (math.inf, "inf"),
    ):
        form = candidates.number_format([value if math.isfinite(value) else 1e9])
        assert f"{value:{form}}" == written
    scores = np.array([0.5, 0.7, 0.9, 0.6])
    expected = math.sqrt(sum((s - scores.mean()) ** 2 for s in scores) / 3) / math.sqrt(4)
    assert candidates.standard_error(scores) == pytest.approx(expected)
    (one,) = in_folds(scores)
    assert (one.mean, one.standard_error) == (pytest.approx(0.675), pytest.approx(expected))
    assert math.isnan(candidates.standard_error(scores[:1]))
    rows = [0.5, 0.5, 0.5], [0.8, 0.9, 0.7], [0.9, 0.9, 0.8], [0.9, 1.0, 0.8], [0.7, 0.7, 0.7]
    result = in_folds(*rows, sizes=[1, 2, 3, 5, 9])
    assert result[3].standard_error == pytest.approx(0.0577, abs=1e-4)
    assert (candidates.best(result), candidates.within_one_standard_error(result)) == (3, 2)
    # The standard error is that of the best, and of several of the smallest size the best is taken.
    result = in_folds([0.69, 0.69], [0.71, 0.71], [0.75, 0.75], [0.7, 0.9], sizes=[1, 2, 2, 4])
    assert candidates.within_one_standard_error(result) == 2
    result = in_folds([0.1, 0.1], [0.7, 0.9], [0.9, 0.7], sizes=[2, 4, 8])
    assert candidates.best(result) == 1
    assert candidates.best(result[::-1]) == 1
    # The same folds in another order have means that differ by rounding.
    assert candidates.best(in_folds([0.2, 0.3, 0.4], [0.4, 0.2, 0.3], [0.3, 0.4, 0.2])) == 0
    assert candidates.best(in_folds([0.8], [0.8], sizes=[3, 3])) == 0
    assert candidates.tolerance(-1e6) == pytest.approx(1e-6)
    assert candidates.within_one_standard_error(in_folds([0.5], [0.6])) == 1


def test_a_frame_needs_pandas(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(MissingExtraError, match="A data frame needs pandas"):
        selection().to_frame()
