"""The dual side ``C C.T`` of PCA, (n, n): for more columns than rows."""

from gramian.operators.scatter import ScatterOperator


class GramOperator(ScatterOperator):
    """The Gram matrix ``K = C C.T`` of inner products of centred rows.

    Its non-zero eigenvalues are those of ``C.T C``; an eigenvector b of eigenvalue s^2 lifts to the
    direction ``C.T b / s``.
    """

    axis = 1
