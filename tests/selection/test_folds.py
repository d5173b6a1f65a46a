"""Folds drawn once, checked before anything is fitted."""

import re

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
)

from gramian import DataError, ParameterError
from gramian.selection.folds import all_rows, draw_folds

X = np.arange(24.0).reshape(12, 2)
y = np.array(list("aaabbbbbbccc"))


def same(found, expected):
    expected = list(expected)
    assert len(found) == len(expected)
    for (train, test), (its_train, its_test) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(train, its_train)
        np.testing.assert_array_equal(test, its_test)


def test_a_number_is_stratified_for_classifiers_only():
    same(draw_folds(3, X, y, classifier=True), StratifiedKFold(3).split(X, y))
    same(draw_folds(3, X, np.arange(12.0), classifier=False), KFold(3).split(X))
    same(draw_folds(None, X, np.arange(12.0), classifier=False), KFold(5).split(X))


def test_splitters_and_splits():
    same(draw_folds(LeaveOneOut(), X, y, classifier=True), LeaveOneOut().split(X))
    random = draw_folds(ShuffleSplit(4, random_state=0), X, y, classifier=True)
    same(random, ShuffleSplit(4, random_state=0).split(X))
    same(draw_folds(iter([([0, 1], [2])]), X, y, classifier=True), [([0, 1], [2])])
    mask = np.arange(12) < 6
    same(draw_folds([(mask, ~mask)], X, y, classifier=True), [(np.arange(6), np.arange(6, 12))])
    same(draw_folds(PredefinedSplit(np.repeat([0, 1], 6)), X, y, classifier=True), KFold(2).split(X))


def test_all_rows_are_fitted_and_scored():
    ((train, test),) = all_rows(5)
    assert train.tolist() == test.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("cv", "classifier", "error", "said"),
    [
        (
            4,
            True,
            DataError,
            "The class 'a' has 3 rows, fewer than the 4 folds. Give cv=3 at most, or leave out",
        ),
        (StratifiedKFold(4), True, DataError, "The class 'a' has 3 rows, fewer than the 4 folds."),
        (13, False, DataError, "cv=13 cannot split 12 rows: .*13 .*Give fewer folds"),
        (
            GroupKFold(2),
            True,
            DataError,
            r"cv=.*cannot split 12 rows: .* Where rows belong together, give the spl",
        ),
        (iter([]), True, DataError, "holds no splits: a generator gives its own only once. Give a list"),
        ([([0, 1], [])], True, DataError, r"The test part of split 0 is \[\]; it must hold numbers of rows"),
        (
            [([0, 1], [2]), ([0.5], [2])],
            True,
            DataError,
            r"The train part of split 1 is \[0.5\]; it must hold",
        ),
        (
            [([0, 1], [12])],
            True,
            DataError,
            "The test part of split 0 names row 12, but the rows are 0 to 11.",
        ),
        (
            [([0, -1], [3])],
            True,
            DataError,
            "The train part of split 0 names row -1, but the rows are 0 to 11.",
        ),
        ([(np.ones(3, dtype=bool), [3])], True, DataError, "The train part of split 0 is array"),
        ([3, 4], True, DataError, "cv=.* cannot split 12 rows"),
        (KFold, True, ParameterError, "cv=<class .*> is no number of folds"),
        (True, True, ParameterError, "cv=True is no number of folds. Give at least 2, a splitter or splits."),
        (1, True, ParameterError, "cv=1 cannot be used: .*Give at least 2 folds"),
        ("five", True, ParameterError, "cv='five' cannot be used"),
        (2.5, True, ParameterError, "cv=2.5 cannot be used"),
    ],
)
def test_refusals(cv, classifier, error, said):
    labels = y if classifier else np.arange(12.0)
    with pytest.raises(error, match=said):
        draw_folds(cv, X, labels, classifier=classifier)


def test_a_class_with_one_row_can_only_be_left_out():
    labels = np.array([7] * 11 + [9])
    said = re.escape("The class 9 has 1 row, fewer than the 2 folds. Leave out the rows of that class.")
    with pytest.raises(DataError, match=said):
        draw_folds(2, X, labels, classifier=True)
