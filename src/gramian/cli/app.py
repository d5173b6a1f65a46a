"""The commands and their options; what they do is imported when they run."""

from typing import Annotated

import typer

from gramian.cli.faces_app import faces
from gramian.cli.kernels import kernels
from gramian.cli.options import Data, JsonFlag, Model, ModelFile, Reading, spread
from gramian.cli.selection_app import choose_kernel, select
from gramian.version import __version__

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gramian {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def gramian(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """PCA and kernel PCA of tables and pictures, that say how they were computed and what is guaranteed.

    Exit codes: 0 done, 1 the data or a file is at fault, 2 the command is, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command()
@spread
def fit(
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="A folder for all results, or FILE.gramian for the model alone.",
            show_default=False,
        ),
    ],
    reading: Reading,
    model: Model,
    loadings: Annotated[
        str | None,
        typer.Option(
            "--loadings", metavar="KIND", help="unit vectors, or correlation of columns with scores. [unit]"
        ),
    ] = None,
    table_format: Annotated[
        str | None, typer.Option("--format", metavar="KIND", help="Tables as csv or parquet. [csv]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find components; write model, tables, pictures.

    The folder has a page, summary.md, that explains all: what was computed, by which route and why, and what
    is guaranteed. Results of an earlier fit in it are replaced; other files stay.
    """
    from gramian.cli import fitting

    fitting.fit(data, out, reading, model, loadings, table_format, as_json)


@app.command()
@spread
def transform(
    model: ModelFile,
    data: Data,
    reading: Reading,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="A .csv, .parquet or .npy file, or - for CSV to standard output. [-]",
            show_default=False,
        ),
    ] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Write the scores of new rows.

    Scores are coordinates along the components of a saved model.
    """
    from gramian.cli import applying

    applying.transform(model, data, out, reading, as_json)


@app.command()
@spread
def reconstruct(
    model: ModelFile,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Pictures: a folder for PNG files. Tables: a .csv, .parquet or .npy file, or - for CSV.",
            show_default=False,
        ),
    ],
    reading: Reading,
    components: Annotated[
        int | None, typer.Option("--components", metavar="K", help="Use the first K components only. [all]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Rebuild rows from a few components.

    The error of doing so is reported on standard error.
    """
    from gramian.cli import applying

    applying.reconstruct(model, data, out, components, reading, as_json)


@app.command()
@spread
def denoise(
    model: ModelFile,
    data: Data,
    reading: Reading,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Pictures: a folder for PNG files. Tables: a .csv, .parquet or .npy file, or - for CSV. [-]",
            show_default=False,
        ),
    ] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Clean rows by a kernel PCA.

    Each row is projected on the components in feature space and mapped back; how far the rows found are from
    the projections is reported on standard error.
    """
    from gramian.cli import denoising

    denoising.denoise(model, data, out, reading, as_json)


@app.command()
@spread
def whiten(
    data: Data,
    reading: Reading,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Pictures: a folder for PNG files. Tables: a .csv, .parquet or .npy file, or - for CSV. "
            "FILE.gramian: the model. [-]",
            show_default=False,
        ),
    ] = "-",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="zca, zca-cor, pca, pca-cor or cholesky. [zca]",
            show_default=False,
        ),
    ] = "zca",
    components: Annotated[
        str | None,
        typer.Option("--components", metavar="K", help="Directions to keep, or the share of variance. [all]"),
    ] = None,
    regularization: Annotated[
        str | None,
        typer.Option(
            "--regularization",
            metavar="HOW",
            help="A number added to eigenvalues, or ledoit-wolf or oas. [none]",
        ),
    ] = None,
    ddof: Annotated[
        int,
        typer.Option(
            "--ddof", metavar="NUMBER", help="Variances divide by rows - ddof. [1]", show_default=False
        ),
    ] = 1,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="NUMBER", help="Start of the random numbers. [0]", show_default=False),
    ] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Make columns uncorrelated, with variance 1.

    By zca each column stays as close to itself as that allows, and pictures still look like pictures.
    """
    from gramian.cli import whitening

    whitening.whiten(data, out, reading, method, components, regularization, ddof, seed, as_json)


@app.command()
@spread
def info(model: ModelFile, as_json: JsonFlag = False) -> None:
    """Show what a saved model holds.

    Its parameters, components, plan, certificate and the versions that wrote it.
    """
    from gramian.cli import showing

    showing.info(model, as_json)


@app.command()
@spread
def plan(data: Data, reading: Reading, model: Model, as_json: JsonFlag = False) -> None:
    """Say how fit would compute, and why.

    The data is read, nothing is computed.
    """
    from gramian.cli import fitting

    fitting.plan(data, reading, model, as_json)


@app.command()
@spread
def relations(
    data: Data,
    reading: Reading,
    degree: Annotated[
        int,
        typer.Option(
            "--degree", metavar="NUMBER", help="Largest degree of the equations. [2]", show_default=False
        ),
    ] = 2,
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            metavar="NUMBER",
            help="Largest residual accepted, over the standard deviation of each column. [by the data]",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find equations that all rows obey.

    Polynomials of the columns, such as x^2 + y^2 - 1 = 0, in the columns' own units, with their residuals.
    """
    from gramian.cli import relating

    relating.relations(data, degree, tol, reading, as_json)


app.command()(select)
app.command()(choose_kernel)


@app.command()
@spread
def demo(
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Where the results go. [gramian-demo]", show_default=False
        ),
    ] = "gramian-demo",
) -> None:
    """Try everything on handwritten digits.

    PCA and kernel PCA, compared by what a classifier makes of them, with a folder of results for each.
    """
    from gramian.cli import demonstration

    demonstration.demo(out)


app.add_typer(kernels, name="kernels")
app.add_typer(faces, name="faces")
