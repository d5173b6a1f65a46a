import numpy as np

from gramian.select.polynomials import Frame, points_of
from gramian.select.relation_search import refine

CONIC = np.array([[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]])


def circle(rng, noise, n=200, arc=2 * np.pi):
    t = rng.uniform(0, arc, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.normal(size=(n, 2))


def refined(X, powers=CONIC, start=None, spread=(1.0, 1.0)):
    start = np.ones(len(powers)) if start is None else start
    nothing = np.zeros(X.shape[1])
    frame = Frame(nothing, np.array(spread), nothing, nothing + 1, nothing)
    return refine(points_of(X), powers, start, frame, 6)


def test_errors_and_bias_are_those_of_repeated_fits():
    powers = CONIC[[0, 3, 5]]
    fits = [refined(circle(np.random.default_rng(s), 0.01), powers) for s in range(80)]
    vectors = np.array([fit.vector for fit in fits])
    np.testing.assert_allclose(np.mean([fit.errors for fit in fits], axis=0), vectors.std(axis=0), rtol=0.25)
    assert fits[0].errors[fits[0].lead] == 0
    X = np.vstack([circle(np.random.default_rng(0), 1e-3), [[0.0, 0.0]]])
    result = refined(X, CONIC[[0, 3, 5]], np.array([-1.0, 1, 1]))
    np.testing.assert_allclose(result.vector, [-1, 1, 1], atol=0.3)
    powers = CONIC[[0, 1, 2, 3, 5]]
    radius, plain = [], []
    for seed in range(60):
        X = circle(np.random.default_rng(seed), 0.05, 100, np.pi)
        vector = refined(X, powers).vector
        c, a, b, _, s = vector if len(vector) == 5 else [-1, 0, 0, 1, 1]
        radius.append(np.sqrt(a * a / 4 + b * b / 4 / s - c))
        x, y = X.T
        k, p, q = np.linalg.lstsq(np.column_stack([np.ones_like(x), x, y]), x * x + y * y, rcond=None)[0]
        plain.append(np.sqrt(p * p / 4 + q * q / 4 + k))
    assert abs(np.mean(radius) - 1) < abs(np.mean(plain) - 1)
