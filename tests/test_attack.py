"""What benchmarks/attack.py does ten thousand times, sixty times; and that it would notice."""

from dataclasses import replace

import numpy as np

from gramian.core import records
from gramian.core.records import Target
from gramian.engine import centered, certificates, kernel, linear, routes, scatter
from gramian.engine.centered import CenteredRows
from gramian.engine.tiles import TileMatrix


def findings(attack, fits, kinds, seed=0):
    """Yield what was false by kind of statement, those that call themselves an estimate left out."""
    for _, _, one in attack.attacks(fits, seed, kinds):
        yield from (statement for statement, _ in one.false if "[estimate]" not in statement)


def test_nothing_stated_is_false(attack):
    assert list(findings(attack, 60, [kind for kind in attack.ATTACKS if kind != "planted"])) == []


def test_no_direction_can_be_hidden_from_a_seed(attack):
    outcomes = [outcome for _, _, outcome in attack.attacks(4, 0, ["planted"])]
    assert all(outcome.false == [] and "directions used" in outcome.about for outcome in outcomes)


def test_the_truth_is_known_far_better_than_what_is_stated(attack):
    rng = np.random.default_rng(0)
    for values in (np.ones(20), 1 + 1e-13 * rng.random(20), 10.0 ** -np.arange(20.0), rng.random(20)):
        Q = np.linalg.qr(rng.standard_normal((20, 20)))[0].astype(np.longdouble)
        Q = attack._orthonormal(Q)
        truth = attack.eigenvalues((Q * values) @ Q.T)
        assert truth.error < 1e-16
        assert np.abs(truth.values - np.sort(values.astype(np.longdouble))[::-1]).max() <= truth.error


# Each mechanism taken away again: the attack must see that it is missing.


def test_the_attack_notices_a_mean_that_is_one_number(attack, monkeypatch):
    original = centered.from_moments
    monkeypatch.setattr(centered, "from_moments", lambda *a, **k: replace(original(*a, **k), rest=None))
    assert any("radius" in statement for statement in findings(attack, 60, ["offsets"]))


def test_the_attack_notices_cancellation_in_sparse_products(attack, monkeypatch):
    monkeypatch.setattr(CenteredRows, "gross", 0.0)
    assert any("matmat" in statement for statement in findings(attack, 60, ["operator"]))


def test_the_attack_notices_sums_of_float32(attack, monkeypatch):
    monkeypatch.setattr(centered, "_squares", lambda V: (V.astype("f4") ** 2).sum(axis=0).astype("f8"))
    assert any("trace" in statement for statement in findings(attack, 60, ["operator"]))


def test_the_attack_notices_bounds_that_are_too_small(attack, monkeypatch):
    monkeypatch.setattr(scatter, "product_error", lambda *a, **k: (0.0, "deterministic"))
    assert any("matmat" in statement for statement in findings(attack, 30, ["operator"]))


def test_the_attack_notices_residuals_left_out_of_upper_bounds(attack, monkeypatch):
    monkeypatch.setattr(certificates, "largest_missed", lambda values, below, coupling: below)
    assert any("upper" in statement for statement in findings(attack, 60, ["clusters"]))


def test_the_attack_notices_a_probe_that_does_not_look_for_copies(attack, monkeypatch):
    monkeypatch.setattr(certificates, "_repeated", lambda values, reach: np.inf)
    result = attack.fit_one_hot(np.random.default_rng(249))  # 26 copies of a variance
    assert "the largest ones found" in dict(result.false)


def test_the_attack_notices_texts_that_say_too_much(attack, monkeypatch):
    monkeypatch.setattr(records.Completeness, "limit", "0.1 = (1 - 0.9) times the last one computed")
    found = list(findings(attack, 30, ["iterations"]))
    for name in ("short", "long"):
        assert any(f"{name} text on missed eigenvalues" in statement for statement in found)


def test_the_attack_notices_a_direct_solver_that_misses_the_first_of_a_cluster(attack, monkeypatch):
    original = routes.leading

    def without_the_first(A, target, total=None):
        values, V, rest = original(A, Target(count=target.count + 1), total)
        return values[1:], V[:, 1:], rest

    monkeypatch.setattr(routes, "leading", without_the_first)
    assert any("missed" in statement for statement in findings(attack, 30, ["identity"]))


def test_the_attack_notices_directions_lifted_without_their_own_rounding(attack, monkeypatch):
    monkeypatch.setattr(linear, "lifted", lambda bounds, *more: bounds)
    assert any("direction" in statement for statement in findings(attack, 60, ["float32"]))


def test_the_attack_notices_directions_without_residuals(attack, monkeypatch):
    original = certificates.direction_bounds
    monkeypatch.setattr(
        certificates,
        "direction_bounds",
        lambda spectrum, *a, **b: original(replace(spectrum, residuals=0 * spectrum.residuals), *a, **b),
    )
    assert any("direction" in statement for statement in findings(attack, 60, ["iterations", "clusters"]))


def test_the_attack_notices_bounds_of_landmarks_without_rounding(attack, monkeypatch):
    original = kernel.landmark_bounds
    monkeypatch.setattr(kernel, "landmark_bounds", lambda *a: replace(original(*a), below=0.0, above=0.0))
    assert any("approximation" in statement for statement in findings(attack, 60, ["landmarks"]))


def test_the_attack_notices_a_probe_that_depends_on_the_seed_alone(attack, monkeypatch):
    for kind in (CenteredRows, TileMatrix):
        monkeypatch.setattr(kind, "fingerprint", lambda self: b"")
    result = list(findings(attack, 4, ["planted"]))
    assert result
    assert all("by Lanczos" in statement for statement in result)
