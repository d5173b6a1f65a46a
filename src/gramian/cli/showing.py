"""The command that shows what is in a saved model: ``info``."""

from types import SimpleNamespace
from typing import Annotated, Any

from gramian.checks import counted, listed, six_digits
from gramian.cli.inputs import model_path
from gramian.cli.options import JsonFlag, ModelFile
from gramian.cli.outputs import answer
from gramian.operations.fit import model_lines
from gramian.progress import shows_progress


def info(model: ModelFile, as_json: JsonFlag = False) -> None:
    """Show the contents of a saved model.

    Its parameters, components, plan, certificate and the versions that wrote it.
    """
    from gramian.analysis.components import mapping_of
    from gramian.base.model_file import load, read_model
    from gramian.inspect.diagnose import diagnosis_of
    from gramian.report.facts import info_facts

    path = model_path(model)
    with shows_progress(f"reading {model}"):
        stored = read_model(path)
        fitted = described(stored) or load(path)
    facts: dict[str, Any] = {"file": str(path), "bytes": path.stat().st_size, "versions": stored.versions}
    facts |= info_facts(fitted, stored.kind)
    lines = [_made(facts["model"])]
    if "components" in facts:
        lines = [*_lines(facts["model"]), "", *model_lines(mapping_of(fitted), diagnosis_of(fitted))]
    if "limits" in facts:
        lines = ["A monitor.", facts["limits"], "", *lines]
    writers = ", ".join(f"{name} {number}" for name, number in stored.versions.items())
    answer(as_json, facts, "\n".join([*lines, "", f"Written by {writers}."]))


def described(stored: Any) -> Any:
    """Return parameters and fitted attributes of a PCA, KernelPCA or Whitener under their names.

    The model is not made, which would take scikit-learn.

    Parameters
    ----------
    stored : StoredModel

    Returns
    -------
    SimpleNamespace or None
        None where only the class can tell: for what is no decomposition, not whole, or holds other models.
    """
    from gramian.base.model_file import INVALID, declared, decode, set_checked
    from gramian.base.saving import DecompositionAttributes
    from gramian.records import FloatArray, ModelKind

    try:
        parameters, state = (decode(stored.content[name], stored.arrays) for name in ("parameters", "state"))
        # Those of a Whitener are one and the same.
        state.setdefault("explained_variance_", state.get("eigenvalues_"))
        hints = declared(DecompositionAttributes) | {"explained_variance_": Annotated[FloatArray, "k"]}
        model = SimpleNamespace(model_kind=ModelKind(stored.kind), **(parameters | state))
        model.get_params = lambda deep: parameters
        set_checked(model, hints, state)
    except INVALID:
        return None
    return model


def _made(facts: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    return f"{facts['kind']}({parameters})"


def _lines(facts: dict[str, Any]) -> list[str]:
    from gramian.report.facts import size_text

    size = size_text(facts["n_features"], facts["picture_shape"])
    kernel = f"Kernel: {six_digits(facts['kernel'])}" if facts["kernel"] else None
    repair = f"Repair: {facts['repair']}" if facts["repair"] else None
    fitted = (
        f"Fitted on {counted(facts['n_samples'], 'row')} x {size}; "
        f"{facts['n_components']:,} components, rank {facts['rank']:,}."
    )
    names = f"Columns: {listed(facts['feature_names'])}" if facts["feature_names"] else None
    lines = [_made(facts), kernel, facts["validity"] and six_digits(facts["validity"]), repair, fitted, names]
    return [line for line in lines if line]
