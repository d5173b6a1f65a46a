"""Records are frozen, say what they hold, and compute nothing but sums."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import gramian
from gramian.core import records


def spectrum(values, **changes):
    values = np.asarray(values, dtype=float)
    fields = {
        "values": values,
        "vectors": np.eye(len(values)),
        "residuals": np.zeros(len(values)),
        "total": float(values.sum()),
        "squares": None,
        "rank_tolerance": 1e-12,
        "error_bound": 0.0,
        "error_kind": "deterministic",
        "route": "dense",
        "complete": True,
    }
    return records.Spectrum(**{**fields, **changes})


def certificate(**changes):
    fields = {
        "values": np.array([4.0, 1.0]),
        "residuals": np.array([1e-9, 2e-9]),
        "radii": np.array([3e-9, 4e-9]),
        "set_radius": 8e-9,
        "widening": 2e-9,
        "widening_kind": "probabilistic",
        "orthogonality": 1e-15,
        "completeness": records.Completeness("trace", "deterministic", 0.5, -0.5),
        "tol": 1e-6,
        "unit": "eigenvalues (variances)",
        "ok": True,
    }
    return records.Certificate(**{**fields, **changes})


PLAN = records.Plan(
    operator="gram",
    solver="krylov",
    steps=(records.Step("measure", "one pass", 0.25), records.Step("iterate", "block Krylov", 1.5)),
    bytes=2_500_000,
    reason="few components.",
)


def test_records_are_frozen_and_plans_say_what_they_take():
    assert PLAN.seconds == 1.75
    assert str(PLAN).splitlines() == [
        "Plan: solver 'krylov' on the dual Gram matrix in float64, about 2 s and 2.5 MB of working memory.",
        "Why: few components.",
        "  1. measure: one pass",
        "  2. iterate: block Krylov",
    ]
    for seconds, text in [(0.0, "0.01 s"), (0.3, "0.3 s"), (5, "5 s"), (119, "119 s"), (600, "10 min")]:
        plan = dataclasses.replace(PLAN, steps=(records.Step("a", "b", seconds),))
        assert f"about {text} and" in str(plan)
        assert records.Cost(plan.steps, 0).seconds == seconds
    for size, text in [(10, "10 bytes"), (2000, "2 kB"), (3e6, "3 MB"), (4.5e9, "4.5 GB")]:
        assert f"and {text} of" in str(dataclasses.replace(PLAN, bytes=size))
    other = records.Alternative("gram", "dual Gram matrix", "in memory", "float32", 3.0, 5_000_000)
    ran = dataclasses.replace(PLAN, took=4.0, alternatives=(other, other))
    assert str(ran).splitlines()[0].endswith("of working memory. It took 4 s.")
    assert (
        str(ran).splitlines()[-1]
        == "  or gram on the dual Gram matrix, in memory, in float32: about 3 s and 5 MB"
    )
    assert str(ran).count("  or ") == 1
    # What was measured is no part of what was planned.
    assert ran == dataclasses.replace(ran, took=None)
    ran = dataclasses.replace(PLAN, took=4.0)
    said = "krylov on the dual Gram matrix in float64: 4 s, eigenvalues to 2.0e-07 of the largest; "
    assert str(records.Attempt(ran, 9, 2e-7, 3)) == said + "accepted"
    assert str(records.Attempt(ran, 9, 2e-7, 3, "it stalled")) == said + "not accepted: it stalled"
    for record, name in [
        (PLAN, "solver"),
        (spectrum([1]), "values"),
        (certificate(), "ok"),
        (records.Calls(1.0, True), "scalar"),
    ]:
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field"):
            setattr(record, name, None)
    for target, text in [
        (records.Target(count=1), "1 component"),
        (records.Target(count=12), "12 components"),
        (records.Target(fraction=0.95), "0.95 of the total"),
        (records.Target(), "all components"),
        (records.Target(fraction=0.5, name="an error of at most 2"), "an error of at most 2"),
    ]:
        assert str(target) == text


def test_components_are_shares_and_the_first_pairs_of_a_spectrum():
    result = records.Components(np.array([4.0, 2.0]), 8.0, 5, 2, 1e-12)
    assert_array_equal(result.ratio, [0.5, 0.25])
    assert (result.left, result.noise) == (2.0, 2 / 3)
    # A total that was rounded otherwise than the values does not make shares exceed 1.
    assert records.Components(np.array([4.0, 2.0]), 6.0 - 1e-7, 2, 2, 1e-12).ratio.sum() <= 1
    assert records.Components(np.array([4.0, 2.0]), None, 5, 2, 1e-12).ratio is None
    nothing = records.Components(np.zeros(2), 0.0, 5, 0, 1.0)
    assert_array_equal(nothing.ratio, 0)
    assert (nothing.left, nothing.noise) == (0.0, 0.0)
    # Where the rest is known, what is rounding in it does not count.
    known = records.Components(np.array([4.0]), 4.0 + 1e-3, 3, 1, 1e-12, np.array([1e-3, 1e-15]))
    assert (known.left, known.noise) == (1e-3, 5e-4)
    assert records.Components(np.array([4.0]), 4.0 + 1e-13, 3, 1, 1e-12).left == 0
    whole = spectrum([4, 2, 1], rest=np.array([0.5]))
    cut = whole.first(2)
    assert_array_equal(cut.values, [4, 2])
    assert_array_equal(cut.rest, [1, 0.5])
    assert cut.vectors.shape == (3, 2)
    assert cut.residuals.size == 2
    assert cut.rank == whole.rank == 4
    assert spectrum([4, 2], vectors=np.empty((2, 0))).first(1).vectors.shape == (2, 0)
    assert spectrum([4, 1, 1e-13]).rank == 2
    assert spectrum([4, 1, 1e-13], rank_tolerance=1e-14).rank == 3
    assert spectrum([4], rest=np.array([1.0, 1e-20])).rank == 2
    assert spectrum([0.0, 0.0]).rank == 0
    assert spectrum([]).rank == 0
    assert spectrum([1e-300, -1e-300]).rank == 1


def test_repairs_in_words_and_results_of_several_records():
    repair = records.Repair(count=12, size=1500, smallest=-0.25, negative=1.5, total=60.0, change=0.0125)
    assert str(repair) == (
        "12 of 1,500 eigenvalues were negative, down to -0.25, and were set to 0. That is 2.5 % of the sum "
        "of their magnitudes and changes the matrix by 1.2 % in the Frobenius norm, the smallest change "
        "that makes it a kernel's."
    )
    nothing = records.Repair(count=0, size=5, smallest=0.0, negative=0.0, total=0.0, change=0.0)
    assert str(nothing) == "Nothing was clipped: no eigenvalue is negative beyond rounding."
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 3)) * [1, 1000, 1], columns=["mass [kg]", "size [mm]", "age"])
    X["number"] = range(1000, 1060)
    t = rng.uniform(0, 6, 60)
    several = [
        gramian.diagnose(gramian.PCA(2).fit(X), X),
        gramian.propose(X),
        gramian.relations(np.column_stack([np.cos(t), np.sin(t)]), degree=2),
        gramian.choose_kernel(X, candidates=["linear", "rbf"]),
    ]
    for one in several:
        members = list(one)
        assert isinstance(one, Sequence)
        assert bool(one) is (len(one) > 0) is True, one
        assert (one[0], one[-1], one[:1]) == (members[0], members[-1], tuple(members[:1]))
        assert all(member in one for member in members)
        assert one.index(members[-1]) == len(members) - 1
        assert "something else" not in one
        with pytest.raises(IndexError, match="index out of range"):
            one[len(members)]
    clean = gramian.diagnose(gramian.PCA(2).fit(rng.standard_normal((200, 2)) * [2, 1]))
    assert (len(clean), bool(clean), list(clean)) == (0, False, [])
    assert not gramian.propose(rng.standard_normal((60, 3)))


def test_a_certificate_reads_like_sentences_long_and_short():
    lines = str(certificate()).splitlines()
    assert lines[0] == "Certificate: holds (tolerance 1.0e-06 of the largest eigenvalue)."
    assert "Each of the 2 eigenvalues (variances) is within 1.0e-09 (relative" in lines[1]
    assert "[probabilistic]" in lines[1]
    assert "match 2 eigenvalues of that matrix, counted with multiplicity, within 2.0e-09" in lines[2]
    assert "distinct" not in lines[2]
    assert lines[3].startswith("Forming the matrix adds ")
    assert lines[4] == (
        "An upper bound on any eigenvalue it did not find is 0.5 = (1 - 0.5) times the last one computed, "
        "by the trace [deterministic]."
    )
    assert len(lines) == 5
    text = str(certificate(ok=False, reasons=("the residuals.", "a missed one."), completeness=None))
    assert "DOES NOT HOLD" in text
    assert "There is no upper bound on eigenvalues that were not computed." in text
    assert text.endswith("Not met: the residuals.\nNot met: a missed one.")
    for result, text in [
        (
            records.Completeness("full decomposition", "deterministic", 1.0, 0.0),
            "No larger eigenvalue was missed: the decomposition is complete [deterministic].",
        ),
        (
            records.Completeness("Lanczos", "probabilistic", 1.2, 0.2, 1e-6),
            "An upper bound on any eigenvalue it did not find is 1.2 = (1 + 0.2) times the last one "
            "computed, by Lanczos, except with probability 1.0e-06 [probabilistic].",
        ),
    ]:
        assert text in str(certificate(completeness=result))
    last = float(certificate().values[-1])
    for result, missed in [
        (records.Completeness("full decomposition", "deterministic", last, 0.0), "none was missed"),
        (records.Completeness("trace", "deterministic", 0.5 * last, -0.5), "no larger one was missed"),
        (records.Completeness("trace", "deterministic", last, 0.0), "no larger one was missed"),
        (
            records.Completeness("Lanczos", "probabilistic", 1.2341 * last, 0.2341, 1e-6),
            f"none was missed above {1.2341 * last:.6g} = (1 + 0.24) times the last one computed",
        ),
        (records.Completeness("trace", "deterministic", 1.25, np.inf), "none was missed above 1.25"),
    ]:
        assert certificate(completeness=result).brief.endswith(f", and {missed} (certificate).")
