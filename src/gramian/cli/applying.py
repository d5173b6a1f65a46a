"""The commands that apply a saved model: ``transform``, ``reconstruct`` and ``denoise``."""

import sys
from pathlib import Path
from typing import Annotated, Any

from gramian.checks import check_integer, counted, shown_lines
from gramian.cli.inputs import HERE, model_path, read_model, read_new_data
from gramian.cli.options import (
    DEVICE,
    MEMORY_LIMIT,
    Data,
    Engine,
    JsonFlag,
    ModelFile,
    Reading,
    option,
    out,
)
from gramian.cli.outputs import TABLES, answer, check_pictures, print_json, rows_target, table_target
from gramian.cli.progress import progress
from gramian.errors import IndefiniteKernelError, ParameterError

PICTURES_OR_TABLE = (
    "Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV."
)


def transform(
    model: ModelFile,
    data: Data,
    reading: Reading,
    out: str = option(
        "FILE", "A .csv, .parquet, .npy or .zarr file, or - for CSV to standard output. [-]", "-"
    ),
    memory_limit: str | None = MEMORY_LIMIT,
    engine: Engine = HERE,
    device: str | None = DEVICE,
    as_json: JsonFlag = False,
) -> None:
    """Write the scores of new rows.

    Scores are coordinates along the components of a saved model.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.report.pieces import mapped
    from gramian.report.tables import write_blocks

    target, kind = table_target(out, as_json, *reading.inputs(data), str(model_path(model)))
    fitted = read_model(model)
    if device is not None:
        if "device" not in fitted.get_params(deep=False):
            raise ParameterError(
                f"--device applies only to PCA, kernel PCA and whitening. {model} is another model."
            )
        fitted.set_params(device=device)
    limit = memory_limit_bytes(memory_limit)
    table = read_new_data(data, reading, fitted, limit, engine)
    names, n = fitted.get_feature_names_out(), table.values.shape[0]
    with progress("computing"):
        write_blocks(target, table, mapped(fitted, table, limit), kind, names)
    facts = {"rows": n, "components": len(names), "files": [out], "notes": table.notes}
    if as_json:
        print_json(facts)
    elif out != "-":
        print(shown_lines(f"Written: {out}, {counted(n, 'row')} x {counted(len(names), 'component')}"))


def reconstruct(
    model: ModelFile,
    data: Data,
    out: Annotated[str, out("PATH", PICTURES_OR_TABLE)],
    reading: Reading,
    components: int | None = option("K", "Use the first K components only. [all]"),
    memory_limit: str | None = MEMORY_LIMIT,
    engine: Engine = HERE,
    as_json: JsonFlag = False,
) -> None:
    """Rebuild rows from a few components.

    The reconstruction error is reported on standard error.
    """
    from gramian.arrays import memory_limit_bytes

    fitted = read_model(model)
    if not fitted.model_kind.gives_scores:
        faces = "For a model of faces: gramian faces reconstruct."
        back = "Fit a PCA to the same columns: gramian fit."
        raise ParameterError(
            f"reconstruct needs a PCA, and this is a {type(fitted).__name__}. "
            f"{back if fitted.model_kind.whitens else faces}"
        )
    _require_rows(fitted)
    most = int(fitted.n_components_)
    count = most if components is None else check_integer("--components", components, 1, most)
    place = _Place(fitted, out, as_json, *reading.inputs(data), str(model_path(model)))
    limit = memory_limit_bytes(memory_limit)
    table = place.read(data, reading, limit, engine)
    with progress(f"rebuilding from {count} components"):
        errors = place.write(table, count, limit=limit)
    percentiles = errors.percentiles()
    facts = {
        "components": count,
        "rows": len(errors.squares),
        "mean_square_error": errors.mean_square,
        "relative_error_percentiles": percentiles,
        "out": out,
        "notes": table.notes,
    }
    text = (
        f"{len(errors.squares):,} rows rebuilt from {count} components.\n"
        f"Relative error |x - x~| / |x - mean|, by percentile of the rows: {_shown(percentiles, '.4f')}\n"
        f"Mean square error |x - x~|^2: {errors.mean_square:.6g}{place.written}"
    )
    answer(as_json, facts, text, sys.stderr)


def denoise(
    model: ModelFile,
    data: Data,
    reading: Reading,
    out: str = option("PATH", f"{PICTURES_OR_TABLE} [-]", "-"),
    as_json: JsonFlag = False,
) -> None:
    """Denoise rows with a kernel PCA.

    Each row is projected onto the components in feature space and mapped back. The distances from the
    projections are reported on standard error.
    """
    from gramian.report.reconstruction import percentiles

    fitted = read_model(model)
    if not fitted.model_kind.kernel:
        raise ParameterError(
            f"denoise needs a kernel PCA, and this is a {type(fitted).__name__}. For a PCA the same is "
            "gramian reconstruct; or fit with --kernel rbf."
        )
    _require_rows(fitted)
    place = _Place(fitted, out, as_json, *reading.inputs(data), str(model_path(model)))
    table = place.read(data, reading)
    method, spread = fitted.preimage_, None
    with progress(f"finding rows by {method.method}"):
        try:
            result, residuals = fitted.denoise(table, return_error=True)
            spread = percentiles(residuals)
        except IndefiniteKernelError:
            result = fitted.denoise(table)
    place.write(table, int(fitted.n_components_), result)
    facts = {
        "rows": len(result),
        "components": fitted.n_components_,
        "method": method.method,
        "reason": method.reason,
        "residual_percentiles": spread,
        "out": out,
        "notes": table.notes,
    }
    distances = (
        "The kernel is not positive semidefinite here, so there are no distances to report."
        if spread is None
        else "Distance |phi(x) - P| in feature space, by percentile of the rows: " + _shown(spread, ".4g")
    )
    what = f"{len(result):,} rows found from {fitted.n_components_} components, by {method}"
    text = f"{what}\n{distances}{place.written}"
    answer(as_json, facts, text, sys.stderr)


def _require_rows(fitted: Any) -> None:
    if fitted.model_kind.kernel and not fitted.preimage_.goes_back:
        raise ParameterError(
            f"The model has no pre-images: {fitted.preimage_.reason} Fit on dense rows, with --kernel."
        )


def _shown(percentiles: dict[str, float], form: str) -> str:
    return "  ".join(f"{name} {value:{form}}" for name, value in percentiles.items())


class _Place:
    """The output of rows mapped back: a folder of pictures, or a table."""

    def __init__(self, fitted: Any, out: str, as_json: bool, *inputs: str) -> None:
        from gramian.report import reconstruction

        self.fitted, self.out = fitted, out
        shape = getattr(fitted, "picture_shape_", None)
        pictures = shape is not None and Path(out).suffix.lower() not in TABLES
        self.target, self.kind = rows_target(out, reconstruction.LIST, as_json, *inputs, pictures=pictures)

    @property
    def written(self) -> str:
        """The last line of the text: where the rows are."""
        return "" if self.out == "-" else f"\nWritten: {self.out}"

    def read(self, data: str, reading: Reading, limit: int | None = None, engine: Engine = HERE) -> Any:
        from gramian.report.pieces import completed

        table = completed(self.fitted, read_new_data(data, reading, self.fitted, limit, engine))
        if self.kind == "pictures":
            check_pictures(table, self.out)
        return table

    def write(self, table: Any, count: int, result: Any = None, limit: int = 0) -> Any:
        from gramian.report import reconstruction

        if self.kind == "pictures":
            return reconstruction.write_pictures(self.target, self.fitted, table, count, result)
        return reconstruction.write_rows(self.target, self.kind, self.fitted, table, count, result, limit)
