import numpy as np
import pytest
from scipy import sparse

import gramian
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.select.relations import Relation, Relations

T = np.linspace(0, 2 * np.pi, 120, endpoint=False)
CIRCLE = np.column_stack([3 + 1.5 * np.cos(T), 2 + 1.5 * np.sin(T)])


def equations(X, degree=2, **options):
    return [relation.equation for relation in gramian.relations(X, degree, **options)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_circle_and_names_that_are_formulas():
    result = gramian.relations(CIRCLE)
    assert isinstance(result, Relations)
    assert len(result) == 1
    (circle,) = result
    assert isinstance(circle, Relation)
    assert str(circle) == "x^2 + y^2 - 6 x - 4 y + 10.75 = 0"
    assert dict(zip(circle.terms, circle.coefficients.round(9).tolist(), strict=True)) == {
        "1": 10.75,
        "x": -6,
        "y": -4,
        "x^2": 1,
        "y^2": 1,
    }
    assert circle.powers.tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [0, 2]]
    assert max(circle.residual, circle.held_out, circle.noise_level) < 1e-14 < circle.limit
    assert result[0] is circle
    assert result[:1] == (circle,)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(CIRCLE - [3, 2], columns=["body mass", "x^2"])
    assert equations(frame) == ["`body mass`^2 + `x^2`^2 - 2.25 = 0"]


def test_the_residual_is_values_over_gradients_and_the_table_says_it(rng):
    X = CIRCLE + 1e-2 * rng.normal(size=CIRCLE.shape)
    (circle,) = gramian.relations(X)
    slope, step = 0.0, 1e-6
    for move in step * np.eye(2):
        slope += np.mean(((circle(X + move) - circle(X - move)) / (2 * step)) ** 2)
    assert circle.residual == pytest.approx(np.sqrt(np.mean(circle(X) ** 2) / slope), rel=1e-6)
    text = str(gramian.relations(CIRCLE))
    assert text.startswith("1 relation up to degree 2 (6 monomials) in 120 distinct rows x 2 columns:")
    assert "x^2 + y^2 - 6 x - 4 y + 10.75 = 0" in text
    assert "held out" in text
    assert repr(gramian.relations(CIRCLE)) == text
    result = gramian.relations(rng.normal(size=(200, 3)))
    assert len(result) == 0
    assert not list(result)
    assert str(result).startswith(
        "No relation up to degree 2 (10 monomials) in 200 distinct rows x 3 columns."
    )
    assert "the limit is 0.05" in str(result)


def test_numbers_of_any_size_and_offset_keep_their_digits(rng):
    X = CIRCLE - [3, 2] + 1e6
    (circle,) = gramian.relations(X)
    assert circle.equation == "(x - 1000000)^2 + (y - 1000000)^2 - 2.25 = 0"
    # The numbers themselves are rounded to 1e-10, which no law can be clearer than.
    assert 1e-12 < circle.residual < 1e-9
    np.testing.assert_allclose(circle(X), 0, atol=1e-8)
    X = CIRCLE - [3, 2] + 1e3 + 1e-2 * rng.normal(size=CIRCLE.shape)
    (circle,) = gramian.relations(X)
    left = circle.equation.removesuffix(" = 0").replace("^", "**").replace(" x", " * x").replace(" y", " * y")
    left = left.replace("+ * y", "+ y")
    values = eval(left, {"x": X[:, 0], "y": X[:, 1]})
    assert np.sqrt(np.mean(values**2)) < 1.2 * np.sqrt(np.mean(circle(X) ** 2))
    for scale in [1e-150, 1e150, 1e300]:
        (circle,) = gramian.relations(CIRCLE * scale)
        x, y = f"(x / {scale:g})", f"(y / {scale:g})"
        assert circle.equation == f"{x}^2 + {y}^2 - 6 {x} - 4 {y} + 10.75 = 0"
        assert circle.residual < 1e-13 * scale
        np.testing.assert_allclose(circle(CIRCLE * scale), 0, atol=1e-12)
    x = rng.normal(size=100)
    assert equations(np.column_stack([1e-9 * x, 1e3 * x**2])) == ["x^2 - 1e-21 y = 0"]
    (circle,) = gramian.relations(CIRCLE.astype(np.float32))
    np.testing.assert_allclose(circle.coefficients, [10.75, -6, -4, 1, 1], rtol=1e-6)
    assert 1e-8 < circle.noise_level < 1e-6
    k = rng.integers(-50, 50, (200, 2))
    assert equations(np.column_stack([k, k[:, 0] * k[:, 1]])) == ["x y - z = 0"]
    assert equations(np.column_stack([k, (3 * k[:, 0] + 7 * k[:, 1]) / 2])) == ["3 x + 7 y - 2 z = 0"]


def test_a_noisy_law_among_columns_also_constant_and_doubled_ones(rng):
    X = np.column_stack([CIRCLE, np.full(120, 5.0), CIRCLE[:, 0], np.zeros(120)])
    result = gramian.relations(X)
    assert [r.equation for r in result] == [
        "x5 = 0",
        "x3 - 5 = 0",
        "x1 - x4 = 0",
        "x1^2 + x2^2 - 6 x1 - 4 x2 + 10.75 = 0",
    ]
    assert equations(np.column_stack([T, 2 * T + 1]), 1) == ["x - 0.5 y + 0.5 = 0"]
    assert equations(
        rng.integers(0, 3, (100, 1)).repeat(1, axis=1) + 1e-6 * rng.normal(size=(100, 1)), 3
    ) == ["x^3 - 3 x^2 + 2 x = 0"]
    X = rng.normal(size=(300, 5))
    X[:, 4] = X[:, 0] * X[:, 1] - 0.5 * X[:, 2] ** 2
    X += 1e-2 * rng.normal(size=X.shape)
    (law,) = gramian.relations(X)
    assert set(law.terms) == {"x1 x2", "x3^2", "x5"}
    # The distance of the rows is the noise that was put in; held out a little more.
    assert law.residual == pytest.approx(1e-2, rel=0.15)
    assert law.residual < law.held_out < 1.1 * law.residual
    planted = {"x1 x2": 1, "x3^2": -0.5, "x5": -1}
    for term, coefficient, error in zip(law.terms, law.coefficients, law.errors, strict=True):
        assert abs(coefficient - planted[term]) <= 5 * error
    assert law.coefficients[law.terms.index("x1 x2")] == 1


def test_any_kind_of_data_and_sparse_rows(array_kind):
    assert len(gramian.relations(array_kind.make(CIRCLE))) == 1
    assert equations(sparse.csr_array(CIRCLE)) == equations(CIRCLE)


def test_rows_may_come_in_any_order_and_laws_have_the_names_of_a_frame(rng):
    order = rng.permutation(240) % 120
    twice = gramian.relations(CIRCLE[order])
    assert twice.n_samples == 120
    assert [r.equation for r in twice] == equations(CIRCLE)
    (circle,) = gramian.relations(CIRCLE)
    np.testing.assert_allclose(circle([[3, 2], [4.5, 2]]), [-2.25, 0], atol=1e-12)
    with pytest.raises(DataError, match="X has 3 columns, but the relation is between 2 columns:"):
        circle(np.ones((4, 3)))
    pd = pytest.importorskip("pandas")
    bmi, height = rng.uniform(17, 40, 200), rng.uniform(1.5, 2, 200)
    frame = pd.DataFrame({"bmi": bmi, "height": height, "weight": bmi * height**2})
    result = gramian.relations(frame, 3)
    assert [r.equation for r in result] == ["bmi height^2 - weight = 0"]
    np.testing.assert_allclose(result[0](frame), 0, atol=1e-12)
    with pytest.raises(DataError, match=", but the relation is between 3 columns:"):
        result[0](frame[["weight", "height", "bmi"]])


def test_data_degrees_and_tolerances_that_are_refused():
    for X in [[[1.0, 2.0]], CIRCLE[:11], np.tile(CIRCLE[:8], (50, 1)), np.ones((100, 1))]:
        with pytest.raises(DataError, match=r"distinct rows \(two per monomial\), fewer columns or a"):
            gramian.relations(X)
    with pytest.raises(ParameterError, match="degree=2 is too high: 40 columns have 861 monomials up to"):
        gramian.relations(np.ones((2000, 40)))
    X = CIRCLE.copy()
    X[7, 1] = np.nan
    with pytest.raises(DataError, match=r'Input X contains NaN: row 7, column 1\. Use missing="em"'):
        gramian.relations(X)
    with pytest.raises(InputTypeError, match=r"\. To read a file, write gramian\.scan\("):
        gramian.relations("circle.csv")
    for degree in [0, -1, 1.5, True, "2", None]:
        with pytest.raises(ParameterError, match=r"must be a whole number of at least 1\."):
            gramian.relations(CIRCLE, degree)
    for tol in [0, 1, -0.1, float("nan"), True, "1e-3"]:
        with pytest.raises(ParameterError, match=r"must be a number above 0 and below 1\. It is the largest"):
            gramian.relations(CIRCLE, tol=tol)
