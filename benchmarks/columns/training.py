"""The forest that judges columns: its examples, training, and the file of numbers that is shipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from columns.cases import SHARED, Case
from gramian.tables.column_features import GRAMS, features, grams, telling
from gramian.tables.roles import LEARNED

TREES, SEED = 100, 0
NAMES = 3  # folds within the training tables, for scores of names that these did not train
OTHERS, OWN = 0.3, 3.0  # weights of a name of SortingHat, and of one of the tables here
SHARE = 15.0  # columns that a table of measures only weighs


@dataclass(frozen=True)
class Examples:
    """Columns of numbers: features, names, roles, tables, labels ("in", "out", "either") and weights."""

    X: Any
    names: list[str]
    roles: Any
    tables: Any
    labels: Any
    sources: Any
    weights: Any

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Examples:
        """Take the labelled columns of tables; columns of zeros and ones that are "in" may be codes too."""
        rows: list[tuple[Any, ...]] = []
        for case in cases:
            seen = case.seen
            numbers = [one for one in seen.columns if one.sample is not None and one.name != seen.row_names]
            if not numbers:
                continue
            facts = features(numbers, seen.rows, len(seen.columns) - len(numbers))
            says = telling(one.name for one in numbers)
            judged = [place for place, one in enumerate(numbers) if one.name in case.labels]
            for place in judged:
                column, label, weight = numbers[place], case.labels[numbers[place].name], 1.0
                binary = label == "in" and set(np.unique(column.sample[np.isfinite(column.sample)])) <= {0, 1}
                if binary or label == "either":
                    label, weight = "either", 0.5 if binary else 0.0
                out = label == "out"
                role = case.kind(column.name, column.distinct / max(seen.rows, 1)) if out else "measure"
                if case.source in ("wide", "made"):
                    weight *= min(1.0, SHARE / len(judged)) * (0.5 if case.source == "made" else 1.0)
                name = column.name if says[place] else ""
                rows.append((facts[place], name, role, case.name, label, case.source, weight))
        X, names, *others = zip(*rows, strict=True)
        return cls(np.array(X), list(names), *map(np.array, others))


class Names:
    """Scores of names: a logistic regression on their pieces, also those of SortingHat's training half."""

    def __init__(self, examples: Examples) -> None:
        table = pd.read_csv(SHARED / "roles" / "sortinghat_train.csv.gz")
        table = table[[*map(is_number, table.sample_1, table.sample_2)]]
        table = table[
            table.y_act.isin(("numeric", "categorical", "not-generalizable", "datetime", "context-specific"))
        ]
        self._other, self._other_out = pieces(table.Attribute_name.astype(str)), table.y_act != "numeric"
        self._own, self._out = pieces(examples.names), examples.roles != "measure"
        self._weights = examples.weights
        self._unnamed = np.array([not name for name in examples.names])

    def model(self, rows: Any) -> LogisticRegression:
        """Return a model of some examples and all of SortingHat's."""
        X = sparse.vstack([self._other, self._own[rows]])
        weights = np.concatenate([np.full(self._other.shape[0], OTHERS), OWN * self._weights[rows]])
        y = np.concatenate([self._other_out, self._out[rows]])
        return LogisticRegression(C=0.5, max_iter=500).fit(X, y, sample_weight=weights)

    def scores(self, model: LogisticRegression, rows: Any) -> Any:
        """Return the scores of names; 0 without one."""
        return np.where(self._unnamed[rows], 0.0, model.decision_function(self._own[rows]))

    def held_out(self, rows: Any, folds: Any) -> Any:
        """Return scores of names, each by a model without its table."""
        result = np.zeros(len(rows))
        for fold in np.unique(folds):
            inner = folds == fold
            result[inner] = self.scores(self.model(rows[~inner]), rows[inner])
        return result


def is_number(first: Any, second: Any) -> bool:
    """Return whether two values are numbers."""
    return bool(pd.to_numeric(pd.Series([first, second]), errors="coerce").notna().all())


def pieces(names: Iterable[str]) -> Any:
    """Return a sparse matrix of the pieces of names."""
    rows = [grams(name) if name else [] for name in names]
    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    columns = np.array([piece for row in rows for piece in row], dtype=np.intp)
    return sparse.csr_matrix((np.ones(len(places)), (places, columns)), shape=(len(rows), GRAMS))


def folds_of(tables: Sequence[str], count: int) -> Any:
    """Return a fold for each column, the same for all of a table."""
    unique = np.unique(tables)
    np.random.default_rng(SEED).shuffle(unique)
    return np.array([{name: i % count for i, name in enumerate(unique)}[name] for name in tables])


def trained(examples: Examples, names: Names, rows: Any) -> dict[str, Any]:
    """Return the arrays of a model of some examples, as ``gramian.tables.roles`` reads them."""
    scores = names.held_out(rows, folds_of(examples.tables[rows], NAMES))
    X, used = np.column_stack([examples.X[rows], scores]), examples.weights[rows] > 0
    forest = RandomForestClassifier(
        TREES, min_samples_leaf=2, max_features=0.3, random_state=SEED, n_jobs=2
    ).fit(X[used], examples.roles[rows][used], sample_weight=examples.weights[rows][used])
    order = [list(forest.classes_).index(role) for role in LEARNED]
    parts: dict[str, list[Any]] = {"feature": [], "threshold": [], "right": [], "shares": []}
    roots, start = [], 0
    for tree in (one.tree_ for one in forest.estimators_):
        leaf = tree.children_left < 0
        values = tree.value[:, 0, :][:, order]
        parts["feature"].append(np.where(leaf, 255, tree.feature))
        parts["threshold"].append(np.where(leaf, 0, tree.threshold))
        parts["right"].append(np.where(leaf, 0, tree.children_right + start))
        parts["shares"].append(np.rint(255 * values / values.sum(axis=1, keepdims=True)))
        roots.append(start)
        start += tree.node_count
    types = {"feature": "u1", "threshold": "f4", "right": "u2" if start < 1 << 16 else "u4", "shares": "u1"}
    result = {name: np.concatenate(parts[name]).astype(types[name]) for name in parts}
    of_names = names.model(rows)
    return result | {
        "roots": np.array(roots, dtype="u4"),
        "names": of_names.coef_[0].astype("f2"),
        "intercept": of_names.intercept_[0].astype("f4"),
    }


def write(model: dict[str, Any], path: Path) -> int:
    """Write the arrays of a model, and return the size of the file."""
    np.savez_compressed(path, **model)
    return path.stat().st_size
