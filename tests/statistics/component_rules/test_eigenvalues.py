"""Rules on the spectrum, each against a literal transcription of its definition."""

from itertools import product

import numpy as np
from numpy.testing import assert_allclose

from gramian.statistics.component_rules import (
    ComponentChoice,
    Scree,
    broken_stick,
    fraction_rule,
    kaiser,
)


def scree(values, *, known=None, n=100, **options):
    values = np.asarray(values, dtype=np.float64)
    d = values.size
    given = {"n_features": d, "varying": d, "degrees": n - 1, **options}
    return Scree(values[:known], float(values.sum()), n, **given)


SPECTRA = {
    "separated": [9.0, 4, 1.5, 0.4, 0.3, 0.2, 0.1],
    "flat": [1.0] * 7,
    "dominant": [1e6, 1.2, 1.1, 1.0, 0.9],
    "geometric": (0.7 ** np.arange(12)).tolist(),
    "two": [2.0, 1.0],
    "one": [3.0],
    "deficient": [4.0, 2.0, 1.0, 0, 0, 0],
}


def test_kaiser_and_the_broken_stick_are_their_formulas():
    for name in SPECTRA:
        values = np.array(SPECTRA[name])
        assert kaiser(scree(values)).number == sum(values > values.mean())
    for name in SPECTRA:
        values = np.array(SPECTRA[name])
        p, number = values.size, 0
        for j in range(1, p + 1):
            if not values[j - 1] / values.sum() > sum(1 / i for i in range(j, p + 1)) / p * (1 + 1e-9):
                break
            number = j
        choice = broken_stick(scree(values))
        assert choice.number == number
        assert_allclose(choice.evidence["stick_piece"].sum(), 1.0)


def test_parts_of_spectra_and_what_does_not_vary():
    part = scree([5.0, 4, 3, 0.1, 0.1, 0.1, 0.1], known=2)
    assert not part.whole
    assert_allclose(part.left, [12.4, 7.4, 3.4])
    for choice in (kaiser(part), broken_stick(part), fraction_rule(part, 0.95)):
        assert choice.number == 2
        assert choice.at_least
        assert choice.answer == "at least 2"
    assert not kaiser(scree([5.0, 1, 1, 1, 1, 1, 1], known=2)).at_least
    nothing = Scree(np.zeros(3), 0.0, 10, 3, 0, degrees=9)
    assert nothing.size == 0
    assert nothing.left.tolist() == [0.0]
    assert [rule(nothing).number for rule in (kaiser, broken_stick)] == [0, 0]
    assert fraction_rule(nothing, 0.9).number == 0
    values = [3.0, 1.0, 0.5]
    wide = Scree(np.array([*values, 1e-20]), 4.5, 4, 6, 5, degrees=3, tolerance=1e-12)
    assert (wide.rows, wide.size) == (3, 3)
    assert wide.known.tolist() == values
    raw = Scree(np.array([*values, 0.2]), 4.7, 4, 6, 5, centered=False, degrees=4)
    assert raw.size == 4


def test_fractions_and_errors_are_those_of_the_reconstruction_and_printed():
    choice = kaiser(scree(SPECTRA["separated"]))
    lines = str(choice).splitlines()
    assert lines[0] == (
        "kaiser: 2 components. 2 eigenvalues exceed the mean (component 2: 4 > 2.214); component 3 does not: "
        "1.5 <= 2.214."
    )
    assert lines[1].split() == ["components", "eigenvalue", "mean"]
    assert len(lines) == 2 + 7
    long = kaiser(scree(np.linspace(2, 1, 50)))
    assert str(long).endswith("... and 30 more")
    assert str(ComponentChoice("cv", None, {}, "Too few.")) == "cv: no answer. Too few."
    for name, fraction in product(SPECTRA, [0.01, 0.5, 0.9, 0.999]):
        values = np.array(SPECTRA[name])
        reached = [k for k in range(values.size + 1) if values[:k].sum() >= (fraction - 1e-12) * values.sum()]
        assert fraction_rule(scree(values), fraction).number == reached[0]
