"""From what a user writes to a kernel, and the list of all kernels."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from gramian import KernelPCA, Monitor, kernels
from gramian.errors import InputTypeError, ParameterError
from gramian.kernels import expression
from gramian.kernels.algebra import TAKE_SPARSE
from gramian.kernels.formulas import NAMED
from gramian.models.kernel_pca import preimages


def test_names_take_their_own_parameters_and_files_hold_every_kernel():
    for name, expected in [
        ("linear", kernels.Linear()),
        ("poly", kernels.Polynomial(degree=4, gamma=0.5, coef0=2.0)),
        ("polynomial", kernels.Polynomial(degree=4, gamma=0.5, coef0=2.0)),
        ("rbf", kernels.RBF(gamma=0.5)),
        ("gaussian", kernels.RBF(gamma=0.5)),
        (" rbf ", kernels.RBF(gamma=0.5)),
        ("laplacian", kernels.Laplacian(gamma=0.5)),
        ("sigmoid", kernels.Sigmoid(gamma=0.5, coef0=2.0)),
        ("chi2", kernels.ChiSquared(0.5)),
        ("cosine", kernels.Cosine()),
        ("constant", kernels.Constant()),
    ]:
        assert kernels.kernel_from_name(name, gamma=0.5, degree=4, coef0=2.0) == expected, (name, expected)
    offered = {
        name: cls
        for name in kernels.__all__
        if isinstance(cls := getattr(kernels, name), type) and issubclass(cls, kernels.Kernel)
    }
    for abstract in (kernels.Kernel, kernels.Formula, kernels.FunctionKernel):
        del offered[abstract.__name__]
    assert offered | {"PointFormula": expression.PointFormula} == expression.CLASSES


def test_what_is_no_kernel_what_is_itself_and_gamma_beside_a_length_scale():
    for name in ["matern", "rq", "rational_quadratic"]:
        with pytest.raises(ParameterError, match=r"takes no gamma\. Write"):
            kernels.kernel_from_name(name, gamma=2.0)
        assert kernels.kernel_from_name(name).length_scale == 1.0
    for wrong in ("rfb", "polynomal", "gausian", "Linear", "cosin"):
        with pytest.raises(ParameterError, match=r"\? Known: linear, poly, rbf, laplacian, matern, rq,"):
            kernels.kernel_from_name(wrong)
    for wrong in [3, None, 1.5, ["rbf"], np.ones(2), b"rbf"]:
        with pytest.raises(InputTypeError, match="is not a name, an expression, a function or a Kernel"):
            kernels.kernel_from_name(wrong)
    with pytest.raises(InputTypeError, match=r"kernel=RBF is a class\. Pass an object: RBF\(\)\."):
        kernels.kernel_from_name(kernels.RBF)
    kernel = kernels.RBF(sigma=2.0) + kernels.Linear()
    assert kernels.kernel_from_name(kernel) is kernel
    for extra in [{"gamma": 1.0}, {"degree": 2}, {"coef0": 0.0}]:
        for kernel in [kernels.RBF(sigma=2.0), "rbf(sigma=2)", "rbf + linear", "3 * rbf"]:
            with pytest.raises(ParameterError, match=r"has its own parameters\. Set gamma, degree and"):
                kernels.kernel_from_name(kernel, **extra)


def test_texts_that_list_kernels_list_every_one():
    made = [cls() for cls in NAMED if cls is not kernels.Constant]
    listed = re.search(r"A name \((.*?)\)", KernelPCA.__doc__, re.DOTALL)[1]
    assert set(re.findall(r'"(\w+)"', listed)) == {kernel.name for kernel in made} | {"precomputed"}
    smooth = {kernel.name for kernel in made if getattr(kernel, "smooth", False)}
    sparse = {kernel.name for kernel in made if kernel.takes_sparse}
    page = (Path(__file__).parents[2] / "docs/kernels.md").read_text(encoding="utf-8")
    rows = re.search(r"to dense ones\. (.*?) and their combinations", page, re.DOTALL)[1]
    texts = [preimages.SMOOTH, *re.findall("rbf, .*? with nu", inspect.getsource(Monitor.contributions))]
    assert len(texts) == 3
    of_traits = [(text, smooth) for text in texts] + [(text, sparse) for text in (TAKE_SPARSE, rows)]
    for text, expected in of_traits:
        assert {kernel.name for kernel in made} & set(re.findall(r"\w+", text)) == expected, text


ROWS = {row.name: row for row in kernels.table()}


def test_every_formula_is_there_once_and_prints_as_a_table():
    for name in expression.FORMULAS:
        row, kernel = ROWS[name], kernels.kernel_from_name(name)
        assert isinstance(row, expression.KernelEntry), name
        assert row.formula == kernel.general, name
        assert row.validity == kernel.validity.status, name
        assert row.reason == kernel.validity.reason, name
        assert dict(row.parameters) == {
            key: repr(value) for key, value in expression.FORMULAS[name]().get_params().items()
        }, name
        for key, _ in row.parameters:
            # Every parameter stands in the formula, or is one of its names for the width.
            assert key in row.formula or key == "nu", name
    names = [row.name for row in kernels.table()]
    assert len(set(names)) == len(names) == len(kernels.table())
    assert names[: len(expression.FORMULAS)] == list(expression.FORMULAS)
    assert {"a function", "precomputed"} < set(names)
    text = str(kernels.table())
    lines = text.splitlines()
    assert max(map(len, lines)) <= expression.WIDTH + 16
    for row in kernels.table():
        assert f"{row.name:16}{row.formula}" in lines
    assert "                parameters: degree=3, gamma=None, coef0=1.0" in lines
    assert any(line.strip().startswith("refuted: tanh(gamma t + coef0) has") for line in lines)
    assert text.count("proven: ") >= 9
    assert np.all([line == line.rstrip() for line in lines])


def test_combinations_are_proven_if_their_parts_are():
    for name in [
        "k1 + k2",
        "k1 * k2",
        "c * k",
        "k ** p",
        "exp(k)",
        "k.normalized()",
        "k.on(columns)",
    ]:
        row = ROWS[name]
        assert row.validity == "proven if its parts are", name
        assert row.reason, name
        assert row.formula, name
        named = name.replace("columns", "0").replace("c *", "2 *").replace("p", "2", 1)
        if name != "exp(k)":
            assert kernels.kernel_from_name(
                named.replace("k1", "rbf").replace("k2", "linear").replace("k", "rbf")
            ).psd, name
