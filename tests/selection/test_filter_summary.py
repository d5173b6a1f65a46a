"""What a filter says in text."""

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian.selection.choosing_k import one_standard_error
from gramian.selection.filter_summary import (
    estimator_name,
    reason_for,
    reason_for_discoveries,
    reason_for_number,
    score_name,
)
from gramian.selection.filters import FeatureFilter

FRAME = load_wine(return_X_y=True, as_frame=True)


def test_ranking_choice_and_reason():
    model = FeatureFilter("f").fit(*FRAME)
    text = model.summary()
    lines = text.splitlines()
    assert lines[0] == "13 features by f with 3 classes, 178 rows"
    assert lines[1].split() == ["rank", "feature", "F", "p"]
    assert lines[2].split()[:3] == ["1", "flavanoids", "233.93"]
    assert lines[2].endswith("████████████████████ kept")
    best = [line for line in lines if line.endswith(("best", "chosen"))]
    assert f"Kept {model.k_}. {model.reason_}" in " ".join(text.split())
    assert len(best) == 2 or "best, chosen" in text
    assert "Validated: StandardScaler + LogisticRegression" in text
    assert sum(line.endswith("kept") for line in lines) == model.k_
    assert str(model).startswith("FeatureFilter(")


def test_thirty_are_listed():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 100)), np.repeat([0, 1], 25)
    text = FeatureFilter("f", 40).fit(X, y).summary()
    assert sum(line.split()[:1] != [] and line.split()[0].isdecimal() for line in text.splitlines()) >= 30
    assert "... and 70 more, 10 of them kept" in text
    assert "... and 95 more, 35 of them kept" in FeatureFilter("f", 40).fit(X, y).summary(5)
    assert "more" not in FeatureFilter("f", 40).fit(X, y).summary(100).split("Kept")[0]
    assert "... and 70 more\n" in FeatureFilter("f", 3).fit(X, y).summary()


def test_heads_and_labels():
    X, y = FRAME
    assert "  nats" in FeatureFilter(k=1, random_state=0).fit(X, y).summary()
    assert (
        FeatureFilter("correlation", 1)
        .fit(X, y + 0.5)
        .summary()
        .startswith("13 features by correlation with a number, 178 rows")
    )
    text = FeatureFilter(f_classif, 1, redundancy="mrmr").fit(X, y).summary()
    assert text.startswith("13 features by f_classif, less redundancy (mrmr) with 3 classes")
    assert " score " in text


def test_infinite_scores_have_full_bars():
    y = np.array([0, 0, 1, 1])
    X = np.column_stack([y, [1.0, 2.0, 2.5, 4.0], np.ones(4)])
    lines = FeatureFilter("f", 1).fit(X, y).summary().splitlines()
    assert "inf" in lines[2]
    assert lines[2].endswith("█" * 20 + " kept")
    assert lines[4].split() == ["3", "x2", "0.000", "1"]
    lines = FeatureFilter("f", 1).fit(X[:, [0, 2]], y).summary().splitlines()
    assert lines[2].endswith("█" * 20 + " kept")


def test_scores_of_any_size_are_aligned():
    X, y = FRAME
    width = max(map(len, X.columns))
    for scale, first in ((1e-120, "1.654e-116"), (1.0, "16540.07"), (1e120, "1.654e+124")):
        lines = FeatureFilter("chi2", 3).fit(X * scale, y).summary().splitlines()[2:15]
        scores = [line[6 + width : 6 + width + 11] for line in lines]
        assert scores[0].strip() == first
        assert all(score[-1].isdigit() for score in scores)


def test_notes_come_last():
    X, y = load_iris(return_X_y=True)
    text = FeatureFilter("f").fit(X[:101], y[:101]).summary()
    assert text.endswith("Class 2 has a single row, which nothing can predict when it is held out.")


def test_reasons():
    scores = np.array([[0.5, 0.5], [0.8, 0.9], [0.9, 0.9], [0.8, 1.0]])
    sizes = np.array([1, 2, 1000, 2000])
    assert reason_for(one_standard_error(sizes, scores), "accuracy") == (
        "1,000 features validated best, with a mean accuracy of 0.9 over 2 folds, and no smaller number is "
        "within one standard error (0) of that."
    )
    scores[3] = [0.84, 1.0]
    assert reason_for(one_standard_error(sizes, scores), "R2") == (
        "2 features validated with a mean R2 of 0.85 over 2 folds, the fewest within one standard error "
        "(0.08) of the best, 0.92 with 2,000."
    )
    assert reason_for(one_standard_error(sizes, np.ones((4, 2))), "R2") == (
        "1 feature validated best, with a mean R2 of 1 over 2 folds."
    )
    assert reason_for_number(np.int64(3), 10) == "So many were asked for: k=3."
    assert (
        reason_for_number(0.25, 10) == "k=0.25 is a share of 10 features: 2.5, rounded half up, at least one."
    )
    found = np.array([True, False])
    assert reason_for_discoveries(found, np.array([0.01, 0.3]), 0.05).startswith(
        "1 of 2 features is significant"
    )
    assert reason_for_discoveries(~found & found, np.array([0.2, 0.3]), 0.05).endswith("p-value is 0.2.")


def test_names():
    assert estimator_name(Ridge()) == "Ridge"
    assert estimator_name(make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Ridge()))) == (
        "StandardScaler + StandardScaler + Ridge"
    )
    assert score_name(f_classif) == "f_classif"
    assert score_name(FeatureFilter()) == "FeatureFilter"
