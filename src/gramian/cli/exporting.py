"""The command that writes a saved model for other programs: ``export``."""

from typing import Annotated

from gramian.cli.inputs import model_path, read_model
from gramian.cli.options import JsonFlag, ModelFile, out
from gramian.cli.outputs import answer, check_out
from gramian.cli.progress import progress


def export(
    model: ModelFile,
    out: Annotated[str, out("FILE", "The file to write: .onnx.")],
    as_json: JsonFlag = False,
) -> None:
    """Write a saved model as ONNX.

    Other programs and languages then compute its scores without gramian, in float32.
    """
    from gramian.onnx import to_onnx
    from gramian.store import atomic_write

    check_out(out, str(model_path(model)), ends=[".onnx"], writes="export writes ONNX")
    fitted = read_model(model)
    with progress(f"writing {out}"):
        content = to_onnx(fitted).SerializeToString()
        with atomic_write(out) as file:
            file.write(content)
    columns, components = int(fitted.n_features_in_), len(fitted.get_feature_names_out())
    facts = {"out": out, "bytes": len(content), "columns": columns, "components": components}
    text = f"{out}: input X (rows x {columns:,}), output scores (rows x {components:,}), both float32."
    answer(as_json, facts, text)
