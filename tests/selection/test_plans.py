"""What a search has to do, from the parameters."""

import numpy as np
import pytest

from gramian import ParameterError
from gramian.selection.feature_groups import space_of
from gramian.selection.plans import plan_of
from gramian.selection.search import forward

NAMES = tuple(f"x{j}" for j in range(10))


def plan(wanted="best", *, adding=True, floating=False, patience=None, **space):
    return plan_of(
        space_of(space.get("groups"), space.get("fixed"), NAMES), wanted, adding, floating, patience
    )


@pytest.mark.parametrize(
    ("wanted", "rule", "limit"),
    [
        ("best", "best", None),
        ("one-se", "one-se", None),
        (1, "size", 1),
        (np.int64(10), "size", 10),
        (0.3, "size", 3),
        (0.39, "size", 3),
        (0.01, "size", 1),
        (np.float32(0.5), "size", 5),
    ],
)
def test_rule_and_limit(wanted, rule, limit):
    found = plan(wanted)
    assert (found.rule, found.limit) == (rule, limit)


def test_share_is_not_lost_to_rounding():
    names = tuple(f"x{j}" for j in range(100))
    assert int(0.29 * 100) == 28
    assert plan_of(space_of(None, None, names), 0.29, True, False, None).limit == 29


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (
            "auto",
            "='auto' is not known. Give 'best', 'one-se', a number of features from 1 to 10, or a share",
        ),
        (0, "n_features_to_select=0 but there are 10 features. Give"),
        (11, "n_features_to_select=11 but there are 10 features. Give"),
        (-3, "n_features_to_select=-3 but"),
        (True, "n_features_to_select=True is no number of features"),
        (None, "n_features_to_select=None is no number of features"),
        ([3], r"n_features_to_select=\[3\] is no number of features"),
        (1.0, "n_features_to_select=1.0 is no share between 0 and 1"),
        (0.0, "n_features_to_select=0.0 is no share"),
        (float("nan"), "n_features_to_select=nan is no share"),
    ],
)
def test_numbers_refused(wanted, said):
    with pytest.raises(ParameterError, match=said):
        plan(wanted)


def test_numbers_that_cannot_be_reached():
    with pytest.raises(ParameterError, match=r"=2 is 2 features, but 3 are fixed. Give 3 or more"):
        plan(2, fixed=[0, 1, 2])
    assert plan(3, fixed=[0, 1, 2]).limit == 3
    with pytest.raises(
        ParameterError,
        match=r"=0\.4 is 4 features, but the smallest group has 5. Features are counted, not groups",
    ):
        plan(0.4, groups=[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]])


def test_patience():
    assert plan(patience=np.int32(2)).patience == 2
    for bad in (0, -1, 1.5, True, "3"):
        with pytest.raises(
            ParameterError, match=f"patience={bad!r} must be a whole number of steps, at least 1"
        ):
            plan(patience=bad)
    with pytest.raises(
        ParameterError, match="patience=2 is for 'best' and 'one-se', but n_features_to_select=3 has"
    ):
        plan(3, patience=2)


def test_moves_to_come():
    assert plan().moves == 10
    assert plan(adding=False).moves == 9
    assert plan(adding=False, fixed=[0]).moves == 9
    assert plan(4).moves == 4
    assert plan(4, adding=False).moves == 6
    assert plan(4, fixed=[0]).moves == 3
    assert plan(4, groups=[[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]).moves == 2
    assert plan(10).moves == 10


def test_names_and_moved():
    assert plan().name == "forward"
    assert plan(adding=False, floating=True).name == "backward floating"

    class Flat:
        def scores(self, kept, groups, adding):
            return np.zeros((len(groups), 2))

    found = plan(6, groups=[[0, 1], [2, 3]], fixed=[4])
    steps = list(found.steps(Flat()))
    assert [found.moved(step) for step in steps] == [0, 1, 2, 3]
    assert [s.subset for s in steps] == [s.subset for s in forward(Flat(), found.space, limit=6)]
    back = plan(8, adding=False)
    assert [back.moved(step) for step in back.steps(Flat())] == [0, 1, 2]
    assert found.n_features == 10
