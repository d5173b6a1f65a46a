"""Two calls give one answer: ``random_state`` is 0 by default wherever something is random."""

import inspect

import numpy as np
import pytest

import gramian
import gramian.faces
import gramian.kernels
from drawn import drawn_faces
from gramian import PCA, KernelPCA, Whitener, choose_components, choose_kernel, stability
from gramian.faces import FaceSpace
from gramian.kernels import audit

DRAWN = np.random.default_rng(0)
FLAT = DRAWN.standard_normal((900, 700))  # eigenvalues so close that an iteration does not separate them
X = FLAT[:120, :8].round(1)  # equal values, between which noise decides
y = np.arange(120) % 2
FACES = drawn_faces(14, 2, size=(16, 16))


# Something that depends on what is drawn, of everything public that draws; ``options`` holds random_state.
DRAWS = {
    "PCA": lambda **options: PCA(5, solver="krylov", tol=0.05, **options).fit_transform(FLAT),
    "KernelPCA": lambda **options: KernelPCA(
        3, kernel="rbf", solver="nystroem", n_landmarks=20, **options
    ).fit_transform(X),
    "Whitener": lambda **options: Whitener("pca", n_components=5, **options).fit_transform(FLAT),
    "RandomFourierMap": lambda **options: gramian.RandomFourierMap(20, **options).fit_transform(X),
    "FeatureFilter": lambda **options: (
        gramian.FeatureFilter("mutual-information", 3, **options).fit(X, y).scores_
    ),
    "FaceSpace": lambda **options: FaceSpace(5, **options).fit(FACES.pictures, FACES.people).face_scores_,
    "choose_components": lambda **options: choose_components(X, rules=["parallel"], **options)[
        "parallel"
    ].evidence["threshold"],
    "choose_kernel": lambda **options: (
        choose_kernel(X[:60], None, ["rbf"], criterion="preimage", **options).tried[0].mean
    ),
    "mutual_information": lambda **options: (
        gramian.mutual_information(X, y, discrete=False, **options).values
    ),
    "stability": lambda **options: stability(PCA(3).fit(X), X, n_resamples=20, **options).variance_intervals,
    "audit": lambda **options: audit("exp(-norm(x - y)**2.02)", n_features=2, **options).witness.points,
}
PUBLIC = {
    name: value
    for module in (gramian, gramian.faces, gramian.kernels)
    for name in module.__all__
    if inspect.isfunction(value := getattr(module, name)) or hasattr(value, "get_params")
}


RANDOM = [name for name, value in PUBLIC.items() if "random_state" in inspect.signature(value).parameters]


@pytest.mark.parametrize("name", RANDOM)
def test_two_calls_give_one_answer(name):
    assert inspect.signature(PUBLIC[name]).parameters["random_state"].default == 0
    draws = DRAWS[name]
    answer = draws()
    np.testing.assert_allclose(draws(), answer, rtol=0, atol=1e-7)
    assert not np.array_equal(draws(random_state=2), answer)


def test_none_draws_anew():
    first, second = (DRAWS["RandomFourierMap"](random_state=None) for _ in range(2))
    assert np.abs(first - second).max() > 0.1
