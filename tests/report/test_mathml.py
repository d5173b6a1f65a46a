"""Formulas of kernels as MathML."""

import re
from xml.etree import ElementTree

import pytest

from gramian.kernels import kernel_from_name, table
from gramian.report.mathml import GREEK, mathml, matrix, number

TYPESET = {
    "x . y": "<mi>x</mi><mo>⋅</mo><mi>y</mi>",
    "k1(x)^-2": "<msup><mrow><msub><mi>k</mi><mi>1</mi></msub><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>"
    "</mrow><mrow><mo>−</mo><mn>2</mn></mrow></msup>",
    "||x||_1": "<msub><mrow><mo>‖</mo><mi>x</mi><mo>‖</mo></mrow><mn>1</mn></msub>",
    "a b / (2 gamma)": '<mfrac><mrow><mi>a</mi><mspace width="0.2em"></mspace><mi>b</mi></mrow>'
    '<mrow><mrow><mn>2</mn><mspace width="0.2em"></mspace><mi>γ</mi></mrow></mrow></mfrac>',
    "2 2.5": "<mn>2</mn><mo>⋅</mo><mn>2.5</mn>",
    "sqrt(x), y >= 0": "<msqrt><mi>x</mi></msqrt><mo>,</mo><mi>y</mi><mo>≥</mo><mn>0</mn>",
    "1e-05": "<mn>1</mn><mo>⋅</mo><msup><mn>10</mn><mrow><mo>−</mo><mn>5</mn></mrow></msup>",
}


def test_each_sign_is_typeset():
    for formula, expected in TYPESET.items():
        got = mathml(formula)
        assert expected in got, formula
        ElementTree.fromstring(got)


def test_every_kernel_is_typeset_with_all_of_its_letters():
    formulas = [entry.formula for entry in table() if entry.name not in ("a function", "a formula")]
    for expression in (
        "rbf(sigma=2)",
        "exp(-norm(x-y)**2/2)*linear",
        "min(x, y)",
        "exp(linear).normalized()",
    ):
        formulas.append(str(kernel_from_name(expression)))
    for formula in formulas:
        signs = re.sub("sqrt|norm|sum|[^A-Za-z0-9]", "", formula)
        shown = "".join(ElementTree.fromstring(mathml(formula)).itertext())
        for name, letter in GREEK.items():
            shown = shown.replace(letter, name)
        assert re.sub("[^A-Za-z0-9]", "", shown) == signs, formula


@pytest.mark.parametrize(
    "text",
    ["<b>", "x +", "(x", "x)", "", "such as x", "x^^2", "\x00", "&amp;", "(" * 900 + ")" * 900, "x" * 900],
)
def test_other_texts_are_not(text):
    assert mathml(text) == ""


def test_numbers_and_matrices():
    assert number("-3e+20") == (
        "<mrow><mo>−</mo><mn>3</mn><mo>⋅</mo><msup><mn>10</mn><mn>20</mn></msup></mrow>"
    )
    root = ElementTree.fromstring(matrix([[1.0, -0.5], [0.12345, 2.0]]))
    assert [["".join(cell.itertext()) for cell in row] for row in root] == [["1", "−0.5"], ["0.123", "2"]]
