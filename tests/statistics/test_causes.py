"""Likely causes of unusual values."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from gramian.statistics.causes import causes_of

X = load_wine().data
NAMES = [f"x{j}" for j in range(13)]
ROW, OTHERS = X[9], np.delete(X, 9, axis=0)  # each value is usual
NUMBERS = list(map(str, range(1, 178)))


def said(column, value):
    row = ROW.copy()
    row[column] = value
    return [(cause.kind, cause.column, cause.reading) for cause in causes_of(row, OTHERS, NAMES, NUMBERS)]


@pytest.mark.parametrize(
    ("column", "value", "kind", "reading"),
    [
        (0, 138.6, "decimal point", 13.86),
        (0, -13.86, "sign", 13.86),
        (0, 13.86 * 2.54, "unit", 13.86),
        (2, -999.0, "missing", None),
    ],
)
def test_one_cause_that_fits_is_named(column, value, kind, reading):
    [(is_kind, name, read)] = said(column, value)
    assert (is_kind, name) == (kind, f"x{column}")
    assert read is reading or read == pytest.approx(reading)


def test_several_causes_and_rows_are_named_once_or_not():
    assert said(0, 13.86) == []
    assert said(0, 1e9) == []
    wide = np.column_stack([np.geomspace(1, 1e4, 100), np.linspace(0, 1, 100), np.linspace(5, 9, 100)])
    assert causes_of(np.array([1e9, 0.5, 7.0]), wide, NAMES[:3], NUMBERS[:100]) == []
    assert causes_of(np.array([1e3, 1.0, 1.0]), np.ones((19, 3)), NAMES[:3], NUMBERS[:19]) == []
    [cause] = causes_of(X[5], X, NAMES, NUMBERS)
    assert str(cause) == "The row has the same values as row 6"
    [cause] = causes_of(10 * ROW[:3], OTHERS[:, :3], NAMES[:3], NUMBERS)
    assert (cause.kind, str(cause)) == (
        "unit of the row",
        "The row is in another unit: times 0.1 it is usual",
    )
    row = ROW.copy()
    row[[11, 12]] = row[[12, 11]]
    [cause] = causes_of(row, OTHERS, NAMES, NUMBERS)
    assert (cause.kind, cause.column) == ("swapped", "x11")


def test_a_column_that_is_mostly_zero_has_no_logarithms_and_no_warning():
    others = np.column_stack([OTHERS, np.arange(len(OTHERS)) % 9 == 0])
    assert causes_of(np.append(ROW, 0.0), others, [*NAMES, "rare"], NUMBERS) == []


def test_rows_that_agree_by_chance_are_no_copies_and_planted_ones_are():
    rng = np.random.default_rng(0)
    sizes = np.clip(np.round(3 + 1.3 * rng.normal(size=(300, 1)) + 0.4 * rng.normal(size=(300, 20))), 1, 5)
    tables = {
        "sparse counts": (rng.poisson(0.1, (200, 30)), 0),
        "depths": (rng.poisson(rng.gamma(0.2, 1, 40) * rng.gamma(1, 1, (300, 1))), 0),
        "answers that agree": (sizes, 0),
        "counts": (rng.poisson(0.3, (300, 40)), 10),
        "answers": (rng.integers(1, 6, (300, 15)), 10),
        "numbers": (rng.normal(size=(100, 5)), 10),
    }
    for name, (table, planted) in tables.items():
        X = table.astype(float)
        X[:planted] = X[-planted:] if planted else X[:0]
        found = [
            row
            for row in range(150 if planted == 0 else planted)
            if any(
                cause.kind == "copied row"
                for cause in causes_of(X[row], np.delete(X, row, 0), ["x"] * X.shape[1], ["y"] * len(X))
            )
        ]
        assert len(found) == planted, name
