"""Rows of new data: scores, reconstructions, denoised and whitened rows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from gramian.app import verb
from gramian.core.checks import check_integer, counted
from gramian.errors import IndefiniteKernelError, ParameterError

REBUILT = "reconstruction.csv"


def _check_transform(values: Mapping[str, Any], model: Any) -> None:
    this = f"This is a {type(model).__name__}"
    if values.get("standard_errors") and not hasattr(model, "projection_quality"):
        raise ParameterError("standard_errors", allowed="are those of a PCA", hint=f"{this}: leave them out.")


@verb.about(check=_check_transform)
def transform(
    model: verb.Model,
    data: verb.LargeData,
    *,
    standard_errors: bool = False,
    memory_limit: verb.MemoryLimit = None,
) -> Annotated[verb.Result, verb.Output("rows", default="-")]:
    """Write the scores of new rows.

    Scores are coordinates along the components of a saved model.

    Parameters
    ----------
    standard_errors
        PCA: also write the standard error of each score that missing values cause, and the share of the
        columns that a row has.

    Files
    -----
    out : FILE
        A .csv, .parquet, .npy or .zarr file, or - for CSV to standard output.
    """

    from gramian.core.arrays import memory_limit_bytes
    from gramian.report.tables import mapped

    names, n = list(model.get_feature_names_out()), data.values.shape[0]
    limit, errors = memory_limit_bytes(memory_limit), standard_errors
    every = [*names, *(f"{name}_standard_error" for name in names), "observed"] if errors else names
    blocks = mapped(model, data, limit, errors=errors)
    return verb.Result(
        facts={"rows": n, "components": len(names), "notes": data.notes},
        rows=verb.Blocks(data, blocks, every),
        written=f", {counted(n, 'row')} x {counted(len(names), 'component')}",
    )


def _check_reconstruct(values: Mapping[str, Any], model: Any) -> None:
    problem = f"reconstruct needs a PCA, and this is a {type(model).__name__}."
    advice = "For a model of faces: gramian faces reconstruct."
    if model.model_kind.whitens:
        advice = "Fit a PCA to the same columns: gramian fit."
    verb.require_model(model.model_kind.gives_scores, problem, advice)
    _check_preimages(model)
    if values.get("n_components") is not None:
        check_integer("n_components", values["n_components"], 1, int(model.n_components_))


def _check_preimages(model: Any) -> None:
    goes_back = not model.model_kind.kernel or model.preimage_.goes_back
    problem = "" if goes_back else f"The model has no pre-images: {model.preimage_.reason}"
    verb.require_model(goes_back, problem, "Fit on dense rows, with a named kernel.")


@verb.about(check=_check_reconstruct)
def reconstruct(
    model: verb.Model,
    data: verb.LargeData,
    *,
    n_components: Annotated[int | None, verb.Option(short="-k")] = None,
    memory_limit: verb.MemoryLimit = None,
) -> Annotated[verb.Result, verb.Output("rows", key="out", required=True, listing=REBUILT, beside=True)]:
    """Rebuild rows from a few components.

    The reconstruction error is reported on standard error.

    Parameters
    ----------
    n_components : K, default: all
        Use the first K components only.

    Files
    -----
    out : PATH
        Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV.
    """
    from gramian.core.arrays import memory_limit_bytes
    from gramian.figures.images import center_of
    from gramian.report.pictures import Errors, rebuilt
    from gramian.report.tables import completed

    scale = getattr(model, "scale_", None)
    table, errors = completed(model, data), Errors(center_of(model), scale)
    count = n_components or int(model.n_components_)
    blocks = rebuilt(model, table, count, errors, None, memory_limit_bytes(memory_limit))

    def facts() -> dict[str, Any]:
        return {
            "components": count,
            "rows": len(errors.squares),
            "mean_square_error": errors.mean_square,
            "relative_error_percentiles": errors.percentiles(),
            "notes": table.notes,
        }

    def text() -> str:
        units = "" if scale is None else " of scaled columns"
        return (
            f"{counted(len(errors.squares), 'row')} rebuilt from {count} components.\n"
            f"Relative error |x - x~| / |x - mean|{units}, by percentile of the rows: "
            f"{_shown(errors.percentiles(), '.4f')}\n"
            f"Mean square error |x - x~|^2: {errors.mean_square:.6g}"
        )

    return verb.Result(text, facts, rows=_rows(table, blocks, errors, lambda: {"error": errors.relative}))


def _check_denoise(values: Mapping[str, Any], model: Any) -> None:
    problem = f"denoise needs a kernel PCA, and this is a {type(model).__name__}."
    advice = 'For a PCA the same is gramian reconstruct; or fit with kernel="rbf".'
    verb.require_model(model.model_kind.kernel, problem, advice)
    _check_preimages(model)


@verb.about(check=_check_denoise, doing="finding rows")
def denoise(
    model: verb.Model, data: verb.Data
) -> Annotated[verb.Result, verb.Output("rows", default="-", key="out", listing=REBUILT, beside=True)]:
    """Denoise rows with a kernel PCA.

    Each row is projected onto the components in feature space and mapped back. The distances from the
    projections are reported on standard error.

    Files
    -----
    out : PATH
        Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV.
    """
    from gramian.figures.images import center_of
    from gramian.report.pictures import Errors, percentiles, rebuilt
    from gramian.report.tables import completed

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
    return verb.Result(text, facts, rows=_rows(table, blocks, errors, lambda: more))


def _shown(percentiles: dict[str, float], form: str) -> str:
    return "  ".join(f"{name} {value:{form}}" for name, value in percentiles.items())


def _rows(
    table: Any, blocks: Iterator[tuple[slice, Any]], errors: Any, more: Callable[[], dict[str, Any]]
) -> verb.Blocks:
    """Return rebuilt rows, which become a table, or pictures with their errors."""
    from gramian.figures.images import grey
    from gramian.report.pictures import grey_limits, write_picture_folder
    from gramian.report.tables import feature_names

    def pictures(folder: Any) -> None:
        limits = grey_limits(table)
        write_picture_folder(
            folder,
            table,
            (grey(row.reshape(table.picture_shape), *limits) for _, back in blocks for row in back),
            REBUILT,
            about=lambda: {"relative error": errors.relative, "square error": errors.squares},
            captions=lambda chosen: [f"error {error:.3f}" for error in errors.relative[chosen]],
        )

    return verb.Blocks(table, blocks, feature_names(table), more, pictures)


WHITENED = "whitening.csv"


@verb.about(documented={"": "gramian.models.whitener:Whitener"})
def whiten(
    data: verb.LargeData,
    *,
    method: Literal["pca", "zca", "zca-cor", "pca-cor"] = "zca",
    n_components: Annotated[int | float | None, verb.Option(short="-k", check=verb.check_count)] = None,
    regularization: float | Literal["ledoit-wolf"] | None = None,
    ddof: Annotated[int, verb.Option("NUMBER")] = 1,
    random_state: verb.Seed = 0,
) -> Annotated[verb.Result, verb.Output("rows", default="-", key="out", listing=WHITENED)]:
    """Make columns uncorrelated, with variance 1.

    zca keeps each column as close to the original as possible, so that pictures still look like pictures.
    Those of pca are its scores, line by line from the upper left, which look like noise.

    Parameters
    ----------
    method
        zca, zca-cor, pca or pca-cor.
    n_components : K, default: all
        Directions to keep, or the explained variance ratio.
    regularization : NUMBER, default: none
        A number added to eigenvalues, or ledoit-wolf.

    Files
    -----
    out : PATH
        Pictures: a folder for PNG files. Tables: a .csv, .parquet, .npy or .zarr file, or - for CSV.
        FILE.gramian: the model.
    """
    parameters = {name: value for name, value in locals().items() if name != "data"}
    from gramian.core.arrays import memory_limit_bytes
    from gramian.models.whitener import Whitener
    from gramian.report.facts import certificate_facts, plan_facts
    from gramian.report.tables import feature_names, mapped

    model = Whitener(**parameters).fit(data)
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
    names = None if method.startswith("pca") else feature_names(data)
    rows = verb.Blocks(data, blocks, names, pictures=lambda folder: _write_pictures(folder, data, model))
    return verb.Result("\n".join(lines), facts, rows=rows, model=model)


def _write_pictures(folder: Any, table: Any, model: Any) -> int:
    """Write every picture as PNG, on one scale around a middle grey, and a sheet with some originals."""
    import numpy as np

    from gramian.figures.images import coordinates, grey, whitened_limit
    from gramian.report.pictures import write_picture_folder

    whitened = model.transform(table)
    limit = whitened_limit(whitened)
    lengths = np.linalg.norm(whitened.reshape(len(whitened), -1).astype(np.float64), axis=1)
    pictures = coordinates(whitened, table.picture_shape)
    return write_picture_folder(
        folder,
        table,
        (grey(picture, -limit, limit) for picture in pictures),
        WHITENED,
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
