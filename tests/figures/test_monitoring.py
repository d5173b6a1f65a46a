"""Control charts and contributions."""

import numpy as np
import pandas as pd
import pytest

import gramian
from gramian import figures
from gramian.errors import ParameterError
from gramian.figures import monitoring
from gramian.figures.registry import available
from gramian.statistics.components import expanded
from gramian.tables.table import Table

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(400, 2)) @ RNG.normal(size=(2, 4)) + 0.1 * RNG.normal(size=(400, 4))


@pytest.fixture(scope="module")
def monitor():
    return gramian.Monitor(gramian.PCA(2), alpha=0.05).fit(NORMAL)


def test_a_control_chart_has_every_row_limit_and_alarm(monitor, tmp_path):
    rows = NORMAL[:40].copy()
    rows[7, 2] += 5
    chart, table = figures.control_chart(monitor, rows), monitor.statistics(rows)
    data = chart.data.to_pydict()
    for name in ("T2", "SPE", "SPE limit"):
        np.testing.assert_allclose(data[name], table[name])
    assert data["position"] == list(range(40))
    assert data["state"][7] == "alarm"
    assert data["state"].count("alarm") == table.alarms.sum()
    assert f"{table.alarms.sum()} alarm" in " ".join(chart.title.subtitle)
    chart.save(tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert "SPE" in drawn
    # Rows of the fit get their own limits; a model alone has those of theory.
    own = figures.control_chart(monitor, NORMAL).data.to_pydict()
    assert own["T2 limit"][0] == monitor.limits_.deciding("fit")["T2"]
    alone = figures.control_chart(monitor.model_, rows).data.to_pydict()
    assert alone["T2 limit"][0] != data["T2 limit"][0]


def test_many_rows_are_sampled_and_no_large_alarm_is_lost(monitor, monkeypatch):
    monkeypatch.setattr(monitoring, "MOST_POINTS", 20)
    rows = NORMAL.copy()
    rows[[33, 301], 1] += 9
    chart = figures.control_chart(monitor, rows)
    drawn = chart.data["position"].to_pylist()
    assert {33, 301} <= set(drawn)
    assert 20 <= len(drawn) < 100
    assert f"{len(drawn)} rows are drawn" in " ".join(chart.title.subtitle)


def test_contributions_of_a_row(monitor, tmp_path):
    frame = pd.DataFrame(NORMAL, columns=list("abcd"), index=[f"h{i}" for i in range(400)])
    frame.iloc[7, 2] += 9
    named = gramian.Monitor(gramian.PCA(2)).fit(frame.iloc[100:])
    chart = figures.contributions(named, frame, "h7")
    data, parts = chart.data.to_pydict(), named.contributions(frame.iloc[7:8])
    assert data["column"][0] == "c"
    order = ["abcd".index(name) for name in data["column"]]
    for name in ("T2", "SPE"):
        np.testing.assert_allclose(data[name], parts[name][0][order])
    assert chart.title.text == "Contributions to row h7"
    np.testing.assert_allclose(figures.contributions(named, frame, 7).data["SPE"].to_numpy(), data["SPE"])
    read = Table(frame.to_numpy(), tuple("abcd"), tuple(frame.index))
    assert figures.contributions(named, read, "h7").data.to_pydict() == data
    chart.save(tmp_path / "row.svg")
    timed = frame.set_index(pd.date_range("2024-03-02", periods=400, freq="5min"))
    printed = str(named.statistics(timed)["row"][7])
    for row in (printed, timed.index[7], "2024-03-02 00:35:00"):
        assert figures.contributions(named, timed, row).data.to_pydict() == data
    assert f"({named.statistics(timed)['row'][7]})" in " ".join(
        figures.contribution_map(named, timed).title.subtitle
    )
    for row in ("h999", 400):
        with pytest.raises(
            ParameterError, match=r"is not the name of a row\. Give its|row=400 must be a whole number from"
        ):
            figures.contributions(named, frame, row)


def test_contributions_over_time(tmp_path):
    monitor, new = gramian.Monitor(gramian.PCA(2), alpha=1e-4).fit(NORMAL), NORMAL[:200].copy()
    new[120:, 2] += 5
    table = monitor.statistics(new)
    event = next(i for i, run in enumerate(table.events.runs) if run.start == 120)
    new[3, 0] = 40.0  # a false alarm before is not the event that is drawn
    assert monitor.statistics(new).events.runs[0].start == 3
    chart = figures.contribution_map(monitor, new)
    assert chart.data == figures.contribution_map(monitor, new, event + 1).data
    data, parts = chart.data.to_pandas(), monitor.contributions(new)
    assert (data["position"].min(), data["position"].max()) == (100, 199)
    assert data["column"].iloc[0] == "x2"
    for position, column in ((100, "x0"), (119, "x2"), (150, "x2"), (199, "x3")):
        name = max(("T2", "SPE"), key=lambda one: table[one][position] / table[f"{one} limit"][position])
        wanted = parts[name][position][int(column[1])] / table[f"{name} limit"][position]
        got = data.query(f"position == {position} and column == '{column}'")["contribution"].item()
        assert got == pytest.approx(wanted)
    chart.save(tmp_path / "map.svg")
    with pytest.raises(ParameterError, match=r"event=2 must be a whole number from 0 to 1\."):
        figures.contribution_map(monitor, new, len(table.events) + 1)
    # With earlier rows the columns are those of the model; a calm table has a map too.
    lagged = gramian.Monitor(gramian.PCA(2), lags=2, alpha=1e-3).fit(NORMAL)
    names = set(figures.contribution_map(lagged, new).data.to_pydict()["column"])
    assert {"x2", "x2 (2 rows before)"} <= names
    assert "Rows around" in " ".join(figures.contribution_map(lagged, NORMAL[:50]).title.subtitle)
    alone = figures.contributions(lagged, new, 125).data.to_pydict()
    np.testing.assert_allclose(sorted(alone["SPE"]), sorted(lagged.contributions(new)["SPE"][125]))


def test_which_models_have_a_control_chart(monitor):
    def names(model):
        return [figure.name for figure in available(model, NORMAL)]

    assert {"control-chart", "scores", "scree"} <= set(names(monitor))
    assert set(names(monitor)) - set(names(monitor.model_)) == {"contribution-map"}
    assert not set(names(monitor.model_)) - set(names(monitor))
    lagged, wide = expanded(gramian.Monitor(gramian.PCA(2), lags=1).fit(NORMAL), NORMAL)
    drawn = {one.name: one.draw(lagged, wide) for one in available(lagged, wide)}
    assert set(drawn) == set(names(monitor))
    assert drawn["scores"].data.num_rows == drawn["control-chart"].data.num_rows == 399
    assert "control-chart" in names(gramian.KernelPCA(2).fit(NORMAL[:30]))
    with pytest.warns(gramian.errors.RankWarning):
        assert "control-chart" not in names(gramian.PCA(2).fit(np.ones((9, 4))))
    (chart,) = (figure for figure in available(monitor, NORMAL) if figure.name == "control-chart")
    assert chart.draw(monitor, NORMAL[:9]).data.num_rows == 9


def test_rows_without_degrees_of_freedom_have_no_alarm():
    """With all components of few rows T2 of every row is the same, and differs by rounding."""
    for seed in range(5):
        rows = np.random.default_rng(seed).standard_normal((8, 40))
        chart = figures.control_chart(gramian.PCA(scale="unit").fit(rows), rows)
        assert set(chart.data.to_pydict()["state"]) == {"normal"}
