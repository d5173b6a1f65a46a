"""Kernel values to sixty digits, rows on which rounding shows, and expressions drawn at random.

``from exact_kernels import excess``. Nothing here calls what it checks.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from gramian import kernels

DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
COMBINED = (kernels.Sum, kernels.Product, kernels.Scaled, kernels.Power, kernels.Exp, kernels.Normalized)


def exact_value(kernel: kernels.Kernel, x: Any, y: Any) -> Decimal:
    """Return k(x, y) of a resolved kernel, written out from its definition."""
    with localcontext(DIGITS):
        return _value(kernel, np.asarray(x), np.asarray(y))


def exact_gram(kernel: kernels.Kernel, X: Any, Y: Any = None) -> Any:
    """Return the matrix of exact values, of Python objects."""
    return np.array([[exact_value(kernel, x, y) for y in (X if Y is None else Y)] for x in X], dtype=object)


def _value(kernel: Any, x: Any, y: Any) -> Decimal:
    inner = [_value(part, x, y) for part in kernel.parts] if isinstance(kernel, COMBINED) else []
    if isinstance(kernel, kernels.Sum):
        return inner[0] + inner[1]
    if isinstance(kernel, kernels.Product):
        return inner[0] * inner[1]
    if isinstance(kernel, kernels.Scaled):
        return Decimal(kernel.factor) * inner[0]
    if isinstance(kernel, kernels.Power):
        return inner[0] ** Decimal(kernel.exponent)
    if isinstance(kernel, kernels.Exp):
        return inner[0].exp()
    if isinstance(kernel, kernels.OnColumns):
        return _value(kernel.kernel, x[list(kernel.columns)], y[list(kernel.columns)])
    if isinstance(kernel, kernels.Normalized):
        own = _value(kernel.kernel, x, x) * _value(kernel.kernel, y, y)
        return inner[0] / own.sqrt() if own else Decimal(0)
    return _formula(kernel, [Decimal(float(v)) for v in x], [Decimal(float(v)) for v in y])


def _formula(kernel: Any, x: list[Decimal], y: list[Decimal]) -> Decimal:
    pairs = list(zip(x, y, strict=True))
    dot = sum((a * b for a, b in pairs), Decimal(0))
    if isinstance(kernel, kernels.Constant):
        return Decimal(kernel.value)
    if isinstance(kernel, kernels.Linear):
        return dot
    if isinstance(kernel, kernels.Polynomial):
        return (Decimal(kernel.gamma) * dot + Decimal(kernel.coef0)) ** Decimal(kernel.degree)
    if isinstance(kernel, kernels.Sigmoid):
        return tanh(Decimal(kernel.gamma) * dot + Decimal(kernel.coef0))
    if isinstance(kernel, kernels.Cosine):
        size = sum(a * a for a in x) * sum(b * b for b in y)
        return dot / size.sqrt() if size else Decimal(0)
    if isinstance(kernel, kernels.Laplacian):
        return (-Decimal(kernel.gamma) * sum(abs(a - b) for a, b in pairs)).exp()
    if isinstance(kernel, kernels.ChiSquared):
        terms = sum(((a - b) ** 2 / (a + b) for a, b in pairs if a + b), Decimal(0))
        return (-Decimal(kernel.gamma) * terms).exp()
    return _radial(kernel, x, y)


def _radial(kernel: Any, x: list[Decimal], y: list[Decimal]) -> Decimal:
    if isinstance(kernel, kernels.RBF):
        if kernel.sigma is None:
            return (-Decimal(kernel.gamma) * _squares(x, y, 1.0)).exp()
        return (-_squares(x, y, kernel.sigma) / 2).exp()
    if isinstance(kernel, kernels.RationalQuadratic):
        alpha = Decimal(kernel.alpha)
        return (1 + _squares(x, y, kernel.length_scale) / (2 * alpha)) ** -alpha
    assert isinstance(kernel, kernels.Matern)
    r = (2 * Decimal(kernel.nu) * _squares(x, y, kernel.length_scale)).sqrt()
    factor = {0.5: Decimal(1), 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[float(kernel.nu)]
    return factor * (-r).exp()


def _squares(x: list[Decimal], y: list[Decimal], widths: Any) -> Decimal:
    widths = [widths] * len(x) if np.ndim(widths) == 0 else widths
    gaps = (((a - b) / Decimal(float(w))) ** 2 for a, b, w in zip(x, y, widths, strict=True))
    return sum(gaps, Decimal(0))


def tanh(t: Decimal) -> Decimal:
    """Return tanh to about forty digits."""
    if abs(t) < Decimal("1e-20"):
        return t
    if abs(t) > 300:
        return Decimal(1).copy_sign(t)
    large = (2 * t).exp()
    return (large - 1) / (large + 1)


def excess(kernel: kernels.Kernel, X: Any) -> float:
    """Return the largest ratio of an entry's error to the bound stated for it; at most 1 where it holds."""
    bound = kernel.bind(X)
    left, right = bound.encode(X)
    K = bound.tile(left, right)
    assert np.isfinite(K).all()
    exact = exact_gram(bound.kernel, X.toarray() if sparse.issparse(X) else X)
    worst = 0.0
    with localcontext(DIGITS):
        for i, j in np.ndindex(*exact.shape):
            error = abs(Decimal(float(K[i, j])) - exact[i, j])
            allowed = Decimal(bound.absolute) + Decimal(bound.relative) * abs(exact[i, j])
            if error:
                worst = max(worst, float(error / allowed) if allowed else np.inf)
    return worst


def clusters(gap: float, offset: float = 0.0, near: float = 1.0, dtype: Any = np.float64, d: int = 3) -> Any:
    """Return rows in three clusters ``gap`` apart, in each of which rows are about ``near`` apart."""
    rng = np.random.default_rng(7)
    centres = gap * np.array([[0.0] * d, [1.0] + [0.0] * (d - 1), [0.3] * d])
    rows = np.repeat(centres, 2, axis=0) + near * rng.standard_normal((6, d)) + offset
    return np.vstack([rows, rows[:1]]).astype(dtype)


def quadratic_form(kernel: kernels.Kernel, points: list[Fraction]) -> Decimal:
    """Return ``v.T K v`` for points on a line, with the v that is orthogonal to all powers below the last.

    v has the entries ``1 / prod (z_i - z_j)``, those of a divided difference. Below 0 it refutes the kernel.
    """
    with localcontext(DIGITS):
        v = [1 / prod((z - w for w in points if w != z), start=Fraction(1)) for z in points]
        v = [Decimal(a.numerator) / Decimal(a.denominator) for a in v]
        rows = [[float(z)] for z in points]
        K = exact_gram(kernel.resolve(np.array(rows)), rows)
        return sum((v[i] * K[i, j] * v[j] for i, j in np.ndindex(*K.shape)), Decimal(0))


NUMBERS = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2, 3.0])
FORMULAS = st.one_of(
    st.just(kernels.Linear()),
    st.just(kernels.Cosine()),
    st.builds(
        kernels.Polynomial, st.integers(1, 4), st.sampled_from([None, 0.5]), st.sampled_from([0.0, 1.0, 2])
    ),
    st.builds(
        kernels.RBF, st.one_of(st.none(), NUMBERS, st.tuples(NUMBERS, NUMBERS, NUMBERS), st.just("median"))
    ),
    st.builds(kernels.RBF, gamma=NUMBERS),
    st.builds(kernels.Laplacian, st.one_of(st.none(), NUMBERS)),
    st.builds(
        kernels.Matern,
        st.one_of(NUMBERS, st.tuples(NUMBERS, NUMBERS, NUMBERS)),
        st.sampled_from([0.5, 1.5, 2.5]),
    ),
    st.builds(kernels.RationalQuadratic, NUMBERS, NUMBERS),
    st.builds(kernels.ChiSquared, NUMBERS),
    st.builds(kernels.Constant, st.sampled_from([0.0, 0.5, 2, -1.0])),
    st.builds(kernels.Sigmoid, st.just(0.25), st.sampled_from([-0.5, 0.0, 1.0])),
)
# Kernels of one or two columns, so that every column there is will do.
NARROW = st.one_of(
    st.just(kernels.Linear()),
    st.builds(kernels.RBF, NUMBERS),
    st.builds(kernels.Polynomial, st.integers(1, 3)),
)


def _combined(inner: Any) -> Any:
    factors = st.sampled_from([0.0, 0.5, 2, 3.5, -1, -0.25])
    return st.one_of(
        st.builds(kernels.Sum, inner, inner),
        st.builds(kernels.Product, inner, inner),
        st.builds(kernels.Scaled, inner, factors),
        st.builds(kernels.Power, inner, st.sampled_from([1, 2, 3, 0.5, 1.5])),
        st.builds(kernels.Exp, inner),
        st.builds(kernels.Normalized, inner),
        st.builds(kernels.OnColumns, NARROW, st.sampled_from([0, (0, 2), (1, 2)])),
    )


def expressions(leaves: int = 5) -> Any:
    """Draw kernels of up to ``leaves`` formulas for three columns of numbers above 0."""
    return st.recursive(FORMULAS, _combined, max_leaves=leaves)
