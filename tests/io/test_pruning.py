"""Pruning by linkage disequilibrium keeps the variants that PLINK keeps."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bed_reader import to_bed

import gramian
from gramian import PCA, scan
from gramian.base.inputs import expected_columns
from gramian.data import as_rows
from gramian.errors import DataError, InputTypeError, ParameterError
from refusals import refused

SCRIPT = Path(__file__).parents[2] / "examples" / "genomes.py"
# What PLINK 1.9 (1.90b6.26) and PLINK 2 (2.00a3.5) keep of study(missing=0.05), as numbers of variants.
RECORDED = """
    0 2 3 6 7 8 9 10 12 14 15 16 17 18 21 22 23 24 28 29 30 34 35 36 38 40 42 45 47 53 55 56 60 62 63 64
    66 67 68 69 70 71 73 74 75 76 77 78 79 80 82 84 85 87 90 91 94 95 96 97 98 99 100 101 102 103 104
    105 106 108 109 111 112 113 116 117 119 120 122 123 127 129 130 131 133 134 135 136 137 138 139 140
    141 142 143 144 145 146 148 149 150 151 152 153 154 155 156 157 158 160 163 165 166 167 169 170 171
    173 177 178 179 184 185 186 190 193 195 199 201 204 205 206 209 217 219 222 223 224 225 226 228 230
    233 235 239
"""


def example():
    spec = importlib.util.spec_from_file_location("genomes_example", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def study(path, missing=0.0, n=60, d=240, seed=0, **properties):
    """Write generated genotypes with constant variants, and return them."""
    rng = np.random.default_rng(seed)
    X = example().cohort(np.repeat(np.eye(2), n // 2, axis=0), d, seed=seed).astype(float)
    X[:, 11], X[:, 50], X[:, 51] = 2, 1, np.nan
    X[rng.random(X.shape) < missing] = np.nan
    known = {
        "iid": [f"i{i}" for i in range(n)],
        "sid": [f"rs{j}" for j in range(d)],
        "chromosome": np.sort(rng.integers(1, 4, d)).astype(str),
        "bp_position": np.arange(1, d + 1) * 700,
        "allele_1": ["A"] * d,
        "allele_2": ["G"] * d,
    }
    to_bed(path, X, properties=known | properties)
    return X, (known | properties)["chromosome"]


def by_definition(X, chromosomes, size, step, bound):
    """Go through windows as the manual of PLINK says, on integers."""
    d = X.shape[1]
    frequency = [np.nanmean(X[:, j]) / 2 if (~np.isnan(X[:, j])).any() else 0 for j in range(d)]
    rarer = [min(p, 1 - p) for p in frequency]

    def r2(i, j):
        both = ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
        a, b = X[both, i] - 1, X[both, j] - 1
        m = both.sum()
        cov = m * (a @ b) - a.sum() * b.sum()
        return cov**2, (m * (a @ a) - a.sum() ** 2) * (m * (b @ b) - b.sum() ** 2)

    alive = [np.nanmin(X[:, j], initial=9) < np.nanmax(X[:, j], initial=-9) for j in range(d)]
    for chromosome in np.unique(chromosomes):
        places = np.flatnonzero(chromosomes == chromosome)
        for start in range(0, len(places), step):
            window, changed = places[start : start + size], True
            while changed:
                changed = False
                for at, i in enumerate(window):
                    for j in window[at + 1 :]:
                        if not (alive[i] and alive[j]):
                            continue
                        top, bottom = r2(i, j)
                        if top > bound * (1 + 2**-44) * bottom:
                            alive[i if rarer[i] < (1 - 2**-44) * rarer[j] else j] = False
                            changed = True
                            break
    return [f"rs{j}" for j in np.flatnonzero(alive)]


def by_plink(tool, path, prune):
    out = path.with_suffix("")
    size, step, r2 = prune.split(",")
    command = [tool, "--bfile", str(out), "--indep-pairwise", size, step, r2, "--out", str(out)]
    command += ["--autosome", *(["--bad-ld"] if tool == "plink2" else [])]
    subprocess.run(command, check=True, capture_output=True)
    return path.with_suffix(".prune.in").read_text().split()


CASES = [(0.0, "50,5,0.2"), (0.05, "20,20,0.1"), (0.3, "7,1,0.2"), (0.05, "50,5,0")]


@pytest.mark.parametrize(("missing", "prune"), CASES)
def test_kept_variants_are_those_of_the_definition(missing, prune, tmp_path, monkeypatch):
    X, chromosomes = study(tmp_path / "x.bed", missing)
    size, step, r2 = prune.split(",")
    expected = by_definition(X, chromosomes, int(size), int(step), float(r2))
    assert 0 < len(expected) < 237
    table = scan(tmp_path / "x.bed", prune=prune).read()
    assert list(table.feature_names) == expected
    assert any(f"{len(expected)} variants were kept of 240" in note for note in table.notes)
    monkeypatch.setattr("gramian.io.pruning.BLOCK", 1)
    monkeypatch.setattr("gramian.io.pruning.WORKED", 1 << 15)
    assert list(scan(tmp_path / "x.bed", prune=prune.split(",")).read().feature_names) == expected
    # A file that stays on disk, read block by block.
    rows = as_rows(scan(tmp_path / "x.bed", prune=prune), limit=60_000, check_finite=False)
    assert list(rows.feature_names) == expected
    columns = [int(name[2:]) for name in expected]
    X = X[:, columns]
    assert np.allclose(rows.block(slice(3, 9)).values, np.where(np.isnan(X), np.nanmean(X, axis=0), X)[3:9])


def test_kept_variants_are_those_that_plink_kept(tmp_path):
    study(tmp_path / "x.bed", 0.05)
    kept = scan(tmp_path / "x.bed", prune="50,5,0.2").read().feature_names
    assert kept == tuple(f"rs{j}" for j in RECORDED.split())


@pytest.mark.parametrize("tool", ["plink1.9", "plink2"])
def test_plink_keeps_the_same_today(tool, tmp_path):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on the path")
    path = tmp_path / "x.bed"
    parents = np.where(np.arange(60) % 5 == 0, "father", "0")
    for seed, (missing, prune) in enumerate([*CASES, (0.02, "5kb,1,0.2")]):
        study(path, missing, seed=seed, father=parents)
        kept = scan(path, prune=prune).read()
        # PLINK keeps a constant variant that is alone in a window of a distance.
        theirs = [name for name in by_plink(tool, path, prune) if name not in ("rs11", "rs50", "rs51")]
        assert list(kept.feature_names) == theirs
        assert any("r2 is that of 48 founders" in note for note in kept.notes)


def test_individuals_and_variants_that_are_not_used_do_not_count(tmp_path):
    X, chromosomes = study(tmp_path / "x.bed", 0.05)
    some = scan(tmp_path / "x.bed", rows="10:60", exclude="i20,i21", drop="rs3,rs4", prune="20,5,0.2").read()
    rows, columns = np.delete(np.arange(10, 60), [10, 11]), np.delete(np.arange(240), [3, 4])
    expected = by_definition(X[np.ix_(rows, columns)], chromosomes[columns], 20, 5, 0.2)
    assert [f"rs{columns[int(name[2:])]}" for name in expected] == list(some.feature_names)
    backwards = [f"rs{j}" for j in columns[::-1]]
    turned = scan(tmp_path / "x.bed", rows="10:60", exclude="i20,i21", columns=backwards, prune="20,5,0.2")
    assert turned.read().feature_names == some.feature_names[::-1]
    # Sex chromosomes, mitochondria and variants without a place.
    study(tmp_path / "y.bed", chromosome=np.repeat(["1", "X", "0", "chrM", "PAR1", "24"], 40))
    table = scan(tmp_path / "y.bed", prune="20,5,0.2").read()
    assert all(int(name[2:]) < 40 for name in table.feature_names)
    assert any("; 200 on no autosome were left out" in note for note in table.notes)
    for columns, many in ((None, "200 variants are"), (["rs3", "rs45"], "1 variant is"), (["rs3"], "")):
        every = scan(tmp_path / "y.bed", columns=columns, missing="drop-columns").read().notes
        notes = [one for one in every if "X, Y, MT" in one]
        assert [note.split(" on ")[0] for note in notes] == ([many] if many else [])


def test_a_model_of_pruned_variants_maps_new_rows_by_them(tmp_path):
    X, _ = study(tmp_path / "x.bed")
    model = PCA(2, scale="genotype").fit(scan(tmp_path / "x.bed", prune="50,5,0.2"))
    assert 0 < model.n_features_in_ < 240
    model.save(tmp_path / "m.gramian")
    model = gramian.load(tmp_path / "m.gramian")
    columns = [int(name[2:]) for name in model.feature_names_in_]
    Z = (X[:, columns] - model.mean_) / model.scale_
    assert np.allclose(model.transform(tmp_path / "x.bed"), Z @ model.components_.T, atol=1e-4)
    # The model chooses the variants.
    again = scan(tmp_path / "x.bed", prune="7,1,0.1")
    assert np.array_equal(model.transform(again), model.transform(tmp_path / "x.bed"))
    assert any(
        "the variants are those of the model" in note for note in again.read(expected_columns(model)).notes
    )


def test_what_cannot_be_pruned_is_named(tmp_path):
    path = tmp_path / "x.bed"
    study(path)
    for wrong in ("50", "a,5,0.2", "50,5,1", "50,60,0.2", "1,1,0.2", "5kb,2,0.2", "50,0,0.2", ""):
        with refused(ParameterError, "prune"):
            scan(path, prune=wrong)
    with refused(InputTypeError):
        scan(path, prune=50)
    with refused(ParameterError, "prune"):
        scan(path, prune="50,5,0.2", transpose=True).read()
    np.save(tmp_path / "x.npy", np.eye(3))
    with refused(ParameterError, "prune"):
        scan(tmp_path / "x.npy", prune="50,5,0.2").read()
    for wrong in (
        {"chromosome": ["0"] * 240},
        {"father": ["a"] * 60},
        {"bp_position": np.arange(240)[::-1]},
    ):
        study(path, **wrong)
        with refused(DataError):
            scan(path, prune="5kb,0.2").read()
    to_bed(path, np.ones((4, 3)), properties={"chromosome": ["1"] * 3})
    with refused(DataError):
        scan(path, prune="3,1,0.2").read()
