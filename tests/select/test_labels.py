import numpy as np
import pytest
from scipy import sparse

from gramian.errors import DataError, ParameterError
from gramian.select.targets import as_labelled, as_target, looks_discrete

X = np.arange(12.0).reshape(6, 2)
TWO = [0, 1, 0, 1, 0, 1]


def test_what_looks_discrete_is_coded_in_order_if_it_can_be():
    for y, discrete in [
        (["a", "b"], True),
        ([True, False], True),
        ([1, 2, 3], True),
        ([1.0, 2.0], True),
        ([1.5, 2.0], False),
        (np.arange(21), False),
        (np.arange(500) % 22, True),
        (np.arange(500) % 23, False),
        ([-1e300, 1e300], True),
    ]:
        assert looks_discrete(np.asarray(y)) is discrete
    codes, classes, _ = as_target(["b", "a", "b"], 3)
    assert codes.tolist() == [1, 0, 1]
    assert classes.tolist() == ["a", "b"]
    data = as_labelled(X, list("xyxyxy"), estimator="test")
    assert data.original.tolist() == list("xyxyxy")
    assert data.names == ("x0", "x1")
    numbers, classes, _ = as_target([1, 2, 3], 3, discrete=False)
    assert numbers.dtype == np.float64
    assert classes is None
    assert as_target(["1", "2"], 2, discrete=False)[0].tolist() == [1.0, 2.0]
    assert as_labelled(X, [0.5] * 5 + [1.0], estimator="test").original.tolist() == [0.5] * 5 + [1.0]
    assert as_target(np.array([1, 2.0, True], dtype=object), 3, discrete=True)[1].tolist() == [1.0, 2.0]
    assert as_target(np.array(["1", "a"], dtype=object), 2)[1].tolist() == ["1", "a"]
    assert as_labelled(X.astype(np.float32), TWO, estimator="test").X.dtype == np.float32
    held = as_labelled(sparse.coo_array(X), TWO, estimator="test").X
    assert held.format == "csc"
    np.testing.assert_array_equal(held.toarray(), X)
    for y, match in [
        (None, r"test requires y to be passed, but the target y is None"),
        ([0, 1], r"y has 2 labels but X has 6 rows"),
        ([[0, 1]] * 6, r"y must hold one label for each row"),
        ([None] * 6, r"None of 6 rows has a label"),
        ([0.5, np.inf, 0, 1, 0, 0], r"label 1 is inf"),
        ([1] * 6, r"All 6 labels are the same 1 class: "),
        (["a"] * 6, r"All 6 labels are the same 1 class"),
        ([0.5] * 6, r"All 6 labels are the same: 0.5. Give labels that vary"),
        ([1j, 2j, 3j, 4j, 5j, 6j], r"Complex data not supported"),
    ]:
        with pytest.raises(DataError, match=match):
            as_labelled(X, y, estimator="test")
    with pytest.raises(DataError, match="Unknown label type: y contains text such as"):
        as_target(["a", "b"], 2, discrete=False)
    with pytest.raises(DataError, match=r"Unknown label type: continuous"):
        as_target([0.5, 1.5], 2, discrete=True)
    with pytest.raises(ParameterError, match=r"is not known\. Give True, False or"):
        as_target(TWO, 6, discrete="x")
