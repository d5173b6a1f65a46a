"""Rotation and the number of components, as verbs."""

import json

import numpy as np
import pytest

import gramian
from gramian.app.cli import main
from gramian.app.verbs import verb
from gramian.app.verbs.choose import RULES, judged
from gramian.errors import ParameterError
from gramian.statistics.component_rules import RULES as KNOWN


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(60, 2))
    return causes[:, [0, 0, 0, 1, 1]] * [1, 2, 1, 1, 2] + 0.1 * rng.normal(size=(60, 5))


@pytest.fixture
def table(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return str(tmp_path / "X.npy")


def test_a_rotation_is_that_of_python_with_its_figure(X):
    model = gramian.PCA(3).fit(X)
    result = verb("rotate")({"method": "promax", "n_components": 2}, {"model": model})
    expected = gramian.rotate(model, "promax", n_components=2)
    assert str(result.text) == str(expected)
    for ax, loadings in zip(result.figures["rotation"](), expected.loadings.T, strict=True):
        widths = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(np.sort(widths), np.sort(loadings))


def test_the_command_rotates_and_draws(X, tmp_path, capsys):
    model, figure = tmp_path / "m.gramian", tmp_path / "rotated.svg"
    gramian.PCA(3, scale="unit").fit(X).save(model)
    assert main(["rotate", str(model), "--n-components", "2", "-o", str(figure), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert np.round(np.abs(facts["loadings"])).tolist() == [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    assert facts["files"] == [str(figure)]
    assert figure.read_bytes().startswith(b"<?xml")
    assert main(["rotate", str(model), "--n-components", "9"]) == 2
    assert "n_components=9 must be a whole number from 2 to 3" in capsys.readouterr().err


def test_the_rules_of_the_command_are_those_of_python(X, table, capsys):
    assert tuple(KNOWN) == RULES
    assert main(["choose-components", table, "--scale", "unit", "--fraction", "0.9"]) == 0
    expected = gramian.choose_components(gramian.PCA(scale="unit"), X, fraction=0.9)
    assert capsys.readouterr().out == f"{expected}\n"


def test_rules_of_a_kernel(X, table, capsys):
    asked = ("--kernel", "rbf(sigma=2)", "--rules", "fraction, parallel", "--fraction", "0.9", "--json")
    assert main(["choose-components", table, *asked]) == 0
    facts = json.loads(capsys.readouterr().out)["rules"]
    made = gramian.choose_components(
        gramian.KernelPCA(kernel="rbf(sigma=2)"), X, rules=["fraction", "parallel"], fraction=0.9
    )
    assert {rule: one["components"] for rule, one in facts.items()} == {
        rule: choice.number for rule, choice in made.items()
    }


def test_what_does_not_belong_to_a_kernel_is_refused():
    with pytest.raises(ParameterError, match="'pareto' is not known"):
        judged(kernel="rbf", scale="pareto")
    assert judged(kernel="rbf", scale="unit").scale == "unit"
