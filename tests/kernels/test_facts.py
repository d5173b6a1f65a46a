"""What is known of kernels: proofs that print, Taylor series against fractions, and the closure table."""

import dataclasses
import math

import numpy as np
from numpy.testing import assert_allclose

from gramian.kernels import RBF, Linear, Sigmoid
from gramian.kernels.facts import CLOSURE, ORDER, Facts, Series


def test_a_proof_names_every_part_and_the_one_that_is_none():
    lines = str((RBF(sigma=2) + 3 * Linear()).validity).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "rbf(sigma=2) + 3 * linear()",
        "  rbf(sigma=2)",
        "  3 * linear()",
        "    linear()",
    ]
    assert all(": proven. " in line for line in lines)
    lines = str((RBF() * Sigmoid(gamma=1.0)).validity).splitlines()
    assert lines[0].startswith("rbf() * sigmoid(gamma=1.0): unknown.")
    assert lines[1].startswith("  rbf(): proven.")
    assert lines[2].startswith("  sigmoid(gamma=1.0): refuted.")


def padded(terms):
    return Series.of([float(term) for term in terms] + [0.0] * (ORDER + 1 - len(terms)))


def test_series_are_those_of_taylor_as_far_as_they_are_numbers():
    for bad in [np.nan, np.inf, -np.inf]:
        assert padded([1, bad, -3]).negative() is None
    expected = [1 / math.factorial(m) for m in range(ORDER + 1)]
    assert_allclose(padded([0, 1]).exp().terms, expected, rtol=1e-14)
    # exp(2 - t): the same with alternating signs.
    alternating = [math.exp(2) * (-1) ** m * value for m, value in enumerate(expected)]
    assert_allclose(padded([2, -1]).exp().terms, alternating, rtol=1e-13)
    # exp(t^2)
    even = [0 if m % 2 else 1 / math.factorial(m // 2) for m in range(ORDER + 1)]
    assert_allclose(padded([0, 0, 1]).exp().terms, even, atol=1e-15)
    for exponent in [0.5, 1.5, 2.5, -0.5, 0.1]:
        for constant in [1.0, 4.0]:
            expected = [constant**exponent]
            for m in range(1, ORDER + 1):
                expected.append(expected[-1] * (exponent - m + 1) / m / constant)
            result = padded([constant, 1]).power(exponent)
            assert_allclose(result.terms, expected, rtol=1e-12, err_msg=repr((exponent, constant)))
            assert (result.sizes * (1 + 1e-12) >= np.abs(result.terms)).all(), (exponent, constant)
    third = padded([1 / 3, 1])
    difference = third * third + padded([1 / 9, 2 / 3, 1]).scaled(-1)
    assert (difference.terms < 0).any() or (difference.terms == 0).all()
    assert difference.negative() is None
    barely = Series(np.array([1.0, -1e-12]), np.array([1.0, 1.0]))
    assert barely.negative() is None


def test_combinations_keep_what_their_row_says():
    names = {field.name for field in dataclasses.fields(Facts)}
    for name, rule in CLOSURE.items():
        assert (rule.proof or rule.lost).endswith("."), name
        assert {*rule.keeps, *rule.gives} <= names, name
        # What is asked of kernels only has no use where nothing is ever proven.
        assert rule.graded is None or rule.proof, name
    k = RBF()
    kept = {
        "sum": (k + k, "stationary"),
        "product": (k * k, "stationary unit_diagonal divisible"),
        "positive multiple": (2 * k, "stationary divisible"),
        "negative multiple": (-k, "stationary"),
        "whole power": (k**2, "stationary unit_diagonal divisible"),
        "power of a divisible kernel": (k**0.5, "stationary unit_diagonal divisible"),
        "exp": (k.exp(), "stationary divisible"),
        "normalized": (k.normalized(), "stationary divisible"),
        "several columns": (k.on(0, 1), "stationary unit_diagonal divisible"),
        "after": (k.after(abs), "unit_diagonal divisible"),
    }
    for name, (made, facts) in kept.items():
        results = [f for f in ("stationary", "unit_diagonal", "divisible") if getattr(made.facts, f)]
        assert results == facts.split(), name
        # A sum with a kernel of which nothing of the kind is known keeps nothing.
        assert not (made * Linear()).facts.divisible, name
