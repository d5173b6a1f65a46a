"""What a file says of a model, read without making the model, which takes scikit-learn."""

from __future__ import annotations

from types import SimpleNamespace

from gramian.estimators.saving import DECOMPOSED, decode, register_forms, renamed
from gramian.records import ModelKind
from gramian.store import Array, Optional, StoredModel, conform

DESCRIBED = DECOMPOSED | {"explained_variance_": Array("k"), "eigenvalues_?": Optional(Array("k"))}


def described(stored: StoredModel) -> SimpleNamespace | None:
    """Return parameters and fitted attributes of a PCA, KernelPCA or Whitener under their names.

    None where only the class can tell: for what is no decomposition, is not whole, or holds other estimators.
    """
    try:
        if "kernel" in stored.header["parameters"]:  # kernels take SciPy's distances, and a PCA has none
            from gramian.estimators.encoding import FUNCTIONS, KERNELS

            register_forms(KERNELS, FUNCTIONS)
        parameters, state = (decode(stored.header[part], stored.arrays) for part in ("parameters", "state"))
        state = renamed(state)
        # Those of a Whitener are one and the same.
        state.setdefault("explained_variance_", state.get("eigenvalues_"))
        conform(state, DESCRIBED)
        kind = ModelKind(stored.kind)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    return SimpleNamespace(model_kind=kind, get_params=lambda deep: parameters, **(parameters | state))
