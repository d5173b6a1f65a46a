"""The command ``demo``: the main job, end to end, on data that ships with scikit-learn."""

import hashlib
import time
from pathlib import Path
from typing import Any

import typer

from gramian.applications import is_installed
from gramian.cli.examples import write_examples
from gramian.cli.fitting import fit_table
from gramian.cli.options import option
from gramian.cli.outputs import check_place, component_table
from gramian.cli.progress import progress, say
from gramian.errors import MissingExtraError

RATIO = 0.95
FOLDS = 5
SEED = 0


def demo(
    context: typer.Context,
    out: str = option("FOLDER", "Where the results go. [gramian-demo]", "gramian-demo"),
) -> None:
    """Try PCA and kernel PCA on handwritten digits, then recognition on drawn faces.

    Digits: 1,797 pictures of 8 x 8 grey values from scikit-learn, with plans, certificates, result folders
    and cross-validated classifiers. Faces: every command of gramian faces on drawn people. FOLDER/data gets
    small files to try commands on.
    """
    from gramian.estimators.kernel_pca import KernelPCA
    from gramian.estimators.pca import PCA
    from gramian.report.results import check_folder

    folder = Path(out)
    check_place(folder)
    for part in ("pca", "kernel-pca"):
        check_folder(folder / part)
    with_faces = is_installed("gramian.faces")
    if with_faces:
        from gramian.cli.faces_demo import check_faces, show_faces

        check_faces(folder / "faces")
    start = time.perf_counter()
    with progress("reading the digits"):
        table = digits_table()
    print(f"Data: {table.source}, {len(table.values):,} pictures of 8 x 8 grey values.\n")
    models = {
        "pca": PCA(RATIO, random_state=SEED),
        "kernel-pca": KernelPCA(RATIO, kernel="rbf", gamma="median", random_state=SEED),
    }
    for part, model in models.items():
        _fit_part(model, table, folder / part, part)
    _compare_and_write(table, models, folder)
    with progress("writing example files"):
        notes = write_examples(folder / "data")
    for note in notes:
        say(f"gramian: {note}")
    print(f"Example files to try commands on: {folder / 'data'}\n")
    if with_faces:
        try:
            show_faces(context.find_root().command, folder / "faces")
        except MissingExtraError as error:
            say(f"gramian: No faces were drawn. {error}")
    print(
        f"\nDone in {time.perf_counter() - start:.0f} seconds. Open {folder / 'summary.md'}, "
        f"and in a browser {folder / 'pca' / 'report.html'}."
    )


def digits_table() -> Any:
    """Return scikit-learn's digits as a table of pictures.

    Returns
    -------
    gramian.rows.table.Table
    """
    from sklearn.datasets import load_digits

    from gramian.rows.table import Table

    digits = load_digits()
    return Table(
        digits.images,
        labels=digits.target,
        label_name="digit",
        picture_shape=(8, 8),
        source="handwritten digits of scikit-learn (sklearn.datasets.load_digits)",
        sha256=hashlib.sha256(digits.images.tobytes()).hexdigest(),
    )


def _fit_part(model: Any, table: Any, folder: Path, part: str) -> None:
    from gramian.report.results import write_results
    from gramian.report.summary import headline

    fitted = fit_table(model, table, ("gramian", "demo", "-o", str(folder.parent)))
    print("\n".join([headline(model), "", *component_table(model, 5), "", str(model.plan_), ""]))
    print(f"{model.certificate_}\n")
    with progress(f"writing {part}"):
        write_results(folder, fitted, report=True)


def compare(X: Any, y: Any, models: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the accuracy in every fold of two classifiers on raw data and on what models make of it.

    Everything, the models included, is fitted inside the folds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    models : dict of str to estimator

    Returns
    -------
    dict of str to dict of str to ndarray of shape (n_folds,)
        By what the data were made into, "raw" first, and by classifier.
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.linear_model import RidgeClassifierCV
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    classifiers = {
        "linear (ridge)": RidgeClassifierCV(alphas=np.logspace(-3, 3, 13)),
        "5 nearest neighbours": KNeighborsClassifier(5),
    }
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    scores: dict[str, dict[str, Any]] = {}
    for features, model in {"raw": None, **models}.items():
        for name, classifier in classifiers.items():
            steps = [] if model is None else [clone(model)]
            with progress(f"cross-validating: {name} on {features}"):
                result = cross_val_score(make_pipeline(*steps, classifier), X, y, cv=folds)
            scores.setdefault(features, {})[name] = result
    return scores


def _compare_and_write(table: Any, models: dict[str, Any], folder: Path) -> None:
    from gramian.store import atomic_write

    X = table.values.reshape(len(table.values), -1)
    titles = {"raw": f"{X.shape[1]} pixels"}
    titles |= {"pca": f"PCA, {models['pca'].n_components_} components"}
    titles |= {"kernel-pca": f"kernel PCA, {models['kernel-pca'].n_components_} components"}
    scores = compare(X, table.labels, models)
    kinds = list(scores["raw"])
    rows = {title: [_accuracy(result) for result in scores[key].values()] for key, title in titles.items()}
    width = max(map(len, rows))
    print(f"Digits recognised ({FOLDS}-fold cross-validation, standard error in brackets):\n")
    print(" " * width + "".join(f"{kind:>24}" for kind in kinds))
    for title, row in rows.items():
        print(f"{title:{width}}" + "".join(f"{text:>24}" for text in row))
    print()
    comparison = ["| features | " + " | ".join(kinds) + " |", "|---|" + "---:|" * len(kinds)]
    comparison += [f"| {title} | {' | '.join(row)} |" for title, row in rows.items()]
    with atomic_write(folder / "summary.md") as file:
        file.write(_page(table, models, comparison).encode())


def _accuracy(result: Any) -> str:
    from gramian.analysis.candidates import standard_error

    return f"{100 * result.mean():.1f} % ({100 * standard_error(result):.1f})"


def _page(table: Any, models: dict[str, Any], comparison: list[str]) -> str:
    from gramian.report.summary import headline

    lines = ["# Handwritten digits, by PCA and kernel PCA", "", f"Data: {table.source}.", ""]
    lines += [
        f"- [PCA](pca/summary.md): {headline(models['pca'])}",
        f"- [Kernel PCA](kernel-pca/summary.md): {headline(models['kernel-pca'])}",
        "",
        f"Both keep {100 * RATIO:g} % of the variance. The kernel is {models['kernel-pca'].kernel_}, whose "
        "width is the median distance between two pictures.",
        "",
        "![Mean and components of the PCA](pca/components.png)",
        "",
        "## What a classifier makes of them",
        "",
        f"Digits recognised in {FOLDS}-fold cross-validation, with its standard error over the "
        "folds. The decompositions are fitted inside the folds.",
        "",
        *comparison,
        "",
        "PCA only rotates and shortens: a linear classifier cannot gain by it. Kernel PCA makes coordinates "
        "that are not linear in the pixels, and there a linear classifier draws curved borders.",
    ]
    return "\n".join(lines) + "\n"
