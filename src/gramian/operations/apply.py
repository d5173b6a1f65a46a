"""What a saved model makes of new rows: scores, reconstructions, denoised rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gramian.checks import check_integer, counted
from gramian.errors import IndefiniteKernelError, ParameterError
from gramian.operations.operation import DATA, LARGE_DATA, MODEL, WHOLE_MODEL, Blocks, Out, Result, operation
from gramian.operations.shared import DEVICE, MEMORY_LIMIT
from gramian.options import flag, option

LIST = "reconstruction.csv"
PICTURES_OR_TABLE = (
    "Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV."
)


@dataclass(frozen=True)
class Transform:
    """Where and with what memory scores are computed, and what is written of them."""

    standard_errors: bool = flag(
        "PCA: also write the standard error of each score that missing values cause, and the share of the "
        "columns that a row has.",
        label="standard errors",
    )
    memory_limit: str | None = MEMORY_LIMIT
    device: str | None = DEVICE


@dataclass(frozen=True)
class Reconstruct:
    """From how much rows are rebuilt."""

    components: int | None = option(
        "K",
        "Use the first K components only.",
        usual="all",
        label="number of components",
        parameters=("components", "n_components"),
    )
    memory_limit: str | None = MEMORY_LIMIT


@dataclass(frozen=True)
class Denoise:
    """Nothing is left open."""


def _check_transform(options: Transform, model: Any) -> None:
    if options.device is not None:
        if "device" not in model.get_params(deep=False):
            raise ParameterError(
                "device",
                allowed="applies only to PCA, kernel PCA and whitening",
                hint=f"This is a {type(model).__name__}.",
            )
        model.set_params(device=options.device)
    if options.standard_errors and not hasattr(model, "projection_quality"):
        raise ParameterError(
            "standard_errors",
            allowed="are those of a PCA",
            hint=f"This is a {type(model).__name__}: leave them out.",
        )


@operation(
    WHOLE_MODEL,
    LARGE_DATA,
    outs=[Out("rows", "FILE", "A .csv, .parquet, .npy or .zarr file, or - for CSV to standard output.", "-")],
    check=_check_transform,
    adds_earlier_rows=True,
)
def transform(options: Transform, model: Any, data: Any) -> Result:
    """Write the scores of new rows.

    Scores are coordinates along the components of a saved model.
    """
    import numpy as np

    from gramian.analysis.components import expanded, mapping_of
    from gramian.arrays import memory_limit_bytes
    from gramian.report.pieces import mapped

    watching, rows = expanded(model, data)
    model, n = mapping_of(watching), data.values.shape[0]
    names, first = list(model.get_feature_names_out()), n - rows.values.shape[0]
    limit, errors = memory_limit_bytes(options.memory_limit), options.standard_errors
    every = [*names, *(f"{name}_standard_error" for name in names), "observed"] if errors else names
    blocks = mapped(model, rows, limit, errors=errors)
    if first:  # these rows are in memory
        none = np.full((first, len(every)), np.nan)
        blocks = iter([(slice(0, n), np.concatenate([none, *(values for _, values in blocks)]))])
    return Result(
        facts={"rows": n, "components": len(names), "notes": data.notes},
        rows=Blocks(data, blocks, every),
        written=f", {counted(n, 'row')} x {counted(len(names), 'component')}",
        notes=[f"rows without earlier rows, the first {first}, have no scores"] if first else [],
    )


def _check_reconstruct(options: Reconstruct, model: Any) -> None:
    if not model.model_kind.gives_scores:
        faces = "For a model of faces: gramian faces reconstruct."
        back = "Fit a PCA to the same columns: gramian fit."
        raise ParameterError(
            "model",
            problem=f"reconstruct needs a PCA, and this is a {type(model).__name__}.",
            hint=back if model.model_kind.whitens else faces,
        )
    _check_preimages(model)
    if options.components is not None:
        check_integer("n_components", options.components, 1, int(model.n_components_))


def _check_preimages(model: Any) -> None:
    if model.model_kind.kernel and not model.preimage_.goes_back:
        raise ParameterError(
            "model",
            problem=f"The model has no pre-images: {model.preimage_.reason}",
            hint="Fit on dense rows, with kernel.",
        )


@operation(
    MODEL,
    LARGE_DATA,
    outs=[Out("rows", "PATH", PICTURES_OR_TABLE, key="out", required=True, listing=LIST, beside=True)],
    check=_check_reconstruct,
)
def reconstruct(options: Reconstruct, model: Any, data: Any) -> Result:
    """Rebuild rows from a few components.

    The reconstruction error is reported on standard error.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.plots.images import center_of
    from gramian.report.pictures import Errors, rebuilt
    from gramian.report.pieces import completed

    table, errors = completed(model, data), Errors(center_of(model))
    count = options.components or int(model.n_components_)
    blocks = rebuilt(model, table, count, errors, None, memory_limit_bytes(options.memory_limit))

    def facts() -> dict[str, Any]:
        return {
            "components": count,
            "rows": len(errors.squares),
            "mean_square_error": errors.mean_square,
            "relative_error_percentiles": errors.percentiles(),
            "notes": table.notes,
        }

    def text() -> str:
        return (
            f"{counted(len(errors.squares), 'row')} rebuilt from {count} components.\n"
            "Relative error |x - x~| / |x - mean|, by percentile of the rows: "
            f"{_shown(errors.percentiles(), '.4f')}\n"
            f"Mean square error |x - x~|^2: {errors.mean_square:.6g}"
        )

    return Result(text, facts, rows=_rows(table, blocks, errors, lambda: {"error": errors.relative}))


def _check_denoise(options: Denoise, model: Any) -> None:
    if not model.model_kind.kernel:
        raise ParameterError(
            "model",
            problem=f"denoise needs a kernel PCA, and this is a {type(model).__name__}.",
            hint='For a PCA the same is gramian reconstruct; or fit with kernel="rbf".',
        )
    _check_preimages(model)


@operation(
    MODEL,
    DATA,
    outs=[Out("rows", "PATH", PICTURES_OR_TABLE, "-", key="out", listing=LIST, beside=True)],
    check=_check_denoise,
    doing="finding rows",
)
def denoise(options: Denoise, model: Any, data: Any) -> Result:
    """Denoise rows with a kernel PCA.

    Each row is projected onto the components in feature space and mapped back. The distances from the
    projections are reported on standard error.
    """
    from gramian.plots.images import center_of
    from gramian.report.pictures import Errors, percentiles, rebuilt
    from gramian.report.pieces import completed

    table, method, residuals = completed(model, data), model.preimage_, None
    try:
        found, residuals = model.denoise(table, return_error=True)
    except IndefiniteKernelError:
        found = model.denoise(table)
    spread = None if residuals is None else percentiles(residuals)
    facts = {
        "rows": len(found),
        "components": model.n_components_,
        "method": method.method,
        "reason": method.reason,
        "residual_percentiles": spread,
        "notes": table.notes,
    }
    distances = (
        "The kernel is not positive semidefinite here, so there are no distances to report."
        if spread is None
        else "Distance |phi(x) - P| in feature space, by percentile of the rows: " + _shown(spread, ".4g")
    )
    text = (
        f"{counted(len(found), 'row')} found from {model.n_components_} components, by {method}\n{distances}"
    )
    errors = Errors(center_of(model))
    blocks = rebuilt(model, table, int(model.n_components_), errors, found)
    more = {} if residuals is None else {"error": residuals}
    return Result(text, facts, rows=_rows(table, blocks, errors, lambda: more))


def _shown(percentiles: dict[str, float], form: str) -> str:
    return "  ".join(f"{name} {value:{form}}" for name, value in percentiles.items())


def _rows(
    table: Any, blocks: Iterator[tuple[slice, Any]], errors: Any, more: Callable[[], dict[str, Any]]
) -> Blocks:
    """Return rebuilt rows, which become a table, or pictures with their errors."""
    from gramian.plots.images import grey
    from gramian.report.pictures import grey_limits, write_picture_folder
    from gramian.report.tables import feature_names

    def pictures(folder: Any) -> None:
        limits = grey_limits(table)
        write_picture_folder(
            folder,
            table,
            (grey(row.reshape(table.picture_shape), *limits) for _, back in blocks for row in back),
            LIST,
            about=lambda: {"relative error": errors.relative, "square error": errors.squares},
            captions=lambda chosen: [f"error {error:.3f}" for error in errors.relative[chosen]],
        )

    return Blocks(table, blocks, feature_names(table), more, pictures)
