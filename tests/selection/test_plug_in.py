import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from gramian.selection.plug_in import codes_of, entropy, plug_in, plug_in_bias

codes = st.lists(st.integers(0, 4), min_size=1, max_size=40)


def by_definition(x, y):
    """``sum f(x, y) ln(f(x, y) / (f(x) f(y)))`` over all pairs of values."""
    n = len(x)
    total = 0.0
    for a in set(x):
        for b in set(y):
            f_ab = sum(1 for u, v in zip(x, y, strict=True) if u == a and v == b) / n
            f_a, f_b = list(x).count(a) / n, list(y).count(b) / n
            total += f_ab * math.log(f_ab / (f_a * f_b)) if f_ab else 0.0
    return total


def test_a_table_worked_by_hand():
    # 8 rows:        y = 0   y = 1
    #   x = 0          3       1      f(x) = 1/2
    #   x = 1          0       4      f(x) = 1/2;  f(y) = 3/8, 5/8
    x = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    # 3/8 ln((3/8) / (3/16)) + 1/8 ln((1/8) / (5/16)) + 1/2 ln((1/2) / (5/16))
    by_hand = 3 / 8 * math.log(2) + 1 / 8 * math.log(2 / 5) + 1 / 2 * math.log(8 / 5)
    assert plug_in(x, y) == pytest.approx(by_hand, abs=1e-15)
    assert by_hand == pytest.approx(0.3803957, abs=1e-7)
    assert entropy(y) == pytest.approx(-3 / 8 * math.log(3 / 8) - 5 / 8 * math.log(5 / 8))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_it_is_the_definition(pairs):
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    assert plug_in(x, y) == pytest.approx(by_definition(x, y), abs=1e-12)
    assert plug_in(x, y) == pytest.approx(mutual_info_score(x, y), abs=1e-12)


@given(codes)
def test_a_variable_tells_its_own_entropy_of_itself(values):
    x = codes_of(np.array(values))
    assert plug_in(x, x) == pytest.approx(entropy(x), abs=1e-12)


def test_many_values_on_both_sides_need_no_table_of_all_pairs():
    x = np.arange(200_000)
    assert plug_in(x, x) == pytest.approx(math.log(200_000))


def test_codes_follow_the_order_of_the_values():
    assert codes_of(np.array([2.5, -1.0, 2.5, 7.0])).tolist() == [1, 0, 1, 2]


def test_the_bias_of_independent_variables_is_as_stated():
    rng = np.random.default_rng(0)
    found = [plug_in(rng.integers(0, 4, 200), rng.integers(0, 3, 200)) for _ in range(400)]
    stated = plug_in_bias(np.array([0, 3] * 100), np.array([0, 2] * 100))
    assert stated == pytest.approx(3 * 2 / 400)
    assert np.mean(found) == pytest.approx(stated, abs=4 * np.std(found) / 20)
