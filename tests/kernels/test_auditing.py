"""Audits: proofs, refutations, and what a report says."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gramian.errors import DataError, IndefiniteKernelError, InputTypeError, ParameterError
from gramian.kernels import RBF, FunctionKernel, Linear, Polynomial, Sigmoid, kernel_from_name
from gramian.kernels.auditing import Asymmetry, Witness, audit
from gramian.kernels.facts import Facts, proven


def fractions(point):
    return [Fraction(float(x)) for x in point]


def dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def squared(x, y):
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))


def decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def power(x, y, p):
    inside = 1 + dot(x, y)
    assert inside >= 0
    return Fraction(decimal(inside) ** Decimal(str(p))) if inside else Fraction(0)


def tanh(t):
    grown = (2 * decimal(t)).exp()
    return Fraction((grown - 1) / (grown + 1))


def exact_sum(witness, formula):
    """v.T K v of the printed points and weights, with 60 digits or all of them."""
    points = [fractions(p) for p in witness.points]
    v = fractions(witness.vector)
    with localcontext() as context:
        context.prec = 60
        return sum(v[i] * v[j] * formula(points[i], points[j]) for i in range(len(v)) for j in range(len(v)))


def positive_only(p):
    def k(x, y):
        if min(x.min(), y.min()) < 0:
            return math.nan
        return float((1 + x @ y) ** p)

    return k


REFUTED = {
    "distance": (
        lambda x, y: float(np.linalg.norm(x - y)),
        lambda x, y: Fraction(decimal(squared(x, y)).sqrt()),
        2,
    ),
    "squared distance": (lambda x, y: float(((x - y) ** 2).sum()), squared, 2),
    "growing exponential": (
        lambda x, y: float(np.exp(((x - y) ** 2).sum())),
        lambda x, y: Fraction(decimal(squared(x, y)).exp()),
        2,
    ),
    "min": (lambda x, y: float(np.minimum(x, y).sum()), lambda x, y: sum(map(min, x, y), Fraction(0)), 1),
    "sigmoid": (Sigmoid(gamma=1.0, coef0=1.0), lambda x, y: tanh(dot(x, y) + 1), 3),
    "tanh": (lambda x, y: float(np.tanh(x @ y)), lambda x, y: tanh(dot(x, y)), 2),
    "negative constant": (Polynomial(degree=2, gamma=1.0, coef0=-1.0), lambda x, y: (dot(x, y) - 1) ** 2, 2),
}
for p, m in ((0.5, 3), (1.5, 4), (2.5, 5)):

    def exact(x, y, p=p):
        return power(x, y, p)

    REFUTED[f"power {p}"] = (lambda x, y, p=p: float((1 + x @ y) ** p), exact, m)
    REFUTED[f"power {p} of positive numbers"] = (positive_only(p), exact, m)
    REFUTED[f"poly of degree {p}"] = (Polynomial(degree=p, gamma=1.0), exact, m)


def test_a_refutation_holds_in_exact_arithmetic_of_few_digits_and_any_seed():
    for name in REFUTED:
        kernel, formula, most = REFUTED[name]
        report = audit(kernel, random_state=0)
        witness = report.witness
        assert (report.verdict, report.valid) == ("not a kernel", False), name
        assert isinstance(witness, Witness), name
        assert len(witness.points) <= most, name
        assert witness.eigenvalue < -witness.bound, name
        value = exact_sum(witness, formula)
        assert value < 0, name
        assert abs(value - Fraction(witness.quadratic_form)) <= Fraction(witness.uncertainty), name
    for name in ("squared distance", "sigmoid", "power 0.5", "poly of degree 2.5"):
        points = audit(REFUTED[name][0], random_state=0).witness.points
        assert all(float(f"{x:.2g}") == x for x in points.ravel()), name
    for seed in (1, 2):  # 0 is above
        for p in [0.5, 2.5, 3.5]:
            report = audit(positive_only(p), random_state=seed)
            assert report.valid is False, (seed, p)
            assert len(report.witness.points) <= p + 2.5, (seed, p)
            assert (report.witness.points >= 0).all(), (seed, p)


HIGHER = {
    # Valid in one dimension only (triangle: Askey's condition), so that the search must go on to more.
    "triangle": (lambda x, y: max(0.0, 1 - float(np.linalg.norm(x - y))), 2),
    "largest difference": (lambda x, y: float(np.exp(-np.abs(x - y).max())), 3),
}


@pytest.mark.parametrize("name", HIGHER)
@pytest.mark.walk
def test_what_only_more_features_refute(name):
    kernel, d = HIGHER[name]
    assert audit(kernel, n_features=1, random_state=0).verdict == "no counterexample"
    witness = audit(kernel, n_features=d, random_state=0).witness
    v = witness.vector
    K = np.array([[kernel(x, y) for y in witness.points] for x in witness.points])
    assert v @ K @ v < -1e-5 * (v @ v) * np.abs(K).max()


def test_theory_and_asymmetry_refute_too():
    report = audit(Sigmoid(gamma=1.0), [[1.0]])
    assert report.valid is False
    assert report.witness is None
    assert "refuted by theory alone: no witness was found in 1 trial" in str(report)

    def k(x, y):
        return float(x @ y + 0.1 * x[0])

    report = audit(k, random_state=0)
    result = report.witness
    assert report.valid is False
    assert isinstance(result, Asymmetry)
    x, y = result.points
    assert result.values == (k(x, y), k(y, x))
    assert result.values[0] != result.values[1]
    assert "k(y, x) =" in str(report)


def hostile():
    rng = np.random.default_rng(0)
    sets = {f"scale {s:g}": s * rng.standard_normal((30, 3)) for s in (1e-150, 1e-60, 1.0, 1e8, 1e60, 1e150)}
    sets["all scales"] = 10.0 ** rng.uniform(-150, 150, (30, 3))
    sets["far apart"] = np.vstack([rng.standard_normal((15, 3)), 1e12 + rng.standard_normal((15, 3))])
    sets["duplicated"] = np.repeat(rng.standard_normal((6, 3)), 5, axis=0)
    sets["tiny gaps"] = 1 + 2.0**-50 * rng.integers(0, 9, (30, 3))
    sets["offset"] = 1e8 + rng.standard_normal((30, 3))
    sets["subnormal"] = 5e-324 * rng.integers(-3, 4, (30, 3))
    sets["zeros"] = np.zeros((4, 3))
    sets["one row"] = np.ones((1, 3))
    return sets


HOSTILE = hostile()
PROVEN = [
    *("rbf", "laplacian", "linear", "cosine", "rbf() + linear()", "rbf() * poly(degree=2)"),
    *("exp(cosine())", "poly().normalized()", "(rbf() + 1) ** 3", "matern()", "rq()"),
    *(f"poly(degree={p})" for p in range(1, 11)),
    *("rbf(sigma=1e-6)", "rbf(sigma=1e6)"),
]


def test_neither_data_nor_a_search_refutes_a_proven_kernel():
    for expression in PROVEN:
        tested = 0
        for name, X in HOSTILE.items():
            try:
                report = audit(expression, X)
            except DataError:
                continue  # it says that the values overflow, which is no verdict
            tested += 1
            assert report.valid is True, name
            assert report.witness is None, expression
        assert tested >= 6, expression
    report = audit("linear() * chi2", random_state=1)
    assert report.verdict == "valid"
    assert report.validity.reason in str(report)
    assert report.trials > 100


CALLED = {
    "linear": lambda x, y: float(x @ y),
    "rbf": lambda x, y: float(np.exp(-((x - y) ** 2).sum())),
    "laplacian": lambda x, y: float(np.exp(-np.abs(x - y).sum())),
    "poly": lambda x, y: float((1 + x @ y) ** 10),
    "product": lambda x, y: float(np.exp(-((x - y) ** 2).sum()) * (1 + x @ y) ** 2),
    "cancelling": lambda x, y: float((np.cos(x - y) - np.cos(x + y)).sum()),
    "brownian": lambda x, y: float(np.abs(x).sum() + np.abs(y).sum() - np.abs(x - y).sum()),
}


def test_functions_are_not_refuted_unless_more_features_refute_them():
    for name in CALLED:
        # Far from the origin the cosines of x + y and x - y lose more digits than value_tol allows.
        far = () if name == "cancelling" else ("far apart", "offset")
        for data in ("scale 1e-60", "scale 1", "duplicated", "tiny gaps", "zeros", *far):
            report = audit(CALLED[name], HOSTILE[data])
            assert report.verdict == "no counterexample", data
    for name in ("cancelling", "brownian"):
        report = audit(CALLED[name], n_features=2, random_state=0)
        assert report.valid is None, name
        assert report.value_tol == 1e-10, name
        assert "Assumed: every value is accurate to 1e-10 times the largest" in str(report), name

    def k(X, Y):
        return -((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=-1)

    witness = audit(k, random_state=0).witness
    assert len(witness.points) == 2
    report = audit(lambda x, y: -float(x[2] * y[2]), random_state=0)
    assert "with 3 features" in report.tested
    assert "with 5 features" in audit(lambda x, y: -float(x[4] * y[4]), random_state=0).tested
    report = audit(lambda x, y: -float(x[29] * y[29]), n_features=30, random_state=0)
    assert report.witness.points.shape == (1, 30)
    assert "with 6 features" in audit(lambda x, y: -float(x[5] * y[5]), random_state=0).tested
    with pytest.raises((DataError, ParameterError), match="columns=20 is not there: X has 1, counted from 0"):
        audit("rbf().on(20)", random_state=0)


def test_a_proof_and_a_witness_are_a_defect(monkeypatch):
    monkeypatch.setattr(Sigmoid, "facts", Facts(proven("Wishful thinking.")))
    with pytest.raises(IndefiniteKernelError, match=r"sigmoid\(gamma=1\.0\) is proven to be a kernel"):
        audit(Sigmoid(gamma=1.0), random_state=0)


def test_data_are_witnesses_thinned_out_and_as_accurate_as_said():
    X = np.random.default_rng(0).standard_normal((60, 4))
    report = audit("sigmoid(gamma=1)", X)
    rows = list(report.witness.rows)
    assert_array_equal(X[rows], report.witness.points)
    assert_array_equal(
        kernel_from_name("sigmoid(gamma=1)").gram(X[rows]).round(12), report.witness.gram.round(12)
    )
    assert report.tested == "the 60 rows given, and nothing else."
    assert f"row {rows[0]}:" in str(report)
    X = np.random.default_rng(0).standard_normal((1500, 2))
    assert audit(Linear(), X).tested.startswith("1,000 evenly spaced rows of 1,500")
    function = FunctionKernel(lambda X, Y: X @ Y.T, vectorised=True)
    assert audit(function, X).tested.startswith("400 evenly spaced rows of 1,500")
    X = np.random.default_rng(0).standard_normal((9, 2))
    before = X.copy()
    audit("rbf", X)
    assert_array_equal(X, before)
    K = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-6]])
    assert audit(lambda x, y: K[int(x[0]), int(y[0])], [[0.0], [1.0]]).valid is False
    assert audit(lambda x, y: K[int(x[0]), int(y[0])], [[0.0], [1.0]], value_tol=1e-5).valid is None


def test_a_precomputed_matrix_may_be_negative_scaled_or_not_symmetric():
    K = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]
    report = audit("precomputed", K)
    assert report.valid is False
    assert report.witness.rows == (0, 1)
    assert report.witness.points.tolist() == [[0.0], [1.0]]
    assert report.witness.eigenvalue == pytest.approx(-1.0)
    good = audit("precomputed", np.eye(3))
    assert (good.valid, good.trials) == (None, 1)
    assert "A matrix is one set of points" in str(good)
    assert audit("precomputed", np.zeros((2, 2))).valid is None
    report = audit("precomputed", [[1.0, 2.0], [1.0, 5.0]])
    assert report.witness.values == (2.0, 1.0)
    assert report.witness.rows == (0, 1)
    K = [[1e20, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]
    report = audit("precomputed", K, value_tol=0.0)
    assert report.witness.rows == (1, 2)
    report = audit("precomputed", [[1e20, 2e6], [2e6, 1e-8]], value_tol=0.0)
    assert (report.witness.scaling != 1).any()
    assert "rows and columns scaled to a diagonal near 1" in str(report)
    assert audit("precomputed", [[1.0, 0.5], [0.5 + 1e-13, 1.0]]).valid is None


def test_arguments_that_mean_nothing():
    for K, error in [
        (None, ParameterError),
        (np.ones((3, 2)), DataError),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), DataError),
    ]:
        with pytest.raises(error, match="Gram matrix"):
            audit("precomputed", K)
    for arguments, error, match in [
        ({"value_tol": 1}, ParameterError, "value_tol=1 must be a number of at least 0 and below 1"),
        ({"value_tol": "small"}, ParameterError, "value_tol='small'"),
        ({"n_features": 0}, ParameterError, "n_features=0 must be a whole number of at least 1"),
        ({"n_features": 2, "X": np.ones((3, 4))}, ParameterError, "n_features=2 but X has 4 columns"),
        ({"random_state": "dice"}, ValueError, "random_state='dice' must be a whole number"),
        ({"random_state": -1}, ValueError, "random_state=-1 must be a whole number from 0"),
        ({"X": np.ones(3)}, DataError, "a kernel takes rows"),
        ({"X": np.ones((0, 3))}, DataError, "at least one row"),
        ({"X": [["a"]]}, DataError, "not a table of numbers"),
        ({"X": np.ones((2, 2)) * 1j}, DataError, "which is not real numbers"),
        ({"X": [[1.0, np.inf]]}, DataError, "X has NaN or infinity"),
        ({"kernel": "rbff"}, ParameterError, "'rbff' is not known"),
        ({"kernel": Polynomial(degree=-1)}, ParameterError, "degree=-1"),
        ({"kernel": 3}, InputTypeError, "kernel=3"),
    ]:
        with pytest.raises(error, match=match):
            audit(**{"kernel": "rbf", **arguments})
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputTypeError, match=r"X is sparse\. Give some of its rows as an array:"):
        audit("rbf", sparse.eye_array(3).tocsr())


def changes_its_arguments(x, y):
    x *= 2
    return float(x @ y)


def noisy():
    rng = np.random.default_rng(0)
    return lambda x, y: float(x @ y) + rng.standard_normal()


def test_functions_at_the_edge_and_what_are_none():
    for kernel in [
        lambda x, y: math.nan,
        lambda x, y: complex(x @ y),
        lambda x, y: 1 / 0,
        lambda x, y: x * y,
        lambda x, y: None,
        lambda x, y: "much",
        lambda: 1,
        lambda x, y: float(x[30] * y[30]),
        changes_its_arguments,
        noisy(),
    ]:
        with pytest.raises(DataError, match=r"The kernel function <lambda>|The kernel function raised|The"):
            audit(kernel, random_state=0)
    with pytest.raises(DataError, match=r"ZeroDivisionError.* at x = \(1, 2\), y = \(1, 2\)"):
        audit(lambda x, y: 1.0 / int(x[0] != y[0]), [[1.0, 2.0], [3.0, 4.0]])

    def huge(x, y):
        return 1e300 * float(np.exp(-np.abs(x - y).sum()))

    line = np.arange(-3.0, 4.0)[:, None]
    for kernel, X, valid in [
        (lambda x, y: 0, None, None),
        (lambda x, y: 1, line, None),
        (lambda x, y: 1e200, line, None),
        (lambda x, y: -1e-300, None, False),
        (huge, None, None),
        (lambda x, y: huge(x, y) - 5e299, None, False),
        (lambda x, y: int((x == y).all()), line, None),
        (lambda x, y: bool((x != y).any()), None, False),
        (lambda x, y: np.float32(x @ y), line, None),
        (lambda x, y: float(np.log(x @ y)), None, False),
    ]:
        result = audit(kernel, X, n_features=1, value_tol=1e-6, random_state=0)
        assert result.valid is valid, (kernel, valid)


def test_a_report_shows_the_proof_of_every_part_or_what_refutes_it():
    text = str(audit(RBF(sigma=2.0) + 3 * Linear(), np.eye(2)))
    assert "Verdict: valid, proven by theory." in text
    assert "Bochner" in text
    assert "A sum of kernels is a kernel." in text
    text = str(audit(Sigmoid(gamma=1.0), random_state=0))
    for part in (
        "Verdict: not a kernel, by a witness of 3 points.",
        "rounding reaches -",
    ):
        assert part in text
    assert "Assumed" not in text
