"""Two fits of the same data are the same within their error bounds; others are not."""

import numpy as np
import pandas as pd
import pytest

import gramian
from gramian import PCA, KernelPCA, Whitener
from gramian.app.cli import main

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6)) * [6, 5, 4, 3, 2, 1]
NAMES = list("abcdef")
CIRCLE = np.arange(60) * 2 * np.pi / 60


def test_routes_arithmetic_and_machines_change_nothing_beyond_the_bounds():
    rounded = X.astype(np.float32)
    fits = [PCA(4, solver=solver).fit(rounded) for solver in ("full", "covariance", "gram", "krylov")]
    fits.append(PCA(4).fit(rounded.astype(float)))
    fits.append(PCA(4).partial_fit(rounded[:100]).partial_fit(rounded[100:]))
    for other in fits[1:]:
        result = gramian.compare(fits[0], other)
        assert result.explained
        assert result.sentences()[0].startswith("The result is the same")


def test_numbers_are_those_of_the_definition():
    old, new = PCA(4).fit(X), PCA(4).fit(X[:200])
    result = gramian.compare(old, new)
    assert not result.explained
    assert "The fits have 300 and 200 rows." in result.sentences()
    for match in result.matches:
        (i,), (j,) = match.old, match.new
        cosine = abs(old.components_[i] @ new.components_[j])
        assert match.angle == pytest.approx(np.arccos(min(1.0, cosine)), abs=1e-7)
    expected = (new.explained_variance_ - old.explained_variance_) / old.explained_variance_[0]
    assert [m.new for m in result.matches] == [(0,), (1,), (2,), (3,)]
    assert result.changes == pytest.approx(expected, rel=1e-12)
    assert "beyond the error bounds" in str(result)
    assert result._repr_html_().count("<tr>") == 5


def test_signs_and_order_are_matched():
    shrunk = X * [0.5, 1, 1, 1, 1, 1]  # the first component becomes the third
    old, new = PCA(6).fit(X), PCA(6).fit(shrunk)
    new.components_ = new.components_ * np.array([-1, 1, 1, 1, 1, 1])[:, None]
    result = gramian.compare(old, new)
    partner = {match.old[0]: match.new[0] for match in result.matches}
    overlaps = np.abs(old.components_ @ new.components_.T)
    assert all(overlaps[i, j] > 0.7 for i, j in partner.items())
    assert partner[0] == 2


def test_equal_components_are_compared_as_a_subspace():
    rows = np.c_[np.cos(CIRCLE), np.sin(CIRCLE), 0.1 * np.cos(3 * CIRCLE)]
    # Less than the certificate tells apart decides which of two equal components is first.
    tables = [rows * stretch for stretch in ([1 + 1e-14, 1, 1], [1, 1 + 1e-14, 1])]
    old, new = (PCA(3).fit(table) for table in tables)
    assert abs(old.components_[0] @ new.components_[0]) < 0.1  # rotated by a right angle
    result = gramian.compare(old, new)
    assert result.explained
    assert result.largest_angle < 1e-12
    assert [match.old for match in result.matches] == [(0, 1), (2,)]
    # The rest of a pair is missing, so that any angle is possible.
    half = gramian.compare(*(PCA(1).fit(table) for table in tables))
    assert half.explained
    assert half.largest_angle > 1.5
    assert "do not bound the direction of PC1" in str(half)


def test_columns_are_the_same():
    frame = pd.DataFrame(X, columns=NAMES)
    old = PCA(3).fit(frame)
    assert gramian.compare(old, PCA(3).fit(X)).explained
    with pytest.raises(gramian.errors.DataError, match="The order of the columns differs"):
        gramian.compare(old, PCA(3).fit(frame[NAMES[::-1]]))
    with pytest.raises(gramian.errors.DataError, match="The new model lacks the columns"):
        gramian.compare(old, PCA(3).fit(frame.rename(columns={"a": "z"})))


def test_models_that_cannot_be_compared_are_refused():
    model = PCA(2).fit(X)
    for other in (KernelPCA(2).fit(X), Whitener().fit(X), 3):
        with pytest.raises(
            gramian.errors.InputTypeError, match=r"\. Components of kernel PCA lie in a feature space, and"
        ):
            gramian.compare(model, other)
    with pytest.raises(gramian.errors.DataError, match="The models have 6 and 5 columns, which cannot"):
        gramian.compare(model, PCA(2).fit(X[:, :5]))
    for changed in ({"scale": "unit"}, {"center": False}, {"ddof": 0}, {"scale": np.arange(1.0, 7)}):
        with pytest.raises(
            gramian.errors.DataError, match=r": their components mean different things\. Fit both with"
        ):
            gramian.compare(model, PCA(2, **changed).fit(X))
    own = PCA(2, scale=np.arange(1.0, 7)).fit(X)
    assert gramian.compare(own, PCA(2, scale=np.arange(1.0, 7)).fit(X)).explained


def test_components_without_variance_are_left_out():
    flat = np.outer(RNG.standard_normal(30), np.ones(4)) + 0.1 * RNG.standard_normal((30, 1)) * [1, -1, 1, -1]
    with pytest.warns(gramian.errors.RankWarning):
        model = PCA(4).fit(flat)
    result = gramian.compare(model, PCA(2).fit(flat))
    assert result.explained
    assert len(result.old_values) == 2
    constant = np.ones((5, 3))
    with pytest.warns(gramian.errors.RankWarning):
        none = PCA(2).fit(constant)
    assert str(gramian.compare(none, none)) == "There are no components to compare."


def test_the_shell_returns_3_beyond_the_tolerance(tmp_path, capsys):
    old, new = str(tmp_path / "old.gramian"), str(tmp_path / "new.gramian")
    PCA(3).fit(X).save(old)
    PCA(3).fit(X * 1.01).save(new)
    assert main(["compare", old, old, "--tol", "1e-9"]) == 0
    assert main(["compare", old, new]) == 0
    assert "The result changed" in capsys.readouterr().out
    assert main(["compare", old, new, "--tol", "0.1"]) == 0
    assert main(["compare", old, new, "--tol", "0.01", "--json"]) == 3
    assert '"within_tolerance": false' in capsys.readouterr().out
    assert main(["compare", old, new, "--tol", "-1"]) == 2
    assert main(["compare", old]) == 2
