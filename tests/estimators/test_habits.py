"""Parameters of scikit-learn's classes: what to write here."""

import copy
import inspect
import pickle
import re

import pytest
import sklearn.decomposition

import gramian
from gramian import InputTypeError


@pytest.mark.parametrize("name", ["PCA", "KernelPCA"])
def test_every_parameter_of_scikit_learn_is_ours_or_has_advice(name):
    theirs = set(inspect.signature(getattr(sklearn.decomposition, name)).parameters)
    kind = getattr(gramian, name)
    ours = set(inspect.signature(kind).parameters)
    assert set(kind._habits) == theirs - ours
    for parameter in theirs - ours:
        said = f"{parameter}: {kind._habits[parameter]}. Or import {name} from gramian.compat.sklearn"
        with pytest.raises(InputTypeError, match=re.escape(said)):
            kind(2, **{parameter: 1})


def test_other_names_are_refused_as_ever_and_models_are_made_as_ever():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sovler'"):
        gramian.PCA(sovler="full")
    model = gramian.PCA(3, whiten=True)
    assert copy.deepcopy(model).get_params() == pickle.loads(pickle.dumps(model)).get_params()


def test_tol_of_nought_says_what_scikit_learn_means_by_it():
    for kind in (gramian.PCA, gramian.KernelPCA):
        with pytest.raises(gramian.ParameterError, match=r"tol=0.0 .* None means 1e-6"):
            kind(1, tol=0.0).fit([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])
