"""What a fitted model shows in a notebook."""

import numpy as np
import pytest
import sklearn

import gramian

X = np.random.default_rng(0).normal(size=(30, 4))


def shown(model):
    page = model._repr_mimebundle_()["text/html"]
    assert page.count("<div") == page.count("</div>")
    assert model._repr_html_().count("variances of the components") == page.count(
        "variances of the components"
    )
    return page


def test_a_fitted_model_tells_plan_variance_and_certificate():
    pca = gramian.PCA(2).fit(X)
    page = shown(pca)
    assert f"2 components, {100 * pca.explained_variance_ratio_.sum():.4g} % of the variance" in page
    assert "Certificate: holds" in page
    assert "Plan: solver &#x27;full&#x27;" in page
    assert page.count('title="PC') == 2
    assert "n_components" in page  # scikit-learn's view
    with sklearn.config_context(display="text"):
        assert set(pca._repr_mimebundle_()) == {"text/plain"}


def test_every_decomposition_shows_itself():
    for model in (gramian.KernelPCA(2, kernel="rbf"), gramian.Whitener(), gramian.PCA(1)):
        assert "Certificate: " not in shown(model)
        assert "Certificate: holds" in shown(model.fit(X))
    assert "Certificate: holds" in shown(gramian.PCA(2).partial_fit(X))


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_nothing_varies():
    assert "variances of the components" not in shown(gramian.PCA(1).fit(np.ones((4, 2))))
