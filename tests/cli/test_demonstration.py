import os

import pytest

from gramian import PCA
from gramian.applications import is_installed
from gramian.cli.demonstration import compare, digits_table


def test_features_are_compared_inside_the_folds():
    table = digits_table()
    X, y = table.values.reshape(-1, 64)[:300], table.labels[:300]
    scores = compare(X, y, {"pca": PCA(10, random_state=0)})
    assert {name: len(result) for name, result in scores.items()} == {"raw": 2, "pca": 2}
    assert all(0.5 < a.mean() <= 1 and a.std() < 0.1 for result in scores.values() for a in result.values())


def test_the_demo_writes_what_it_promises(tmp_path, gramian, monkeypatch):
    pytest.importorskip("PIL")
    small = digits_table()
    from dataclasses import replace

    from gramian.cli import demonstration

    small = replace(small, values=small.values[:250], labels=small.labels[:250])
    monkeypatch.setattr(demonstration, "digits_table", lambda: small)
    shown, faces = [], [tmp_path / "demo" / "faces"] if is_installed("gramian.faces") else []
    monkeypatch.setattr("gramian.cli.faces_demo.show_faces", lambda command, place: shown.append(place))
    ran = gramian("demo", "-o", tmp_path / "demo")
    assert ran.code == 0, ran.err
    assert "Why:" in ran.out
    assert "Certificate:" in ran.out
    assert ran.out.rstrip().endswith("report.html.")
    assert shown == faces
    page = (tmp_path / "demo" / "summary.md").read_text()
    assert "| features | linear (ridge) | 5 nearest neighbours |" in page
    for part in (
        "pca/components.png",
        "pca/summary.md",
        "pca/report.html",
        "kernel-pca/scores.svg",
        "data/genes.csv",
    ):
        assert (tmp_path / "demo" / part).is_file()


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_that_leads_nowhere_is_refused(tmp_path, gramian):
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    ran = gramian("demo", "-o", tmp_path / "link")
    assert (ran.code, ran.out) == (1, "")
    assert "link is a link to " in ran.err
    assert not (tmp_path / "nothing").exists()
