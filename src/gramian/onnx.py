"""Export of fitted models to ONNX, the format that other languages and servers run.

``skl2onnx.to_onnx`` converts a scikit-learn pipeline with gramian's PCA, KernelPCA or Whitener, or with those
of :mod:`gramian.compat.sklearn`, without registration.
"""

from __future__ import annotations

import json
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gramian.errors import ParameterError, needs
from gramian.estimators.onnx_graph import ExportsToONNX
from gramian.version import __version__

__all__ = ["to_onnx"]

OPSET = 18  # which onnxruntime runs from 1.14 on


def to_onnx(model: Any) -> Any:
    """Return a fitted model as ONNX: input ``X`` of shape (n, n_features), output ``scores``, both float32.

    The scores equal those of ``transform`` to 1e-5 of the largest, also where the mean is far from zero:
    whitening and kernels compute in float64 inside. A row with a missing value gets NaN, except for
    ``PCA(missing="mean")``, which fills it.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or Whitener
        Or one of :mod:`gramian.compat.sklearn`. Pictures go in as flat rows.

    Returns
    -------
    onnx.ModelProto
        Save it with ``path.write_bytes(result.SerializeToString())``. Its metadata are gramian's version and
        the names of ``columns`` and ``components``, as JSON.

    Raises
    ------
    ParameterError
        For another model, a kernel without ONNX operators, and numbers beyond float32 or 2 GB.
    MissingExtraError
        Without skl2onnx, which the extra ``onnx`` brings.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PCA
    >>> from gramian.onnx import to_onnx
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype("float32")
    >>> proto = to_onnx(PCA(2).fit(X))
    >>> [output.name for output in proto.graph.output]
    ['scores']
    """
    if not isinstance(model, ExportsToONNX):
        raise ParameterError(
            f"A {type(model).__name__} is not exported to ONNX. Models that are: PCA, KernelPCA, Whitener. "
            "A scikit-learn pipeline that contains one is converted by skl2onnx.to_onnx."
        )
    check_is_fitted(model)
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
    columns = [str(name) for name in getattr(model, "feature_names_in_", ())]
    properties = {"columns": columns, "components": components}
    helper.set_model_props(
        proto, {"gramian": __version__} | {key: json.dumps(value) for key, value in properties.items()}
    )
    return proto
