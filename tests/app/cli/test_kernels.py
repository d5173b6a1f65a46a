import re

import numpy as np
import pytest


def test_verdicts_on_kernels_are_results_and_no_failures(gramian, folder):
    ran = gramian.works("kernels audit 'rbf(sigma=2) + linear()' --n-features 1")
    assert "Verdict: valid, proven by theory." in ran.out
    assert ran.err == ""
    ran = gramian("kernels audit sigmoid(gamma=1)")
    assert (ran.code, ran.err) == (0, "")
    assert "Verdict: not a kernel, by a witness of 3 points." in ran.out
    np.save("k.npy", np.eye(4))
    ran = gramian.works("kernels audit precomputed k.npy")
    assert "no counterexample found in 1 trial" in ran.out


def test_the_report_as_json(gramian):
    ran = gramian.works("kernels audit sigmoid(gamma=1) --json --random-state 3")
    facts = ran.json
    assert (facts["verdict"], facts["valid"], facts["value_tol"]) == ("not a kernel", False, None)
    witness = facts["witness"]
    v, K = np.array(witness["vector"]), np.array(witness["gram"])
    assert v @ K @ v == pytest.approx(witness["quadratic_form"])
    assert witness["quadratic_form"] + witness["uncertainty"] < 0
    assert witness["rows"] is None


def test_an_asymmetric_matrix_is_json_and_value_tol_is_taken(folder, gramian):
    np.save("k.npy", np.array([[1.0, 2.0], [1.0, 1.0]]))
    facts = gramian("kernels audit precomputed k.npy --json").json
    assert facts["witness"]["values"] == [2.0, 1.0]
    np.save("k.npy", np.array([[1.0, 1.0], [1.0, 1 - 1e-6]]))
    assert "not a kernel" in gramian("kernels audit precomputed k.npy").out
    wider = gramian("kernels audit precomputed k.npy --value-tol 1e-05")
    assert "no counterexample" in wider.out


def test_data_is_read_as_for_fit(folder, gramian):
    expression = """'sigmoid().on("length", "width")'"""
    ran = gramian(f"kernels audit {expression} flowers.csv --label species --rows 0:12")
    assert "the 12 rows given, and nothing else." in ran.out
    gramian.works("kernels audit rbf faces.npz::X")


def test_formulas_of_two_rows_are_audited(folder, gramian):
    verdicts = {"min(x,y)": "not a kernel", "cos(x-y)": "no counterexample", "log(1+linear)": "not a kernel"}
    for formula, verdict in verdicts.items():
        ran = gramian(f"kernels audit {formula}")
        assert (ran.code, ran.err) == (0, "")
        assert f"Verdict: {verdict}" in ran.out
        assert not re.search(r"-0(?![.\d])", ran.out)
    gramian.refuses("kernels audit min(x,y) flowers.csv --label species", 1, "Add them up with sum(...)")
    ran = gramian.works("fit flowers.csv --label species --kernel sum(min(x,y)) -o m.gramian")
    assert "Kernel PCA with sum(min(x,y)) of 30 rows" in ran.out
    gramian.works("transform m.gramian flowers.csv --drop species")
    gramian.refuses("kernels audit 'foo(x, y)'", 2, "kernel 'foo' is not known. Known: linear")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("rbff", 2, "'rbff' is not known"),
        ("rbf --rows 0:3", 2, "rows is about the rows of DATA, but there is no DATA"),
        ("rbf --n-features 0", 2, "n_features=0"),
        (("rbf", "absent.csv"), 1, "absent.csv"),
        ("precomputed", 2, "needs X, the square Gram matrix"),
    ],
)
def test_mistakes(folder, gramian, arguments, code, message):
    gramian.refuses(f"kernels audit {arguments}", code, message)


def test_the_table_and_the_commands_of_the_group(gramian):
    ran = gramian.works("kernels table")
    assert "rbf" in ran.out
    ran = gramian("kernels")
    assert ran.code == 2
    assert "audit" in ran.out
    for command in ("audit", "table"):
        assert gramian(f"kernels {command} --help").out.startswith(f"Usage: gramian kernels {command}")


def test_a_search_ends_at_its_time_limit(gramian, folder):
    np.save("k.npy", np.eye(3))
    whole = gramian("kernels audit 'rbf - 1e-9*linear' --n-features 1 --json").json
    short = gramian("kernels audit 'rbf - 1e-9*linear' --time-limit 1e-09 --json")
    assert (short.code, short.json["verdict"]) == (0, "no counterexample")
    assert 0 < short.json["trials"] < whole["trials"]
    assert "It ended at its time limit" in short.json["tested"]
    assert "time limit" not in whole["tested"]
    ran = gramian("kernels audit rbf --time-limit 0")
    assert (ran.code, ran.err) == (2, "gramian: time_limit=0.0 must be a number above 0.\n")
    gramian.refuses("kernels audit precomputed k.npy --time-limit 5", 2, "search without data")
