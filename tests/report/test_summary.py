from dataclasses import replace

import h5py
import numpy as np
import openpyxl
import pytest
from scipy import sparse

import gramian
from gramian.report.facts import Fitted, in_brief
from gramian.report.headline import headline
from gramian.report.results import summary_page
from gramian.report.sections import Survey, explanation
from gramian.report.sentences import methods_paragraph
from gramian.tables.table import Origin, Table

X = np.random.default_rng(0).normal(size=(40, 12)) * np.arange(1, 13)
NOTE = "row names were taken from the first column"
TABLE = Table(X, source="a`b.csv", origin=Origin("ab" * 32), notes=(NOTE,), row_numbers=range(5, 45))


def page(model, files=("model.gramian", "scores.csv", "eigenvalues.csv"), notes=()):
    command = ("gramian", "fit", "a b.csv", "-o", "r")
    fitted = Fitted(model, TABLE, command=command, seconds=0.5)
    return summary_page(fitted, explanation(fitted, known=Survey(fitted.scores)), files, notes)


def test_the_page_tells_everything():
    text = page(gramian.PCA(11, scale="unit", random_state=0).fit(X))
    for part in (
        "# PCA of ``a`b.csv``",
        "\n- 40 rows cannot tell neighbours among PC1",
        "\n- The eigenvalues are accurate to",
        "SHA-256: `abab",
        "Rows 5 to 44 of the source",
        "Row names were taken from the first column",
        "Components 11 to 11 of 11: [eigenvalues.csv]",
        "gramian fit 'a b.csv' -o r",
        "scaled to unit variance. Variances were computed with divisor n - 1.",
        "## How exact it is",
        f"numpy {np.__version__}",
    ):
        assert part in text


def test_columns_are_named_with_the_texts_of_their_questions():
    texts = {f"x{j}": f"How often is it {j}?" for j in (11, 10, 3)}
    labels = np.where(X[:, 10] > 0, "yes", "no")
    table = Table(X, tuple(f"x{j}" for j in range(12)), labels=labels, descriptions=texts)
    model = gramian.PCA(2).fit(table)
    fitted = Fitted(model, table, model.transform(table))
    first, appendix = summary_page(fitted, explanation(fitted), (), ()).split("## Loadings")
    assert "\n\n- x10: How often is it 10?\n" in first
    row = next(line for line in first.splitlines() if line.startswith("| x10 |"))
    assert row.endswith("| How often is it 10? |")
    assert "| PC1 | PC2 | description |" in appendix
    plain = replace(fitted, table=replace(table, descriptions={}))
    assert "description" not in summary_page(plain, explanation(plain), (), ())


def test_a_certificate_that_fails_is_not_hidden():
    model = gramian.PCA(2).fit(X)
    object.__setattr__(model.certificate_, "ok", False)
    assert "DOES NOT HOLD" in page(model)


def test_the_methods_paragraph_says_what_was_done():
    for model, words in [
        (gramian.PCA(0.9), "the fewest that explained 90 % of the variance"),
        (gramian.PCA(2, center=False), "not centred"),
        (gramian.PCA(2, scale=np.ones(X.shape[1])), "centred and each divided by a given number"),
        (gramian.PCA(2, scale=[1.0] * X.shape[1]), "centred and each divided by a given number"),
        (gramian.PCA(2, ddof=0), "computed with divisor n."),
        (gramian.PCA("gavish-donoho"), "chosen by the optimal hard threshold for singular values (Gavish"),
        (gramian.KernelPCA(2, kernel="rbf"), "centred in feature space"),
    ]:
        assert words in methods_paragraph(model.fit(X), TABLE)


def test_the_page_says_which_rule_chose_and_which_shares_are_unknown():
    model = gramian.PCA(0.9).fit(X)
    assert f"- Number of components, by fraction: {model.component_choice_.sentence}" in page(model)
    assert "Number of components, by" not in page(gramian.PCA(2).fit(X))
    model = gramian.PCA(1).fit(X)
    model.explained_variance_ratio_ = None
    assert page(model).count("| not known | not known |") == 1
    assert in_brief(model) == "PCA of 40 rows x 12 columns: 1 component."


def test_a_result_does_not_say_that_all_components_have_all_of_the_variance():
    number = int(np.searchsorted(np.cumsum(gramian.PCA().fit(X).explained_variance_ratio_), 0.95)) + 1
    said = in_brief(gramian.PCA().fit(X))
    assert f"12 components; the first {number} have 9" in said
    assert (
        in_brief(gramian.PCA(1).fit(X[:2, :1]))
        == "PCA of 2 rows x 1 column: 1 component, 100.00 % of the variance."
    )


def test_a_sentence_names_a_strong_column_of_the_other_sign():
    rng = np.random.default_rng(0)
    size = rng.standard_normal((60, 1))
    cars = Table(
        size * [1, 1, 1, -1] + 0.3 * rng.standard_normal((60, 4)) * [0.5, 0.6, 0.7, 1],
        ("displacement", "weight", "cylinders", "mpg"),
    )
    said = headline(gramian.PCA(1, scale="unit").fit(cars)).sentences[0]
    assert said.endswith("rises with `displacement` and `weight`, and falls with `mpg`.")


def test_remarks_are_listed():
    assert "- No pictures" in page(gramian.PCA(2).fit(X), notes=("No pictures",))


def test_a_rule_beside_a_kernel_that_is_not_proven():
    """Such a kernel has no shares of the variance to carry."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=60)] * 3) + 0.05 * rng.normal(size=(60, 3))

    def product(x, y):
        return float(x @ y)

    model = gramian.KernelPCA("parallel", kernel=product, solver="krylov", random_state=0).fit(rows)
    assert model.component_choice_.rule == "parallel"
    model.explained_variance_ratio_ = None
    assert "chosen by parallel analysis with permuted columns (Horn, 1965)." in methods_paragraph(
        model, TABLE
    )
    model.component_choice_ = gramian.KernelPCA("cv", random_state=0).fit(rows).component_choice_
    assert "the error of pre-images at hidden entries" in methods_paragraph(model, TABLE)


def note_makers(folder):
    """Yield a source and its options for every note that a reader can make, and the note."""
    Image = pytest.importorskip("PIL.Image")

    def text(name, content, encoding="utf-8"):
        (folder / name).write_bytes(content.encode(encoding))
        return folder / name

    numbers = "".join(f"{i},{i * i}\n" for i in range(1, 6))
    yield (
        text("latin.csv", f"é,y\n{numbers}", "cp1252"),
        {},
        "the text is not UTF-8 and was read as Windows-1252",
    )
    yield (text("comments.csv", f"# a\n# b\nx,y\n{numbers}"), {}, "2 comment lines were left out at the top")
    yield text("bare.csv", numbers), {}, "the file has no header line, so columns are numbered from 0"
    yield text("money.csv", 'x,y\n"1,065",2\n"2,100,300",3\n'), {}, "commas were read as thousands separators"
    yield text("comma.csv", "x;y\n1,5;2\n2,25;3\n"), {}, "commas were read as decimal separators"
    yield text("last.csv", "x,y,\n1,2,\n3,5,\n"), {}, "an empty last column without a name was left out"
    yield text("twice.csv", f"x,x\n{numbers}"), {}, "repeated column names were numbered: 'x'"
    named = text("named.csv", ",kind,x\n1,a,2\n2,b,3\n")
    yield named, {"drop": "kind"}, "row names were taken from the first column, which has no name"
    yield named, {"id": "kind"}, '"column 0" was left out because it names rows, as "kind" does'
    yield (
        text("unique.csv", "who,x\nAnn,1\nBob,2\n"),
        {},
        'row names were taken from column "who", which holds unique text',
    )
    same = text("same.csv", "gene,s1,s2\ng,1,2\ng,3,5\nh,2,2\n")
    turned = {"transpose": True, "id": "gene"}
    yield same, turned, "repeated row names were numbered: 'g'"
    yield text("truth.csv", "x,y\ntrue,1\nfalse,2\n"), {}, "true and false were read as 1 and 0 in 'x'"
    np.save(folder / "truth.npy", np.eye(3, dtype=bool))
    yield folder / "truth.npy", {}, "true and false were read as 1 and 0"
    np.save(folder / "small.npy", np.eye(3, dtype=np.int8))
    yield folder / "small.npy", {}, "values stored as int8 became floating-point numbers"
    np.savez(folder / "one.npz", X=np.eye(3), about=np.array("text"))
    yield folder / "one.npz", {}, "array 'X' was read, the only table in the archive"
    book = openpyxl.Workbook()
    book.create_sheet("other")
    for row in (["x", "y"], [1, 2], [3, 5]):
        book.active.append(row)
    book.save(folder / "two.xlsx")
    yield folder / "two.xlsx", {}, "sheet 'Sheet' was read, the largest table of 'Sheet', 'other'"
    with h5py.File(folder / "cells.h5ad", "w") as file:
        for part, names in (("obs", ["a", "b"]), ("var", ["g", "g"])):
            file.create_group(part).attrs.update({"_index": "_index", "column-order": []})
            file[part].create_dataset("_index", data=names, dtype=h5py.string_dtype())
        matrix = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": matrix.shape})
        group.update({"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr})
    yield folder / "cells.h5ad", {}, "the sparse matrix X (50% non-zero) was made dense"
    yield folder / "cells.h5ad", {}, "repeated column names were numbered: 'g'"
    people = text("people.csv", "who,x\nAnn,1\nBob,2\n")
    kinds = text("kinds.csv", "who,kind\nAnn,a\nBob,b\nEve,c\n")
    note = f"{kinds} was joined by row names: 2 of 2 rows have an entry"
    yield people, {"labels_from": kinds}, note
    listing = text("list.txt", "a\nb\na\n")
    yield text("three.csv", "x,y\n1,2\n3,4\n5,7\n"), {"labels_from": listing}, "'a', was read as a label"
    holed = text("holed.csv", "who,x,y,z\na,1,2,3\nb,2,,1\nc,4,5,2\nd,NA,NA,NA\n")
    yield holed, {"missing": "mean"}, "4 missing values in 3 columns were filled with column means"
    yield holed, {"missing": "mean"}, "1 row without any value was filled with means only: row 3 (named 'd')"
    yield holed, {"missing": "drop-rows"}, "rows with missing values were dropped: 2 of 4"
    part = {"rows": "0:3", "missing": "drop-columns"}
    yield holed, part, "columns with missing values were dropped: 1 of 3"
    pictures = folder / "pictures"
    pictures.mkdir()
    Image.new("RGB", (3, 2), "red").save(pictures / "a.png")
    Image.new("L", (3, 2), 100).save(pictures / "b.jpg")
    grey = Image.new("L", (3, 2), 7)
    grey.save(pictures / "c.gif", save_all=True, append_images=[Image.new("L", (3, 2), 9)])
    text("pictures/notes.txt", "mine")
    yield pictures, {}, "1 other file was skipped in"
    yield pictures, {}, "1 picture has several frames, and only the first was used"
    yield pictures, {}, "made grey (ITU-R 601-2 luma)"


def test_the_methods_paragraph_says_every_note_of_a_reader(tmp_path):
    model = gramian.PCA(2).fit(X)
    for source, options, note in note_makers(tmp_path):
        table = gramian.scan(source, **options).read()
        assert note in methods_paragraph(model, table), (source, note, table.notes)
