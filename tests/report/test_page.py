import html
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_wine

import gramian
from gramian.figures.style import VARIABLES
from gramian.models.monitor import monitor_of
from gramian.report import page as pages
from gramian.report import sections
from gramian.report.facts import Fitted
from gramian.report.headline import headline
from gramian.report.page import as_page, report_page
from gramian.report.sections import survey
from gramian.tables.table import Origin, Table

RNG = np.random.default_rng(0)
HOSTILE = ("<script>alert(1)</script>", '"><img src=https://evil.example/x.png>', "عمود", 300 * "L")
SKETCH = SimpleNamespace(title="", caption="", inline=lambda: "<svg></svg>")
SECTIONS = [
    "Can I trust this?",
    "What was done",
    "Appendix",
    "Scores",
    "Loadings",
    "How many components",
    "Unusual rows",
    "Quality of the data",
    "How exact it is",
    "How it was computed",
    "For a methods section",
    "To repeat it",
]


class Read(HTMLParser):
    """What a browser would see: sections, text, and all that it would fetch or run."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.loads, self.sections, self.text, self.open = [], [], [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            loads = name in ("src", "href", "xlink:href", "action", "data", "srcset")
            if loads and not value.startswith(("#", "data:")):
                self.loads.append(value)
            self.loads += [u for u in re.findall(r"url\((.*?)\)", value or "") if not u.startswith("#")]

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.text += data
        if "h2" in self.open[-1:]:
            self.sections.append(data)


@pytest.fixture
def few_figures(monkeypatch):
    """Figures are tested where they are drawn; here the page around them is."""
    monkeypatch.setattr(sections.Drawing, "drawn", lambda drawing: SKETCH)


def hostile(n=30, **options):
    X = RNG.normal(size=(n, 5))
    X[3], X[7], X[:, 4] = X[2], 9.0, 2.0
    names = tuple(f"<i>{i}</i>" for i in range(n))
    return Table(
        X, (*HOSTILE, "flat`s"), row_names=names, source="<b>.csv", origin=Origin("ab" * 32), **options
    )


def read(model, table=None, **options):
    page = report_page(Fitted(model, table, command=("gramian", "fit", "<b>.csv"), **options))
    result = Read(page)
    assert result.loads == []
    assert not {"script", "link", "iframe", "object", "form", "i", "b.csv"} & set(result.tags)
    return result


@pytest.mark.walk
def test_a_page_has_everything_and_loads_nothing():
    pytest.importorskip("matplotlib")
    table = hostile(labels=np.array(["<u>a", "b"] * 15), label_name="<kind>")
    model = gramian.PCA(2, scale="unit", random_state=0).fit(table)
    page = report_page(Fitted(model, table, reading={"path": "<b>.csv", "id": "x"}))
    result = Read(page)
    first = ["Can I trust this?", "How the groups differ", "Why rows are unusual", "What was done"]
    assert result.sections == [*first, *SECTIONS[2:5], "Metadata", *SECTIONS[5:]]
    assert result.loads == []
    assert not {"script", "i", "u"} & set(result.tags)
    assert "default-src 'none'" in page
    assert result.tags.count("svg") == 6
    labels = re.findall('<figure aria-label="([^"]+)"', page)
    assert labels[:4] == ["Scores", "Biplot", "Loadings", "Correlation circle"]
    colours = set(re.findall(r'(?:fill|stroke)="(#[^"]+)"', page))
    assert not {colour.lower() for colour in colours} & set(VARIABLES)  # these follow the page, light or dark
    for variable in re.findall(r"var\(--figure-([a-z-]+), #", page):
        assert page.count(f"--figure-{variable}: ") == 2, variable  # dark, and print
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)
    for part in (
        "<script>alert(1)</script>",
        "Certificate: holds",
        "parallel",
        "Constant: 1 column, which no component uses: 'flat`s'",
        "X = gramian.scan('<b>.csv', id='x').read()",
        "gramian.PCA(n_components=2, scale='unit').fit(X)",
        "Jackson, J. E.",
        "2 categories, n = 30",
    ):
        assert part in result.text, part
    assert len(page) < 1_000_000


def test_without_data_a_page_says_what_needs_it(few_figures):
    model = gramian.PCA(2).fit(hostile())
    result = read(model)
    assert result.sections == [title for title in SECTIONS if title != "Unusual rows"]
    assert "unusual rows need the data" in result.text
    assert "parallel" not in result.text
    assert "parallel" not in read(model, Table(hostile().values[:1], hostile().feature_names)).text
    assert "kaiser" in result.text


def test_pages_of_other_models(few_figures, monkeypatch):
    table = hostile()
    monkeypatch.setattr(sections, "PATIENCE", 0.0)
    kernel = read(gramian.KernelPCA(3, kernel="rbf", random_state=0).fit(table), table)
    assert "Schölkopf" in kernel.text
    assert "(parallel)" not in kernel.text
    whitened = read(gramian.Whitener().fit(table), table)
    assert "ZCA whitening (Kessy et al., 2018) of 30 samples" in whitened.text
    assert "Kessy" in whitened.text
    flat = Table(np.ones((4, 2)))
    with pytest.warns(gramian.errors.RankWarning, match="rank"):
        nothing = gramian.PCA(1).fit(flat)
    assert "numerical rank" in read(nothing, flat).text


def test_a_certificate_that_fails_is_not_hidden(few_figures):
    model = gramian.PCA(2).fit(hostile())
    object.__setattr__(model.certificate_, "ok", False)
    assert "DOES NOT HOLD" in read(model).text


def test_a_page_without_figures_says_which_command_brings_them(monkeypatch):
    def missing(*_):
        raise gramian.errors.MissingExtraError("plots", "matplotlib", "Drawing figures")

    monkeypatch.setattr(sections.Drawing, "drawn", missing)
    result = read(gramian.PCA(2).fit(hostile()), hostile())
    assert result.text.count('pip install "gramian[plots]"') == 1
    assert "figure" not in result.tags


def test_figures_of_many_points_are_small_and_the_same_each_time():
    pytest.importorskip("matplotlib")
    X = np.random.default_rng(0).normal(size=(5000, 6)) @ np.random.default_rng(1).normal(size=(6, 6))
    table = Table(X, labels=np.array(["a", "b"] * 2500), label_name="kind")
    model = gramian.PCA(3).fit(table)
    once, again = (report_page(Fitted(model, table)) for _ in range(2))
    assert once == again
    assert sum(map(len, re.findall("<svg.*?</svg>", once, re.DOTALL))) < 200_000


def test_unusual_rows_are_those_of_the_definitions():
    X = RNG.normal(size=(20, 4)) * [5, 3, 2, 1e-3] + 1e4
    for model in (gramian.PCA(2), gramian.PCA(2, whiten=True), gramian.PCA(2, scale="unit")):
        model.fit(X)
        seen = survey(model, Table(X), 1 << 30)
        C = (X - X.mean(axis=0)) / (1.0 if model.scale is None else X.std(axis=0, ddof=1))
        values, V = np.linalg.eigh(C.T @ C / 19)
        Z = C @ V[:, ::-1][:, :2]
        np.testing.assert_allclose(seen.statistics["T2"], (Z**2 / values[::-1][:2]).sum(axis=1), rtol=1e-6)
        left = (C**2).sum(axis=1) - (Z**2).sum(axis=1)
        np.testing.assert_allclose(seen.statistics["SPE"], left, rtol=1e-5, atol=1e-7)


@pytest.mark.walk
def test_unusual_rows_have_limits_and_causes():
    X = RNG.normal(size=(200, 2)) @ RNG.normal(size=(2, 5)) + 0.1 * RNG.normal(size=(200, 5))
    new = X[:50].copy()
    new[7, 3] += 9
    names = tuple("abcde")
    model = gramian.PCA(2).fit(Table(X, names))
    monitor = gramian.Monitor(model, alpha=0.05).fit(Table(X, names))
    for given, alpha in ((model, "1.00"), (monitor, "5.00")):
        page = report_page(Fitted(given, Table(new, names)))
        text = html.unescape(re.sub("<[^>]+>", " ", page))
        result = (monitor if given is monitor else monitor_of(model)).statistics(Table(new, names))
        assert result.summary in text
        assert f"Limits for {alpha} % false alarms" in text
        assert re.search(rf"\b7\s+{result['T2'][7]:.4g}\s+{result['SPE'][7]:.4g}\s+(T2 and )?SPE\s+d, ", text)
    # Those of the fit have limits of their own.
    text = html.unescape(report_page(Fitted(model, Table(X, names))))
    assert f"{monitor_of(model).limits_.deciding('fit')['T2']:.6g} for the distance along the" in text
    with pytest.warns(gramian.errors.RankWarning):
        flat = gramian.PCA(1).fit(np.ones((9, 2)))
    assert "do not vary" in report_page(Fitted(flat, Table(np.ones((9, 2)))))


def test_a_page_begins_with_what_the_data_show(few_figures):
    rng = np.random.default_rng(1)
    groups = np.repeat(["a", "b", "c", None], [20, 20, 15, 5])
    X = rng.normal(size=(60, 3))
    X[:20, 0] += 9
    X[:20, 1] -= 9
    table = Table(X, ("down", "up", "<b>rest"), labels=groups, label_name="kind", source="a.csv")
    model = gramian.PCA(2).fit(table)
    scores = model.transform(table)
    answer = headline(model, table, scores)
    first, second = answer.sentences
    assert (answer.kind, answer.pair) == ("groups", (1, 2))
    share = 100 * model.explained_variance_ratio_[0]
    assert first == (
        "PC1 separates `a` from `b` and `c`, by a larger `down` and a smaller `up` "
        "(all rows are on the side of their group)."
    )
    assert second == f"PC1 ({share:.2f} % of the variance) rises with `up` and falls with `down`."
    page = read(model, table)
    assert f"{first} {second}".replace("`", "") in page.text
    assert len(headline(model).sentences) == 2
    model_of_size = gramian.PCA(1).fit(rng.normal(size=(60, 1)) + 0.1 * rng.normal(size=(60, 5)))
    size = headline(model_of_size).sentences
    assert re.fullmatch(
        r"PC1 \(9[\d.]+ % of the variance\) is an overall size: all 5 columns rise together\.", *size
    )
    own = Table(X, labels=np.arange(60), label_name="id")
    assert headline(model, own, scores).kind == "clusters"  # every label is a group of its own
    kernel = gramian.KernelPCA(1, kernel="rbf").fit(X)
    assert re.fullmatch(
        r"PC1 explains [\d.]+ % of the variance in feature space\.", *headline(kernel).sentences
    )


def test_the_first_figure_shows_the_components_of_the_groups_and_the_appendix_the_first_two():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.repeat(["inner", "outer"], 60)
    X = np.repeat([0.4, 1.0], 60)[:, None] * np.tile(np.stack([np.cos(angle), np.sin(angle)], axis=1), (2, 1))
    table = Table(X, ("x", "y"), labels=ring, label_name="ring", source="rings.csv")
    model = gramian.KernelPCA(3, kernel="rbf", gamma=2.0).fit(table)
    page = report_page(Fitted(model, table))
    text = Read(page).text
    assert "PC3 separates inner from outer (all rows are on the side of their group)." in text
    titles = [
        text.count(f"PC{j} ({100 * model.explained_variance_ratio_[j - 1]:.1f} % of") for j in (1, 2, 3)
    ]
    assert titles[2] >= 1
    assert titles[0] == titles[1] + 1  # PC3 and PC1, then PC1 and PC2
    first, appendix = page.split("<h2>Appendix</h2>")
    assert [part.count('aria-label="Scores"') for part in (first, appendix)] == [1, 1]
    assert "PC3 (" in first.split("</figure>")[0]


def test_the_first_page_says_how_groups_differ_why_rows_are_unusual_and_whether_to_trust_it(few_figures):
    wine = load_wine(as_frame=True)
    kinds = np.array(["<b>red", "rose", "white"])[wine.target]
    table = Table(wine.data.to_numpy(), tuple(wine.data), labels=kinds, label_name="kind", source="w.csv")
    whole = sections.explanation(Fitted(gramian.PCA(3, scale="unit").fit(table), table))
    parts = {one.title: one.parts for one in whole.first}
    said, grid = parts["How the groups differ"]
    assert "differ by more than chance in 13 of 13 columns" in said
    assert grid.heads == ("column", "<b>red", "rose", "white", "variance between groups")
    frame = wine.data.assign(kind=kinds)
    means = frame.groupby("kind").mean()
    between = (frame.groupby("kind").transform("mean") - wine.data.mean()).var() / wine.data.var()
    largest = between.sort_values(ascending=False)[:5]
    assert [row[0] for row in grid.rows] == list(largest.index)
    assert [row[4] for row in grid.rows] == [f"{100 * share:.0f} %" for share in largest]
    assert grid.rows[0][1:4] == tuple(f"{mean:.4g}" for mean in means[largest.index[0]])
    *reasons, _, counted = parts["Why rows are unusual"]
    assert counted == "Rows are counted from 0."
    assert 1 <= len(reasons) <= 3
    assert all(" is unusual, most of all by " in reason for reason in reasons)
    assert [title for title in parts if title][2:] == ["Can I trust this?", "What was done"]
    assert parts["What was done"][0] == "- Data: `w.csv`"
    assert whole.trust.level == "green"
    assert '<article class="first green">' in as_page(whole)
    # What misleads comes first.
    raw = sections.explanation(Fitted(gramian.PCA(2).fit(table), table))
    assert raw.first[0].title == "Can I trust this?"
    assert "(scale-dominates)" in raw.first[0].parts[2]
    chance = replace(table, labels=np.random.default_rng(0).permutation(kinds))
    same = sections.explanation(Fitted(gramian.PCA(3, scale="unit").fit(chance), chance))
    assert (
        "differ in no column by more than chance"
        in {one.title: one.parts for one in same.first}["How the groups differ"][0]
    )


@pytest.mark.walk
def test_the_first_page_prints_on_one_sheet(tmp_path):
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium prints it, which is not installed")
    rng = np.random.default_rng(0)
    names = tuple(f"{'a long name of a column '[:20]}{j}" for j in range(40))
    kinds = np.repeat([f"group {i} of six with a long name" for i in range(6)], 20)
    X = rng.normal(size=(120, 40)) + 3 * rng.normal(size=(6, 40)).repeat(20, axis=0)
    X[[5, 50, 99], 3] += 90
    table = Table(X, names, labels=kinds, label_name="kind", source="long.csv", notes=("a note",) * 9)
    page = report_page(Fitted(gramian.PCA(12).fit(table), table))
    alone = re.sub(
        r'<div class="appendix">.*?</div>\s*</main>', "<p>Appendix</p></main>", page, flags=re.DOTALL
    )
    (tmp_path / "r.html").write_text(alone, encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--print-to-pdf={tmp_path / 'r.pdf'}"]
    subprocess.run([chromium, *flags, str(tmp_path / "r.html")], check=True, capture_output=True, timeout=90)
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "r.pdf").read_bytes())) == 2


def test_the_first_figure_is_that_of_the_headline_and_the_appendix_has_the_scores_then():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(400, 6))
    X[300:340, 2] += 12
    times = tuple(str(np.datetime64("2024-05-01T00:00:00") + np.timedelta64(5 * i, "m")) for i in range(400))
    log = Table(X, tuple("abcdef"), row_names=times, source="log.csv")
    noise = Table(rng.normal(size=(200, 6)), tuple("abcdef"), source="noise.csv")
    for table, figure in ((log, "control-chart"), (noise, "scree")):
        whole = sections.explanation(Fitted(gramian.PCA(2, scale="unit").fit(table), table))
        first = next(one for one in whole.first if not one.title)
        assert [part.name for part in first.parts if not isinstance(part, str)] == [figure]
        shown = [part.name for one in whole.sections for part in one.parts if hasattr(part, "name")]
        assert shown[0] == "scores"
        assert figure not in shown
        assert "eigenvalues" not in shown  # bounds of 1e-14 cannot be seen
    landmarks = gramian.KernelPCA(3, kernel="rbf", gamma=0.1, solver="nystroem", n_landmarks=10).fit(noise)
    parts = sections.explanation(Fitted(landmarks, noise)).sections
    shown = [part.name for one in parts for part in one.parts if hasattr(part, "name")]
    assert "eigenvalues" in shown


def test_backticks_in_names_are_letters(few_figures):
    names = ("a`b", "c`d", "e")
    X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 900, 1]
    table = Table(X, names, source="t.csv", origin=Origin(asked=("columns a`b, c`d, e",)))
    model = gramian.PCA(2).fit(table)
    said = html.unescape(report_page(Fitted(model, table)))
    done = said[said.index("What was done") : said.index("Appendix")]
    assert 'Data: <code dir="auto">t.csv</code>; columns a`b, c`d, e</li>' in done
    assert 'rises with <code dir="auto">c`d</code>' in pages.text(headline(model).sentences[0])
    assert "\\`" not in said
