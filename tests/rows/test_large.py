"""Files larger than memory: copied to disk in blocks, and equal to what the whole reader gives."""

import numpy as np
import pytest

from gramian import scan
from gramian.errors import GramianError
from gramian.rows.stored import StoredArray

LIMIT = 4000  # so that blocks have 4 kB, the least


def both(path, expected=None, **options):
    """The table in blocks and the whole one, which must be equal; or what both refuse it with."""
    whole, large = [], []
    for found, read in (
        (whole, lambda: scan(path, **options).read(expected)),
        (large, lambda: scan(path, **options).open(LIMIT, expected)),
    ):
        try:
            found.append(read())
        except GramianError as error:
            found.append(error)
    whole, large = whole[0], large[0]
    if isinstance(whole, GramianError) or isinstance(large, GramianError):
        assert type(whole) is type(large), (whole, large)
        return str(large)
    assert isinstance(large.values, StoredArray) or large.values.nbytes <= LIMIT // 4
    assert large.values[:].tobytes() == np.ascontiguousarray(whole.values).tobytes()
    assert large.values.dtype == whole.values.dtype
    for name in (
        "feature_names", "row_names", "label_name", "picture_shape", "source", "asked", "row_numbers",
        "column_numbers",
    ):  # fmt: skip
        assert getattr(large, name) == getattr(whole, name), name
    notes = tuple(note for note in large.notes if "temporary file" not in note)
    assert notes == whole.notes
    for name in ("labels", "means"):
        one, other = getattr(large, name), getattr(whole, name)
        assert (one is None) == (other is None)
        assert one is None or (repr(one.tolist()) == repr(other.tolist()))
    return large


N = 900


def numbers(n=N, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).round(6)


def text(rows, header="a,b,c", separator=",", end="\n"):
    lines = [header] if header else []
    return end.join(lines + [separator.join(map(str, row)) for row in rows]) + end


def mixed():
    """Row names, integers, reals with late holes, labels of text with quoted newlines."""
    X = numbers()
    rows = []
    for i, (x, y, _) in enumerate(X):
        hole = "" if i == N - 3 else y
        label = '"two\nlines"' if i % 7 == 0 else f'"it is ""{i % 3}"""'
        rows.append((f"row {i}", i if i < N - 5 else i + 0.5, hole, x, label))
    return text(rows, "name,whole,holed,real,kind")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "mean"},
        {"missing": "drop-rows"},
        {"missing": "drop-columns"},
        {},
        {"missing": "mean", "rows": "10:800"},
        {"missing": "mean", "rows": "::7"},
        {"missing": "mean", "rows": "5::3"},
        {"missing": "mean", "rows": "-50:"},
        {"missing": "mean", "rows": "-50:-3:4"},
        {"columns": "real,whole"},
        {"drop": "holed"},
        {"columns": "real,whole", "rows": "0:901"},
        {"columns": "real,whole", "rows": "10:10"},
        {"columns": "wholly"},
        {"columns": "whole,real", "id": "kind"},
        {"drop": "holed,name"},
        {"drop": "holed", "transpose": True},
    ],
    ids=str,
)
def test_a_text_in_blocks_is_the_text_as_a_whole(options, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(mixed())
    aside = {"drop": "kind"} if "transpose" in options else {"label": "kind"} if "id" not in options else {}
    if "transpose" in options:
        options = options | {"drop": "kind,holed"}
    both(path, **(aside | options))
