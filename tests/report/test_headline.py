"""What a fit shows, in the sentence that its kind of table asks for."""

import re

import numpy as np
import pytest

import gramian
from gramian.answers.departure import departure_of
from gramian.answers.diagnose import diagnosis_of
from gramian.errors import GramianWarning, ignoring
from gramian.report.facts import Fitted
from gramian.report.headline import headline
from gramian.report.sections import explanation
from gramian.tables.table import Table


def answer(X, n_components=2, names=None, **table):
    table = Table(X, names, **table)
    model = gramian.PCA(n_components, scale="unit").fit(table)
    return headline(model, table, model.transform(table), diagnosis_of(model, table))


def hours(n):
    start = np.datetime64("2024-05-01T00:00:00")
    return tuple(str(start + np.timedelta64(i, "h")).replace("T", " ") for i in range(n))


def process(rng, n=400, d=6):
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.4 * rng.normal(size=(n, d))


def test_a_sensor_that_leaves_its_pattern_is_named_with_begin_and_length():
    X = process(np.random.default_rng(0))
    X[300:330, 4] += 4 * X[:, 4].std()
    result = answer(X, names=tuple("abcdef"), row_names=hours(400))
    assert (result.kind, result.figure) == ("time", "control-chart")
    assert result.evidence.column == "e"
    assert result.evidence.reference == "2024-05-09 07:00:00"
    first = result.sentences[0]
    assert first.startswith("As in the first half of the rows until 2024-05-13 11:00:00; then `e` leaves")
    assert re.search(
        r"it begins at 2024-05-13 12:00:00 and lasts 1 day( \d hours?)? \(T2 and SPE reach ", first
    )
    # Batches one after the other say less: only that they differ.
    batches = np.repeat(list("uvwx"), 100)
    assert answer(X, names=tuple("abcdef"), row_names=hours(400), labels=batches).sentences[0] == first
    mixed = np.tile(list("uvwx"), 100)
    assert answer(X, names=tuple("abcdef"), row_names=hours(400), labels=mixed).kind == "groups"


@pytest.mark.parametrize(
    ("format", "clock"), [("%Y-%m-%dT%H:%M:%S%z", ""), ("%d.%m.%Y %H:%M", "27.10.2024 02:00")]
)
def test_a_log_that_passes_a_change_of_the_clock_is_in_the_order_of_time(format, clock, tmp_path):
    import pandas as pd

    X = process(np.random.default_rng(0))
    X[318:350, 4] += 4 * X[:, 4].std()
    times = pd.date_range("2024-10-24 20:00", periods=400, freq="10min", tz="Europe/Berlin")
    frame = pd.DataFrame(X, times.strftime(format), columns=[*"abcdef"])
    frame.to_csv(tmp_path / "log.csv", index_label="time")
    table = gramian.scan(tmp_path / "log.csv").read()
    assert table.row_names == tuple(frame.index)
    found = departure_of(gramian.PCA(2, scale="unit").fit(table), table)
    start, end = (frame.index.get_indexer_for([name])[-1] for name in (found.start, found.end))
    assert (found.column, found.set_back) == ("e", clock)
    assert found.seconds == 600 * (end - start)
    shuffled = frame.iloc[[1, 0, *range(2, 400)]].index
    assert departure_of(gramian.PCA(2).fit(X), Table(X, row_names=tuple(shuffled))) is None


def test_the_chart_of_the_report_has_the_limits_of_the_first_half():
    pytest.importorskip("matplotlib")
    X = process(np.random.default_rng(0))
    X[240:] += 12 * X.std(axis=0) * [0, 1, 0, 0, 0, 0]  # so many rows that they are the pattern of all
    table = Table(X, row_names=hours(400))
    first = explanation(Fitted(gramian.PCA(2, scale="unit").fit(table), table)).first[0]
    drawing, said = first.parts
    (alarms,) = re.findall(r"(\d+) alarms in 400 rows", drawing.drawn().caption)
    assert int(alarms) > 150
    assert said == "Components and limits of this chart are those of the rows until `2024-05-09 07:00:00`."


@pytest.mark.parametrize("seed", range(5))
def test_a_process_without_a_fault_has_no_departure(seed):
    X = process(np.random.default_rng(seed))
    table = Table(X, row_names=hours(400))
    assert departure_of(gramian.PCA(2, scale="unit").fit(table), table) is None


def test_rows_without_times_holes_and_few_rows_have_no_departure():
    X = process(np.random.default_rng(0))
    X[300:330, 4] += 4 * X[:, 4].std()
    pca = gramian.PCA(2, scale="unit").fit(X)
    assert departure_of(pca, Table(X, row_names=hours(400))) is not None
    assert departure_of(pca, Table(X)) is None
    assert departure_of(pca, Table(X, row_names=hours(400)[::-1])) is None
    assert departure_of(pca, Table(X[:50], row_names=hours(50))) is None
    assert departure_of(pca, Table(X, row_names=("2024-01-01",) * 400)) is None
    still = np.where(np.arange(400)[:, None] < 200, 1.0, X)
    assert departure_of(pca, Table(still, row_names=hours(400))) is None
    holed = X.copy()
    holed[0, 0] = np.nan
    assert departure_of(pca, Table(holed, row_names=hours(400))) is None


def test_components_without_variance_are_not_described():
    for rows, said in (
        (np.ones((30, 3)), r"The rows do not vary\."),
        (np.outer(np.arange(30.0), [3, 1]), r"PC1 \(100.00 % of the variance\) rises with `x0`\."),
    ):
        with ignoring(GramianWarning):
            model = gramian.PCA(2).fit(rows)
        assert re.fullmatch(said, "|".join(headline(model, Table(rows), model.transform(rows)).sentences))


def test_a_column_without_a_value_in_one_group_is_not_said_to_part_it():
    X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([0, 30], 20)[:, None] * [1, 0.9, 0.8]
    X[:20, 0] = np.nan
    table = Table(X, labels=np.repeat(["a", "b"], 20))
    model = gramian.PCA(1, missing="em").fit(table)
    said = headline(model, table, model.transform(table)).sentences[0]
    assert said.startswith("PC1 separates `a` from `b`, by a smaller `x1`")


def test_a_curve_has_more_than_three_places():
    X = np.outer(np.random.default_rng(0).normal(size=40), np.ones(3))
    said = headline(gramian.PCA(1).fit(Table(X, ("400", "401", "402"))), Table(X)).sentences
    assert said == ("PC1 (100.00 % of the variance) rises with `400`, `401` and `402`.",)


def test_noise_is_said_and_its_components_are_not_described():
    result = answer(np.random.default_rng(0).normal(size=(60, 5)))
    assert result.kind == "noise"
    assert result.sentences == ("These 60 rows show no direction that unrelated columns would not show.",)


def test_groups_without_labels_are_counted_and_told_by_their_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    X[:30, 1] += 9
    X[:30, 2] += 7
    result = answer(X, names=("a", "b", "c", "d"))
    assert result.kind == "clusters"
    assert result.sentences[0].startswith(
        "The rows form at least two groups along PC1, of 60 and 30: the smaller has a larger `b` and `c` ("
    )
    assert result.evidence.above.sum() in (30, 60)


def test_groups_in_one_of_unrelated_columns_are_no_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    X[:30, 1] += 9
    table = Table(X, ("a", "b", "c"))
    model = gramian.PCA(1).fit(table)
    result = headline(model, table, model.transform(table), diagnosis_of(model, table))
    assert result.kind == "clusters"
    assert "has a larger `b`" in result.sentences[0]


@pytest.mark.parametrize("shape", ["normal", "exponential", "uniform", "whole numbers", "outliers"])
def test_one_cloud_of_any_shape_is_no_two_groups(shape):
    rng = np.random.default_rng(1)
    values = {
        "normal": lambda: rng.normal(size=(300, 3)),
        "exponential": lambda: rng.exponential(size=(300, 3)) ** 2,
        "uniform": lambda: rng.uniform(size=(300, 3)),
        "whole numbers": lambda: rng.integers(0, 2, size=(300, 3)).astype(float),
        "outliers": lambda: np.concatenate([rng.normal(size=(290, 3)), rng.normal(50, 1, size=(10, 3))]),
    }
    assert answer(values[shape]()).kind != "clusters"


def test_pictures_are_told_by_what_their_components_rebuild():
    pictures = np.random.default_rng(0).normal(size=(20, 4, 5))
    table = Table(pictures, picture_shape=(4, 5))
    model = gramian.PCA(6).fit(pictures)
    lost = np.linalg.norm(pictures - model.inverse_transform(model.transform(pictures)))
    lost /= np.linalg.norm(pictures - pictures.mean(axis=0))
    result = headline(model, table, model.transform(pictures))
    assert result.figure == "components"
    assert f"up to {100 * lost:.2f} % of its difference from the mean picture" in result.sentences[0]


def test_components_of_spectra_are_peaks_slopes_and_levels():
    rng = np.random.default_rng(0)
    places = np.arange(900.0, 1700.0, 2.0)
    names = tuple(f"{place:g} nm" for place in places)
    band = np.exp(-(((places - 1450) / 40) ** 2)) - 0.8 * np.exp(-(((places - 1100) / 40) ** 2))
    shapes = {
        "peaks at `1450 nm` and dips at `1100 nm`": band,
        "is a slope: it rises steadily from `900 nm` to `1698 nm`": (places - 1250) / 400,
        "is an overall size: all 400 columns rise together": np.ones_like(places),
    }
    for said, shape in shapes.items():
        X = rng.normal(size=(50, 1)) * shape + 0.01 * rng.normal(size=(50, 400))
        first = headline(gramian.PCA(1).fit(Table(X, names))).sentences[0]
        assert re.sub(r"PC1 \([\d.]+ % of the variance\) ", "", first) == f"{said}."


@pytest.mark.parametrize(("by", "said"), [(0, "depends in part on|does not follow"), (3, "follows")])
def test_of_counts_it_is_said_whether_the_first_component_follows_their_depth(by, said, tmp_path):
    rng = np.random.default_rng(0)
    depth = rng.uniform(5e3, 5e4, size=60)
    shares = np.tile(rng.dirichlet(np.ones(30)), (60, 1))
    shares[:, :10] *= (depth / depth.mean())[:, None] ** by  # shares that change with depth, or none
    shares[:, 10:20] *= rng.lognormal(0, 0.3, size=(60, 1))
    counts = rng.poisson(depth[:, None] * shares / shares.sum(axis=1, keepdims=True))
    path = tmp_path / "counts.csv"
    names = ",".join(f"g{j}" for j in range(30))
    np.savetxt(path, counts, "%d", ",", header=names, comments="")
    table = gramian.scan(path, transform="logcpm").read()
    assert table.metadata["depth"].tolist() == counts.sum(axis=1).tolist()
    model = gramian.PCA(2).fit(table)
    sentences = headline(model, table, model.transform(table)).sentences
    assert re.search(rf"PC1 ({said}) the depth of counting, the sums of rows", sentences[-1])


def test_shares_of_large_tables_are_those_of_the_rows_that_were_looked_at():
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(20_000) % 3, "b", "a")
    X = rng.normal(size=(20_000, 4)) + np.outer(labels == "a", [9.0, 9.0, 0.0, 0.0])
    table = Table(X, ("w", "x", "y", "z"), labels=labels, label_name="kind")
    model = gramian.PCA(2).fit(table)
    said = headline(model, table, model.transform(table)).sentences[0]
    assert said.endswith("(all 1,000 evenly spaced rows are on the side of their group).")
    assert said.startswith("PC1 separates `a` from `b`, by a larger ")


def test_the_values_of_columns_of_few_values_are_no_groups():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2, (300, 2)) * 4.0
    X = np.column_stack([rng.normal(size=(300, 3)) @ rng.normal(size=(3, 4)), few])
    assert answer(X, 5).kind != "clusters"
    X[:, 4:] += rng.normal(0, 0.05, (300, 2))  # no longer few values
    assert answer(X, 5).kind == "clusters"
