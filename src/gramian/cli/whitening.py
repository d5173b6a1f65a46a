"""The command that whitens: ``whiten``."""

import json
import sys
from pathlib import Path
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.models import read_components
from gramian.cli.options import Reading
from gramian.cli.outputs import check_file, check_not_input, check_place
from gramian.cli.progress import progress
from gramian.errors import FileError, ParameterError

__all__ = ["read_regularization", "whiten"]

TABLES = (".csv", ".parquet", ".npy")
LIST, SHEET = "whitening.csv", "comparison.png"
COMPARED = 8
SHOWN = 0.995  # share of the whitened pixels that are neither black nor white
SAMPLED = 1 << 22


def whiten(
    data: str,
    out: str,
    reading: Reading,
    method: str,
    components: str | None,
    regularization: str | None,
    ddof: int,
    seed: int,
    as_json: bool,
) -> None:
    """Whiten data, and write the result as a table, pictures or the model that does it to new rows."""
    from gramian.analysis.whitening import METHODS
    from gramian.checks import check_choice
    from gramian.estimators.whitener import Whitener

    check_choice("--method", method, METHODS)
    if not 0 <= seed < 2**32:
        raise ParameterError(f"--seed {seed} must be a whole number from 0 to {2**32 - 1}.")
    model = Whitener(
        method,
        n_components=read_components(components),
        regularization=read_regularization(regularization),
        ddof=ddof,
        random_state=seed,
    )
    kind = _kind(out, method, as_json)
    check_not_input(out, data)
    table = read_table(data, reading)
    if kind == "pictures" and table.picture_shape is None:
        raise ParameterError(
            f"{table.source} is a table, and -o {out} names a folder for pictures. "
            "Name a .csv, .parquet or .npy file, - for CSV, or FILE.gramian for the model."
        )
    if kind == "model":
        with progress("computing"):
            model.fit(table)
        with progress("writing"):
            model.save(out)
        files = 1
    else:
        with progress("computing"):
            whitened = model.fit_transform(table)
        with progress("writing"):
            write = _write_pictures if kind == "pictures" else _write_table
            files = write(out, kind, model, table, whitened)
    _report(model, out, files, as_json)


def read_regularization(text: str | None) -> float | str | None:
    """Read a number, or the name of a shrinkage.

    Raises
    ------
    ParameterError
        For anything else.

    Examples
    --------
    >>> read_regularization("0.01"), read_regularization("oas"), read_regularization(None)
    (0.01, 'oas', None)
    """
    from gramian.analysis.whitening import SHRINKAGE

    if text is None or text in SHRINKAGE:
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ParameterError(
            f"--regularization {text} is not understood. Give a number of at least 0, ledoit-wolf or oas."
        )
    return value


def _kind(out: str, method: str, as_json: bool) -> str:
    """Say what is written: "model", a kind of table, or "pictures"; refuse what cannot be."""
    suffix = Path(out).suffix.lower()
    folder = out.endswith("/") or Path(out).is_dir()
    if out == "-":
        if as_json:
            raise ParameterError("--json and -o - both write to standard output. Name a file with -o.")
        return "csv"
    if suffix == ".gramian" and not folder:
        check_file(out)
        return "model"
    if suffix in TABLES and not folder:
        check_file(out)
        return suffix[1:]
    if method.startswith("pca"):
        raise ParameterError(
            f"--method {method} gives scores, which are no pictures and no folder. Name a .csv, .parquet or "
            ".npy file with -o, or take --method zca."
        )
    check_place(Path(out))
    _check_folder(Path(out))
    return "pictures"


def _check_folder(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / LIST).is_file():
        raise FileError(f"{folder} is not empty: files in it might be overwritten. Name a new folder.")


def _write_table(out: str, kind: str, model: Any, table: Any, whitened: Any) -> int:
    from gramian.report.tables import feature_names, row_columns, score_columns, write_table

    values = whitened.reshape(len(whitened), -1)
    target: Any = sys.stdout.buffer if out == "-" else out
    if model.method.startswith("pca"):
        columns = score_columns(table, values)
    else:
        names = feature_names(table)
        left = {
            title if title not in names else f"{title} (row)": entries
            for title, entries in row_columns(table).items()
        }
        columns = left | dict(zip(names, values.T, strict=True))
    write_table(target, columns, kind)
    return 1


def _write_pictures(out: str, kind: str, model: Any, table: Any, whitened: Any) -> int:
    """Write every picture as PNG, on one scale around a middle grey, and a sheet with some originals."""
    import numpy as np

    from gramian.plots.pictures import Picture, contact_sheet, grey, require_pillow
    from gramian.report.reconstruction import picture_names
    from gramian.report.results import grey_limits
    from gramian.report.tables import row_names, write_table

    require_pillow()
    folder, names = Path(out), picture_names(row_names(table)[1])
    sample = whitened.reshape(-1)[:: max(1, whitened.size // SAMPLED)]
    limit = float(np.quantile(np.abs(sample), SHOWN)) or 1.0
    pixels = (grey(picture, -limit, limit) for picture in whitened)
    try:
        for name, picture in zip(names, pixels, strict=True):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            Picture(picture).save(folder / name)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror}. Choose another place.") from error
    chosen = np.unique(np.linspace(0, len(names) - 1, min(COMPARED, len(names))).astype(int))
    shown = [grey(table.values[i], *grey_limits(table)) for i in chosen]
    shown += [grey(whitened[i], -limit, limit) for i in chosen]
    captions = [names[i].removesuffix(".png") for i in chosen] + ["whitened"] * len(chosen)
    contact_sheet(shown, captions, columns=len(chosen)).save(folder / SHEET)
    lengths = np.linalg.norm(whitened.reshape(len(whitened), -1).astype(np.float64), axis=1)
    write_table(folder / LIST, {"picture": names, "length": lengths}, "csv")
    return len(names) + 2


def _report(model: Any, out: str, files: int, as_json: bool) -> None:
    from gramian.report.facts import certificate_facts, plain, plan_facts

    if as_json:
        facts = {
            "method": model.method,
            "rows": model.n_samples_,
            "columns": model.n_features_in_,
            "components": model.n_components_,
            "rank": model.rank_,
            "regularization": model.regularization,
            "regularization_used": model.regularization_,
            "plan": plan_facts(model.plan_),
            "certificate": certificate_facts(model.certificate_),
            "out": out,
        }
        print(json.dumps(plain(facts), indent=2, allow_nan=False))
        return
    lines = [
        f"{model.method} whitening of {model.n_samples_:,} rows x {model.n_features_in_:,} columns: "
        f"{model.rank_:,} directions have variance.",
        _regularization_text(model),
        "",
        str(model.plan_),
        "",
        str(model.certificate_),
    ]
    if out != "-":
        lines += ["", f"Written: {out}" + (f", {files:,} files" if files > 1 else "")]
    print("\n".join(lines), file=sys.stderr if out == "-" else sys.stdout)


def _regularization_text(model: Any) -> str:
    used = model.regularization_
    if used is None:
        left = model.n_features_in_ - model.rank_
        return "No regularization" + (f": {left:,} directions left out give 0." if left else ".")
    if isinstance(model.regularization, str):
        return f"Shrunk by {model.regularization} with intensity {used:.4g}."
    return f"Added to every variance: {used:.6g}."
