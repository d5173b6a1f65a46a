"""The covariance side ``C.T C`` of PCA, (d, d): for more rows than columns."""

from gramian.operators.scatter import ScatterOperator


class CovarianceOperator(ScatterOperator):
    """The scatter matrix ``C.T C``: eigenvalues are squared singular values of C."""

    axis = 0
