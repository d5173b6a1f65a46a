"""Genotypes of PLINK: their names, means for missing calls, and other cohorts."""

import sys

import numpy as np
import pandas as pd
import pytest
from bed_reader import to_bed

import gramian
from gramian import PCA, scan
from gramian.errors import DataError, FileError, MemoryLimitError, MissingExtraError, ParameterError
from gramian.tables.as_rows import as_rows


def genotypes(n=500, d=4000, seed=0):
    rng = np.random.default_rng(seed)
    people = np.arange(n) % 3
    p = np.clip(rng.uniform(0.1, 0.9, d) + 0.15 * rng.standard_normal((3, d)), 0.02, 0.98)
    X = rng.binomial(2, p[people]).astype("f4")
    X[rng.random((n, d)) < 0.01] = np.nan
    X[:, 7] = 2
    X[3, 7] = np.nan
    return X


def saved(path, X, first=0):
    names = {
        "iid": [f"person{first + i}" for i in range(len(X))],
        "sid": [f"rs{i}" for i in range(X.shape[1])],
    }
    to_bed(path, X, properties=names)
    return path


def filled(X, means):
    return np.where(np.isnan(X), means, X)


@pytest.mark.walk
def test_structure_is_found_as_from_the_definition(tmp_path):
    X = genotypes()
    path = saved(tmp_path / "x.bed", X)
    rows = as_rows(path, check_finite=False)
    assert rows.row_names[2] == "person2"
    assert rows.feature_names[3] == "rs3"
    assert any("allele 1 (A1" in note for note in rows.table.notes)
    missing = int(np.isnan(X).sum())
    assert any(f"{missing:,} missing values in" in note and "means" in note for note in rows.table.notes)
    for part in (slice(0, 500), slice(17, 30)):
        assert np.allclose(rows.cut(part, slice(290, 640)), filled(X, np.nanmean(X, axis=0))[part, 290:640])
    model = PCA(3, scale="genotype", memory_limit="200MB", random_state=0).fit(rows)
    means = np.nanmean(X.astype("f8"), axis=0)
    p = means / 2
    divisor = np.sqrt(np.where(p < 1, 2 * p * (1 - p), 1))
    C = (filled(X, means) - means) / divisor
    assert model.explained_variance_ == pytest.approx(
        np.linalg.svd(C, compute_uv=False)[:3] ** 2 / 499, rel=1e-5
    )
    assert model.constant_features_.tolist() == [7]
    assert model.column_means_ == pytest.approx(means)
    # New people, of fewer and of more variants in another order, from the calls that they have.
    new = genotypes(60, 4000, seed=3)
    order = np.random.default_rng(0).permutation(4000)
    to_bed(
        tmp_path / "new.bed",
        np.c_[new[:, order], np.ones(60)],
        properties={"sid": [f"rs{i}" for i in order] + ["other"]},
    )
    model.save(tmp_path / "m.gramian")
    model = gramian.load(tmp_path / "m.gramian")
    scores = (filled(new, means) - means) / divisor @ model.components_.T
    near = 2e-4 * np.abs(scores).max()
    by_means = model.transform(scan(tmp_path / "new.bed", missing="mean"))
    assert np.abs(by_means - scores).max() < near
    by_calls = model.transform(tmp_path / "new.bed")
    assert (
        np.abs(by_calls - model.transform(pd.DataFrame(new, columns=model.feature_names_in_))).max()
        < near
        < np.abs(by_calls - scores).max()
    )


def test_people_and_variants_by_name_place_and_part(tmp_path):
    X = genotypes(50, 40)
    path = saved(tmp_path / "x.bed", X)
    table = scan(path, rows="10:30:2", columns="rs5,rs2", missing="drop-rows").read()
    part = X[10:30:2, [5, 2]]
    assert np.array_equal(table.values, part[~np.isnan(part).any(axis=1)])
    X = genotypes()
    path = saved(path, X)
    rows = as_rows(scan(path, rows="10:300", drop="rs5"))
    exact = np.delete(filled(X[10:300], np.nanmean(X[10:300], axis=0)), 5, axis=1)
    assert np.allclose(rows.block(slice(100, 120)).values, exact[100:120])
    with pytest.raises(ParameterError, match=r"which already names its rows\. Leave it out\."):
        scan(path, id="rs1").read()
    X = genotypes(6, 50)
    path = saved(tmp_path / "x.bed", X)
    lines = [f"F{i // 3} {i % 3} 0 0 0 0" for i in range(6)]
    path.with_suffix(".fam").write_text("\n".join(lines))
    table = scan(path, exclude="F1:2").read()
    assert table.row_names == ("F0:0", "F0:1", "F0:2", "F1:0", "F1:1")
    assert any("FID:IID" in note for note in table.notes)
    path.with_suffix(".fam").write_text("\n".join([*lines[:5], "F1 x 0 0 0 0"]).replace("F1 ", "F1 a"))
    assert scan(path).read().row_names == ("0", "1", "2", "a0", "a1", "ax")
    properties = {"sid": ["rs1", ".", ".", "rs4"], "chromosome": ["1", "1", "2", "2"]}
    to_bed(tmp_path / "x.bed", np.eye(4), properties=properties | {"bp_position": [10, 20, 30, 40]})
    assert scan(tmp_path / "x.bed").read().feature_names == ("rs1", "1:20", "2:30", "rs4")


def test_variants_without_any_call_are_left_out_and_named(tmp_path):
    X = genotypes(60, 45)
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    gone = [3, 17, 40]
    X[:, gone] = np.nan
    saved(tmp_path / "x.bed", X)
    there = np.delete(X, gone, axis=1)
    note = "3 variants without any call were left out: 'rs3', 'rs17', 'rs40'"
    table = as_rows(tmp_path / "x.bed").table
    assert note in table.notes
    assert table.feature_names == tuple(f"rs{place}" for place in range(X.shape[1]) if place not in gone)
    assert np.allclose(np.asarray(table.values[:]), filled(there, np.nanmean(there, axis=0)), atol=1e-6)
    model = PCA(3, scale="genotype").fit(tmp_path / "x.bed")
    assert model.n_features_in_ == X.shape[1] - 3
    # The variant is known in a second cohort, and has no part in the model.
    saved(tmp_path / "y.bed", genotypes(20, X.shape[1], seed=1))
    assert np.isfinite(model.transform(tmp_path / "y.bed")).all()
    scanned = scan(tmp_path / "x.bed", missing="em").read()
    assert note in scanned.notes
    assert PCA(2, missing="em").fit(scanned).n_features_in_ == 42
    saved(tmp_path / "x.bed", np.full_like(X, np.nan))
    with pytest.raises(DataError, match="needs a value in every column"):
        scan(tmp_path / "x.bed").read()


def test_spaces_in_the_files_beside_it_and_damage_of_each(tmp_path):
    path = saved(tmp_path / "x.bed", genotypes(50, 40))
    known = scan(path).read()
    for suffix, run in ((".bim", "  "), (".fam", "\t"), (".fam", "   ")):
        beside = path.with_suffix(suffix)
        beside.write_text(
            "".join(f" {run.join(line.split())} \n" for line in beside.read_text().splitlines())
        )
        result = scan(path).read()
        assert np.array_equal(result.values, known.values, equal_nan=True)
        assert (result.feature_names, result.row_names) == (known.feature_names, known.row_names)
    sizes = r"x\.bed has 523 bytes, but the {} lines of its \.fam file and the {} lines of its \.bim file"
    damages = [
        (swap, DataError, sizes.format(40, 50) + " need 503. Are the .bim and the .fam file swapped. Copy"),
        (damage_of(".fam", lambda text: text[:20]), DataError, r"x\.fam, line 2: 1 column where 6"),
        (damage_of(".bim", lambda text: b"rs0\n"), DataError, r"x\.bim, line 1: 1 column where 6"),
        (damage_of(".fam", lambda text: b""), DataError, sizes.format(0, 40)),
        (damage_of(".bim", lambda text: 2 * text), DataError, sizes.format(50, 80)),
        (damage_of(".fam", lambda text: b"\xff" + text), FileError, r"x\.fam cannot be read"),
        (damage_of(".bim", lambda text: b"\xff" + text), FileError, r"x\.bim cannot be read"),
        (damage_of(".bed", lambda text: b"x" + text[1:]), FileError, r"x\.bed cannot be read"),
    ]
    for damage, error, match in damages:
        path = saved(tmp_path / "x.bed", genotypes(50, 40))
        damage(path)
        with pytest.raises(error, match=match):
            scan(path).read()


def damage_of(suffix, change):
    """Return what changes the bytes of one of the three files."""
    return lambda path: path.with_suffix(suffix).write_bytes(change(path.with_suffix(suffix).read_bytes()))


def swap(path):
    bim, fam = path.with_suffix(".bim"), path.with_suffix(".fam")
    for file, text in ((bim, fam.read_bytes()), (fam, bim.read_bytes())):
        file.write_bytes(text)


def test_what_is_not_there_is_named(tmp_path, monkeypatch):
    path = saved(tmp_path / "x.bed", genotypes(200, 4000))
    (tmp_path / "y.bed").write_text("chr1 100 200 peak\n")
    with pytest.raises(FileError, match=r"cannot be read: No such file or directory\. Check the path\."):
        as_rows(tmp_path / "y.bed")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"has 100,001 bytes, but the 200 lines of its \.fam file and"):
        as_rows(path)
    monkeypatch.setitem(sys.modules, "bed_reader", None)
    with pytest.raises(MissingExtraError, match=r"s \.bed files needs bed-reader, which is not installed\."):
        as_rows(path)


def test_another_cohort_counts_the_same_alleles(tmp_path):
    X, names = genotypes(60, 40), [f"rs{i}" for i in range(40)]

    def write(values, one, other, name="y.bed", count=40):
        properties = {"sid": names[:count], "allele_1": [one] * count, "allele_2": [other] * count}
        to_bed(tmp_path / name, values[:, :count].copy(), properties=properties)
        return tmp_path / name

    PCA(2).fit(write(X, "A", "G", "x.bed")).save(tmp_path / "m.gramian")
    model = gramian.load(tmp_path / "m.gramian")
    assert model.counted_alleles_[5] == "A"
    scores = model.transform(tmp_path / "x.bed")
    # Unknown alleles: as they are, unless the other one is that which the model counts.
    for one, other in (("A", "T"), ("0", "G"), ("0", "0")):
        assert np.allclose(model.transform(write(X, one, other)), scores, rtol=0, atol=1e-4)
    many = r"y\.bed: 40 variants count another allele than the fitted data: 'rs0' \({}, fitted A\),"
    for one, other in (("G", "A"), ("T", "A"), ("C", "G"), ("0", "A")):
        with pytest.raises(DataError, match=many.format(f"{one}/{other}")):
            model.transform(write(X, one, other))
    with pytest.raises(DataError, match="another allele than the fitted data"):
        PCA(2).partial_fit(tmp_path / "x.bed").partial_fit(write(2 - X, "G", "A"))
    with pytest.raises(DataError, match=r"lack 'rs38', 'rs39', which the model was fitted on"):
        model.transform(write(X, "A", "G", count=38))
    assert not hasattr(model.fit(np.nan_to_num(X)), "counted_alleles_")


def test_genotypes_that_do_not_fit_into_memory(tmp_path, monkeypatch):
    path = saved(tmp_path / "x.bed", genotypes(200, 4000))
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1 MB")
    with pytest.raises(MemoryLimitError, match=r"holds 200 x 4000 float32, which takes 3\.2 MB, and 1 MB of"):
        scan(path).read()
    assert scan(path, rows=":50").read().values.shape == (50, 4000)
