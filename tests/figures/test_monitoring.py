"""Control charts and contributions."""

import json

import numpy as np
import pandas as pd
import pytest

import gramian
from gramian import figures
from gramian.errors import DataError, ParameterError
from gramian.figures import linked, monitoring
from gramian.figures.registry import available
from gramian.tables.table import Table

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(400, 2)) @ RNG.normal(size=(2, 4)) + 0.1 * RNG.normal(size=(400, 4))


@pytest.fixture(scope="module")
def monitor():
    return gramian.Monitor(gramian.PCA(2), alpha=0.05).fit(NORMAL)


def test_a_control_chart_has_every_row_limit_and_alarm(monitor):
    rows = NORMAL[:40].copy()
    rows[7, 2] += 5
    data, table = figures.control_chart_data(monitor, rows), monitor.statistics(rows)
    for name in ("T2", "SPE", "SPE limit"):
        np.testing.assert_allclose(data.columns[name], table[name])
    assert data.columns["position"].tolist() == list(range(40))
    assert ((data.columns["alarm"] != "") == table.alarms).all()
    assert data.notes[0].startswith(f"{table.alarms.sum()} alarm")
    upper, lower = figures.control_chart(monitor, rows).flat
    assert [upper.get_ylabel(), lower.get_ylabel(), lower.get_xlabel()] == ["T2", "SPE", "row"]
    few = figures.control_chart(monitor, rows[:5])[1, 0]
    few.figure.draw_without_rendering()
    assert (few.get_xticks() % 1 == 0).all()  # there is no row 0.5
    calm, alarms = (points.get_offsets() for points in lower.collections)
    assert len(calm) + len(alarms) == 40
    np.testing.assert_allclose(alarms[:, 0], np.flatnonzero(table.alarms))
    # Rows of the fit get their own limits; a model alone has those of theory.
    own = figures.control_chart_data(monitor, NORMAL).columns
    assert own["T2 limit"][0] == monitor.limits_.deciding("fit")["T2"]
    alone = figures.control_chart_data(monitor.model_, rows).columns
    assert alone["T2 limit"][0] != data.columns["T2 limit"][0]


def test_many_rows_are_sampled_and_no_large_alarm_is_lost(monitor, monkeypatch):
    monkeypatch.setattr(monitoring, "MOST_POINTS", 20)
    rows = NORMAL.copy()
    rows[[33, 301], 1] += 9
    data = figures.control_chart_data(monitor, rows)
    drawn = data.columns["position"].tolist()
    assert {33, 301} <= set(drawn)
    assert 20 <= len(drawn) < 100
    assert data.notes[1].startswith(f"{len(drawn)} rows are drawn")


def equal(one, other):
    return all(np.array_equal(one.columns[name], other.columns[name]) for name in one.columns | other.columns)


def test_an_explanation_has_bars_with_values_and_what_is_usual():
    X = pd.DataFrame(NORMAL, columns=list("abcd")).join(
        pd.DataFrame(RNG.normal(size=(400, 6))).add_prefix("n")
    )
    X.loc[7, "c"] += 9
    model = gramian.PCA(2).fit(X)
    row, groups = gramian.explain(model, X, 7), gramian.explain(model, X, range(50), versus=range(50, 200))
    for explanation, words in ((row, "{:.4g} (usual {:.4g} to {:.4g})"), (groups, "{:.4g}, others {:.4g}")):
        data, ax = figures.explanation_data(explanation), figures.explanation(explanation)
        np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], explanation.contributions[:8])
        typical = explanation.typical[0][[0, 2] if explanation is row else [0]]
        said = words.format(explanation.values[0], *typical)
        assert ax.get_yticklabels()[0].get_text() == f"{explanation.columns[0]}\n{said}"
        assert ax.get_xlabel() == f"contribution to {explanation.statistic}"
        assert data.notes[0] == explanation.sentence
        assert "8 of 10 columns." in data.notes
    assert figures.explanation(row).figure.get_suptitle() == f"{row.statistic} of row 7"
    assert figures.explanation(groups).figure.get_suptitle() == "50 rows and 150 others"
    kernel = gramian.explain(gramian.KernelPCA(2).fit(X), X, range(50))
    with pytest.raises(
        DataError, match="The columns of a kernel PCA have no contributions to the difference"
    ):
        figures.explanation(kernel)


def test_contributions_over_time():
    monitor, new = gramian.Monitor(gramian.PCA(2), alpha=1e-4).fit(NORMAL), NORMAL[:200].copy()
    new[120:, 2] += 5
    table = monitor.statistics(new)
    event = next(i for i, run in enumerate(table.events.runs) if run.start == 120)
    new[3, 0] = 40.0  # a false alarm before is not the event that is drawn
    assert monitor.statistics(new).events.runs[0].start == 3
    drawn, parts = figures.contribution_map_data(monitor, new), monitor.contributions(new)
    assert equal(drawn, figures.contribution_map_data(monitor, new, event + 1))
    data = pd.DataFrame(drawn.columns)
    assert (data["position"].min(), data["position"].max(), drawn.lines["start"]) == (100, 199, 120)
    assert data["column"].iloc[0] == "x2"
    for position, column in ((100, "x0"), (119, "x2"), (150, "x2"), (199, "x3")):
        name = max(("T2", "SPE"), key=lambda one: table[one][position] / table[f"{one} limit"][position])
        wanted = parts[name][position][int(column[1])] / table[f"{name} limit"][position]
        got = data.query(f"position == {position} and column == '{column}'")["contribution"].item()
        assert got == pytest.approx(wanted)
    ax = figures.contribution_map(monitor, new)
    assert [label.get_text() for label in ax.get_yticklabels()] == data["column"].unique().tolist()
    np.testing.assert_array_equal(ax.images[0].get_array().ravel(), data["contribution"])
    with pytest.raises(ParameterError, match=r"event=2 must be a whole number from 0 to 1\."):
        figures.contribution_map(monitor, new, len(table.events) + 1)
    assert figures.contribution_map_data(monitor, NORMAL[:50]).notes[0].startswith("Rows around")


def test_which_models_have_a_control_chart(monitor):
    def names(model):
        return [figure.name for figure in available(model, NORMAL)]

    assert {"control-chart", "scores", "scree"} <= set(names(monitor))
    assert set(names(monitor)) - set(names(monitor.model_)) == {"contribution-map"}
    assert not set(names(monitor.model_)) - set(names(monitor))
    assert "control-chart" in names(gramian.KernelPCA(2).fit(NORMAL[:30]))
    with pytest.warns(gramian.errors.RankWarning):
        assert "control-chart" not in names(gramian.PCA(2).fit(np.ones((9, 4))))
    (chart,) = (figure for figure in available(monitor, NORMAL) if figure.name == "control-chart")
    assert chart.draw(monitor, NORMAL[:9]).shape == (2, 1)


def test_rows_without_degrees_of_freedom_have_no_alarm():
    """With all components of few rows T2 of every row is the same, and differs by rounding."""
    for seed in range(5):
        rows = np.random.default_rng(seed).standard_normal((8, 40))
        data = figures.control_chart_data(gramian.PCA(scale="unit").fit(rows), rows)
        assert set(data.columns["alarm"]) == {""}


@pytest.mark.parametrize(
    ("names", "over_time"),
    [
        ([f"9999-12-31 23:{minute:02d}" for minute in range(60)], False),
        ([f"0000-01-01 00:{minute:02d}" for minute in range(60)], False),
        ([*(f"20{year:02d}-01-01" for year in range(1, 60)), "9999-12-31"], False),
        ([f"15{year:02d}-01-01" for year in range(1, 61)], True),
    ],
)
def test_a_chart_is_over_time_where_the_axis_has_its_years(monitor, names, over_time):
    rows = Table(np.random.default_rng(0).normal(size=(60, monitor.n_features_in_)), row_names=tuple(names))
    assert ("time" in figures.control_chart_data(monitor, rows).columns) == over_time
    figures.control_chart(monitor, rows)[0, 0].figure.canvas.draw()


@pytest.mark.parametrize(
    ("step", "first", "last"),
    [("h", "2024-05-01 00:00", "2024-05-02 15:00"), ("D", "2024-05-01", "2024-06-09")],
)
def test_the_page_labels_its_control_chart_by_times(monitor, step, first, last):
    times = np.datetime_as_string(np.datetime64("2024-05-01", "m") + np.arange(40) * np.timedelta64(1, step))
    rows = pd.DataFrame(NORMAL[:40], index=times)
    panels = linked.control_chart(figures.control_chart_data(monitor, rows), 120)["spec"]["vconcat"]
    axes = [panel["layer"][0]["encoding"]["x"]["axis"] for panel in panels]
    labels = json.loads(axes[-1]["labelExpr"].partition("[")[0])
    assert [labels[str(place)] for place in axes[-1]["values"]][:: len(labels) - 1] == [first, last]
    assert [axis["labels"] for axis in axes] == [False, True]
    plain = linked.control_chart(figures.control_chart_data(monitor, NORMAL[:40]), 120)["spec"]["vconcat"]
    assert plain[-1]["layer"][0]["encoding"]["x"]["axis"] == {"format": "d", "labels": True}
