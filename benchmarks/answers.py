"""How often answers are right: causes of planted faults in public tables, and groups in simulated ones."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

import gramian
from gramian.statistics.causes import causes_of
from gramian.statistics.separation import CHANCE, separation_of

TABLES = Path(__file__).parents[1].parent / "shared" / "data" / "roles" / "tables"
KINDS = ("decimal point", "sign", "unit", "swapped", "missing", "copied row", "unit of the row")
FEWEST_ROWS, FEWEST_COLUMNS = 40, 3


def measures(path: Path) -> tuple[np.ndarray, list[str]] | None:
    """Return the complete rows of the measures of a table."""
    import pandas as pd

    frame = pd.read_csv(path)
    names = [name for name in gramian.roles(path).measures if name in frame]
    values = frame[names].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    values = values[np.isfinite(values).all(axis=1)][:5000]
    if len(names) < FEWEST_COLUMNS or len(values) < FEWEST_ROWS:
        return None
    return values, names


def planted(X: np.ndarray, row: int, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, int | None]:
    """Return a row with a fault, and its column; None for the row as a whole."""
    x, j = X[row].copy(), int(rng.integers(X.shape[1]))
    if kind == "decimal point":
        x[j] *= 10.0 ** int(rng.choice([-2, -1, 1, 2]))
    elif kind == "sign":
        x[j] = -x[j]
    elif kind == "unit":
        x[j] *= rng.choice([25.4, 2.54, 1 / 2.54, 0.45359237, 1 / 0.45359237])
    elif kind == "swapped":
        j = min(j, X.shape[1] - 2)
        x[[j, j + 1]] = x[[j + 1, j]]
    elif kind == "missing":
        x[j] = rng.choice([-999.0, 999.0, -99.0, 9999.0])
    elif kind == "copied row":
        return X[(row + 1 + int(rng.integers(len(X) - 1))) % len(X)].copy(), None
    else:
        return x * rng.choice([10.0, 0.1, 100.0, 25.4, 2.54, 1 / 2.54]), None
    return x, j


def simulated(rng: np.random.Generator, apart: float) -> tuple[gramian.PCA, np.ndarray, np.ndarray, int]:
    """Return a fit of rows in 2 to 5 groups, of which one is so many deviations apart, and which one."""
    n, d, kinds = int(rng.integers(40, 400)), int(rng.integers(4, 30)), int(rng.integers(2, 6))
    groups = rng.integers(0, kinds, n)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=(n, d))
    X[groups == 0] += apart * rng.normal(size=d)
    return gramian.PCA(5 if d > 5 else d - 1).fit(X), X, groups.astype(str), kinds


def of_groups(count: int) -> None:
    """Print what is said of groups: labels without meaning, and one group that is far from the others."""
    rng, said = np.random.default_rng(1), Counter()
    false = 0.0
    for _ in range(count):
        pca, X, groups, _ = simulated(rng, 0.0)
        found = separation_of(pca.transform(X), groups)
        said["told apart by chance"] += found is not None and found.p <= CHANCE
        false += float((gramian.explain(pca, X, groups == "0").p_adjusted < 0.05).any()) / count
        pca, X, groups, kinds = simulated(rng, 3.0)
        found = separation_of(pca.transform(X), groups)
        said["not told apart, 3 deviations away"] += found is None or found.p > CHANCE
        others = tuple(map(str, range(1, kinds)))
        if found is not None and found.component is not None:
            said["separated"] += 1
            sides = {found.group, found.others}
            said["another group is said to be separated"] += sides != {("0",), others}
    print(f"\n{count} tables of each kind")
    for what, number in said.items():
        print(f"{what:40} {number:5}  {number / count:.3f}")
    print(f"{'tables without a difference in which a column differs (p < .05)':40}  {false:.3f}")


def main() -> None:
    """Print a line for each kind of fault, and for rows without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=100, help="of each kind")
    parser.add_argument("--tables", type=int, default=300, help="simulated, of each kind")
    parser.add_argument("--show", action="store_true", help="print what is said of untouched rows")
    arguments = parser.parse_args()
    tables = [found for path in sorted(TABLES.glob("*.csv")) if (found := measures(path)) is not None]
    rng, said = np.random.default_rng(0), Counter()
    for kind in (*KINDS, "none"):
        count = arguments.faults * (5 if kind == "none" else 1)
        for _ in range(count):
            X, names = tables[int(rng.integers(len(tables)))]
            row = int(rng.integers(len(X)))
            x, j = (X[row], None) if kind == "none" else planted(X, row, kind, rng)
            others = np.delete(X, row, axis=0)
            if kind not in ("none", "copied row") and (x == X[row]).all():
                continue
            causes = causes_of(x, others, names, list(map(str, range(len(others)))))
            said[kind, "planted"] += 1
            named = (
                {names[j], names[j + 1]}
                if kind == "swapped" and j is not None
                else {names[j] if j is not None else ""}
            )
            for cause in causes:
                copied = cause.kind == "copied row" and (others == x).all(axis=1).any()
                right = copied or (cause.kind == kind and cause.column in named)
                said[kind, "right" if right else "wrong"] += 1
                if arguments.show and not right:
                    print(kind, "-", cause)
    print(f"{len(tables)} tables\nfault              planted  right  wrong")
    for kind in (*KINDS, "none"):
        print(f"{kind:18} {said[kind, 'planted']:7} {said[kind, 'right']:6} {said[kind, 'wrong']:6}")
    right, wrong = (sum(n for (_, what), n in said.items() if what == which) for which in ("right", "wrong"))
    print(f"precision {right / max(right + wrong, 1):.3f}")
    of_groups(arguments.tables)


if __name__ == "__main__":
    main()
