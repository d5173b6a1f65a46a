"""Export of fitted models to ONNX, the format that other languages and servers run.

:func:`to_onnx` writes one model. After :func:`register`, ``skl2onnx.to_onnx`` converts scikit-learn pipelines
that contain PCA, KernelPCA or Whitener. A kernel is a row of ``KERNELS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from gramian.core import checks, package
from gramian.core.arrays import as_float64
from gramian.core.records import FloatArray
from gramian.errors import DataError, InputTypeError, MemoryLimitError, ParameterError, needs
from gramian.kernels import Kernel, formulas
from gramian.models.kernel_pca.estimator import KernelPCA
from gramian.models.pca.estimator import PCA
from gramian.models.whitener import Whitener
from gramian.statistics.components import names_of
from gramian.statistics.projection import inverse_deviations

__all__ = ["register", "to_onnx"]

OPSET = 18  # which onnxruntime runs from 1.14 on
Write = Callable[["Graph", Any, str, FloatArray], str]
MOST_BYTES = 2 * 10**9  # of a file of protobuf
SMALLEST = float(np.finfo(np.float64).tiny)


def to_onnx(model: Any) -> Any:
    """Return a fitted model as ONNX: input ``X`` of shape (n, n_features), output ``scores``, both float32.

    The scores equal those of ``transform`` to 1e-5 of the largest, also where the mean is far from zero:
    whitening and kernels compute in float64 inside. A row with a missing value gets NaN, except for
    ``PCA(missing="mean")``, which fills it.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Whitener
        Pictures go in as flat rows.

    Returns
    -------
    onnx.ModelProto
        Save it with ``path.write_bytes(result.SerializeToString())``. Its metadata are gramian's version and
        the names of ``columns`` and ``components``, as JSON.

    Raises
    ------
    InputTypeError
        For another model.
    ParameterError
        For a kernel without ONNX operators, random features, and numbers beyond float32 or 2 GB.
    MissingExtraError
        Without skl2onnx, which the extra ``onnx`` brings.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PCA
    >>> from gramian.connect.onnx import to_onnx
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype("float32")
    >>> proto = to_onnx(PCA(2).fit(X))
    >>> [output.name for output in proto.graph.output]
    ['scores']
    """
    if type(model) not in WRITERS:
        kind = f"{type(model).__name__} of {type(model).__module__}"
        raise InputTypeError(
            f"A {kind} is not exported to ONNX. Models that are: PCA, KernelPCA and Whitener of gramian.",
            "A scikit-learn pipeline that contains one is converted by skl2onnx.to_onnx, after "
            "gramian.connect.onnx.register().",
        )
    check_is_fitted(model)
    register()
    with needs("onnx", "skl2onnx", "Export to ONNX"):
        import skl2onnx
        from onnx import helper
        from skl2onnx.common.data_types import FloatTensorType
    names: Any = model
    d, components = int(names.n_features_in_), [str(name) for name in names.get_feature_names_out()]
    proto = skl2onnx.to_onnx(
        model,
        initial_types=[("X", FloatTensorType([None, d]))],
        final_types=[("scores", FloatTensorType([None, len(components)]))],
        target_opset=OPSET,
    )
    columns = list(names_of(model) or ())
    properties = {"columns": columns, "components": components}
    texts = {key: json.dumps(value) for key, value in properties.items()}
    helper.set_model_props(proto, {"gramian": package.__version__, **texts})
    return proto


def register() -> None:
    """Have ``skl2onnx.to_onnx`` convert PCA, KernelPCA and Whitener, in pipelines too.

    Raises
    ------
    MissingExtraError
        Without skl2onnx, which the extra ``onnx`` brings.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from gramian import PCA, Whitener
    >>> from gramian.connect.onnx import register
    >>> register()
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype("float32")
    >>> model = to_onnx(make_pipeline(PCA(3), Whitener()).fit(X), X)
    >>> [one.name for one in model.graph.input]
    ['X']
    """
    with needs("onnx", "skl2onnx", "Export to ONNX"):
        from skl2onnx import update_registered_converter
    for kind in WRITERS:
        update_registered_converter(kind, f"Gramian{kind.__name__}", scores_type, convert)


def scores_type(operator: Any) -> None:
    """Set shape and type of the scores of an operator of skl2onnx."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    count = len(operator.raw_operator.get_feature_names_out())
    input_type = operator.inputs[0].type
    kind = DoubleTensorType if isinstance(input_type, DoubleTensorType) else FloatTensorType
    operator.outputs[0].type = kind([input_type.shape[0] if input_type.shape else None, count])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the operators of ``transform``."""
    graph, model = Graph(scope, operator, container), operator.raw_operator
    scores = WRITERS[type(model)](graph, graph.rows, model)
    container.add_node("Cast", [scores], [operator.outputs[0].full_name], to=graph.element)


class Graph:
    """Operators that are added to a model of skl2onnx, one a call.

    Attributes
    ----------
    rows : str
        Name of the input, in floating point.
    element : int
        Its element type: float32 or float64.
    """

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        from onnx import TensorProto
        from skl2onnx.common.data_types import DoubleTensorType

        self._scope, self._container, self._types, self._bytes = scope, container, TensorProto, 0
        is_double = isinstance(operator.inputs[0].type, DoubleTensorType)
        self.element = TensorProto.DOUBLE if is_double else TensorProto.FLOAT
        self.rows = self("Cast", operator.inputs[0].full_name, to=self.element)

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator on named values, or on float64 or integer constants; return its output's name."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        result: str = self._scope.get_unique_variable_name(f"gramian_{operator.lower()}")
        self._container.add_node(
            operator, names, [result], name=self._scope.get_unique_operator_name(operator), **attributes
        )
        return result

    def constant(self, value: Any) -> str:
        """Add a constant in its own dtype.

        Raises
        ------
        ParameterError
            If float32 cannot hold it, or a file all of them.
        """
        from onnx.numpy_helper import from_array

        values = np.asarray(value)
        if not np.isfinite(values).all():
            raise DataError(
                "Numbers of this model exceed the range of float32.",
                "Scale the data and fit again, or convert the model for float64 input by "
                "skl2onnx.to_onnx(model, X) with X in float64.",
            )
        self._bytes += values.nbytes
        if self._bytes > MOST_BYTES:
            raise MemoryLimitError(
                f"An ONNX file holds at most 2 GB, but this model has {checks.amount(self._bytes)} or more.",
                'Ask for fewer components, or for a kernel PCA with solver="nystroem".',
            )
        tensor = from_array(np.ascontiguousarray(values).reshape(values.shape))
        name: str = self._scope.get_unique_variable_name("gramian_constant")
        self._container.add_initializer(name, tensor.data_type, values.shape, tensor)
        return name

    @property
    def is_double(self) -> bool:
        """Whether the rows are float64."""
        return bool(self.element == self._types.DOUBLE)

    def double(self, rows: str) -> str:
        """Return rows in float64."""
        return rows if self.is_double else self("Cast", rows, to=self._types.DOUBLE)


# ------------------------------------------------------------------------------ linear maps


def _whitener(graph: Graph, rows: str, model: Whitener) -> str:
    try:
        W = model.whitening_matrix_
    except AttributeError as error:
        raise DataError(f"A file for ONNX needs W. {error}") from error
    return affine(graph, rows, as_float64(model._center), W)


def _pca(graph: Graph, rows: str, model: PCA) -> str:
    projection = model._projection()
    if model._missing_method == "mean" and model.column_means_ is not None:
        means = as_float64(model.column_means_)
        rows = graph("Where", graph("IsNaN", rows), means if graph.is_double else single(means), rows)
    W = as_float64(projection.directions).copy()
    W[projection.rank :] = 0.0
    if projection.divisor is not None:
        W /= projection.divisor[None, :]
    if projection.deviations is not None:
        return affine(graph, rows, projection.center, inverse_deviations(projection.deviations)[:, None] * W)
    if graph.is_double:
        return affine(graph, rows, projection.center, W)
    # What float32 loses of the centre is a constant of every score.
    center = single(projection.center)
    with np.errstate(over="ignore", invalid="ignore"):
        lost = W @ (projection.center - center)
    scores = graph("MatMul", graph("Sub", rows, center), single(W.T))
    return graph("Sub", scores, single(lost))


def single(values: FloatArray) -> Any:
    """Return values in float32, infinite where they are beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def affine(graph: Graph, rows: str, center: FloatArray, W: FloatArray) -> str:
    """Add ``W (x - center)`` in float64: what is divided by small deviations needs its digits."""
    return graph("MatMul", graph("Sub", graph.double(rows), center), W.T)


# ------------------------------------------------------------------------------ kernels


def _kernel_pca(graph: Graph, rows: str, model: KernelPCA) -> str:
    """Add the map of kernel PCA, in float64: its coefficients amplify rounding.

    Raises
    ------
    ParameterError
        For a kernel without a row in ``KERNELS``.
    """
    projection = model._projection
    values, scaling, nodes = graph.double(rows), projection.scaling, projection.nodes
    if scaling is not None:
        center, rest, divisor = scaling.parts
        values = graph("Mul", graph("Sub", graph("Sub", values, center), rest), 1.0 / divisor)
    if projection.kernel is not None:
        bound = projection.bound(nodes)
        if type(bound.kernel) not in KERNELS:
            supported = f"Kernels that are: {', '.join(sorted(kind.name for kind in KERNELS))}."
            raise ParameterError("kernel", bound.kernel, "is not exported to ONNX", supported)
        nodes = as_float64(nodes.toarray() if sparse.issparse(nodes) else nodes)
        values = KERNELS[type(bound.kernel)](graph, bound, values, nodes)
    return graph("Sub", graph("MatMul", values, projection.coefficients), projection.offset)


def _squared_norms(graph: Graph, rows: str, d: int) -> str:
    return graph("MatMul", graph("Mul", rows, rows), np.ones((d, 1)))


def _linear(graph: Graph, bound: Any, rows: str, nodes: FloatArray) -> str:
    # The fit shifted all rows where that leaves the centred matrix as it is; the offset is of those.
    shift = np.zeros(nodes.shape[1]) if bound.shift is None else as_float64(bound.shift)
    return graph("MatMul", graph("Sub", rows, shift), (nodes - shift).T)


def _projective(graph: Graph, bound: Any, rows: str, nodes: FloatArray) -> str:
    kernel = bound.kernel
    T = graph("Add", graph("MatMul", rows, kernel.gamma * nodes.T), np.array(float(kernel.coef0)))
    if isinstance(kernel, formulas.Sigmoid):
        return graph("Tanh", T)
    return graph("Pow", T, np.array(float(kernel.degree)))


def _cosine(graph: Graph, bound: Any, rows: str, nodes: FloatArray) -> str:
    squares = graph("Max", _squared_norms(graph, rows, nodes.shape[1]), np.array(SMALLEST))
    norms = np.linalg.norm(nodes, axis=1)[:, None]
    nodes = np.divide(nodes, norms, out=np.zeros_like(nodes), where=norms > 0)
    return graph("MatMul", graph("Div", rows, graph("Sqrt", squares)), nodes.T)


def _radial(graph: Graph, bound: Any, rows: str, nodes: FloatArray) -> str:
    """Add f(q), q the squared distance from one product of rows that are shifted to the nodes' mean."""
    kernel, d, center = bound.kernel, nodes.shape[1], nodes.mean(axis=0)
    roots = np.broadcast_to(np.sqrt(kernel.rates), (d,))
    Y = (nodes - center) * roots
    X = graph("Mul", graph("Sub", rows, center), roots)
    squares = graph("Add", _squared_norms(graph, X, d), np.sum(Y * Y, axis=1)[None, :])
    q = graph("Max", graph("Sub", squares, graph("MatMul", X, 2.0 * Y.T)), np.array(0.0))
    if isinstance(kernel, formulas.RBF):
        return graph("Exp", graph("Neg", q))
    if isinstance(kernel, formulas.RationalQuadratic):
        return graph("Pow", graph("Add", q, np.array(1.0)), np.array(-float(kernel.alpha)))
    assert isinstance(kernel, formulas.Matern)
    r = graph("Sqrt", q)
    decay = graph("Exp", graph("Neg", r))
    if kernel.nu == 0.5:
        return decay
    factor = graph("Add", r, np.array(1.0))
    if kernel.nu == 2.5:
        factor = graph("Add", factor, graph("Div", q, np.array(3.0)))
    return graph("Mul", factor, decay)


KERNELS: dict[type[Kernel], Write] = {
    formulas.Linear: _linear,
    formulas.Polynomial: _projective,
    formulas.Sigmoid: _projective,
    formulas.Cosine: _cosine,
    formulas.RBF: _radial,
    formulas.Matern: _radial,
    formulas.RationalQuadratic: _radial,
}
WRITERS: dict[type, Callable[[Graph, str, Any], str]] = {
    PCA: _pca,
    KernelPCA: _kernel_pca,
    Whitener: _whitener,
}
