"""Parameters of scikit-learn's classes: what to write here."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import has_fit_parameter

import gramian
import gramian.faces
from gramian.errors import InputTypeError

X = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0], [0.0, 1.0], [4.0, 4.0], [5.0, 3.0]])
y = np.array([0.0, 1.5, 0.5, 2.5, 3.0, 1.0])


@pytest.mark.parametrize("name", ["PCA", "KernelPCA"])
def test_every_parameter_of_scikit_learn_is_ours_or_has_advice(name):
    theirs = set(inspect.signature(getattr(sklearn.decomposition, name)).parameters)
    kind = getattr(gramian, name)
    ours = set(inspect.signature(kind).parameters)
    assert set(kind._habits) == theirs - ours
    for parameter in theirs - ours:
        with pytest.raises(InputTypeError, match=r"PCA from gramian\.connect\.sklearn, which takes every"):
            kind(2, **{parameter: 1})


ESTIMATORS = [kind for name in gramian.__all__ if hasattr(kind := getattr(gramian, name), "get_params")]


def test_misspelt_parameters_are_answered_and_models_made_as_ever():
    for kind in [*ESTIMATORS, gramian.faces.FaceSpace]:
        for name in kind._get_param_names():
            said = rf"{kind.__name__} has no parameter '{name}_'\..* Did you mean '{name}'\?"
            with pytest.raises(InputTypeError, match=said):
                kind(**{f"{name}_": 1})
    model = gramian.PCA(3, whiten=True)
    assert copy.deepcopy(model).get_params() == pickle.loads(pickle.dumps(model)).get_params()

    class Own(gramian.PCA):
        def __init__(self, **options):
            super().__init__(4, **options)

    assert Own(whiten=True).n_components == 4
    for kind in (gramian.PCA, gramian.KernelPCA):
        with pytest.raises(gramian.errors.ParameterError, match=r"tol=0\.0 must be a number above 0 and"):
            kind(1, tol=0.0).fit([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])


def test_parameters_and_metadata_of_scikit_learn_have_advice():
    with pytest.raises(InputTypeError, match=r"gramian\.SequentialFeatureSelector does not support tol\."):
        gramian.SequentialFeatureSelector(Ridge(), tol=1e-3)
    auto = gramian.SequentialFeatureSelector(Ridge(), n_features_to_select="auto")
    with pytest.raises(gramian.errors.ParameterError, match=r"is not known\. Allowed: 'best', 'one-se'"):
        auto.fit(X, y)
    for name in ("discrete_features", "copy"):
        with pytest.raises(InputTypeError, match=r"gramian\.mutual_information does not support"):
            gramian.mutual_information(X, y, **{name: True})
    with pytest.raises(InputTypeError, match="mutual_information has no parameter"):
        gramian.mutual_information(X, y, neighbours=3)
    selectors = [gramian.FeatureFilter("f", 1), gramian.SequentialFeatureSelector(Ridge())]
    for model in [gramian.PCA(1), gramian.KernelPCA(1), gramian.Whitener(), *selectors]:
        for fit in (model.fit, model.fit_transform):
            with pytest.raises(TypeError, match="unexpected keyword argument 'groups'"):
                fit(X, y, groups=np.ones(6))
    with pytest.raises(TypeError, match="unexpected keyword argument 'check_input'"):
        make_pipeline(gramian.PCA(1), Ridge()).fit(X, y, pca__check_input=False)
    assert has_fit_parameter(gramian.PCA(), "sample_weight")
    assert not has_fit_parameter(selectors[0], "sample_weight")
