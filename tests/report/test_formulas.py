"""Formulas of kernels as a page shows them."""

import html
import re

import pytest

from gramian.kernels import kernel_from_name, table
from gramian.report.page import SIGNS, typeset

TYPESET = {
    "x . y": "<var>x</var> ⋅ <var>y</var>",
    "k1(x)^-2": "<var>k</var><sub>1</sub>(<var>x</var>)<sup>−2</sup>",
    "||x||_1": "‖<var>x</var>‖<sub>1</sub>",
    "a b / (2 gamma)": "<var>a</var> <var>b</var> / (2 γ)",
    "(1 + x_j)^(p + 1)": "(1 + <var>x</var><sub>j</sub>)<sup>(<var>p</var> + 1)</sup>",
    "sqrt(x), y >= coef0": "√(<var>x</var>), <var>y</var> ≥ coef<sub>0</sub>",
    "sum_j x_j": "∑<sub>j</sub> <var>x</var><sub>j</sub>",
}


def test_each_sign_is_typeset():
    for formula, expected in TYPESET.items():
        assert typeset(formula) == expected, formula


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
        shown = html.unescape(re.sub("<[^>]+>", "", typeset(formula)))
        for name, letter in SIGNS.items():
            shown = shown.replace(letter, name) if name[0].isalpha() else shown
        signs = re.sub("[^A-Za-z0-9]", "", formula.replace("||_1", "1"))
        assert re.sub("[^A-Za-z0-9]", "", shown) == signs, formula


@pytest.mark.parametrize("text", ["<b>", "", "such as x", "x^^2", "\x00", "&amp;", "x^(y", "x" * 900])
def test_other_texts_are_not(text):
    assert typeset(text) == ""
