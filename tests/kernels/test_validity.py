"""What is known about a function being a kernel, in a form that prints as a proof."""

import dataclasses

import pytest

from gramian.kernels import RBF, Linear, Sigmoid, Validity
from gramian.kernels.facts import proven, refuted, unknown


@pytest.mark.parametrize(("make", "status"), [(proven, "proven"), (refuted, "refuted"), (unknown, "unknown")])
def test_makers(make, status):
    inner = proven("Because.", "k")
    made = make("A reason.", "f", inner)
    assert made == Validity(status, "A reason.", "f", (inner,))
    assert (made.proven, made.refuted) == (status == "proven", status == "refuted")
    assert bool(made) is (status == "proven")


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        proven("Because.").status = "refuted"


def test_it_prints_line_by_line_what_follows_from_what():
    deep = unknown("Third.", "c")
    whole = refuted("First.", "a", proven("Second.", "b", deep), deep)
    assert str(whole).splitlines() == [
        "a: refuted. First.",
        "  b: proven. Second.",
        "    c: unknown. Third.",
        "  c: unknown. Third.",
    ]


def test_a_proof_names_every_part():
    lines = str((RBF(sigma=2) + 3 * Linear()).validity).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "rbf(sigma=2) + 3 * linear()",
        "  rbf(sigma=2)",
        "  3 * linear()",
        "    linear()",
    ]
    assert all(": proven. " in line for line in lines)


def test_a_part_that_is_none_is_named_where_it_stands():
    lines = str((RBF() * Sigmoid(gamma=1.0)).validity).splitlines()
    assert lines[0].startswith("rbf() * sigmoid(gamma=1.0): unknown.")
    assert lines[1].startswith("  rbf(): proven.")
    assert lines[2].startswith("  sigmoid(gamma=1.0): refuted.")
