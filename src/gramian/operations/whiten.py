"""Columns that are uncorrelated, with variance 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.checks import counted
from gramian.operations.operation import LARGE_DATA, Blocks, Out, Result, operation
from gramian.operations.shared import DEVICE, SEED, number_or_name, read_components
from gramian.options import option

LIST = "whitening.csv"
SHRINKAGE = ("ledoit-wolf", "oas")


@dataclass(frozen=True)
class Whiten:
    """The parameters of ``gramian.Whitener``."""

    method: str = option(
        "NAME",
        "zca, zca-cor, pca, pca-cor or cholesky.",
        "zca",
        choices=("pca", "zca", "zca-cor", "pca-cor", "cholesky"),
    )
    components: str | None = option(
        "K",
        "Directions to keep, or the explained variance ratio.",
        usual="all",
        label="number of components",
        parameters=("n_components",),
    )
    regularization: str | None = option(
        "HOW",
        "A number added to eigenvalues, or ledoit-wolf or oas.",
        usual="none",
        suggestions=SHRINKAGE,
    )
    ddof: int = option("NUMBER", "Variances divide by rows - ddof.", 1)
    seed: int = SEED
    device: str | None = DEVICE


@operation(
    LARGE_DATA,
    outs=[
        Out(
            "rows",
            "PATH",
            "Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV. "
            "FILE.gramian: the model.",
            "-",
            key="out",
            listing=LIST,
        )
    ],
)
def whiten(options: Whiten, data: Any) -> Result:
    """Make columns uncorrelated, with variance 1.

    zca keeps each column as close to the original as possible, so that pictures still look like pictures.
    Those of pca are its scores, line by line from the upper left, which look like noise.
    """
    from gramian.arrays import memory_limit_bytes
    from gramian.models.whitener import Whitener
    from gramian.report.facts import certificate_facts, plan_facts
    from gramian.report.pieces import mapped
    from gramian.report.tables import feature_names

    model = Whitener(
        options.method,
        n_components=read_components(options.components),
        regularization=number_or_name("regularization", options.regularization, SHRINKAGE),
        ddof=options.ddof,
        random_state=options.seed,
        device=options.device,
    ).fit(data)
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
    }
    size = f"{counted(model.n_samples_, 'row')} x {counted(model.n_features_in_, 'column')}"
    lines = [
        f"{model.method} whitening of {size}: {model.rank_:,} directions have variance.",
        _regularization_text(model),
        "",
        str(model.plan_),
        "",
        f"{model.certificate_}\n",
    ]
    blocks = mapped(model, data, memory_limit_bytes(None))
    names = None if options.method.startswith("pca") else feature_names(data)
    rows = Blocks(data, blocks, names, pictures=lambda folder: _write_pictures(folder, data, model))
    return Result("\n".join(lines), facts, rows=rows, model=model)


def _write_pictures(folder: Any, table: Any, model: Any) -> int:
    """Write every picture as PNG, on one scale around a middle grey, and a sheet with some originals."""
    import numpy as np

    from gramian.plots.images import coordinates, grey, whitened_limit
    from gramian.report.pictures import write_picture_folder

    whitened = model.transform(table)
    limit = whitened_limit(whitened)
    lengths = np.linalg.norm(whitened.reshape(len(whitened), -1).astype(np.float64), axis=1)
    pictures = coordinates(whitened, table.picture_shape)
    return write_picture_folder(
        folder,
        table,
        (grey(picture, -limit, limit) for picture in pictures),
        LIST,
        about=lambda: {"length": lengths},
        captions=lambda chosen: ["whitened"] * len(chosen),
    )


def _regularization_text(model: Any) -> str:
    used = model.regularization_
    if used is None:
        left = model.n_features_in_ - model.rank_
        return "No regularization" + (f": {left:,} directions without variance give 0." if left else ".")
    if isinstance(model.regularization, str):
        return f"Shrunk by {model.regularization} with intensity {used:.4g}."
    return f"Added to every variance: {used:.6g}."
