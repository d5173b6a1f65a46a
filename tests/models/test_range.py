"""Results near the end of the range of their dtype: finite, or an error that says what to do."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from gramian import PCA, KernelPCA, Whitener
from gramian.errors import DataError, RankWarning

RNG = np.random.default_rng(0)
FULL = RNG.uniform(-1.0, 1.0, (40, 9))
LINE = np.outer(np.linspace(-1.0, 1.0, 40), np.ones(9))  # of scores three times as large as any entry
MODELS = (
    PCA(2),
    PCA(2, whiten=True),
    PCA(2, scale="unit"),
    PCA(2, solver="krylov", random_state=0),
    PCA(2, solver="gram"),
    PCA(2, center=False),
    KernelPCA(2),
    KernelPCA(2, solver="nystroem", n_landmarks=20, random_state=0),
    Whitener(),
    Whitener("pca"),
)


def results(model, rows):
    """What a model makes of rows; in place of a result the text of an error."""
    steps = (
        lambda: model.fit_transform(rows),
        lambda: model.fit(rows).transform(rows),
        lambda: model.inverse_transform(model.transform(rows)),
    )
    for step in steps:
        try:
            yield step()
        except DataError as error:
            yield str(error)


@pytest.mark.parametrize("base", [FULL, LINE], ids=["full", "line"])
def test_results_of_large_float32_are_finite_or_refused(base):
    refused = 0
    for model in MODELS:
        for size in (3.3e38, 1e38, 1e36):
            rows = (base * size).astype(np.float32)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RankWarning)
                exact = clone(model).fit(rows.astype(np.float64))
                expected = exact.transform(rows.astype(np.float64))
                for result in results(clone(model), rows):
                    if not isinstance(result, str):
                        assert np.isfinite(result).all()
                        continue
                    refused += 1
                    assert "exceed what float32 can hold (3.4e+38)" in result
                    assert "as float64" in result
                    # Nothing is refused that float32 holds with room to spare.
                    assert np.abs(expected).max() > 1e38 or size > 1e38
    assert refused


def test_new_rows_whose_scores_no_float64_holds_are_refused():
    rows = np.full((2, 9), 1.7e308)
    for model in (PCA(2).fit(LINE + FULL), PCA(2, whiten=True).fit(FULL + LINE)):
        with pytest.raises(DataError, match=r"Scores exceed what float64 can hold \("):
            model.transform(rows)
    with pytest.raises(DataError, match=r"Rows of these scores exceed what float64 can hold \("):
        PCA(2, scale=np.full(9, 1e10)).fit(FULL).inverse_transform(np.full((1, 2), 1e300))
