"""The commands that apply a saved model: ``transform`` and ``reconstruct``."""

import json
import sys
from pathlib import Path
from typing import Any

from gramian.cli.inputs import model_path, read_model, read_new_data
from gramian.cli.options import Reading
from gramian.cli.outputs import check_file, check_not_input, check_place
from gramian.cli.progress import progress
from gramian.errors import ParameterError

__all__ = ["reconstruct", "require_pictures", "rows_target", "transform"]


def transform(model: str, data: str, out: str, reading: Reading, as_json: bool) -> None:
    """Write the scores of new rows."""
    from gramian.report.tables import score_columns, write_table

    target, kind = table_target(out, as_json, model, data)
    fitted = read_model(model)
    table = read_new_data(data, reading)
    with progress("computing"):
        scores = fitted.transform(table)
    # Whitened pictures come as pictures.
    scores = scores.reshape(len(scores), -1)
    write_table(target, score_columns(table, scores, fitted.get_feature_names_out()), kind)
    if as_json:
        n, k = scores.shape
        print(json.dumps({"rows": n, "components": k, "files": [out]}, indent=2))


def reconstruct(
    model: str, data: str, out: str, components: int | None, reading: Reading, as_json: bool
) -> None:
    """Write rows rebuilt from their scores, and report how far they are from the originals."""
    from gramian.report import reconstruction

    fitted = read_model(model)
    count = _count(fitted, components)
    pictures, target, kind = rows_target(fitted, out, as_json, model, data)
    table = read_new_data(data, reading)
    require_pictures(pictures, table, out)
    with progress(f"rebuilding from {count} components"):
        if pictures:
            errors = reconstruction.write_pictures(target, fitted, table, count)
        else:
            errors = reconstruction.write_rows(target, kind, fitted, table, count)
    _report(errors, count, out, as_json)


TABLES = (".csv", ".parquet", ".npy")


def rows_target(fitted: Any, out: str, as_json: bool, model: str, data: str) -> tuple[bool, Any, str]:
    """Return whether pictures are written, where to, and the kind of a table; refuse bad places."""
    from gramian.report import reconstruction

    if getattr(fitted, "picture_shape_", None) is None or Path(out).suffix.lower() in TABLES:
        return False, *table_target(out, as_json, model, data)
    if out == "-":
        raise ParameterError("Pictures are written as PNG files into a folder. Name it with -o.")
    check_place(Path(out))
    check_not_input(out, data)
    reconstruction.check_pictures_folder(Path(out))
    return True, Path(out), ""


def require_pictures(pictures: bool, table: Any, out: str) -> None:
    """Refuse a table where pictures are to be written."""
    if pictures and table.picture_shape is None:
        raise ParameterError(
            f"The model is of pictures, but {table.source} is a table. "
            f"Name a .csv, .parquet or .npy file for the result instead of the folder {out}."
        )


def table_target(out: str, as_json: bool, model: str, data: str) -> tuple[Any, str]:
    """Return where a table goes and of which kind it is."""
    from gramian.report.tables import format_of

    if out == "-":
        if as_json:
            raise ParameterError("--json and -o - both write to standard output. Name a file with -o.")
        return sys.stdout.buffer, "csv"
    kind = format_of(out)
    check_file(out)
    check_not_input(out, data, str(model_path(model)))
    return out, kind


def _count(fitted: Any, components: int | None) -> int:
    preimage = getattr(fitted, "preimage_", None)
    if preimage is None and not hasattr(fitted, "reconstruction_error_"):
        faces = "For a model of faces: gramian faces reconstruct."
        back = "In Python its inverse_transform maps whitened rows back."
        raise ParameterError(
            f"reconstruct needs a PCA, and this is a {type(fitted).__name__}. "
            f"{back if hasattr(fitted, 'inverse_transform') else faces}"
        )
    if preimage is not None and preimage.method == "none":
        raise ParameterError(
            "The model has a precomputed kernel and no rows to go back to. Fit on the rows, with --kernel."
        )
    most = int(fitted.n_components_)
    if components is None:
        return most
    if not 1 <= components <= most:
        raise ParameterError(f"--components {components}: the model has {most}. Ask for 1 to {most}.")
    return components


def _report(errors: Any, count: int, out: str, as_json: bool) -> None:
    from gramian.report.facts import plain

    percentiles = errors.percentiles()
    if as_json:
        facts = {
            "components": count,
            "rows": len(errors.squares),
            "mean_square_error": errors.mean_square,
            "relative_error_percentiles": percentiles,
            "out": out,
        }
        print(json.dumps(plain(facts), indent=2))
        return
    shown = "  ".join(f"{name} {value:.4f}" for name, value in percentiles.items())
    lines = [
        f"{len(errors.squares):,} rows rebuilt from {count} components.",
        f"Relative error |x - x~| / |x - mean|, by percentile of the rows: {shown}",
        f"Mean square error |x - x~|^2: {errors.mean_square:.6g}",
    ]
    print("\n".join(lines), file=sys.stderr)
