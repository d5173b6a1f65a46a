"""What diagnose finds: each trap by its code, nothing serious in clean tables, and remedies that work."""

import html as markup
import json
import pickle
import re
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.pipeline import make_pipeline

import gramian
from gramian import PCA, KernelPCA, Monitor
from gramian.answers.diagnose import diagnosis_of, trust_of
from gramian.answers.findings import Evidence
from gramian.app.cli import main
from gramian.errors import DataError, DiagnosticWarning, InputTypeError
from gramian.kernels import Matern
from gramian.report.facts import largest_loadings
from gramian.tables.as_rows import as_rows
from gramian.tables.table import Table
from helpers import script


def factors(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) * [3, 2] @ rng.standard_normal((2, d)) + rng.standard_normal((n, d))


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def codes(model, X, labels=None):
    return set(gramian.diagnose(model.fit(X), X, labels).codes)


@pytest.mark.parametrize("scale", [None, "unit"])
def test_columns_that_dominate_by_their_unit_are_found_until_they_are_scaled(scale):
    for X in (load_wine().data, load_breast_cancer().data, factors(300, 8) * np.geomspace(1, 3000, 8)):
        assert ("scale-dominates" in codes(PCA(2, scale=scale), X)) == (scale is None)


def test_units_decide_and_not_deviations_that_are_similar():
    X = factors(100, 3) * [1.0, 1.5, 1.2]
    named = pd.DataFrame(X, columns=["height_cm", "weight_kg", "age_years"])
    assert "scale-dominates" in codes(PCA(2), named)
    assert "scale-dominates" not in codes(PCA(2), named.set_axis(["a_cm", "b_cm", "c_cm"], axis=1))
    assert "scale-dominates" not in codes(PCA(2), X)
    place, rng = np.linspace(0, 1, 150), np.random.default_rng(0)
    peaks = np.exp(-((place - np.array([[0.3], [0.7]])) ** 2) / 0.002) * [[100], [1]]
    X = rng.dirichlet([2, 2, 2], 60)[:, :2] @ peaks + 0.01 * rng.standard_normal((60, 150))
    assert "scale-dominates" not in codes(PCA(2), X)


@pytest.mark.parametrize(
    ("X", "kernel", "code"),
    [
        (load_digits().data[:500], {"kernel": "rbf"}, "kernel-narrow"),
        (standardised(load_wine().data), {"kernel": "rbf", "gamma": 20}, "kernel-narrow"),
        (load_iris().data, {"kernel": "laplacian", "gamma": 50}, "kernel-narrow"),
        (load_iris().data, {"kernel": "rbf", "gamma": 1e-5}, "kernel-wide"),
        (standardised(factors(2500, 10)), {"kernel": "rbf", "gamma": 3.0}, "kernel-narrow"),
    ],
)
def test_a_width_that_shows_nothing_is_found_and_the_median_mends_it(X, kernel, code):
    found = gramian.diagnose(KernelPCA(2, **kernel).fit(X), X)
    (one,) = found.serious
    assert one.code == code
    assert one.evidence["gamma"] != one.evidence["gamma of the median"] > 0
    assert code not in codes(KernelPCA(2, kernel="rbf", gamma="median"), X)


def test_remedies_name_the_width_and_the_largest_column():
    X = standardised(load_wine().data)
    (one,) = gramian.diagnose(KernelPCA(2, kernel=Matern(length_scale=0.01)).fit(X), X).serious
    assert one.remedy.startswith('Use length_scale="median", which is 5 ')
    X = load_wine().data
    assert "scale-dominates" in codes(KernelPCA(2, kernel="rbf", gamma="median"), X)
    assert "scale-dominates" not in codes(KernelPCA(2, kernel="rbf", gamma="median"), standardised(X))


def test_independent_columns_have_no_signal():
    rng = np.random.default_rng(0)
    for X in (
        rng.standard_normal((100, 5)),
        rng.standard_normal((30, 200)),
        rng.standard_t(4, (200, 10)),
        rng.exponential(size=(100, 8)) * np.linspace(1, 3, 8),
    ):
        (one,) = gramian.diagnose(PCA(2).fit(X), X).serious
        assert one.code == "no-signal"
        assert one.evidence["largest"] == pytest.approx(
            np.linalg.eigvalsh(np.corrcoef(X[:, X.std(axis=0) > 0].T))[-1], rel=1e-9
        )
    assert "no-signal" not in codes(PCA(2), factors(60, 5))
    pairs = rng.standard_normal((40, 10)) + np.repeat(1.1 * rng.standard_normal((40, 5)), 2, axis=1)
    assert "no-signal" not in codes(PCA(2), pairs)  # along no single direction


def test_a_signal_that_only_all_rows_show_is_a_signal():
    """Counts of six kinds of cells: 50 of 1,200 rows are looked at, in which noise is as large."""
    rng = np.random.default_rng(7)
    levels = rng.lognormal(-3.0, 1.3, 600) * np.where(rng.random((6, 600)) < 0.02, 10.0, 1.0)
    X = np.log1p(rng.poisson(levels[rng.integers(6, size=1200)]))
    X = X[:, X.any(axis=0)]
    assert "no-signal" not in codes(PCA(10), X)


@pytest.mark.parametrize("n", [60, 1000, 20_000])
def test_a_row_that_is_a_component_is_found_also_among_many(n):
    X = factors(n, 6)
    X[n // 3, :3] += 30 * np.sqrt(n)
    (one,) = gramian.diagnose(PCA(2).fit(X), X).serious
    assert (one.code, one.evidence["row"], one.evidence["component"]) == ("one-row", n // 3, 1)
    left = (X - X.mean(axis=0)) @ PCA(2).fit(X).components_[0]
    assert one.evidence["share"] == pytest.approx((left**2)[n // 3] / (left**2).sum(), rel=1e-3)
    assert "one-row" not in codes(PCA(2), np.delete(X, n // 3, axis=0))


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(1).permutation(120) + 100_000.0,
        np.arange(1.0, 121),
        1.6e9 + 60 * np.arange(120.0),
    ],
    ids=["numbers of patients", "a counter", "seconds"],
)
@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_column_that_names_or_counts_rows_is_found(column, scale):
    X = factors(120, 5)
    found = gramian.diagnose(
        PCA(2, scale=scale).fit(np.column_stack([X, column])), np.column_stack([X, column])
    )
    (one,) = (one for one in found.findings if one.code == "identifier")
    assert one.evidence["column"] == "x5"
    assert (one.severity == "serious") == (one.evidence["component"] is not None) or scale == "unit"
    assert "scale-dominates" not in found.codes


def test_numbers_of_rows_are_found_shuffled_with_gaps_in_fractions_and_among_many():
    rng = np.random.default_rng(0)
    for n, column in (
        (100, rng.permutation(100)),
        (100, np.cumsum(rng.integers(1, 9, 100))),
        (100, np.r_[1001:1051, 2001:2051]),
        (100, 18262 + np.arange(100) / 24),
        (20_000, np.arange(20_000)),
    ):
        X = np.column_stack([factors(n, 5), column])
        assert "identifier" in codes(PCA(2, scale="unit"), X)
        assert not {"identifier", "scale-dominates"} & codes(PCA(2, scale="unit"), X[:, :5])
    walk = np.cumsum(rng.standard_normal(60)).round(1) * 1000 + 7 * np.arange(60)  # measured, and slow
    assert "identifier" not in codes(PCA(2, scale="unit"), np.column_stack([factors(60, 1), walk]))


def test_whole_numbers_that_measure_are_no_identifier():
    rng = np.random.default_rng(0)
    counts = np.column_stack([factors(120, 4), np.exp(rng.normal(10, 1, 120)).round()])
    related = np.column_stack([factors(120, 4), (1000 * factors(120, 4)[:, 0]).round()])
    weights = np.column_stack([factors(120, 4), rng.permutation(900)[:120] + 100.0])  # no two are equal
    for X in (counts, related, weights):
        assert "identifier" not in codes(PCA(2, scale="unit"), X)


def test_whole_numbers_without_signal_or_with_a_unit_are_no_identifier():
    rng = np.random.default_rng(0)
    huge, several = factors(30, 4) * 1e95, np.trunc(rng.standard_normal((30, 4)) * 1e17)
    for X in (huge, several):
        assert "identifier" not in codes(PCA(2), X)
    rain = pd.DataFrame(factors(40, 4), columns=list("abcd"))
    for name in ("rain (mm)", "n"):
        X = rain.assign(**{name: rng.permutation(40) + 100.0})
        assert ("identifier" in codes(PCA(2), X)) == (name == "n")


def test_names_of_columns_stay_on_their_line():
    X = pd.DataFrame(factors(40, 3) * [1, 1, 900], columns=["a", "b", "c\nd\x1b[31m"])
    with pytest.warns(DiagnosticWarning):
        model = PCA(2).fit(X)
    (line,) = [one for one in gramian.diagnose(model, X).lines() if "scale-dominates" in one]
    assert "\n" not in line
    assert "c\\nd\\x1b[31m" in line
    assert all("\n" not in text and "\x1b" not in text for text in largest_loadings(model, 2))
    # Columns without names are called as in tables and sentences.
    assert largest_loadings(PCA(1).fit(factors(40, 3)), 1)[0].startswith("x")


@pytest.mark.parametrize("seed", range(3))
def test_a_long_gradient_is_an_arch_whose_ends_curl(seed):
    rng = np.random.default_rng(seed)
    place, best = rng.uniform(0, 1, 150), rng.uniform(-0.2, 1.2, 40)
    X = rng.uniform(0.5, 1.5, 40) * np.exp(-((place[:, None] - best) ** 2) / 0.045)
    assert "arch" in codes(PCA(2), X + 0.02 * rng.standard_normal(X.shape))
    assert "arch" not in codes(PCA(2), np.column_stack([np.cos(9 * place), np.sin(9 * place)]))  # a ring


def test_a_gradient_is_an_arch_and_groups_are_not():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 1, 100)
    X = np.exp(-((place[:, None] - np.linspace(-0.1, 1.1, 15)) ** 2) / 0.045)
    assert "arch" in codes(PCA(2), X)
    groups = np.repeat([[0.0, 0], [5, 8], [10, 0]], 30, axis=0) + rng.standard_normal((90, 2))
    assert "arch" not in codes(PCA(2), groups)


def test_matrices_of_pairs_are_no_tables_of_measurements():
    X = factors(30, 6)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    for matrix in np.corrcoef(X.T), D, X @ X.T:
        assert gramian.diagnose(PCA(2).fit(matrix), matrix).serious[0].code == "symmetric"
    scores = KernelPCA(6, kernel="precomputed").fit_transform(-(D**2) / 2)
    np.testing.assert_allclose(np.linalg.norm(scores[:, None] - scores, axis=2), D, atol=1e-8)
    R = np.corrcoef(X.T)
    model = KernelPCA(2, kernel="precomputed", center=False).fit(R)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(R)[:-3:-1])
    R[0, 1] += 0.01
    assert "symmetric" not in codes(PCA(2), R)
    assert "symmetric" not in codes(PCA(2), 1e-12 * factors(8, 8))


def test_notes_name_what_they_are_about():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal((300, 1)), axis=0) * [1, 1, 2] + rng.standard_normal((300, 3))
    assert "row-order" in codes(PCA(2), walk)
    assert "row-order" not in codes(PCA(2), walk[rng.permutation(300)])
    body = rng.standard_normal((100, 1)) + 0.1 * rng.standard_normal((100, 6))
    assert "size" in codes(PCA(2), body)
    for scale, remedy in ((None, "rows by their total"), ("unit", "or read the later components")):
        found = gramian.diagnose(PCA(2, scale=scale).fit(body), body).findings
        assert [remedy in one.remedy for one in found if one.code == "size"] == [True]
    assert {"ties"} <= codes(PCA(2), np.repeat(factors(30, 5), 5, axis=0))
    assert {"few-rows"} <= codes(PCA(3), factors(8, 20))
    holes = factors(120, 12)
    holes[rng.uniform(size=holes.shape) < 0.35] = np.nan
    assert "imputed" in codes(PCA(2, missing="em"), holes)
    assert str(gramian.diagnose(PCA(2).fit(body))).endswith(
        "Only the model was examined: rows were not given."
    )


def test_every_finding_has_a_trap_a_remedy_that_is_measured_and_a_row_of_the_page():
    root = Path(__file__).parents[2]
    source = "".join(
        (root / f"src/gramian/{room}/findings.py").read_text() for room in ("answers", "statistics")
    )
    codes = {"kernel-narrow", "kernel-wide", *re.findall(r'Finding\(\s*(?:\*\()?"([a-z-]+)"', source)}
    assert {"scale-dominates", "identifier", "size"} < codes
    assert set(script("benchmarks/diagnosis/case.py").REMEDIES) == codes
    traps = (root / "benchmarks/diagnosis/traps.py").read_text(encoding="utf-8")
    assert codes <= set(re.findall(r'"([a-z-]+)"', traps))
    rows = re.findall(r"^\|(.*?)\|", (root / "docs/diagnose.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"`([a-z-]+)`", "".join(rows))) == codes


def test_trust_is_red_for_what_misleads_amber_for_what_to_know_and_green_without():
    X = factors(300, 8)
    cases = [
        (PCA(2), X * np.geomspace(1, 3000, 8), "red", "(scale-dominates)"),
        (PCA(2), X, "green", "300 rows are enough to tell PC1"),
        (PCA(3), factors(14, 8), "amber", "(few-rows)"),
        (gramian.Whitener(), X, "amber", "not for this model"),
    ]
    for model, rows, level, reason in cases:
        trust = trust_of(model.fit(rows), diagnosis_of(model, Table(rows)))
        assert trust.level == level
        assert reason in trust.reasons[0]
        assert trust.reasons[-1] == model.certificate_.brief
    cloud = PCA(2).fit(np.random.default_rng(0).standard_normal((400, 3)) * [1.02, 1.01, 0.2])
    assert trust_of(cloud, gramian.diagnose(cloud, None)).level == "amber"
    model = PCA(2).fit(X)
    object.__setattr__(model.certificate_, "ok", False)
    trust = trust_of(model, diagnosis_of(model, None))
    assert (trust.level, trust.reasons[0]) == ("red", model.certificate_.brief)


def test_the_order_of_rows_is_seen_as_a_step_or_a_trend_and_not_again_where_labels_show_it():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((300, 6))
    for course in (np.linspace(-1, 1, 300), np.repeat([0, 1.2], [200, 100])):
        X = 1.5 * noise + 1.6 * course[:, None]
        assert "row-order" in codes(PCA(2), X)
        assert "row-order" not in codes(PCA(2), X[rng.permutation(300)])
    assert "row-order" in codes(PCA(2), load_iris().data)
    assert "row-order" not in codes(PCA(2), load_iris().data, {"species": load_iris().target})


def test_sparse_rows_are_looked_at():
    X = sparse.random(600, 1500, 0.02, format="csr", random_state=0)
    wild = sparse.vstack([X, 500 * sparse.csr_matrix(np.ones((1, 1500)))], format="csr")
    assert "one-row" in codes(PCA(2), wild)


def test_incomplete_rows_are_looked_at_as_they_were_imputed():
    X = factors(150, 10)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    assert "imputed" in codes(PCA(2, missing="mean"), X)
    X[np.isnan(X)] = 0
    X[3] = 900.0
    X[3, 2] = np.nan
    assert "one-row" in codes(PCA(2, missing="em"), X)


@pytest.mark.parametrize("kind", ["PCA", "KernelPCA"])
def test_a_fit_warns_its_caller_and_nobody_else(kind, tmp_path):
    X = load_wine().data
    made = PCA(2) if kind == "PCA" else KernelPCA(2, kernel="rbf", gamma=50.0)
    for fit in (lambda: clone(made).fit(X), lambda: clone(made).fit_transform(X)):
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            fit()
        (one,) = (one for one in raised if one.category is DiagnosticWarning)
        assert one.filename == __file__
        assert str(pickle.loads(pickle.dumps(one.message))) == str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiagnosticWarning)
        clone(made).set_params(**({"scale": "unit"} if kind == "PCA" else {"gamma": "scale"})).fit(X)
        with pytest.raises(DiagnosticWarning, match=r"because of its scale|so narrow"):
            make_pipeline(clone(made)).fit(X)
        # gramian's own fits are silent.
        Monitor(clone(made)).fit(X)
        gramian.choose_components(PCA(3, scale="unit").fit(X), X)
        if find_spec("gramian.connect"):
            import_module("gramian.connect.sklearn").PCA(2).fit(X)
        np.savetxt(tmp_path / "X.csv", X, delimiter=",")
        assert main(["fit", str(tmp_path / "X.csv"), "--as-is", "--n-components", "2"]) == 0


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_a_fit_of_columns_in_one_unit_warns_of_nothing(load):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(3).fit(load().data)
        KernelPCA(2, kernel="rbf", gamma="median").fit(load().data[:300])


def test_serious_findings_stand_above_the_numbers_and_notes_below(tmp_path, capsys):
    wine = load_wine(as_frame=True).data
    wine.to_csv(tmp_path / "wine.csv", index=False)
    arguments = ["fit", str(tmp_path / "wine.csv"), "--as-is", "--n-components", "2"]
    assert main([*arguments, "--report", "-o", str(tmp_path / "r")]) == 0
    printed = capsys.readouterr().out
    pages = [(tmp_path / "r" / name).read_text() for name in ("summary.md", "report.html")]
    for text in (printed, *pages):
        place = text.index("proline has 99.77 % of the variance")
        assert place < text.index("because of its scale") < text.index("Note: PC1 follows the order of rows")
        assert 'scale="unit"' in markup.unescape(text)
        assert all(place < text.index(word) for word in ("are accurate to", "eigenvalue"))
    model = PCA(2).fit(wine)
    summary = str(model.summary())
    assert summary.startswith("Serious: proline has 99.77 % of the variance")
    assert summary.index("proline") < summary.index("are accurate to")
    html = model._repr_html_()
    assert html.index("proline has") < html.index("2 components")


def test_a_saved_model_alone_says_that_rows_were_not_given(tmp_path, capsys):
    model = PCA(2).fit(load_wine().data)
    model.save(tmp_path / "m.gramian")
    assert main(["info", str(tmp_path / "m.gramian")]) == 0
    text = capsys.readouterr().out
    assert text.index("decides the first component") < text.index("eigenvalue")
    assert "Only the model was examined: rows were not given." in text
    assert main(["info", str(tmp_path / "m.gramian"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in facts["diagnosis"]] == ["scale-dominates"]
    assert not facts["diagnosed_rows"]
    assert diagnosis_of(gramian.Whitener().fit(load_wine().data)) is None


def test_labels_that_coincide_are_confounded():
    X, group = factors(90, 5), np.repeat(["a", "b", "c"], 30)
    model = PCA(2).fit(X)
    same = {"group": group, "day": np.repeat([1, 2, 3], 30)}
    assert "confounded" in gramian.diagnose(model, X, same).codes
    nearly = {"group": group, "day": np.r_[same["day"][:-3], [1, None, 1]]}
    assert "confounded" in gramian.diagnose(model, X, nearly).codes
    crossed = {"group": group, "day": np.tile([1, 2, 3], 30), "person": np.arange(90)}
    crossed["rare"] = np.arange(90) == 7  # most rows are False, whatever their group
    assert "confounded" not in gramian.diagnose(model, X, pd.DataFrame(crossed)).codes


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_known_tables_that_are_scaled_have_nothing_serious(load):
    X = load().data
    assert not gramian.diagnose(PCA(3, scale="unit").fit(X), X).serious


@pytest.mark.parametrize(
    "X", [np.eye(2), np.zeros((5, 3)), np.full((30, 1), 7.0), factors(12, 3).astype(np.float32)]
)
def test_any_table_that_can_be_fitted_can_be_diagnosed(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCA(1).fit(X)
    assert isinstance(gramian.diagnose(model, X).codes, tuple)


def test_a_monitor_is_its_model_and_others_are_refused():
    X = factors(60, 5)
    assert gramian.diagnose(Monitor(PCA(2)).fit(X), X).codes == gramian.diagnose(PCA(2).fit(X), X).codes
    with pytest.raises(InputTypeError, match="not a Whitener"):
        gramian.diagnose(gramian.Whitener().fit(X))


def test_a_row_is_named_by_the_index_of_its_frame():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[3] *= 1000
    frame = pd.DataFrame(X, columns=list("abcd")).sample(frac=1, random_state=1)
    (found,) = [one for one in gramian.diagnose(PCA(2).fit(frame), frame).findings if one.code == "one-row"]
    place = list(frame.index).index(3)
    assert f"ow {place} (named '3')" in found.sentence


def test_labels_come_in_any_form():
    X, group = factors(60, 5), ["u", "v"] * 30
    model = PCA(2).fit(X)
    forms = (
        *(group, tuple(group), np.array(group), pd.Series(group), pd.Index(group), pd.Categorical(group)),
        *(pl.Series(group), pa.array(group), pa.chunked_array([group]), pa.table({"kind": group})),
        *(pd.DataFrame({"kind": group}), pl.DataFrame({"kind": group}), {"kind": group}),
    )
    codes = gramian.diagnose(model, X).codes
    for labels in forms:
        assert gramian.diagnose(model, X, labels).codes == codes
        assert gramian.describe(model, X, labels).rows.tolist() == [60]
    with pytest.raises(DataError, match="the metadata has 59 rows for the 60 rows of the data"):
        gramian.diagnose(model, X, group[1:])
    with pytest.raises(DataError, match="labels are lists of different lengths"):
        gramian.diagnose(model, X, [["u"], ["u", "v"]] * 30)


def test_labels_of_many_rows_coincide_only_where_all_rows_say_so():
    rng = np.random.default_rng(0)
    X, batch = rng.normal(size=(9000, 3)) * [3, 2, 1], rng.choice(["u", "v"], 9000)
    day, model = np.where(batch == "u", 1, 2), PCA(2).fit(X)
    assert "confounded" in gramian.diagnose(model, X, {"batch": batch, "day": day}).codes
    places = Evidence(model, as_rows(X)).places  # of the rows that are looked at first
    day[np.setdiff1d(np.arange(9000), places)[:2000]] = 3
    assert "confounded" not in gramian.diagnose(model, X, {"batch": batch, "day": day}).codes


@pytest.mark.filterwarnings("ignore:The data has rank 0")
def test_constant_rows_are_not_few_for_no_component():
    assert not gramian.diagnose(PCA(2).fit(np.ones((6, 3))), np.ones((6, 3))).codes
