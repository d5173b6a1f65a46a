"""What columns are: the shares of public tables that are judged as people did, and odd tables."""

import io
import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import gramian
from gramian.tables.roles import DOUBTFUL, OUT

PENGUINS = files("gramian") / "examples" / "penguins.csv"


def test_penguins_totals_measures_and_odd_tables(tmp_path):
    found = gramian.roles(PENGUINS)
    assert [one.name for one in found] == [
        *("species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"),
        *("sex", "year"),
    ]
    assert [one.role for one in found] == ["label", "label", *["measure"] * 4, "label", "time"]
    assert found[-1].why.startswith("looks like a time: its name says so and it lies within 2007 to 2009")
    assert found.measures == tuple(one.name for one in found[2:6])
    assert not found.doubtful
    assert str(found).splitlines()[-1].startswith("year: time (")
    content = io.BytesIO(PENGUINS.read_bytes())
    assert gramian.roles(gramian.scan(content)) == found
    assert gramian.roles(pd.read_csv(PENGUINS))[2:6] == found[2:6]
    X = pd.DataFrame(np.random.default_rng(0).poisson(40, (80, 3)), columns=["spring", "summer", "winter"])
    found = gramian.roles(X.assign(total=X.sum(axis=1)))
    assert "measure" in {one.role for one in found}
    assert all(one.role in ("measure", "total") or one.otherwise for one in found)
    rng = np.random.default_rng(3)
    for X in (
        np.clip(np.rint(3 + factors(200, 30)), 1, 5),
        rng.binomial(2, 0.3, (90, 60)),
        rng.normal(size=(50, 2)) @ rng.normal(size=(2, 40)),
        factors(30, 900),
    ):
        assert len(gramian.roles(X).measures) == X.shape[1]
    path = files("gramian") / "tables" / "roles.npz"
    assert path.stat().st_size < 300_000
    with np.load(path, allow_pickle=False) as stored:
        assert set(stored) == {"feature", "threshold", "right", "shares", "roots", "names", "intercept"}
    names = ["", "x,y", '"', "ü\u202e", "<b>", "=1+1"]
    odd = pd.DataFrame(np.full((20, 6), np.inf) * [1, -1, 1, 1, 1, 1], columns=names)
    for X in (
        odd,
        odd.replace(np.inf, 1e300),
        pd.DataFrame(np.full((30, 3), 1e300) * np.arange(30)[:, None]),
        pd.DataFrame({"a": [1.0]}),
        pd.DataFrame({"a": [1.0, 2.0], "a.1": ["x", "y"]}),
        np.eye(30),
    ):
        found = gramian.roles(X)
        assert len(found) == X.shape[1]
        assert all(0.0 <= one.confidence <= 1.0 and one.why for one in found)
    assert not gramian.roles(np.zeros((3, 4, 4)))  # pictures have no columns


def test_tables_that_people_have_judged(data_dir):
    """These are among the tables of the training: ``make roles`` measures tables that are left out."""
    tables, out, measures, clear = [], [], [], 0
    for line in (data_dir / "roles" / "labels.jsonl").read_text().splitlines():
        judged = json.loads(line)
        path = data_dir / "roles" / "tables" / judged["table"]
        found, frame, wrong = {one.name: one for one in gramian.roles(path)}, pd.read_csv(path), False
        for name, label in judged["roles"].items():
            if name not in found or (label == "in" and set(frame[name].dropna()) <= {0, 1}):
                continue
            left = found[name].role != "measure"
            if label == "out":
                out.append(left)
                clear += not left and not found[name].otherwise
            elif label == "in":
                measures.append(left)
            wrong |= left != (label == "out") and label != "either"
        tables.append(not wrong)
    assert len(tables) == 117
    assert np.mean(tables) > 0.9
    assert np.mean(out) > 0.9
    assert clear <= 0.05 * len(out)
    assert np.mean(measures) < 0.02


def factors(n, d):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(60), "counter"),
        (np.random.default_rng(0).permutation(60) + 100, "identifier"),
        (np.full(60, 3.5), "constant"),
        (np.full(60, np.nan), "constant"),
        (np.roll(factors(60, 1)[:, 0], 1), "lag"),
        (factors(60, 1)[:, 0] * 3, "measure"),
    ],
)
def test_exact_evidence_needs_no_name(values, kind):
    X = np.column_stack([factors(60, 1)[:, 0] if kind == "lag" else factors(60, 4)[:, 0], factors(60, 3)])
    found = gramian.roles(np.column_stack([X, values]))
    assert found[-1].role == kind
    assert found[-1].confidence >= 0.8
    assert {one.role for one in found[:-1]} == {"measure"}


def test_doubt_is_named_and_the_column_stays(data_dir):
    path = data_dir / "roles" / "tables" / "mlmRev__star.csv"
    (role,) = gramian.roles(path).doubtful
    assert (role.name, role.role, role.otherwise) == ("birthy", "measure", "time")
    assert DOUBTFUL < 1 - role.confidence <= OUT
    found = gramian.propose(path)
    assert "birthy" not in found.reading["drop"]
    assert str(found).endswith('Kept, but look at "birthy" (time?).')
