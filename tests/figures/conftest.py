"""A small table with names, and what it takes to draw."""

import numpy as np
import pytest

import gramian

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("agg")


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).normal(size=(20, 4)) * [4, 3, 2, 1] + 100


@pytest.fixture(scope="session")
def pca(X):
    return gramian.PCA(2).fit(X)
