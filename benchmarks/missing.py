"""``python benchmarks/missing.py [--quick] [--slow] [--counts]``: errors of imputed entries, and EM's time.

Near-infrared spectra of gasoline (60 x 401) lose 5, 10 and 30 % of their entries at random, three times. The
error is the root mean square over the removed entries, divided by that of column means. scikit-learn's
IterativeImputer uses its 20 nearest features; ``--slow`` adds its default, which uses all. Linnerud's
20 men x 6 measurements lose 6 entries, a hundred times. Then EM with 10 components on 5000 x 500, 10 %
missing, runs in alternation with fits of the complete table.

``--counts`` runs nothing but this: six standardised tables lose a tenth of their entries, ten times. The
error of the number of components that cross-validation chooses, over all ten, is divided by that of the fixed
number that is best over all ten. Only who knows the removed entries can name that number.

Needs the folder tables in shared/data beside the repository or in $GRAMIAN_TEST_DATA.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from gramian import PCA
from gramian.statistics.imputation import (
    COUNT_FOLDS,
    COUNTS,
    HeldOut,
    choose_count,
    impute_em,
    impute_iterative,
)

COMPONENTS = 5
SHARES = (0.05, 0.1, 0.3)
Imputer = Callable[[np.ndarray], np.ndarray]


def tables() -> Path:
    named = os.environ.get("GRAMIAN_TEST_DATA")
    return (Path(named) if named else Path(__file__).parents[2] / "shared" / "data") / "tables"


def spectra() -> np.ndarray:
    with np.load(tables() / "nir_gasoline.npz") as file:
        return file["NIR"].astype(np.float64)


def by_pca(method: str, count: int = COMPONENTS, **options: object) -> Imputer:
    def imputed(X: np.ndarray) -> np.ndarray:
        model = PCA(count, missing=method, random_state=0, **options).fit(X)
        filled = X.copy()
        filled[model.imputed_.rows, model.imputed_.columns] = model.imputed_.values
        return filled

    return imputed


def by_scikit_learn(**options: object) -> Imputer:
    return lambda X: IterativeImputer(random_state=0, **options).fit_transform(X)


def imputers(slow: bool) -> dict[str, Imputer]:
    result = {
        "column means": by_pca("mean"),
        "em": by_pca("em"),
        "iterative": by_pca("iterative"),
        "IterativeImputer, 20 features": by_scikit_learn(n_nearest_features=20),
    }
    if slow:
        result["IterativeImputer"] = by_scikit_learn()
    return result


def errors(X: np.ndarray, share: float, repeats: int, slow: bool) -> dict[str, tuple[float, float]]:
    """Return the error relative to column means and the seconds of each imputer, medians over repeats."""
    collected: dict[str, list[tuple[float, float]]] = {}
    for seed in range(repeats):
        gone = np.random.default_rng(seed).random(X.shape) < share
        holed = np.where(gone, np.nan, X)
        base = 1.0
        for name, impute in imputers(slow).items():
            start = time.perf_counter()
            filled = impute(holed)
            seconds = time.perf_counter() - start
            error = float(np.sqrt(np.mean((filled[gone] - X[gone]) ** 2)))
            base = error if name == "column means" else base
            collected.setdefault(name, []).append((error / base, seconds))
    return {name: tuple(map(statistics.median, zip(*runs, strict=True))) for name, runs in collected.items()}


def linnerud(repeats: int) -> dict[str, float]:
    """Return errors of 6 imputed entries of 20 x 6 standardised ones, over all repeats, by imputer."""
    both = load_linnerud()
    X = np.column_stack([both.data, both.target])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    compared = {
        "column means": by_pca("mean"),
        "em, components by cv": by_pca("em", None),
        "iterative, components by cv": by_pca("iterative", None),
        "IterativeImputer": by_scikit_learn(),
    }
    squares = dict.fromkeys(compared, 0.0)
    for seed in range(repeats):
        holed = X.copy()
        holed.ravel()[np.random.default_rng(seed).choice(X.size, 6, replace=False)] = np.nan
        for name, impute in compared.items():
            squares[name] += float(((impute(holed) - X) ** 2).sum())
    return {name: (total / (6 * repeats)) ** 0.5 for name, total in squares.items()}


def em_in_fits(n: int, d: int, repeats: int) -> tuple[float, float]:
    """Return the median ratio of EM to a fit of the complete table, and the median seconds of EM."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10)) * np.linspace(5, 1, 10) @ rng.standard_normal((10, d))
    X += rng.standard_normal((n, d))
    holed = np.where(rng.random((n, d)) < 0.1, np.nan, X)
    ratios, seconds = [], []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        PCA(10, random_state=0).fit(X)
        middle = time.perf_counter()
        PCA(10, missing="em", random_state=0).fit(holed)
        seconds.append(time.perf_counter() - middle)
        ratios.append(seconds[-1] / (middle - start))
    return statistics.median(ratios[1:]), statistics.median(seconds[1:])


def chosen_counts(X: np.ndarray, method: str, repeats: int) -> tuple[list[int], int, float]:
    """Return the numbers chosen, the best fixed one, and the ratio of their root-mean-square errors."""
    impute = impute_em if method == "em" else impute_iterative
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    most = min(len(X) - 1, X.shape[1]) - 1
    fixed = sorted({count for count in COUNTS if count <= most} | {min(most, COUNTS[-1])})
    squares, chosen, of_chosen = dict.fromkeys(fixed, 0.0), [], 0.0
    for seed in range(repeats):
        gone = np.random.default_rng(seed).random(X.shape) < 0.1
        holed = np.where(gone, np.nan, X)
        held_out = HeldOut(holed, np.random.default_rng(0), count=COUNT_FOLDS)
        chosen.append(choose_count(held_out, most, method)[0])
        for count in fixed:
            filled = impute(holed, count, tol=1e-5, max_iter=300).filled
            squares[count] += float(np.sum((filled - X)[gone] ** 2))
            of_chosen += float(np.sum((filled - X)[gone] ** 2)) * (count == chosen[-1])
    best = min(squares, key=squares.__getitem__)
    return chosen, best, (of_chosen / squares[best]) ** 0.5


def counts(repeats: int) -> None:
    known = {
        "breast tumours": load_breast_cancer().data,
        "wine": load_wine().data,
        "diabetes": load_diabetes().data,
        "oil flow": np.loadtxt(tables() / "oil_flow" / "DataTrn.txt")[:500],
        "places": np.genfromtxt(tables() / "places.csv", delimiter=",", skip_header=1)[:, 1:10],
        "gasoline": spectra()[:, ::8],
    }
    print(
        "| table | method | chosen | best fixed | error over that of the best fixed |\n|---|---|---|---|---|"
    )
    for name, X in known.items():
        for method in ("em", "iterative"):
            chosen, best, ratio = chosen_counts(X, method, repeats)
            print(
                f"| {name} | {method} | {min(chosen)} to {max(chosen)} | {best} | {ratio:.3f} |", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one repeat, every fourth wavelength")
    parser.add_argument("--slow", action="store_true", help="also IterativeImputer with all features")
    parser.add_argument("--counts", action="store_true", help="numbers of components by cross-validation")
    asked = parser.parse_args()
    if asked.counts:
        counts(2 if asked.quick else 10)
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    X = spectra()[:, :: 4 if asked.quick else 1]
    print(f"{X.shape[0]} x {X.shape[1]} spectra, {COMPONENTS} components; error over that of column means\n")
    print("| missing | " + " | ".join(imputers(asked.slow)) + " |")
    print("|---" * (len(imputers(asked.slow)) + 1) + "|")
    for share in SHARES:
        found = errors(X, share, 1 if asked.quick else 3, asked.slow)
        cells = " | ".join(f"{error:.3f} ({seconds:.2g} s)" for error, seconds in found.values())
        print(f"| {100 * share:.0f} % | {cells} |", flush=True)
    print("\nLinnerud, 20 x 6 standardised, 6 entries removed: root-mean-square errors")
    for name, error in linnerud(10 if asked.quick else 100).items():
        print(f"  {name:30}{error:.3f}")
    n, d = (1000, 100) if asked.quick else (5000, 500)
    ratio, seconds = em_in_fits(n, d, 3 if asked.quick else 7)
    verdict = "holds" if ratio <= 20 else "DOES NOT HOLD"
    print(f"\nEM, {n} x {d}, 10 % missing, 10 components: {seconds:.2g} s, {ratio:.1f} plain fits ", end="")
    print(f"(at most 20: {verdict})")


if __name__ == "__main__":
    main()
