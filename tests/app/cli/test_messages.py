"""What the shell says to a person about a wrong command."""

import gzip

import numpy as np
import pytest


@pytest.fixture
def place(tmp_path, monkeypatch, gramian):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
    rows = [",".join(map(str, row)) for row in X.tolist()]
    texts = {
        "a.csv": ["x,y,z", *rows],
        "wide.csv": ["x,y", *(row.rpartition(",")[0] for row in rows)],
        "hole.csv": ["x,y,z", "1,,3", "4,4,", *rows],
        "empty.csv": ["x,y,z", "1,,3", "2,,1", "4,,2"],
        "text.csv": ["name,kind,x,y,z", *(f"n{i % 3},k{i % 2},{row}" for i, row in enumerate(rows))],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "zero.csv").write_bytes(b"a,b\n1,2\n\0\0")
    np.save("one.npy", X[:1])
    np.savez("b.npz", X=X, y=np.arange(12) % 2)
    for line in ("m.gramian", "k.gramian --kernel rbf"):
        gramian.works(f"fit a.csv --as-is -o {line}")
    return tmp_path


@pytest.mark.usefixtures("place")
def test_what_is_meant(gramian):
    meant = {
        "--scale standard": "Did you mean 'unit', which divides each column by its standard deviation?",
        "--scale True": "Did you mean 'unit', which",
        "--missing median": "Did you mean 'mean', which fills with the mean of the column?",
        "--missing na.omit": "Did you mean 'drop-rows', which leaves out rows with missing values?",
        "--whiten True": "unexpected extra argument(s) (True)",
    }
    for options, hint in meant.items():
        gramian.refuses(f"fit a.csv {options}", 2, hint)


def test_data_of_r_and_a_missing_value_of_a_named_row(place, gramian):
    xdr = b"RDX3\nX\n\0\0\0\3\0\4"
    (place / "x.rda").write_bytes(gzip.compress(xdr))
    (place / "x.csv").write_bytes(xdr)
    gramian.refuses(
        "fit x.rda", 1, "of the kind .rda, which is not supported. Save it as one that is read: .csv"
    )
    gramian.refuses("fit x.csv", 1, "is neither text nor", "Save the table as CSV")
    (place / "named.csv").write_text("rownames,a,b\n1,1,2\n2,,1\n3,4,5\n")
    assert "row 1 (named '2'), column 0 ('a')" in gramian("fit named.csv --as-is").err


@pytest.mark.usefixtures("place")
def test_parameters_of_kernels_have_few_digits(gramian):
    texts = [
        gramian("fit a.csv --kernel rbf --as-is").out,
        gramian("info k.gramian").out,
        gramian("kernels audit rbf a.csv").out,
    ]
    assert all("gamma=0.333333)" in text and "0.3333333" not in text for text in texts)
    assert gramian("kernels audit rbf a.csv --json").json["kernel"] == f"rbf(gamma={1 / 3})"
    said = gramian("kernels audit tanh(dot(x,y))").out
    assert "Raise value_tol for a function" in said
