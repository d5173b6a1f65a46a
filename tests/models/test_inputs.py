"""Parameters are checked in one place, with messages that say what to do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import gramian
from gramian import PCA, FeatureFilter, KernelPCA, Monitor, Whitener
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.models.inputs import check_tol
from gramian.tables.as_rows import as_rows


def test_tolerances():
    assert check_tol(None, np.dtype("f8")) == 1e-6
    assert check_tol(None, np.dtype("f4")) == 1e-5
    for value in (0, 1, -1e-3, np.nan, "1e-3", True, [1e-3]):
        with pytest.raises(ParameterError, match=r"must be a number above 0 and below 1\. It bounds"):
            check_tol(value, np.dtype("f8"))


@pytest.mark.parametrize(
    "names",
    [[2020, 2021, 2022], [400.0, 402.0, 404.0], pd.date_range("2024-03-01", periods=3), [2, 0, 1], [7, 8, 9]],
    ids=["years", "wavelengths", "dates", "numbers in another order", "numbers"],
)
@pytest.mark.parametrize(
    "model",
    [PCA(2), KernelPCA(2, kernel="rbf"), Whitener(), Monitor(PCA(2)), FeatureFilter("f", k=2), PCA(3)],
    ids=["pca", "kernel-pca", "whitener", "monitor", "filter", "stream"],
)
def test_names_that_are_no_text_are_checked_as_text_is(model, names, request, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1, 2, 4]
    frame, labels = pd.DataFrame(X, columns=names), np.arange(40) % 2
    streamed, model = "stream" in request.node.callspec.id, clone(model)
    (model.partial_fit if streamed else model.fit)(frame, *[labels] * isinstance(model, FeatureFilter))
    assert not hasattr(model, "feature_names_in_")  # of scikit-learn, which names by text only
    maps = "predict" if isinstance(model, Monitor) else "transform"
    models = [model]
    if not isinstance(model, FeatureFilter):  # which has no files
        model.save(tmp_path / "m.gramian")
        models.append(gramian.load(tmp_path / "m.gramian"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame[frame.columns[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    files = [gramian.scan(tmp_path / name, header=1) for name in ("x.csv", "turned.csv")]
    text = frame.set_axis([*as_rows(frame).feature_names], axis=1)
    for one in models:
        known = getattr(one, maps)
        expected = np.asarray(known(frame))
        for same in (*files, text):
            assert_allclose(np.asarray(known(same)), expected, rtol=1e-7)
        with pytest.raises(DataError, match=r"same order(.|\n)*X\[the columns of the fit\]"):
            known(frame[frame.columns[::-1]])
        with pytest.raises(DataError, match="unseen at fit time:\n- 11\n"):
            known(frame.set_axis([11, 12, 13], axis=1))
        with pytest.raises(DataError, match="unseen at fit time:\n- a\n"):
            known(frame.set_axis(list("abc"), axis=1))
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            known(X)
    if streamed:
        with pytest.raises(DataError, match="same order"):
            model.partial_fit(frame[frame.columns[::-1]])
    # A fit of other data forgets them.
    refitted = clone(model).fit(frame, labels).fit(X, labels)
    assert not hasattr(refitted, "_column_names") or refitted._column_names is None
    getattr(refitted, maps)(X)


def test_names_of_files_and_frames_with_numbers(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    frame = pd.DataFrame(X, columns=[2020, 2021, 2022])
    frame.to_csv(tmp_path / "x.csv", index=False)
    model = PCA(2).fit(tmp_path / "x.csv")
    assert_allclose(model.transform(frame), model.transform(tmp_path / "x.csv"))
    with pytest.raises(DataError, match="same order"):
        model.transform(frame[[2022, 2021, 2020]])
    with pytest.raises(DataError, match="unseen at fit time:\n- 2023\n"):
        model.transform(frame.rename(columns={2022: 2023}))
    model = PCA(2).fit(pd.DataFrame(X))
    model.transform(X)
    model.transform(pd.DataFrame(X))
    # Numbers in another order are other columns, also where the fit had an array.
    for fitted in (model, PCA(2).fit(X)):
        with pytest.raises(DataError, match="same order"):
            fitted.transform(pd.DataFrame(X)[[2, 0, 1]])
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            fitted.transform(pd.DataFrame(X, columns=[7, 8, 9]))
    frame = pd.DataFrame(np.eye(3)[:, :2], columns=["a", 1])
    with pytest.raises(InputTypeError, match="Feature names are only supported if all"):
        PCA(1).fit(frame)
