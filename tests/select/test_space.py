"""Groups and fixed features from numbers, names, masks and labels."""

import numpy as np
import pytest

from gramian.errors import ParameterError
from gramian.select.wrappers import space_of

NAMES = ("age", "height", "weight", "red", "green")


def plain(groups=None, fixed=None, names=NAMES):
    space = space_of(groups, fixed, names)
    assert all(group.dtype == np.intp for group in (*space.free, space.fixed))
    return [group.tolist() for group in space.free], space.fixed.tolist()


def test_groups_and_fixed_of_every_form_and_what_is_refused():
    for groups in [
        [[1, 2], [3, 4]],
        [("weight", "height"), ["green", 3]],
        (np.array([2, 1]), np.array([4, 3])),
        np.array([[2, 1], [4, 3]]),
        ["a", "b", "b", "c", "c"],
        np.array([0, 7, 7, 3, 3]),
        [None, "size", "size", 5, 5],
    ]:
        assert plain(groups) == ([[0], [1, 2], [3, 4]], [])
    assert plain() == ([[0], [1], [2], [3], [4]], [])
    assert plain([[4, 2], [3, 0]])[0] == [[0, 3], [1], [2, 4]]
    for fixed in [
        [1, 0],
        ["height", "age"],
        np.array([0, 1]),
        [True, True, False, False, False],
        np.arange(5) < 2,
        (0, 1, 1),
        {0, 1},
    ]:
        assert plain(fixed=fixed) == ([[2], [3], [4]], [0, 1])
    assert plain(fixed=[]) == plain(fixed=np.zeros(5, dtype=bool)) == plain()
    assert plain([[1, 2], [3, 4]], fixed=["weight"]) == ([[0], [3, 4]], [1, 2])
    with pytest.raises(ParameterError, match=r"fixed=\[2\] includes all 5 features, with their groups\."):
        plain([[0, 1, 2, 3, 4]], fixed=[2])
    for groups, message in [
        ([[0, 1], [2, 1]], r"groups\[0\] and"),
        ([["age"], [0]], r"groups\[0\] and"),
        ([[0, "age"]], r"groups\[0\] and"),
        ([[0], []], r"groups\[1\] is empty\."),
        ([["heigth"]], r"\. Give a unique name,"),
        ([[5]], "A feature in groups=5"),
        ([[-1]], "A feature in"),
        ([[True]], "A feature in"),
        ([0, 1], r"groups=\[0, 1\] has 2"),
        ([[0, 1], 2, 3], r"groups=\[\[0, 1\], 2, 3\]"),
        ({"size": [1, 2]}, r": \[1, 2\]\} has 1"),
        ([], r"groups=\[\] has 0"),
    ]:
        with pytest.raises(ParameterError, match=message):
            plain(groups)
    for fixed, message in [
        ([7], "A feature in fixed=7 must be a"),
        (["blue"], r"\. Give a unique name, or numbers\."),
        ([True, False], "fixed is a mask of 2 booleans, but"),
        ([True, 0], "A feature in fixed=True must be a"),
        ("age", r"\. Give a unique name, or numbers\."),
        (range(5), r"fixed=range\(0, 5\) includes all 5"),
    ]:
        with pytest.raises(ParameterError, match=message):
            plain(fixed=fixed)
    assert plain([[0, 1]], names=("a", "a", "b")) == ([[0, 1], [2]], [])
    with pytest.raises(ParameterError, match=r", but 2 features have that name\. Give a unique name, or"):
        plain([["a", "b"]], names=("a", "a", "b"))
    with pytest.raises(ParameterError, match=r"and 92 more\. Give a unique name, or numbers\."):
        plain(fixed=["y"], names=tuple(f"x{j}" for j in range(100)))
