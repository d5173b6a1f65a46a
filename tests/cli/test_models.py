import pytest

from gramian.errors import ParameterError
from gramian.operations.fit import Model, estimator
from gramian.operations.shared import read_components


def test_without_a_kernel_it_is_pca():
    model = estimator(Model(components="3", scale="pareto"))
    assert (type(model).__name__, model.n_components, model.scale, model.random_state) == (
        "PCA",
        3,
        "pareto",
        0,
    )


def test_with_a_kernel_it_is_kernel_pca():
    model = estimator(Model(kernel="poly", degree=2, coef0=0.5, gamma="0.1"))
    assert (type(model).__name__, model.degree, model.coef0, model.gamma) == ("KernelPCA", 2, 0.5, 0.1)


def test_gamma_can_be_found_from_the_data():
    for gamma in ["median", " median ", "scale"]:
        assert estimator(Model(kernel="rbf", gamma=gamma)).gamma == gamma.strip()


def test_landmarks_reach_the_estimator():
    made = estimator(Model(kernel="rbf", solver="nystroem", n_landmarks=50, landmarks="uniform"))
    assert (made.solver, made.n_landmarks, made.landmarks) == ("nystroem", 50, "uniform")
    made = estimator(Model(kernel="rbf", solver="random-features", n_landmarks=50))
    assert (made.n_landmarks, made.landmarks) == (50, "rpcholesky")
    assert estimator(Model(kernel="rbf", solver="nystroem")).n_landmarks is None


def test_a_repair_reaches_the_estimator():
    assert estimator(Model(kernel="sigmoid", repair="clip")).repair == "clip"
    assert estimator(Model(kernel="sigmoid")).repair is None


def test_a_kernel_can_be_an_expression():
    text = "rbf(sigma=2).on('age') + 0.5 * linear"
    assert estimator(Model(kernel=text)).kernel == text
    assert estimator(Model(kernel="precomputed")).kernel == "precomputed"


def test_what_does_not_apply_is_refused():
    for options, message in [
        ({"gamma": "0.1"}, "--gamma applies only to a kernel"),
        ({"degree": 2}, "--degree applies only to a kernel"),
        ({"coef0": 0.0}, "--coef0 applies only to a kernel"),
        ({"repair": "clip"}, "--repair applies only to a kernel"),
        ({"n_landmarks": 5}, "--n-landmarks applies only to a kernel"),
        (
            {"kernel": "rbf", "n_landmarks": 5},
            "--n-landmarks applies only to --solver nystroem or random-features",
        ),
        ({"kernel": "rbf", "landmarks": "uniform"}, "--landmarks applies only to --solver nystroem"),
        ({"kernel": "rbf", "scale": "unit"}, "--scale applies only to PCA"),
        ({"kernel": "rbf", "whiten": True}, "--whiten applies only to PCA"),
        ({"kernel": "rbf", "ddof": 0}, "--ddof applies only to PCA"),
        ({"kernel": "rbf", "degree": 2}, "--degree does not apply to --kernel rbf"),
        (
            {"kernel": "cosine", "gamma": "2.0"},
            "--gamma does not apply to --kernel cosine, which takes no such",
        ),
        ({"kernel": "matern", "gamma": "2.0"}, "--gamma does not apply to --kernel matern"),
        ({"kernel": "rbf + linear", "gamma": "2"}, "write it inside of the expression. Leave it out"),
        ({"kernel": "rbf", "gamma": "wide"}, "gamma='wide' is neither a number nor median or scale"),
        ({"kernel": "rfb"}, "--kernel rfb, column 1: kernel 'rfb' is not known. Did you mean 'rbf'"),
        ({"kernel": "rbf + rfb"}, "--kernel .* column 7: kernel .rfb. is not known"),
        ({"kernel": "rbf", "solver": "gram"}, "--solver gram is not known"),
        ({"solver": "dense"}, "--solver dense is not known"),
        ({"memory_limit": "much"}, "memory_limit='much' is not an amount"),
    ]:
        with pytest.raises(ParameterError, match=message):
            estimator(Model(**options))


def test_other_values_than_the_choices_are_refused_before_the_data_are_read(gramian):
    for options, message in [
        ("--kernel rbf --solver nystroem --landmarks x", "--landmarks x is not known. Allowed: rpch"),
        ("--kernel rbf --repair shift", "--repair shift is not known. Allowed: clip"),
        ("--kernel rbf --preimage best", "--preimage best is not known. Allowed: auto, fixed-point"),
        ("--scale big", "--scale big is not known. Allowed: unit, pareto"),
    ]:
        ran = gramian("fit", "none.csv", *options.split())
        assert ran.code == 2
        assert message in ran.err


def test_components_that_mean_nothing():
    for text in ["x", "0", "-3", "1.0", "0.0", "1.5", "nan", "inf", ""]:
        with pytest.raises(ParameterError, match="n_components"):
            read_components(text)
