"""The whole selection validated from outside, against a loop that writes it out."""

import logging

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from gramian import DataError
from gramian.selection.candidates import Trial, scorer_of
from gramian.selection.feature_groups import space_of
from gramian.selection.folds import draw_folds
from gramian.selection.nested import nested_parts, nested_scores
from gramian.selection.plans import plan_of
from gramian.selection.remembered import remembering

rng = np.random.default_rng(1)
X = rng.standard_normal((60, 4))
y = np.where(X[:, 1] + 0.5 * rng.standard_normal(60) > 0, "yes", "no")
NAMES = tuple("abcd")


def split(X, y):
    return draw_folds(3, X, y, classifier=True)


def run(X=X, y=y, estimator=None):
    estimator = estimator or GaussianNB()
    outer = list(StratifiedKFold(4).split(X, y))
    trial = Trial(estimator, X, y, outer, scorer_of(estimator, None), NAMES)
    plan = plan_of(space_of(None, None, NAMES), "best", True, False, None)
    parts = nested_parts(X, y, outer, split)
    return nested_scores(plan, trial, parts, lambda t: remembering(t, None, None), 0.9)


def by_hand(train):
    """Greedy selection on some rows, with scikit-learn's cross-validation."""
    now, visited = [], []
    while len(now) < 4:
        options = [j for j in range(4) if j not in now]
        means = [
            cross_val_score(
                GaussianNB(), X[train][:, sorted([*now, j])], y[train], cv=StratifiedKFold(3)
            ).mean()
            for j in options
        ]
        now = [*now, options[int(np.argmax(np.array(means) >= max(means) - 1e-12))]]
        visited.append((max(means), sorted(now)))
    best = max(score for score, _ in visited)
    return next(subset for score, subset in visited if score >= best - 1e-12)


def test_nested_scores_are_those_of_the_loop_written_out(caplog):
    caplog.set_level(logging.INFO, logger="gramian")
    found = run()
    for k, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        chosen = by_hand(train)
        assert np.flatnonzero(found.supports[k]).tolist() == chosen
        model = GaussianNB().fit(X[train][:, chosen], y[train])
        assert found.scores[k] == model.score(X[test][:, chosen], y[test])
    assert found.optimism == pytest.approx(0.9 - found.scores.mean())
    assert found.mean == found.scores.mean()
    assert found.standard_error == pytest.approx(found.scores.std(ddof=1) / 2)
    assert [r.getMessage() for r in caplog.records] == [f"nested: part {k} of 4" for k in (1, 2, 3, 4)]


def test_parts_that_cannot_be_split_are_refused_before_anything_is_fitted():
    labels = y.astype("<U4")
    labels[:3] = "rare"
    said = "nested=True, selection without part 1 of 2: The class 'rare' has 1 row, fewer than the 3 folds"
    with pytest.raises(DataError, match=said):
        nested_parts(X, labels, list(StratifiedKFold(2).split(X, labels)), split)


def test_a_failing_fit_says_in_which_part():
    class Particular(GaussianNB):
        def fit(self, X, y):
            if len(X) == 45:
                raise ValueError("45 rows")
            return super().fit(X, y)

    with pytest.raises(
        DataError, match=r"nested=True, selection without part 1 of 4: Fitting Particular on .*45 row"
    ):
        run(estimator=Particular())


def test_inner_folds_are_of_the_rows_that_are_left():
    parts = nested_parts(X, y, list(KFold(4).split(X)), split)
    for part in parts:
        assert sorted(np.concatenate([test for _, test in part.folds])) == list(range(len(part.train)))
        assert not set(part.train) & set(part.test)
