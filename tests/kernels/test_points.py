"""Formulas of two rows: their values are those of their definition, and what they cannot be is said."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gramian
from gramian.errors import DataError, ParameterError
from gramian.kernels import RBF, kernel_from_name
from gramian.kernels.auditing import audit
from gramian.kernels.expression import PointFormula

rng = np.random.default_rng(0)
X, Y = rng.random((7, 3)) + 0.1, rng.random((4, 3)) + 0.1
DEFINITIONS = {
    "sum(min(x, y))": lambda x, y: np.minimum(x, y).sum(),
    "sum(max(x,y)) - 2": lambda x, y: np.maximum(x, y).sum() - 2,
    "exp(-norm(x - y)**2 / 2)": lambda x, y: np.exp(-((x - y) ** 2).sum() / 2),
    "log(1 + linear)": lambda x, y: np.log(1 + x @ y),
    "cos(norm(x - y)) + sin(dot(x, y))": lambda x, y: np.cos(np.linalg.norm(x - y)) + np.sin(x @ y),
    "sum(abs(-x + y)) * tanh(2)": lambda x, y: np.abs(x - y).sum() * np.tanh(2),
    "sqrt(dot(x, x) * dot(y, y)) + 0.5*rbf": lambda x, y: (
        np.linalg.norm(x) * np.linalg.norm(y) + 0.5 * np.exp(-((x - y) ** 2).sum() / 3)
    ),
    "3 + 0*dot(x, y)": lambda x, y: 3.0,
}


@pytest.mark.parametrize("text", DEFINITIONS)
def test_values_are_those_of_the_definition(text, monkeypatch):
    kernel, expected = kernel_from_name(text), [[DEFINITIONS[text](x, y) for y in Y] for x in X]
    assert_allclose(kernel.gram(X, Y), expected, rtol=1e-13)
    assert kernel.psd is text.startswith("exp(-norm")
    monkeypatch.setattr("gramian.kernels.expression.MOST", 2)  # in many blocks
    assert_allclose(kernel.gram(X, Y), expected, rtol=1e-13)
    bound = kernel.bind(X)
    assert_allclose(bound.diagonal(X), [DEFINITIONS[text](x, x) for x in X], rtol=1e-13)


def test_kernels_inside_are_resolved_once_and_kept_in_a_file(tmp_path):
    resolved = kernel_from_name("2*rbf(gamma='median') + sum(min(x, y))").resolve(X)
    width = RBF(gamma="median").resolve(X)
    assert repr(resolved) == f"2 * {width!r} + sum(min(x, y))"
    assert resolved == kernel_from_name(repr(resolved))
    changed = PointFormula("dot(x, y)").set_params(text="2*dot(x, y)")
    assert_allclose(changed.gram(X, Y), 2 * X @ Y.T)
    model = gramian.KernelPCA(2, kernel="log(2 + rbf.on(0)) + dot(x, y)").fit(X)
    model.save(tmp_path / "m.gramian")
    again = gramian.load(tmp_path / "m.gramian")
    assert isinstance(again.kernel_, PointFormula)
    assert_array_equal(again.transform(Y), model.transform(Y))


PROVEN = (
    *(f"exp(-norm(x - y)**{a})" for a in (0.1, 0.5, 1, 1.5, 1.99, 2)),
    "exp(-norm(x - y))",
    "exp(1 - 2*norm(y - x)/3)",
    "exp(-0.3*sqrt(norm(x - y)))",
    "exp(-dot(x - y, x - y)**0.75)",
    "exp(norm(x - y) * -2)",
    "exp(norm(x - y)**1.5 / -2)",
    "exp(-norm(x - y)**1.5 - norm(x - y)**0.5)",
    "exp(-sum(abs(x - y)**1.3))",
    "exp(-sqrt(sum((x - y)**2)))",
    "exp(-(norm(x - y)**4)**0.5)",
    "exp(-(norm(x - y) + norm(x - y)**2)**0.5)",
    "exp(-norm(x - y)**1.5) * rbf + 2*exp(-norm(x - y))**2 / 3 + 1",
    "exp(exp(-norm(x - y)**1.5) + 0.1*linear)",
    "sum(exp(-abs(x - y)**1.5))",
)
NOT_PROVEN = (
    *(f"exp(-norm(x - y)**{a})" for a in (2.05, 2.5, 3, 4)),
    "exp(-0.01*norm(x - y)**2.5)",
    "exp(norm(x - y)**1.5)",
    "-norm(x - y)**1.5",
    "exp(-norm(x + y))",
    "exp(-norm(x - y)**-1)",
    "exp(-2*dot(x - y, y - x))",
    "exp(-sum(abs(x - y)**3)**0.5)",
    "exp(-norm(x - y)**1.5) - 0.5",
    "exp(-norm(x - y) + norm(x - y)**1.5)",
    "exp(-norm(x - y)**1.5)**0.5 * -1",
)


def test_exponentials_of_distances_are_proven_or_refuted():
    rng = np.random.default_rng(0)
    for d in (1, 3):
        rows = rng.standard_normal((40, d)) * np.geomspace(0.01, 2, 40)[:, None]
        for text in PROVEN:
            kernel = kernel_from_name(text)
            assert kernel.psd, text
            assert np.linalg.eigvalsh(kernel.gram(rows)).min() > -1e-11, text
    assert "Schoenberg 1938" in kernel_from_name(PROVEN[0]).validity.reason
    assert audit("exp(-norm(x-y)**1.5)", random_state=0).verdict == "valid"
    assert (kernel_from_name("exp(-norm(x-y)**1.5)") ** 0.3).psd
    assert gramian.KernelPCA(3, kernel="exp(-norm(x-y)**1.5)").fit(X).certificate_.ok
    for text in NOT_PROVEN:
        assert kernel_from_name(text).validity.status == "unknown", text
        assert audit(text, random_state=0).verdict == "not a kernel", text
    report = audit("max(x,y)", random_state=0)
    points, v = report.witness.points[:, 0], report.witness.vector
    assert v @ np.maximum.outer(points, points) @ v < 0
    assert "No rule proves this formula of two rows." in str(audit("cos(x-y)", random_state=0))


def test_what_a_formula_cannot_be_is_said_with_the_column():
    for text in (
        "min(x)",
        "foo(x)",
        "x + min(x, 'a')",
        "x @ y",
        "x.normalized()",
        "x[0] * y",
        "__import__('os').system('x') + x",
        "log(1 + lineer)",
        "abs(" * 150 + "x" + ")" * 150,
    ):
        with pytest.raises(ParameterError, match=", column"):
            kernel_from_name(text)
    with pytest.raises(DataError, match=r"min\(x, y\) gives 3 numbers for two rows of 3 columns, one"):
        kernel_from_name("min(x, y)").gram(X)
    with pytest.raises(DataError, match=r"log\(-dot\(x, y\)\) has no finite value for some of these"):
        kernel_from_name("log(-dot(x, y))").gram(X)
    with pytest.raises(ParameterError, match=r", column 7: this cannot be computed\."):
        kernel_from_name("9**9**9**9 * dot(x, y)")
