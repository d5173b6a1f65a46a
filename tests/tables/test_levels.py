"""The order of categories: in legends, tables and files."""

import numpy as np
import pytest

import gramian
from gramian.tables.labels import declared_levels, in_order

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
LEVELS = ("low", "mid", "high")
DOSES = [LEVELS[j % 3] for j in (2, 0, 1)] * 4
X = np.random.default_rng(0).normal(size=(12, 3))


def ordered():
    """The same doses, as people have them; none of the orders is that of letters."""
    series = pd.Series(pd.Categorical(DOSES, categories=LEVELS, ordered=True), name="dose")
    enum = pl.Series("dose", DOSES, dtype=pl.Enum(LEVELS))
    return {"series": series, "categorical": series.values, "enum": enum, "arrow": enum.to_arrow()}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_ordered_categories_keep_their_order_and_others_go_by_numbers_or_letters():
    for column in ordered().values():
        assert declared_levels(column) == LEVELS
    unordered = pd.Series(DOSES).astype("category")
    for column in (
        DOSES,
        np.array(DOSES),
        unordered,
        pl.Series(DOSES),
        pl.Series(DOSES, dtype=pl.Categorical),
    ):
        assert declared_levels(column) == ()
    assert in_order({"10", "9", "1", "-2", "0.5"}) == ["-2", "0.5", "1", "9", "10"]
    assert in_order({"10", "none", "9", "a"}) == ["9", "10", "a", "none"]
    assert in_order({"new", "high", "low"}, LEVELS) == ["low", "high", "new"]


def test_legends_have_categories_in_order():
    pytest.importorskip("matplotlib")
    pca = gramian.PCA(2).fit(X)
    for column in ordered().values():
        assert legend(pca.plot(X, hue=column)) == list(LEVELS)
    assert legend(pca.plot(X, hue=["10", "9", "1"] * 4)) == ["1", "9", "10"]
    grades = pd.Series(pd.Categorical([3, 1, 2] * 4, categories=[3, 2, 1], ordered=True))
    assert legend(pca.plot(X, hue=grades)) == ["3", "2", "1"]


@pytest.mark.parametrize("kind", ["parquet", "polars"])
def test_files_of_types_keep_the_order_of_their_labels(kind, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "doses.parquet"
    dose = ordered()["series"]
    frame = pd.DataFrame(X, columns=list("abc")).assign(dose=dose, batch=["10", "9", "1"] * 4)
    if kind == "polars":
        pl.DataFrame(X, schema=list("abc")).with_columns(ordered()["enum"]).write_parquet(path)
    else:
        getattr(frame, f"to_{kind}")(path)
    table = gramian.scan(path, label="dose", **({} if kind == "polars" else {"drop": ["batch"]})).read()
    pca = gramian.PCA(2).fit(table)
    assert legend(pca.plot(table)) == list(LEVELS)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c", comments="")
    labelled = gramian.scan(tmp_path / "x.csv", labels_from=f"{path}:dose").read()
    assert legend(pca.plot(labelled)) == list(LEVELS)
