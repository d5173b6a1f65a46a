"""The command that whitens: ``whiten``."""

import sys
from pathlib import Path
from typing import Any

from gramian.cli.inputs import HERE, read_table
from gramian.cli.models import number_or_name, read_components
from gramian.cli.options import DEVICE, Data, Engine, JsonFlag, Reading, Seed, option
from gramian.cli.outputs import TABLES, answer, check_out, check_pictures, rows_target
from gramian.cli.progress import progress

LIST = "whitening.csv"
METHODS = ("pca", "zca", "zca-cor", "pca-cor", "cholesky")


def whiten(
    data: Data,
    reading: Reading,
    out: str = option(
        "PATH",
        "Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV. "
        "FILE.gramian: the model. [-]",
        "-",
    ),
    method: str = option("NAME", "zca, zca-cor, pca, pca-cor or cholesky. [zca]", "zca", choices=METHODS),
    components: str | None = option("K", "Directions to keep, or the explained variance ratio. [all]"),
    regularization: str | None = option(
        "HOW",
        "A number added to eigenvalues, or ledoit-wolf or oas. [none]",
        suggestions=("ledoit-wolf", "oas"),
    ),
    ddof: int = option("NUMBER", "Variances divide by rows - ddof. [1]", 1),
    seed: Seed = 0,
    engine: Engine = HERE,
    device: str | None = DEVICE,
    as_json: JsonFlag = False,
) -> None:
    """Make columns uncorrelated, with variance 1.

    zca keeps each column as close to the original as possible, so that pictures still look like pictures.
    Those of pca are its scores, line by line from the upper left, which look like noise.
    """
    from gramian.analysis.whitening import SHRINKAGE
    from gramian.arrays import memory_limit_bytes
    from gramian.estimators.whitener import Whitener
    from gramian.report.pieces import mapped
    from gramian.report.tables import feature_names, write_blocks

    model = Whitener(
        method,
        n_components=read_components(components),
        regularization=number_or_name("--regularization", regularization, SHRINKAGE),
        ddof=ddof,
        random_state=seed,
        device=device,
    )
    target, kind = _target(out, as_json, *reading.inputs(data))
    limit = memory_limit_bytes(None)
    table = read_table(data, reading, limit=limit, engine=engine)
    if kind == "pictures":
        check_pictures(table, out)
    files = 1
    with progress("computing"):
        fitted = model.fit(table)
    with progress("writing"):
        if kind == "model":
            model.save(out)
        elif kind == "pictures":
            files = _write_pictures(target, table, fitted.transform(table))
        else:
            names = None if method.startswith("pca") else feature_names(table)
            write_blocks(target, table, mapped(fitted, table, limit), kind, names)
    _report(model, out, files, as_json)


def _target(out: str, as_json: bool, *inputs: str) -> tuple[Any, str]:
    """Return where to write, and what: "model", a kind of table, or "pictures"; refuse what cannot be."""
    suffix = Path(out).suffix.lower()
    folder = out.endswith("/") or (Path(out).is_dir() and suffix != ".zarr")
    if suffix == ".gramian" and not folder:
        check_out(out, *inputs)
        return out, "model"
    pictures = out != "-" and (folder or suffix not in TABLES)
    return rows_target(out, LIST, as_json, *inputs, pictures=pictures)


def _write_pictures(folder: Path, table: Any, whitened: Any) -> int:
    """Write every picture as PNG, on one scale around a middle grey, and a sheet with some originals."""
    import numpy as np

    from gramian.plots.pixels import coordinates, grey, whitened_limit
    from gramian.report.picture_folder import write_picture_folder

    limit = whitened_limit(whitened)
    lengths = np.linalg.norm(whitened.reshape(len(whitened), -1).astype(np.float64), axis=1)
    whitened = coordinates(whitened, table.picture_shape)
    return write_picture_folder(
        folder,
        table,
        (grey(picture, -limit, limit) for picture in whitened),
        LIST,
        about=lambda: {"length": lengths},
        captions=lambda chosen: ["whitened"] * len(chosen),
    )


def _report(model: Any, out: str, files: int, as_json: bool) -> None:
    from gramian.report.facts import certificate_facts, plan_facts

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
    answer(as_json, facts, "\n".join(lines), sys.stderr if out == "-" else None)


def _regularization_text(model: Any) -> str:
    used = model.regularization_
    if used is None:
        left = model.n_features_in_ - model.rank_
        return "No regularization" + (f": {left:,} directions without variance give 0." if left else ".")
    if isinstance(model.regularization, str):
        return f"Shrunk by {model.regularization} with intensity {used:.4g}."
    return f"Added to every variance: {used:.6g}."
