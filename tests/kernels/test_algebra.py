"""What combined kernels compute, which rule proves or refutes them, and bounds that hold for combinations."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from exact_kernels import clusters, exact_gram, excess, expressions
from gramian.errors import DataError, InputTypeError
from gramian.kernels import (
    RBF,
    ChiSquared,
    Constant,
    Cosine,
    Exp,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    exp,
    kernel_from_name,
)

X = np.abs(np.random.default_rng(3).standard_normal((14, 3))) + 0.05
k1, k2, k3 = RBF(sigma=1.3), Polynomial(2, 0.5, 1.0), Matern(0.7, 1.5)


def test_operators_make_objects_of_kernels_and_numbers_only():
    assert k1 + k2 == Sum(k1, k2)
    assert k1 + 2 == Sum(k1, Constant(2))
    assert 2 + k1 == Sum(Constant(2), k1)
    assert k1 - k2 == Sum(k1, Scaled(k2, -1))
    assert k1 - 2 == Sum(k1, Constant(-2))
    assert 2 - k1 == Sum(Constant(2), Scaled(k1, -1))
    assert k1 * k2 == Product(k1, k2)
    assert 3 * k1 == k1 * 3 == Scaled(k1, 3)
    assert k1 / 4 == Scaled(k1, 0.25)
    assert -k1 == Scaled(k1, -1)
    assert -(2 * k1) == Scaled(k1, -2)
    assert k1**2 == Power(k1, 2)
    assert exp(k1) == k1.exp() == Exp(k1)
    assert np.float64(3) * k1 == k1 * np.float64(3) == 3 * k1
    assert sum([k1, k2]) == 0 + k1 + k2
    for bad in ["rbf", None, [1.0], np.ones(2), 1j, True, float("nan")]:
        for combine in [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]:
            for pair in ((k1, bad), (bad, k1)):
                with pytest.raises(
                    TypeError, match=r"unsupported operand|concatenate|multiply sequence|ufuncs"
                ):
                    combine(*pair)
    for bad in (lambda: k1 / 0, lambda: k1 / k2, lambda: 2 / k1, lambda: 2**k1, lambda: k1**k2):
        with pytest.raises(TypeError, match="unsupported operand"):
            bad()


@settings(max_examples=120)
@given(expressions(6), st.integers(0, 3))
def test_what_is_proven_is_positive_semi_definite(kernel, seed):
    """Closure rules against Gram matrices: rows spread out, in pairs, and far from the origin."""
    if not kernel.psd:
        return
    rng = np.random.default_rng(seed)
    rows = np.abs(rng.standard_normal((9, 3))) * rng.choice([0.1, 1.0, 3.0], (9, 1)) + 0.01
    rows[5:7] = rows[:2] + 1e-7
    rows[7:] += 5.0
    try:
        bound, K = kernel.bind(rows), kernel.gram(rows)
    except DataError as error:
        if "overflows" in str(error):
            return
        raise
    scale = np.abs(K).max() or 1.0
    smallest = np.linalg.eigvalsh(K / scale)[0] * scale
    error = 9 * bound.absolute + bound.relative * np.linalg.norm(K / scale) * scale
    assert smallest >= -(error + 1e-13 * scale), kernel


@settings(max_examples=75)
@given(expressions(6))
def test_every_proof_is_built_from_proofs(kernel):
    def follows(result):
        if result.proven and not result.reason.startswith("Zero times"):
            assert all(part.proven for part in result.parts)
        for part in result.parts:
            follows(part)

    follows(kernel.validity)
    assert kernel.psd == kernel.validity.proven
    assert kernel.validity.formula == repr(kernel)


PROVEN = [
    (k1 + k2, "sum of kernels"),
    (k1 * k2, "Schur 1911"),
    (0 * Sigmoid(), "Zero times"),
    (2 * k1, "number >= 0"),
    (k2**3, "Schur 1911"),
    (k2**3.0, "Schur 1911"),
    (k1**0.5, "infinitely divisible"),
    ((k1 * k3) ** 1.5, "infinitely divisible"),
    ((3 * Laplacian()) ** 0.1, "Horn 1969"),
    (exp(k2) ** 0.5, "infinitely divisible"),
    (((k1**0.5) ** 0.5).on(0).normalized() ** 0.3, "infinitely divisible"),
    (Constant(3.0) ** 0.5, "infinitely divisible"),
    (exp(k2), "factors 1 / m! >= 0"),
]


def test_proven_and_neither_proven_nor_refuted_however_deep():
    for kernel, reason in PROVEN:
        assert kernel.validity.proven, (kernel, reason)
        assert reason in kernel.validity.reason, (kernel, reason)
        K = kernel.gram(X)
        assert np.linalg.eigvalsh(K)[0] >= -1e-12 * np.linalg.norm(K), (kernel, reason)
    for kernel in UNKNOWN:
        result = kernel.validity
        assert result.status == "unknown", kernel
        assert not kernel.psd, kernel
        assert result.reason, kernel
    assert (Sigmoid(1.0, 0.0) ** 10**9).validity.status == "unknown"
    assert (k2**1e300).psd
    assert not ((k1 - 2) ** 1e300).psd
    kernel = RBF()
    for _ in range(60):
        kernel = exp(kernel) ** 0.5
    assert kernel.psd
    other = Sigmoid()
    for _ in range(60):
        other = exp(other) ** 0.5 * other.on(0, 1) if _ < 3 else other**2
    assert not other.psd


UNKNOWN = [
    k1 - k2,
    -k1,
    RBF() * -1.0,
    k1 * Sigmoid(),
    Sigmoid() + k1,
    k2**0.5 * k1,
    (k1 + k3) ** 0.5,
    (k1 + 1.0) ** 1.5,
    Cosine() ** 0.5,
    exp(-k1),
    Constant(-1.0) * Constant(-1.0),
    3 * Linear() - 2 * Linear(),
    2 * (k1 - k3),
    (k1 - 1) ** 2,
    Linear() ** 0.5,
]


@settings(max_examples=100)
@given(expressions(3), expressions(3))
def test_a_difference_is_never_proven(a, b):
    # A factor joins another one, and may be 0 or turn the sign a second time.
    if isinstance(b, (Scaled, Constant)):
        return
    assert not (a - b).psd
    assert not (-b).psd
    assert (b * -0.5).validity.status in ("unknown", "refuted")


def test_printed_forms():
    for kernel, text, formula in [
        (RBF() + Linear(), "rbf() + linear()", "exp(-gamma ||x - y||^2) + x . y"),
        (RBF() - Linear(), "rbf() - linear()", "exp(-gamma ||x - y||^2) - 1 x . y"),
        (RBF() - 2 * Linear(), "rbf() - 2 * linear()", None),
        (RBF() + 2, "rbf() + 2", None),
        (RBF() - 2.5, "rbf() - 2.5", None),
        (1 - RBF(), "1 - rbf()", None),
        (Constant(1) + Constant(2), "constant() + constant(value=2)", "1 + 2"),
        (-Linear(), "-1 * linear()", "-1 x . y"),
        (2 * (RBF() + Linear()), "2 * (rbf() + linear())", "2 (exp(-gamma ||x - y||^2) + x . y)"),
        ((RBF() * Linear()) ** 2, "(rbf() * linear()) ** 2", None),
        (RBF() * Linear() ** 2, "rbf() * linear() ** 2", None),
        (RBF() * (Linear() * Cosine()), "rbf() * (linear() * cosine())", None),
        (RBF() + (Linear() + Cosine()), "rbf() + (linear() + cosine())", None),
        ((Linear() ** 2) ** 3, "(linear() ** 2) ** 3", "((x . y)^2)^3"),
        (exp(RBF() + 1), "exp(rbf() + 1)", None),
        (np.float64(0.5) * RBF() ** np.int64(2), "0.5 * rbf() ** 2", None),
        (RBF() + np.float32(0.5), "rbf() + 0.5", None),
    ]:
        assert repr(kernel) == text, (kernel, text, formula)
        assert kernel_from_name(text) == kernel, (kernel, text, formula)
        if formula is not None:
            assert str(kernel) == formula, (kernel, text, formula)
        assert str(kernel), (kernel, text, formula)


ROWS = X[:12]
gauss, line, smooth = RBF(sigma=1.0), Linear(), Matern(0.5, 2.5)

EXAMPLES = [
    gauss + line,
    gauss * smooth,
    3.7 * gauss,
    -2 * gauss + line,
    gauss**2,
    gauss**7,
    gauss**0.3,
    smooth**0.5,
    (gauss * smooth) ** 1.7,
    (3 * gauss) ** 0.1,
    gauss.exp(),
    (0.1 * gauss + 0.2).exp(),
    (1e-3 * line).exp(),
    line.normalized(),
    (gauss + line).normalized(),
    Polynomial().normalized(),
    (gauss + Sigmoid(0.1, 0.2)).normalized(),
    (Sigmoid(1e-3, 0.5) - 0.4).normalized() * 3,
    gauss.on(0),
    smooth.on(0, 2) * gauss.on(1),
    (gauss - smooth) ** 2,
    Polynomial(2) * Polynomial(3),
    RBF(sigma=(1.0, 1e3, 1e-3)) * line,
    (line + 1) ** 3,
    gauss.exp() ** 0.5,
    Cosine() ** 2 + 1,
]
POSITIVE = [
    ChiSquared() ** 0.5 * 2 + 1,
    RationalQuadratic(1.0, 0.5),
    Laplacian(0.3).normalized(),
]


def has_no_value(error):
    """Exponentials and high powers leave float64 on large rows; a root of what is no kernel may not exist."""
    return any(text in str(error) for text in ("overflows", "k(x, x) >= 0", "no value"))


def test_the_error_bound_holds_for_combinations_and_roots_near_zero():
    """Rows whose inner product cancels nearly, where the slope of a root has no bound."""
    for exponent in [0.1, 0.5, 0.9, 1.5]:
        for rows in ([[1.0, 1.0], [1e8, -1e8 + 2.0**-20]], [[0.1, 0.3], [0.3, -0.1 * (1 - 2.0**-45)]]):
            for kernel in (0.3 * line, line.on(0, 1), 0.7 * (0.3 * line)):
                assert excess(kernel**exponent, np.array(rows)) <= 1
    for kernel in EXAMPLES + POSITIVE:
        held = 0
        for gap, offset, near, dtype in [
            (0.0, 0.0, 1.0, np.float64),
            (3.0, 1e4, 1e-3, np.float32),
            (300.0, 100.0, 1e-9, np.float64),
            (1e4, 0.0, 1.0, np.float32),
            (1e6, 1e8, 1e-3, np.float64),
            (3.0, 1e8, 1.0, np.float32),
        ]:
            rows = clusters(gap, offset, near, dtype)
            rows = np.abs(rows) if kernel in POSITIVE else rows
            try:
                assert excess(kernel, rows) <= 1, (gap, offset, near, dtype)
                held += 1
            except DataError as error:
                if not has_no_value(error):
                    raise
        assert held >= 1, kernel


@settings(max_examples=75)
@given(expressions(5))
def test_the_error_bound_of_random_expressions(kernel):
    for rows in (ROWS[:5], np.vstack([ROWS[:2] + 100, ROWS[:2] + (100 + 1e-7)]).astype("f4")):
        try:
            assert excess(kernel, rows) <= 1
        except DataError as error:
            if not has_no_value(error):
                raise


@settings(max_examples=60)
@given(expressions(4))
def test_entries_stay_within_the_stated_size(kernel):
    try:
        bound = kernel.bind(ROWS[:5])
        largest = max(abs(float(value)) for value in exact_gram(bound.kernel, ROWS[:5]).ravel())
    except DataError:
        return
    assert largest <= bound.largest * (1 + 1e-9) + bound.absolute


def test_only_sums_hand_centring_down():
    rows = ROWS + 1e4
    H = np.eye(12) - 1 / 12
    for kernel in (Linear() + RBF(), 3 * Linear(), Linear().on(0, 1)):
        bound = kernel.bind(rows, centered=True)
        plain = kernel.bind(rows)
        assert bound.absolute < plain.absolute / 1e3
        K = bound.tile(*bound.encode(rows))
        exact = plain.tile(*plain.encode(rows))
        assert_allclose(H @ K @ H, H @ exact @ H, atol=1e-13 * np.abs(exact).max())
    for kernel in (Linear() * RBF(), Linear() ** 2, Linear().normalized()):
        bound = kernel.bind(rows, centered=True)
        assert_allclose(bound.tile(*bound.encode(rows)), kernel.gram(rows), rtol=1e-9)


def test_parts_are_kernels_and_values_that_overflow_or_are_none_are_named():
    for bad in [3, None, "rbf", np.ones(2)]:
        for made in (Sum(RBF(), bad), Product(bad, RBF()), Scaled(bad, 2.0), Power(bad, 2), Exp(bad)):
            with pytest.raises(InputTypeError, match="is no kernel object such as"):
                made.gram(ROWS)
    for kernel in [
        Exp(Linear()),
        Polynomial(40, 1.0) * Polynomial(40, 1.0),
        1e200 * (1e200 * Linear()),
        (1e200 * RBF()) ** 2,
        Linear() * 1e308 + Linear() * 1e308,
        RBF() ** 1e300,
    ]:
        with pytest.raises(DataError, match=r"overflows on this data\. Scale the data or the kernels in"):
            kernel.gram(ROWS * 40)
    with pytest.raises(DataError, match=r"- 2\) \*\* 0\.5 has no value where rbf\(gamma="):
        ((k1 - 2) ** 0.5).gram(X)
    torch = pytest.importorskip("torch")
    with pytest.raises(DataError, match=r"- 2\) \*\* 0\.5 has no value where rbf\(gamma="):
        ((k1 - 2) ** 0.5).gram(torch.asarray(X))
