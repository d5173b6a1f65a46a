"""``examples/genomes.py``: standard errors are those of the scores."""

import numpy as np
import pandas as pd
import pytest

import helpers
from gramian import PCA, scan
from gramian.tables.table import Table


@pytest.fixture(scope="module")
def script():
    return helpers.script("examples/genomes.py")


def test_the_script_writes_scores_with_errors(script, tmp_path):
    script.main([str(tmp_path), "--variants", "1200", "--people", "30"])
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert list(scores)[:3] == ["name", "PC1", "PC2"]
    assert len(scores) == 30
    # Fewer calls, larger errors.
    assert np.corrcoef(scores["observed"], scores["PC1_standard_error"])[0, 1] < -0.8
    assert "</svg>" in (tmp_path / "genomes.svg").read_text()


def test_intervals_hold_the_score_of_the_complete_row(script, tmp_path):
    d = 1200
    alleles = np.array([["A"] * d, ["G"] * d])
    reference = script.cohort(np.repeat(np.eye(3), 60, axis=0), d)
    script.write(tmp_path / "x.bed", reference, [f"i{i}" for i in range(180)], alleles)
    model = PCA(3, scale="genotype").fit(scan(tmp_path / "x.bed"))
    rng = np.random.default_rng(2)
    share = rng.random(300)
    names = tuple(model.feature_names_in_)
    columns = [int(name[2:]) for name in names]
    new = script.cohort(np.c_[share, 1 - share, 0 * share], d, people=1).astype(float)[:, columns]
    holed = np.where(rng.random(new.shape) < rng.uniform(0, 0.6, 300)[:, None], np.nan, new)
    quality = model.projection_quality(Table(holed, names))
    inside = np.abs(quality.scores - model.transform(Table(new, names))) < 1.96 * quality.standard_errors
    assert (np.abs(inside.mean(axis=0) - 0.95) < 0.04).all()
