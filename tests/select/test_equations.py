import numpy as np

from gramian.select.polynomials import term_order
from gramian.select.relations import equation, justified, variables

CIRCLE = np.array([[0, 0], [1, 0], [0, 1], [2, 0], [0, 2]])


def test_equations_read_as_people_write_them():
    for values, text in [
        ([10.75, -6.0, -4.0, 1.0, 1.0], "x^2 + y^2 - 6 x - 4 y + 10.75 = 0"),
        ([-1.0, 1.0, -1.0, 2.0, 3.0], "2 x^2 + 3 y^2 + x - y - 1 = 0"),
        (
            [1e-21, 2e22, -0.00012, -1.0, 123456789.0],
            "-x^2 + 123456789 y^2 + 2e+22 x - 0.00012 y + 1e-21 = 0",
        ),
    ]:
        assert equation(CIRCLE, np.array(values), ["x", "y"]) == text
    assert (
        equation(np.array([[1, 2, 0], [0, 0, 1]]), np.array([1.0, -1.0]), ["b", "h", "w"]) == "b h^2 - w = 0"
    )
    assert equation(np.array([[1]]), np.array([1.0]), ["x"]) == "x = 0"
    assert term_order(CIRCLE).tolist() == [3, 4, 1, 2, 0]
    names = variables(["x", "y", "a b", "z2"], np.array([-5.0, 0, 2.5, 3]), np.array([1.0, 1e150, 1, 1e-9]))
    assert names == ["(x + 5)", "(y / 1e+150)", "(`a b` - 2.5)", "((z2 - 3) / 1e-09)"]


def design(noise, n=400, offset=0.0):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n) + offset
    y = rng.normal(size=n) + offset
    values = np.column_stack([np.ones(n), x, y, x * x, y * y])
    A = np.column_stack([values[:, :3], values[:, 4]])
    truth = np.array([10.75, -6, -4, 1])
    target = -(A @ truth) + noise * rng.normal(size=n)
    fit = np.linalg.lstsq(A, -target, rcond=None)[0]
    # The coefficient of x^2, which is held, belongs to a column that is what the others explain.
    triangle = np.linalg.qr(np.column_stack([values[:, :3], target, values[:, 4]]), mode="r") / np.sqrt(n)
    return np.array([fit[0], fit[1], fit[2], 1.0, fit[3]]), triangle, n


def test_coefficients_are_rounded_within_their_errors_and_together():
    values, triangle, n = design(1e-2, offset=300.0)
    rounded = justified(CIRCLE, values, triangle, n)
    alone = np.array([float(f"{v:.2g}") for v in values])
    best = np.linalg.norm(triangle @ values)
    assert np.linalg.norm(triangle @ rounded) < 1.05 * best
    assert np.linalg.norm(triangle @ alone) > 2 * best
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 20000)
    x, y = np.array([np.cos(t), np.sin(t)]) + 0.05 * rng.normal(size=(2, 20000))
    powers = np.array([[0, 0], [2, 0], [0, 2]])
    terms = np.column_stack([np.ones_like(x), x * x, y * y])
    triangle = np.linalg.qr(terms, mode="r") / np.sqrt(20000)
    rounded = justified(powers, np.array([-0.9977, 1.0, 0.99996]), triangle, 20000)
    np.testing.assert_allclose(rounded, [-0.9977, 1, 1], atol=3e-3)
    for noise in [1e-6, 1e-2]:
        values, triangle, n = design(noise)
        rounded = justified(CIRCLE, values, triangle, n)
        assert len("".join(map(repr, rounded.tolist()))) < len("".join(map(repr, values.tolist()))) - 20
        assert np.abs(rounded - values).max() < 20 * noise / np.sqrt(n)
        assert rounded[3] == 1
        best = np.linalg.norm(triangle @ values)
        assert np.linalg.norm(triangle @ rounded) < 1.05 * best
