"""What is known of kernels: proofs that print, and the closure table."""

import dataclasses

from gramian.kernels import RBF, Linear, Sigmoid
from gramian.kernels.facts import CLOSURE, Facts


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


def test_combinations_keep_what_their_row_says():
    names = {field.name for field in dataclasses.fields(Facts)}
    for name, rule in CLOSURE.items():
        assert (rule.proof or rule.lost).endswith("."), name
        assert {*rule.keeps, *rule.gives} <= names, name
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
        "on": (k.on(0, 1), "stationary unit_diagonal divisible"),
    }
    for name, (made, facts) in kept.items():
        results = [f for f in ("stationary", "unit_diagonal", "divisible") if getattr(made.facts, f)]
        assert results == facts.split(), name
        # A sum with a kernel of which nothing of the kind is known keeps nothing.
        assert not (made * Linear()).facts.divisible, name
