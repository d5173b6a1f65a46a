import re

import numpy as np
import pytest

from gramian import ParameterError
from gramian.estimators.regularization import as_measured, check_regularization, regularized
from gramian.estimators.whitener import Whitener
from gramian.records import Spectrum
from helpers import spectrum_matrix


def test_what_is_understood():
    for value, expected in [
        (None, None),
        (0, None),
        (0.0, None),
        (2, 2.0),
        (np.float32(0.5), 0.5),
        ("oas", "oas"),
    ]:
        assert check_regularization(value) == expected


def test_what_is_refused():
    for value, message in [
        (-1e-9, "regularization=-1e-09 must be a number of at least 0, which is added to every variance"),
        (np.nan, "regularization=nan must be a number"),
        (np.inf, "regularization=inf must be a number"),
        (True, "regularization=True must be a number"),
        ([1.0], "regularization=[1.0] must be a number"),
        (1j, "regularization=1j must be a number"),
        ("ledoit", "regularization='ledoit' is not known. Allowed: 'ledoit-wolf', 'oas'. Did you mean"),
    ]:
        with pytest.raises(ParameterError, match=re.escape(message)):
            check_regularization(value)


def test_variances_beyond_the_rank_stay_out():
    products = np.eye(3) * 1.25
    settled = as_measured(np.array([4.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.0]), products)
    assert settled.amount is None
    assert settled.rest == 0
    np.testing.assert_array_equal(settled.deviations, [2.0, 1.0, 0.0])
    np.testing.assert_allclose(settled.correction, np.diag([1.25**-0.5, 1.25**-0.5, 1.0]))


def spectrum(values, tolerance):
    values = np.array(values)
    return Spectrum(
        values, None, np.zeros(3), values.sum(), None, tolerance, 0.0, "deterministic", "full", True
    )


@pytest.mark.parametrize(("added", "kept"), [(0.5, True), (1e-12, False)])
def test_what_is_added_may_not_be_rounding_itself(added, kept):
    variances = np.array([4.0, 1.0, 0.0])
    settled = regularized(added, variances, 5.0, spectrum([4.0, 1.0, 0.0], 1e-10), view(), None)
    np.testing.assert_allclose(settled.variances, [4 + added, 1 + added, added if kept else 0])
    np.testing.assert_allclose(settled.deviations**2, settled.variances)
    np.testing.assert_allclose(settled.rest**2, added if kept else 0)
    assert settled.amount == added


def view():
    class View:
        class rows:
            shape = (10, 4)

    return View


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (900, 500)])
def test_few_components_do_not_change_the_intensity(shape):
    for rule in ["oas", "ledoit-wolf"]:
        X = spectrum_matrix(*shape, 10 * 0.9 ** np.arange(40), seed=0)
        whole = Whitener(regularization=rule).fit(X)
        few = Whitener(regularization=rule, n_components=3, random_state=0).fit(X)
        assert few.regularization_ == pytest.approx(whole.regularization_, rel=1e-9)
        assert 0 < few.regularization_ < 1
        np.testing.assert_allclose(
            few.regularized_eigenvalues_, whole.regularized_eigenvalues_[:3], rtol=1e-9
        )
