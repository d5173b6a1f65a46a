"""Rows without a label are left out of every selection, with their number said, whatever marks them."""

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import gramian
from gramian import FeatureFilter, SequentialFeatureSelector, choose_kernel, mutual_information, scan
from gramian.errors import DataError, MissingValuesWarning

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
GROUPS = np.array(["u", "v"] * 30, dtype=object)
X[GROUPS == "u", 0] += 3
X[::3, 1] += 50
GROUPS[::3] = None
THERE = np.arange(60) % 3 > 0
SAID = r"^20 of 60 rows have no label and were left out\.$"
TRUE = mutual_information(X[THERE], GROUPS[THERE]).values


def marked(mark):
    groups = GROUPS.copy()
    groups[~THERE] = mark
    return groups


FORMS = {
    "list": list(GROUPS),
    "tuple": tuple(GROUPS),
    "blank": marked(""),
    "nan": marked(np.nan),
    "pandas.NA": marked(pd.NA),
    "NA of R": marked("NA"),
    "numbers": np.where(THERE, GROUPS == "u", np.nan),
    "booleans": [None if one is None else one == "u" for one in GROUPS],
    "Series": pd.Series(GROUPS),
    "string": pd.Series(GROUPS, dtype="string"),
    "Int64": pd.array([pd.NA if one is None else int(one == "u") for one in GROUPS], dtype="Int64"),
    "boolean": pd.Series([pd.NA if one is None else one == "u" for one in GROUPS], dtype="boolean"),
    "Categorical": pd.Categorical(GROUPS),
    "Index": pd.Index(GROUPS),
    "polars": pl.Series(list(GROUPS)),
    "polars.Enum": pl.Series(list(GROUPS), dtype=pl.Enum(["v", "u"])),
    "pyarrow": pa.array(list(GROUPS)),
    "dictionary": pa.chunked_array([pa.array(list(GROUPS)).dictionary_encode()]),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    frame = pd.DataFrame(X, columns=list("abc")).assign(g=GROUPS)
    frame.to_csv(folder / "p.csv", index=False)
    frame.assign(g=frame["g"].fillna("NA")).to_csv(folder / "r.csv", index=False)
    frame.to_excel(folder / "p.xlsx", index=False)
    frame.to_parquet(folder / "p.parquet")
    named = frame.set_index(pd.Index([f"s{i}" for i in range(60)], name="name"))
    named[["a", "b", "c"]].to_csv(folder / "data.csv")
    named[["g"]].to_csv(folder / "blank.csv")
    named[["g"]].dropna().iloc[::-1].to_csv(folder / "fewer.csv")
    return folder


def test_of_any_form():
    scores = FeatureFilter("f", 1).fit(X[THERE], GROUPS[THERE]).scores_
    for y in FORMS.values():
        with pytest.warns(MissingValuesWarning, match=SAID):
            np.testing.assert_allclose(mutual_information(X, y).values, TRUE)
        with pytest.warns(MissingValuesWarning, match=SAID):
            chosen = FeatureFilter("f", 1).fit(X, y)
        np.testing.assert_allclose(chosen.scores_, scores)
        with pytest.warns(MissingValuesWarning, match=SAID):
            selector = SequentialFeatureSelector(LogisticRegression(), n_features_to_select=1, cv=2).fit(X, y)
        assert selector.support_.tolist() == [True, False, False]
    for form in ["list", "pandas.NA", "dictionary"]:
        candidates = ["linear", "rbf(sigma=1)"]
        right = choose_kernel(X[THERE], GROUPS[THERE], candidates)
        with pytest.warns(MissingValuesWarning, match=SAID):
            choice = choose_kernel(X, FORMS[form], candidates)
        assert [one.mean for one in choice.tried] == [one.mean for one in right.tried]


def test_of_columns_and_other_files(files):
    for name in ["p.csv", "r.csv", "p.xlsx", "p.parquet"]:
        with pytest.warns(MissingValuesWarning, match=SAID):
            np.testing.assert_allclose(mutual_information(scan(files / name, label="g")).values, TRUE)
    for name in ["blank.csv", "fewer.csv"]:
        data = scan(files / "data.csv", labels_from=str(files / name))
        with pytest.warns(MissingValuesWarning, match=SAID):
            np.testing.assert_allclose(mutual_information(data).values, TRUE)


def test_of_annotated_matrices(tmp_path):
    text = h5py.string_dtype()
    columns = ["category", "string", "integer", "boolean", "number"]
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = X
        for name, entries in (("obs", [f"c{i}" for i in range(60)]), ("var", list("abc"))):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group.attrs["column-order"] = np.array(columns if name == "obs" else [], dtype=text)
            group.create_dataset("_index", data=entries, dtype=text)
        category = file["obs"].create_group("category")
        category["codes"] = np.array([-1 if one is None else "uv".index(one) for one in GROUPS])
        category.create_dataset("categories", data=["u", "v"], dtype=text)
        for name, values in (("integer", (GROUPS == "u") * 2), ("boolean", GROUPS == "u")):
            file[f"obs/{name}/values"], file[f"obs/{name}/mask"] = values, ~THERE
        strings = file["obs"].create_group("string")
        strings.create_dataset("values", data=[one or "" for one in GROUPS], dtype=text)
        strings["mask"] = ~THERE
        file["obs/number"] = np.where(THERE, GROUPS == "u", np.nan)
    for column in columns:
        with pytest.warns(MissingValuesWarning, match=SAID):
            found = mutual_information(scan(tmp_path / "x.h5ad", label=column))
        np.testing.assert_allclose(found.values, TRUE)


def test_they_are_no_group_and_numbers_as_text_are_numbers():
    pca = gramian.PCA(2, scale="unit").fit(X)
    for form, y in FORMS.items():
        drawn = gramian.figures.scores_data(pca, X, hue=y)
        assert drawn.columns["group"].count("no label") == 20, form
        assert gramian.describe(pca, X, {"g": y}).rows.tolist() == [40]
        assert gramian.diagnose(pca, X, {"a": y, "b": y}).codes.count("confounded") == 1
    for folds in (list(KFold(3).split(X)), iter(KFold(3).split(X))):
        for select in (
            lambda cv: FeatureFilter("f", cv=cv).fit(X, GROUPS),
            lambda cv: SequentialFeatureSelector(LogisticRegression(), cv=cv).fit(X, GROUPS),
            lambda cv: choose_kernel(X, GROUPS, ["linear"], cv=cv),
        ):
            with pytest.raises(DataError, match="20 of 60 rows have no label, and cv gives folds as numbers"):
                select(folds)
    with pytest.warns(MissingValuesWarning, match=SAID):
        FeatureFilter("f", cv=KFold(3)).fit(X, GROUPS)
    y = np.where(THERE, X[:, 0], np.nan)
    with pytest.warns(MissingValuesWarning, match=SAID):
        found = mutual_information(X, [str(one) for one in y])
    np.testing.assert_allclose(found.values, mutual_information(X[THERE], X[THERE, 0]).values)


def test_of_dask(files):
    da = pytest.importorskip("dask.array")
    with pytest.warns(MissingValuesWarning, match=SAID):
        found = mutual_information(da.from_array(X, chunks=(7, 3)), GROUPS)
    np.testing.assert_allclose(found.values, TRUE)
