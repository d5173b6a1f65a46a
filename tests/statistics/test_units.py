"""Which tables have columns that dominate because of their unit: public ones, and published variances."""

import csv
import warnings

import numpy as np
import pytest
from sklearn import datasets

from gramian import PCA
from gramian.statistics.components import column_variances
from gramian.statistics.findings import model_findings, unit_findings
from gramian.statistics.units import column_axis, dominant_columns, unit_difference

# Standard deviations of bill length, bill depth, flipper length (mm) and mass (g) of 342 penguins.
PENGUINS = {"bill_length_mm": 5.46, "bill_depth_mm": 1.97, "flipper_length_mm": 14.06, "body_mass_g": 801.95}
CRIES = {
    "wine": ["proline"],
    "breast_cancer": ["worst area", "mean area"],
    "penguins": ["body_mass_g"],
    "datasets_USArrests.csv": ["Assault"],
    "places.csv": ["pop"],
    "cover.npz": ["5", "9"],  # metres to the next road and fire; the others are degrees and shades
}


def with_deviations(deviations, n=200, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, len(deviations)))
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1) * deviations


def bundled():
    for name in ("iris", "wine", "breast_cancer", "diabetes", "digits"):
        data = getattr(datasets, f"load_{name}")()
        yield name, data.data, list(data.feature_names)
    yield "diabetes raw", datasets.load_diabetes(scaled=False).data, None
    body = datasets.load_linnerud()
    yield "linnerud exercise", body.data, body.feature_names
    yield "linnerud body", body.target, body.target_names
    yield "penguins", with_deviations(list(PENGUINS.values())), list(PENGUINS)


def public(folder):
    for path in sorted(folder.glob("*.npz")):
        arrays = np.load(path, allow_pickle=False)
        for name in arrays.files:
            X = arrays[name]
            if X.ndim == 2 and X.dtype.kind in "fiu" and min(X.shape) > 2:
                yield path.name, X[:20_000].astype(float), None
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        numeric = [j for j in range(len(head)) if all(is_number(row[j]) for row in rows)]
        yield (
            path.name,
            np.array([[float(row[j]) for j in numeric] for row in rows]),
            [head[j] for j in numeric],
        )
    yield "oil_flow", np.loadtxt(folder / "oil_flow" / "DataTrn.txt"), None


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def dominant_names(X, names):
    variances = np.nanvar(X, axis=0, ddof=1)
    return [str(j) if names is None else str(names[j]) for j in dominant_columns(variances)]


def test_public_tables(data_dir):
    seen = 0
    for name, X, names in public(data_dir / "tables"):
        assert dominant_names(X, names) == CRIES.get(name, []), name
        seen += 1
    assert seen >= 11


def test_the_rule_is_its_definition():
    rng = np.random.default_rng(0)
    cried = 0
    for _ in range(300):
        d = int(rng.integers(1, 8))
        values = np.exp(rng.normal(0, 4, d)) * (rng.random(d) < 0.9)
        answers = []
        varying = np.flatnonzero(values)
        for m in range(1, len(varying) // 2 + 1):
            order = sorted(varying, key=lambda j: -values[j])
            large, small = values[order[:m]], values[order[m:]]
            if large.sum() >= 0.95 * values.sum() and np.sqrt(large.min()) >= 5 * np.sqrt(small.max()):
                answers.append(order[:m])
        assert dominant_columns(values).tolist() == (answers[0] if answers else [])
        cried += bool(answers)
    assert 50 < cried < 250
    for name, X, names in bundled():
        assert dominant_names(X, names) == CRIES.get(name, []), name
    X = np.zeros((30, 4, 4))
    X[:, 1, 1] = 100 * np.random.default_rng(0).standard_normal(30)
    X += np.random.default_rng(1).standard_normal(X.shape)
    assert model_findings(PCA(2).fit(X.reshape(30, 16)))
    assert not model_findings(PCA(2).fit(X))


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_a_fitted_model_says_so_and_names_the_way_out(fit):
    X = with_deviations(list(PENGUINS.values()))
    for factor in (1.0, 1e-90):
        model = getattr(PCA(2), fit)(X * factor)
        assert model.dominant_columns_.tolist() == [3]
        said = (
            "Serious: x3 has 99.96 % of the variance because of its scale and decides the first component. "
            'If columns have different units, use scale="unit". (scale-dominates)'
        )
        assert str(model.summary()).splitlines()[0] == said
        html = model._repr_html_()
        assert html.index("because of its scale") < html.index("% of the variance</b>")
    assert not getattr(PCA(2, scale="unit"), fit)(X).dominant_columns_.size
    assert not model_findings(getattr(PCA(2, scale=X.std(axis=0)), fit)(X))
    assert not model_findings(PCA(2, center=False).fit(X))


def test_columns_are_an_axis_by_one_unit_or_step():
    axes = (
        [f"{900 + 2 * j} nm" for j in range(9)],
        [f"X{400.5 + 0.25 * j}" for j in range(9)],  # as R names numbers
        [f"{4000 - 3.86 * j:.2f}" for j in range(99)],
        [f"wl_{j}" for j in (400, 410, 430)],
        [f"{j} cm-1" for j in (4000, 3990, 3985)],
        [f"{j}h" for j in (0, 1, 2, 6, 24)],
        [f"day {j}" for j in range(1, 8)],
        [str(year) for year in range(1990, 2000)],
    )
    for names in axes:
        found = column_axis(names)
        assert found is not None, names
        assert len(found[0]) == len(names)
    assert [column_axis(names)[1] for names in axes] == ["nm", "", "", "wl", "cm-1", "h", "day", ""]
    items = (
        [f"ENSG{100000 + 3 * j:011d}" for j in range(9)],
        [f"x{j}" for j in range(1, 10)],
        [f"X{j}" for j in range(1, 10)],
        [f"q{j}" for j in range(12, 30)],
        [str(j) for j in range(500)],  # counted, not measured
        [f"{j:04d}" for j in range(200, 260)],
        [f"rs{j}" for j in (100, 130, 160)],
        [f"r0c{j}" for j in range(8)],
        [f"{j}_at" for j in (1007, 1053, 1117)],
        ["900 nm", "902 nm", "901 nm"],
        ["1 cm", "2 cm", "3 kg"],
        ["10", "1000", "1001"],
        ["a", "b", "c"],
        ["900 nm", "902 nm"],
    )
    for names in items:
        assert column_axis(names) is None, names


@pytest.mark.parametrize("gap", [1.0, 4.0, 15.0, 60.0])
def test_few_rows_of_many_columns_without_names_show_a_gap_as_all_comparisons_do(gap):
    rng = np.random.default_rng(3)
    found = 0
    for few in (1, 3, 20, 40):
        X = rng.standard_normal((5, 41)) * np.r_[np.full(few, gap), np.ones(41 - few)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PCA(1).fit(X)
        clause, _ = unit_difference([f"x{j}" for j in range(41)], np.sqrt(column_variances(model)))
        found += bool(clause)
        assert len(list(unit_findings(model))) == bool(clause)
    assert found == {1.0: 0, 4.0: 0, 15.0: 1, 60.0: 3}[gap]
