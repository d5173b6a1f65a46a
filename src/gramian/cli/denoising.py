"""The command that cleans rows by kernel PCA: ``denoise``."""

import json
import sys
from typing import Any

from gramian.cli.applying import require_pictures, rows_target
from gramian.cli.inputs import read_model, read_new_data
from gramian.cli.options import Reading
from gramian.cli.progress import progress
from gramian.errors import IndefiniteKernelError, ParameterError

__all__ = ["denoise"]

PERCENTILES = (0, 10, 50, 90, 100)


def denoise(model: str, data: str, out: str, reading: Reading, as_json: bool) -> None:
    """Write pre-images of the projections of rows, and report how far they are off in feature space."""
    from gramian.report import reconstruction

    fitted = _cleaner(read_model(model))
    pictures, target, kind = rows_target(fitted, out, as_json, model, data)
    table = read_new_data(data, reading)
    require_pictures(pictures, table, out)
    with progress(f"finding rows by {fitted.preimage_.method}"):
        found, residuals = _found(fitted, table)
    count = int(fitted.n_components_)
    if pictures:
        reconstruction.write_pictures(target, fitted, table, count, found)
    else:
        reconstruction.write_rows(target, kind, fitted, table, count, found)
    _report(fitted, len(found), residuals, out, as_json)


def _cleaner(fitted: Any) -> Any:
    preimage = getattr(fitted, "preimage_", None)
    if preimage is None:
        raise ParameterError(
            f"denoise needs a kernel PCA, and this is a {type(fitted).__name__}. For a PCA the same is "
            "gramian reconstruct; or fit with --kernel rbf."
        )
    if preimage.method == "none":
        raise ParameterError(
            "The model has a precomputed kernel and no rows to go back to. Fit on the rows, with --kernel."
        )
    return fitted


def _found(fitted: Any, table: Any) -> tuple[Any, Any]:
    """Return the rows, and their distances in feature space where the kernel has some."""
    try:
        found, residuals = fitted.denoise(table, return_error=True)
    except IndefiniteKernelError:
        return fitted.denoise(table), None
    return found, residuals


def _report(fitted: Any, rows: int, residuals: Any, out: str, as_json: bool) -> None:
    import numpy as np

    percentiles = None
    if residuals is not None:
        values = np.percentile(residuals, PERCENTILES)
        percentiles = {f"{p} %": float(value) for p, value in zip(PERCENTILES, values, strict=True)}
    method = fitted.preimage_
    if as_json:
        facts = {
            "rows": rows,
            "components": int(fitted.n_components_),
            "method": method.method,
            "reason": method.reason,
            "residual_percentiles": percentiles,
            "out": out,
        }
        print(json.dumps(facts, indent=2))
        return
    lines = [f"{rows:,} rows found from {fitted.n_components_} components, by {method}"]
    if percentiles is None:
        lines.append("The kernel is not positive semi-definite here, so there are no distances to report.")
    else:
        shown = "  ".join(f"{name} {value:.4g}" for name, value in percentiles.items())
        lines.append(f"Distance |phi(x) - P| in feature space, by percentile of the rows: {shown}")
    print("\n".join(lines), file=sys.stderr)
