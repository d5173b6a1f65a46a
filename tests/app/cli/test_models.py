import numpy as np
import pytest

from gramian.app.verbs import verb
from gramian.app.verbs.fit import estimator
from gramian.errors import ParameterError


@pytest.mark.parametrize(
    ("options", "kind", "defaults"),
    [
        ({"n_components": 3, "scale": "pareto"}, "PCA", {"random_state": 0}),
        ({"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1}, "KernelPCA", {"repair": None}),
        ({"kernel": "rbf", "gamma": "median"}, "KernelPCA", {}),
        ({"kernel": "rbf", "gamma": "scale"}, "KernelPCA", {}),
        ({"kernel": "rbf", "solver": "nystroem", "n_landmarks": 50, "landmarks": "uniform"}, "KernelPCA", {}),
        ({"kernel": "rbf", "solver": "nystroem"}, "KernelPCA", {"n_landmarks": None}),
        ({"kernel": "sigmoid", "repair": "clip"}, "KernelPCA", {}),
        ({"kernel": "rbf(sigma=2).on('age') + 0.5 * linear"}, "KernelPCA", {}),
        ({"kernel": "precomputed"}, "KernelPCA", {}),
    ],
    ids=str,
)
def test_options_choose_the_estimator_and_reach_it(options, kind, defaults):
    model = estimator(**options)
    assert type(model).__name__ == kind
    assert model.get_params().items() >= (options | defaults).items()


def test_what_does_not_apply_is_refused():
    for options in [
        {"gamma": "0.1"},
        {"degree": 2},
        {"coef0": 0.0},
        {"repair": "clip"},
        {"n_landmarks": 5},
        {"kernel": "rbf", "n_landmarks": 5},
        {"kernel": "rbf", "landmarks": "uniform"},
        {"kernel": "rbf", "whiten": True},
        {"kernel": "rbf", "ddof": 0},
        {"kernel": "rbf", "degree": 2},
        {"kernel": "cosine", "gamma": "2.0"},
        {"kernel": "matern", "gamma": "2.0"},
        {"kernel": "rbf + linear", "gamma": "2"},
        {"kernel": "rbf", "gamma": "wide"},
        {"kernel": "rfb"},
        {"kernel": "rbf + rfb"},
        {"kernel": "rbf", "solver": "gram"},
        {"solver": "dense"},
        {"memory_limit": "much"},
    ]:
        with pytest.raises(
            ParameterError, match=r"applies only|does not|, column|takes no|is not|is neither|must be"
        ):
            estimator(**verb("fit").values(options)).plan(np.eye(5))


def test_other_values_than_the_choices_are_refused_before_the_data_are_read(gramian):
    for options, message in [
        ("--kernel rbf --solver nystroem --landmarks x", "landmarks='x' is not known. Allowed: 'rpch"),
        ("--kernel rbf --repair shift", "repair='shift' is not known. Allowed: 'clip'"),
        ("--kernel rbf --preimage best", "preimage='best' is not known. Allowed: 'auto', 'fixed-point'"),
        ("--scale big", "scale='big' is not known. Allowed: 'unit', 'pareto'"),
    ]:
        gramian.refuses(f"fit none.csv {options}", 2, message)


def test_components_that_mean_nothing():
    for text in ["x", "0", "-3", "1.0", "0.0", "1.5", "nan", "inf", ""]:
        with pytest.raises(
            ParameterError, match=r"n_components=.* (is neither a number nor|is out of range)"
        ):
            verb("fit").values({"n_components": text})
