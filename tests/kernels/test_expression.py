"""Text to kernels: what is read, what is refused and where, and that nothing is executed."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from exact_kernels import expressions
from gramian import kernels
from gramian.errors import InputTypeError, ParameterError
from gramian.kernels.expression import ALIASES, DEEPEST, FORMULAS, LONGEST, METHODS, parse

gauss, line = kernels.RBF(), kernels.Linear()

READ = {
    "rbf": gauss,
    "rbf()": gauss,
    "rbf(2)": kernels.RBF(sigma=2),
    "rbf(sigma=(1,))": kernels.RBF(sigma=(1,)),
    "rbf(sigma='median')": kernels.RBF(sigma="median"),
    "rbf(None, 3e-2)": kernels.RBF(gamma=0.03),
    "poly(2, 0.5, coef0=-1)": kernels.Polynomial(2, 0.5, -1),
    "matern(1.5, nu=2.5)": kernels.Matern(1.5, 2.5),
    "rq(length_scale=2, alpha=0.5)": kernels.RationalQuadratic(2, 0.5),
    "cosine": kernels.Cosine(),
    "sigmoid(0.5, -1)": kernels.Sigmoid(0.5, -1),
    "3": kernels.Constant(3),
    "-0.5": kernels.Constant(-0.5),
    "2 * 3": kernels.Constant(6),
    "polynomial(degree=2)": kernels.Polynomial(2),
    "rational_quadratic + chi_squared * laplace": kernels.RationalQuadratic()
    + kernels.ChiSquared() * kernels.Laplacian(),
    "rbf + linear": kernels.Sum(gauss, line),
    "rbf - 1": kernels.Sum(gauss, kernels.Constant(-1)),
    "1 - rbf": kernels.Sum(kernels.Constant(1), kernels.Scaled(gauss, -1)),
    "rbf * linear": kernels.Product(gauss, line),
    "2 * rbf": kernels.Scaled(gauss, 2),
    "rbf / 4": kernels.Scaled(gauss, 0.25),
    "-rbf": kernels.Scaled(gauss, -1),
    "+rbf": gauss,
    "--rbf": kernels.Scaled(gauss, 1),
    "rbf ** 2": kernels.Power(gauss, 2),
    "rbf ** 2 ** 3": kernels.Power(gauss, 8),
    "rbf ** (1 / 2)": kernels.Power(gauss, 0.5),
    "2 ** -1 * rbf": kernels.Scaled(gauss, 0.5),
    "-rbf ** 2": kernels.Scaled(kernels.Power(gauss, 2), -1),
    "rbf + linear * cosine ** 2": kernels.Sum(
        gauss, kernels.Product(line, kernels.Power(kernels.Cosine(), 2))
    ),
    "rbf + linear + cosine": kernels.Sum(kernels.Sum(gauss, line), kernels.Cosine()),
    "rbf - linear - cosine": kernels.Sum(
        kernels.Sum(gauss, kernels.Scaled(line, -1)), kernels.Scaled(kernels.Cosine(), -1)
    ),
    "2 * 3 * rbf": kernels.Scaled(gauss, 6),
    "1e3 * rbf + 0x10 + 1_000": kernels.Sum(
        kernels.Sum(kernels.Scaled(gauss, 1000.0), kernels.Constant(16)), kernels.Constant(1000)
    ),
    "exp(linear)": kernels.Exp(line),
    "(rbf + linear).normalized()": (gauss + line).normalized(),
    "rbf.on(0, -1)": gauss.on(0, -1),
    "rbf.on('age', \"b m i\", 2)": gauss.on("age", "b m i", 2),
    "rbf.on([0, 1])": gauss.on(0, 1),
    "rbf.on(0).normalized().exp() ** 2": gauss.on(0).normalized().exp() ** 2,
    "0.5 * rbf(sigma=2) + poly(degree=2).on('a') * cosine": 0.5 * kernels.RBF(sigma=2)
    + kernels.Polynomial(2).on("a") * kernels.Cosine(),
}


def test_what_is_read_and_every_name_stands_for_its_default():
    for text, kernel in READ.items():
        result = parse(text)
        assert result == kernel, (text, kernel)
        assert repr(result) == repr(kernel), (text, kernel)
        assert parse(repr(result)) == result, (text, kernel)
    for name in [*FORMULAS, *ALIASES]:
        assert parse(name) == FORMULAS[ALIASES.get(name, name)](), name


@settings(max_examples=120)
@given(expressions(6))
def test_what_is_printed_is_read_again(kernel):
    text = repr(kernel)
    result = kernels.kernel_from_name(text)
    assert result == kernel
    assert hash(result) == hash(kernel)
    assert repr(result) == text
    assert str(result) == str(kernel)


@settings(max_examples=40)
@given(expressions(4))
def test_what_is_printed_of_a_resolved_kernel_is_read_again(kernel):
    rows = np.abs(np.random.default_rng(0).standard_normal((5, 3))) + 0.1
    resolved = kernel.resolve(rows)
    assert kernels.kernel_from_name(repr(resolved)) == resolved
    assert resolved.resolve(rows) == resolved


# (text, column, part of the message)
REFUSED = [
    ("rfb", 1, "kernel 'rfb' is not known. Did you mean 'rbf'? Known: linear, poly, rbf"),
    ("2 * zzz", 5, "kernel 'zzz' is not known. Known: linear"),
    ("rbf + + rfb", 9, "'rfb' is not known"),
    ("rbf.on('größe', 'ß') + rfb", 24, "'rfb' is not known"),
    ("  rbf.on('日本') *  rfb", 19, "'rfb' is not known"),
    ("rbf(sigma='é') + linear", 1, "sigma='é' must be a number above 0"),
    ("linear + rbf(sigma=-1)", 10, "sigma=-1 must be a number above 0. Give one, one for every feature"),
    ("rbf(1, gamma=2)", 1, "gamma=2 and sigma are two names of one width"),
    ("rbf(sigma=((1, 2), (3,)))", 11, "a parameter is a number, a list of numbers"),
    ("rbf(sigma=('a', 2))", 1, "an entry of sigma='a' must be a number above 0"),
    ("2 * rbf(width=1)", 5, "rbf takes sigma, gamma"),
    ("rbf(**2)", 1, "rbf takes sigma, gamma"),
    ("rbf(*[1])", 5, "a parameter is a number, a list of numbers, 'median', 'scale' or None"),
    ("rbf(linear)", 5, "a parameter is a number"),
    ("poly(degree=-2)", 1, "degree=-2 must be a number above 0"),
    ("matern(nu=2)", 1, "nu=2 must be 0.5, 1.5 or 2.5"),
    ("rbf ** linear", 8, "what follows / and ** is a number, such as 2"),
    ("rbf ** -1", 8, "exponent=-1 must be a number above 0"),
    ("rbf / 0", 7, "this cannot be computed"),
    ("(-2) ** 0.5", 9, "this cannot be computed"),
    ("10 ** 10 ** 10", 7, "this cannot be computed"),
    ("rbf / 1e-320", 7, "factor=inf must be a finite number"),
    ("1e999", 1, "inf is neither a kernel nor a finite number"),
    ("rbf * " + "9" * 500, 7, "is neither a kernel nor a finite number"),
    ("1j * rbf", 1, "1j is neither"),
    ("'rbf'", 1, "'rbf' is neither"),
    ("rbf % 2", 7, "kernels and formulas combine with + - * / and **"),
    ("~rbf", 1, "'~rbf' has no meaning here"),
    ("rbf < linear", 1, "'rbf < linear' has no meaning here"),
    ("rbf[0]", 1, "has no meaning here"),
    ("rbf()()", 1, "'rbf()' is not the name of a kernel"),
    ("rbf.normalized(1)", 1, "normalized() takes 0 arguments"),
    ("rbf.normalised()", 1, "kernels have no method 'normalised'; they have normalized, on, exp"),
    ("exp", 1, "exp is a function, such as exp(linear)"),
    ("exp()", 1, "exp() takes 1 argument"),
    ("rbf.exp(2)", 1, "exp() takes 0 arguments"),
    ("rbf.after(sin)", 1, "kernels have no method 'after'"),
    ("rbf.on()", 1, "on() takes columns by position or name"),
    ("rbf.on(1.5)", 8, "columns=1.5 must be positions such as 0, or names"),
    ("rbf.on(slice(0, 3))", 8, "a parameter is a number"),
    ("precomputed + rbf", 1, "'precomputed' is not known"),
    ("rbf +", 6, "cannot be read"),
    ("(rbf", 1, "'(' was never closed"),
    ("rbf)", 4, "unmatched ')'"),
    ("rbf(]", 5, "does not match"),
    ("rbf; linear", 4, "cannot be read"),
    ("rbf + 'abc", 7, "unterminated string"),
    ("007 * rbf", 1, "leading zeros"),
    ("rbf.on('größe') + )", 19, "unmatched ')'"),
]


def test_what_is_refused_and_where():
    for text, column, message in REFUSED:
        with pytest.raises(ParameterError, match="column") as caught:
            parse(text)
        said = str(caught.value)
        assert message in said, (text, column, message)
        assert f", column {column}: " in said, (text, column, message)
        head, *_, shown, caret = said.split("\n")
        assert head.endswith("."), (text, column, message)
        assert shown[2:] == text[: len(shown) - 2], (text, column, message)
        assert caret == " " * (column + 1) + "^", (text, column, message)


CODE = [
    "__import__('os').system('false')",
    "().__class__.__base__.__subclasses__()",
    "rbf.__class__.__mro__[1]",
    "rbf().gram.__globals__",
    "(lambda: rbf)()",
    "[k for k in (rbf,)]",
    "f'{__import__(\"os\")}'",
    "(x := rbf)",
    "await rbf",
    "open('/etc/passwd')",
    "rbf(sigma=__import__('os'))",
    "rbf.after(__import__)",
    "import os",
    "rbf.set_params(sigma=1)",
]


@pytest.mark.parametrize("text", CODE)
def test_code_is_refused_and_never_run(text, monkeypatch):
    import builtins

    def caught(*arguments, **options):
        raise AssertionError("something was executed")

    for name in ("eval", "exec", "open", "print"):
        monkeypatch.setattr(builtins, name, caught)
    with pytest.raises(ParameterError, match="column"):
        parse(text)


def test_nothing_at_all_and_text_of_one_line():
    for text in ["", " ", "      "]:
        with pytest.raises(ParameterError, match=r", column 1: this cannot be read \(invalid syntax\)\."):
            parse(text)
    terms = "+".join(["rbf"] * (DEEPEST - 1))
    assert repr(parse(terms)).count("rbf()") == DEEPEST - 1
    with pytest.raises(ParameterError, match=r"kernel has 2001 characters, more than 2000\."):
        parse("rbf" + " " * (LONGEST - 2))
    assert parse("rbf" + " " * (LONGEST - 3)) == kernels.RBF()
    text = " + ".join(["rbf(sigma=2)"] * 40) + " + rfb + " + " + ".join(["linear"] * 40)
    with pytest.raises(ParameterError, match=r"2\) \+ rbf\(sigma=2\) \+ rbf\(sigma=2\) \+") as caught:
        parse(text)
    said = str(caught.value)
    column = text.index("rfb")
    assert f"column {column + 1}:" in said
    shown, caret = said.split("\n")[-2:]
    assert len(shown) <= 102
    assert shown[caret.index("^") :].startswith("rfb")
    for text in ["rbf\n+ linear", "rbf\0", "rbf\t", "\x1b[31mrbf", "rbf\u2028", "\ud800", "rbf\r\n+1"]:
        with pytest.raises(ParameterError, match=r"must be one line of plain text\."):
            parse(text)


def test_deep_nesting_is_refused_and_the_deepest_can_be_used():
    for text in [
        "(" * 300 + "rbf" + ")" * 300,
        "-" * 1500 + "rbf",
        "rbf" + ".exp()" * 300,
        "rbf" + ".normalized()" * 120,
        "exp(" * 150 + "rbf" + ")" * 150,
        "+".join(["rbf"] * 490),
        "**".join(["2"] * 600) + "*rbf",
        "rbf(" + "[" * 150 + "]" * 150 + ")",
        "rbf(" + "-" * 1500 + "1)",
        "rbf.on(" + "[" * 100 + "0" + "]" * 100 + ")",
        "rbf" + "()" * 800,
        "rbf" + ".a" * 800,
        "rbf" + "[0]" * 600,
    ]:
        with pytest.raises(ParameterError, match="kernel"):
            parse(text)
    kernel = parse("+".join(["rbf"] * (DEEPEST - 1)))
    rows = np.random.default_rng(0).standard_normal((4, 2))
    assert_allclose(kernel.gram(rows), (DEEPEST - 1) * kernels.RBF().gram(rows), rtol=1e-12)
    assert kernel.psd
    assert parse(repr(kernel)) == kernel
    chain = parse("rbf" + ".on(0, 1).normalized()" * (DEEPEST // 2 - 1))
    assert_allclose(chain.gram(rows), kernels.RBF().gram(rows), rtol=1e-12)
    assert chain.psd


def test_no_warning_escapes_and_the_use_of_the_text_is_said():
    with pytest.raises(ParameterError, match="kernel='rfb', column 1: kernel"):
        parse("rfb")
    assert parse(r"rbf.on('\d')") == kernels.RBF().on("\\d")
    with pytest.raises(ParameterError, match="has no meaning here; see linear, poly, rbf, laplacian,"):
        parse("1if 1else 2")


# Pieces from which text is glued together that looks like an expression.
WORDS = [*METHODS, "exp", "slice", "log", "sigma", "gamma", "degree", "coef0", "nu"]
PYTHON = ["None", "True", "lambda", "not ", "if ", "for "]

SIGNS = [*"()[],=+-*/.:{}é~\\#@%<!_ \"'", "**", ":=", "f'"]
NUMBERS = ["0", "1", "2.5", "1e308", "1e-308", "10", "9" * 40, "'a'", "'median'"]
PIECES = st.sampled_from([*FORMULAS, *ALIASES, *WORDS, *PYTHON, *SIGNS, *NUMBERS])


@settings(max_examples=100)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join)))
@example("rbf(sigma=((1,2),(3,)))")
@example("\\")
@example("rbf\\")
@example("rbf#")
@example("0**-1")
@example("0**0*rbf")
@example("exp(rbf)**1e300")
@example("rbf.on(*'a')")
@example("rbf(*())")
@example("constant(1e308)*1e308")
@example("\uff52\uff42\uff46")
def test_any_text_is_read_or_refused(text):
    try:
        result = parse(text)
    except (ParameterError, InputTypeError):
        return
    assert kernels.kernel_from_name(repr(result)) == result
    assert str(result)
    assert result.validity.status in ("proven", "refuted", "unknown")
