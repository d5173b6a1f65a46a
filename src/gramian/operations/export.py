"""A saved model for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.operations.operation import MODEL, Out, Result, operation


@dataclass(frozen=True)
class Export:
    """Nothing is left open."""


@operation(
    MODEL,
    outs=[
        Out(
            "file",
            "FILE",
            "The file to write: .onnx.",
            ends=(".onnx",),
            writes="export writes ONNX",
            key="out",
            required=True,
        )
    ],
    shell_only=True,
)
def export(options: Export, model: Any) -> Result:
    """Write a saved model as ONNX.

    Other programs and languages then compute its scores without gramian, in float32.
    """
    from gramian.onnx import to_onnx

    content = to_onnx(model).SerializeToString()
    columns, components = int(model.n_features_in_), len(model.get_feature_names_out())
    text = f"Input X (rows x {columns:,}), output scores (rows x {components:,}), both float32."
    facts = {"bytes": len(content), "columns": columns, "components": components}
    return Result(text, facts, content=content)
