"""How often answers are right: causes of planted faults in public tables, and groups in simulated ones."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import gramian
from gramian.answers.departure import Departure
from gramian.answers.diagnose import diagnosis_of
from gramian.report.headline import headline
from gramian.statistics.causes import causes_of
from gramian.statistics.groups import CHANCE, Parted, separation_of
from gramian.tables.table import Table

TABLES = Path(__file__).parents[1].parent / "shared" / "data" / "roles" / "tables"
CHECKED = Path(__file__).with_name("answers.json")  # the first sentence of public tables, read by a person
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


def cloud(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return rows of one group around three directions, with normal, heavy or skewed tails, or in steps."""
    F, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, d))
    kind = int(rng.integers(5))
    if kind == 1:
        F, noise = rng.standard_t(3, size=F.shape), rng.standard_t(3, size=noise.shape)
    elif kind == 2:
        F = rng.uniform(-1.7, 1.7, size=F.shape)
    X = F @ rng.normal(size=(3, d)) + noise * rng.uniform(0.3, 1.0)
    return np.exp(X / 2) if kind == 3 else np.clip(np.round(X), -2, 2) if kind == 4 else X


def of_time(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return rows of three factors that remember, some with noise that remembers or has heavy tails."""
    F, rho = rng.normal(size=(n, 3)), rng.uniform(0.3, 0.97)
    noise = rng.standard_t(5, size=(n, d)) if rng.random() < 0.5 else rng.normal(size=(n, d))
    for i in range(1, n):
        F[i] = rho * F[i - 1] + np.sqrt(1 - rho**2) * F[i]
    if rng.random() < 0.5:
        noise[1:] = 0.6 * noise[:-1] + 0.8 * noise[1:]
    return F @ rng.normal(size=(3, d)) / 2 + rng.uniform(0.2, 0.6) * noise


def simulated_answers(kind: str, rng: np.random.Generator) -> tuple[str, bool]:
    """Return what is said first of a simulated table of a kind, and whether it is right."""
    n, d = int(rng.integers(60, 500)), int(rng.integers(4, 25))
    names: tuple[str, ...] = tuple(f"c{j}" for j in range(d))
    truth: dict[str, object] = {}
    rows = None
    if kind == "unrelated columns":
        X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.exponential(size=(n, d))
    elif kind in ("one cloud", "two groups"):
        X = cloud(rng, n, d) if kind == "one cloud" else rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))
        truth["group"] = np.arange(n) < n * rng.uniform(0.15, 0.5)
        if kind == "two groups":
            X = X + rng.normal(size=(n, d)) + np.outer(truth["group"], rng.normal(0, 5, d))
    elif kind in ("process", "process with a fault"):
        n = int(rng.integers(200, 1500))
        X, j, begin = of_time(rng, n, d), int(rng.integers(d)), int(rng.integers(n // 2 + 10, n - 40))
        end = begin + int(rng.integers(25, 40))
        truth |= {"column": names[j], "rows": range(begin, end)}
        if kind == "process with a fault":
            X[begin:end, j] += rng.choice([-1, 1]) * rng.uniform(2, 8) * X[:, j].std()
        start = np.datetime64("2024-01-01T00:00:00")
        rows = tuple(str(start + np.timedelta64(10 * i, "m")).replace("T", " ") for i in range(n))
    else:
        places = np.linspace(900, 1700, 200)
        names = tuple(f"{place:.1f} nm" for place in places)
        truth["peak"], width = rng.uniform(950, 1650), rng.uniform(15, 60)
        band = np.exp(-(((places - float(truth["peak"])) / width) ** 2))
        X = np.outer(rng.lognormal(0, 0.5, n), band) + rng.uniform(0.005, 0.05) * rng.normal(size=(n, 200))
    table = Table(X, names, row_names=rows)
    model = gramian.PCA(min(4, d - 1), scale=None if kind == "spectra" else "unit").fit(table)
    found = headline(model, table, model.transform(table), diagnosis_of(model, table))
    evidence, said = found.evidence, found.sentences[0]
    if kind == "spectra":
        told = re.search(r"peaks at `([\d.]+) nm`\.", said)
        return "peak" if told else found.kind, bool(told) and abs(float(told[1]) - float(truth["peak"])) <= 10
    if isinstance(evidence, Departure):
        return "time", kind == "process with a fault" and evidence.column == truth["column"]
    if isinstance(evidence, Parted):
        same = (evidence.above == truth.get("group", np.zeros(n, dtype=bool))).mean()
        return "clusters", kind == "two groups" and max(same, 1 - same) > 0.9
    return found.kind, found.kind != "noise" or kind == "unrelated columns"


def simulated_grid(kind: str, rng: np.random.Generator) -> tuple[str, bool]:
    """Return what is said of a simulated field on a grid, and whether it is right."""
    import xarray

    import gramian.connect.xarray

    n, height, width = (int(rng.integers(*ends)) for ends in ((80, 400), (5, 14), (6, 20)))
    t, lat, lon = np.arange(n), np.linspace(-60, 60, height), np.arange(width) * 360 / width
    period, sign = float(rng.uniform(5, n / 6)), int(rng.choice([-1, 1]))
    apart = abs(lon - rng.choice(lon))
    blob = np.exp(
        -(((lat - rng.choice(lat))[:, None] / 20) ** 2) - (np.minimum(apart, 360 - apart) / 50) ** 2
    )
    noise, series, memory = rng.normal(size=(n, height, width)), rng.normal(size=n), rng.uniform(0, 0.9)
    for i in range(1, n):
        noise[i] = memory * noise[i - 1] + np.sqrt(1 - memory**2) * noise[i]
        series[i] = 0.9 * series[i - 1] + np.sqrt(0.19) * series[i]
    phase = 2 * np.pi * t / period
    if kind == "grid with a moving pattern":
        signal = 2 * np.cos(np.deg2rad(lon) - phase[:, None, None]) * np.cos(np.deg2rad(lat))[:, None]
    else:
        of_time = {"grid with a cycle": 3 * np.sin(phase), "grid with a trend": 6 * sign * t / n}
        of_time |= {"grid with memory": 3 * series, "grid of noise": 0 * t}
        signal = of_time[kind][:, None, None] * blob
    values = signal + (1.0 if kind == "grid of noise" else rng.uniform(0.2, 0.7)) * noise
    da = xarray.DataArray(values, {"time": t, "lat": lat, "lon": lon}, ("time", "lat", "lon"))
    said = str(gramian.connect.xarray.pca(da, weights="coslat", n_components=6).attrs["headline"])
    together = "not told apart" in said
    rises, falls, told = "it rises" in said, "it falls" in said, re.search(r"about ([\d.]+) steps", said)
    right = told is None or (kind.endswith(("cycle", "pattern")) and abs(float(told[1]) / period - 1) <= 0.1)
    right &= not (rises or falls) or (kind == "grid with a trend" and rises == (sign > 0))
    what = "together" if together else "cycle" if told else "one pattern"
    return f"{what}{' with a trend' * (rises or falls)}", right and (kind != "grid of noise" or together)


def of_kinds(count: int) -> None:
    """Print what is said of simulated tables of each kind, and how often that is wrong."""
    print(f"\n{count} tables of each kind: what is said first, and how often it is wrong")
    kinds = ("unrelated columns", "one cloud", "two groups", "process", "process with a fault", "spectra")
    grids = ("of noise", "with a moving pattern", "with a cycle", "with a trend", "with memory")
    for kind in (*kinds, *(f"grid {which}" for which in grids)):
        rng = np.random.default_rng(2)
        simulate = simulated_grid if kind.startswith("grid") else simulated_answers
        said = Counter(simulate(kind, rng) for _ in range(count))
        about = Counter()
        for (what, _), number in said.items():
            about[what] += number
        wrong = sum(number for (_, right), number in said.items() if not right)
        described = kind == "unrelated columns"  # components of noise are not worth a description
        wrong += sum(number for (what, _), number in said.items() if described and what == "components")
        texts = ", ".join(f"{what} {number}" for what, number in about.most_common())
        print(f"{kind:26} {wrong / count:.3f}  {texts}")


def of_public_tables(write: bool) -> None:
    """Print the first sentences of public tables that differ from those that were checked by hand."""
    known = json.loads(CHECKED.read_text(encoding="utf-8"))
    found = dict[str, str]()
    for name in known:
        ran = subprocess.run(
            [sys.executable, "-m", "gramian", "fit", TABLES / name],
            capture_output=True,
            text=True,
            check=True,
        )
        found[name] = ran.stdout.splitlines()[0]
    changed = [name for name in known if found[name] != known[name]]
    print(f"\n{len(known)} public tables whose first sentence was checked: {len(changed)} differ now")
    for name in changed:
        print(f"{name}\n  checked: {known[name]}\n  now:     {found[name]}")
    if write:
        CHECKED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Print a line for each kind of fault, and for rows without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=100, help="of each kind")
    parser.add_argument("--tables", type=int, default=300, help="simulated, of each kind")
    parser.add_argument("--write", action="store_true", help="keep the sentences of public tables: read them")
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
    of_kinds(arguments.tables)
    of_public_tables(arguments.write)


if __name__ == "__main__":
    main()
