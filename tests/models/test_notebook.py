"""What a fitted model shows in a notebook."""

import contextlib
import io
import multiprocessing
import sys
import time
import types
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression

import gramian
import gramian.core.notebook
import gramian.core.progress
from gramian.core.progress import report_to

X = np.random.default_rng(0).normal(size=(30, 4))


def shown(model):
    page = model._repr_mimebundle_()["text/html"]
    assert page.count("<div") == page.count("</div>")
    assert model._repr_html_().count("variances of the components") == page.count(
        "variances of the components"
    )
    return page


def test_every_decomposition_shows_itself():
    for model in (gramian.KernelPCA(2, kernel="rbf"), gramian.Whitener(), gramian.PCA(1)):
        assert "Certificate: " not in shown(model)
        assert "Certificate: holds" in shown(model.fit(X))
    assert "Certificate: holds" in shown(gramian.PCA(2).partial_fit(X))
    rows = [(j, j > 3) for j in range(1000)]
    page = gramian.core.notebook.as_html([gramian.core.notebook.Grid(("j", "ok"), rows)])
    assert page.count("<tr>") == 1 + gramian.core.notebook.MOST_ROWS
    assert f"and {1000 - gramian.core.notebook.MOST_ROWS} more" in page
    pca = gramian.PCA(2).fit(X)
    page = shown(pca)
    assert f"2 components, {100 * pca.explained_variance_ratio_.sum():.4g} % of the variance" in page
    assert "Certificate: holds" in page
    assert "Plan: solver &#x27;full&#x27;" in page
    assert page.count('title="PC') == 2
    assert "n_components" in page  # scikit-learn's view
    with sklearn.config_context(display="text"):
        assert set(pca._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_nothing_varies():
    assert "variances of the components" not in shown(gramian.PCA(1).fit(np.ones((4, 2))))


HOSTILE = '<script>alert("x")</script>'


def cells(page):
    """Return the rows of the tables of a page, as a browser reads them."""
    rows, text = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag in {"table", "thead", "tbody", "tr", "th", "td", "div", "span"}, tag
            if tag == "tr":
                rows.append([])
            text.clear()

        def handle_data(self, data):
            text.append(data)

        def handle_endtag(self, tag):
            if tag in ("th", "td"):
                rows[-1].append("".join(text))
                text.clear()

    Reader().feed(page)
    return rows


def test_results_are_one_line_at_a_prompt_and_tables_in_a_notebook():
    pca = gramian.PCA(2).fit(X)
    choice = gramian.PCA("mle").fit(X).component_choice_
    audit = gramian.kernels.audit("sigmoid(gamma=1, coef0=-2)", X)
    for record in (
        pca.certificate_,
        pca.plan_,
        pca.attempts_[0],
        pca.spectrum_,
        choice,
        audit,
        audit.witness,
    ):
        assert "\n" not in repr(record)
        assert len(repr(record)) < 240
        assert "array(" not in repr(record)
        assert record is pca.certificate_ or str(record).partition("\n")[0] in repr(record)
    assert repr(pca.certificate_) == f"<{pca.certificate_.brief}>"
    for record in (pca.certificate_, pca.plan_):
        assert record._repr_html_().count("<div>") == len(str(record).splitlines())
    assert len(cells(choice._repr_html_())) == 1 + len(choice.evidence["components"])
    page = audit._repr_html_()
    assert "Verdict: not a kernel" in page
    points = cells(page)[1:]
    assert [float(row[2]) for row in points] == pytest.approx(audit.witness.vector, rel=1e-4)
    assert [float(row[3]) for row in points] == pytest.approx(audit.witness.gram[:, 0], rel=1e-4)


def test_names_of_columns_are_text_in_every_table():
    frame = pd.DataFrame(X, columns=[HOSTILE, "b", "c", "d"])
    pca, label = gramian.PCA(2).fit(frame), X[:, 0] > 0
    new = frame.copy()
    new.iloc[0, 0] = 100.0
    results = [
        gramian.describe(pca, frame, {HOSTILE: X[:, 1]}),
        gramian.Monitor(gramian.PCA(2)).fit(frame).statistics(new),
        gramian.rotate(pca),
        gramian.mutual_information(frame, label),
        gramian.SequentialFeatureSelector(LinearRegression(), cv=2).fit(frame, X[:, 0]).history_,
    ]
    for result in results:
        page = result._repr_html_()
        assert "<script" not in page
        assert any(HOSTILE in cell for row in cells(page) for cell in row), type(result)
    others = [
        pca.summary(),
        gramian.compare(pca, pca),
        gramian.stability(pca, frame, n_resamples=10, random_state=0),
        gramian.choose_components(frame, rules=["kaiser"]),
        gramian.Monitor(gramian.PCA(2)).fit(frame).limits_,
        gramian.relations(np.column_stack([X[:, :2], X[:, :1] * 2 + X[:, 1:2]]), 1),
    ]
    for result in others:
        assert len(cells(result._repr_html_())) > 1, type(result)
    assert (
        "<script"
        not in pca._repr_mimebundle_()["text/html"].partition("</style>")[2].partition("<b>2 comp")[2]
    )


def test_a_notebook_shows_the_figure_as_any_of_matplotlib():
    plt = pytest.importorskip("matplotlib.pyplot")
    before = plt.get_fignums()
    ax = gramian.figures.scree(gramian.PCA(2).fit(X))
    assert plt.gcf() is ax.figure  # which the backend of a notebook shows after its cell
    assert len(plt.get_fignums()) == len(before) + 1
    plt.close(ax.figure)


class Screen(io.StringIO):
    def isatty(self):
        return True


class Listener:
    def update(self, *arguments):
        pass


def written(monkeypatch, delay=0.0, patience=0.05):
    """Fit with a step that waits for the line, and return what was written to standard error."""
    screen, real = Screen(), gramian.core.progress.report

    def slow(*arguments):
        real(*arguments)
        end = time.monotonic() + patience
        while time.monotonic() < end and arguments[0] not in screen.getvalue():
            time.sleep(0.005)
            real(*arguments)

    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("gramian.core.progress.DELAY", delay)
    monkeypatch.setattr("gramian.core.progress.PAUSE", 0.005)
    monkeypatch.setattr("gramian.engine.solving.report", slow)
    gramian.PCA(2).fit(X)
    return screen.getvalue()


def test_a_long_fit_shows_a_line_that_goes_away(monkeypatch):
    text = written(monkeypatch, patience=10.0)
    assert "PCA: full, about 0.01 s" in text
    assert text.endswith("\r")


@pytest.mark.parametrize("quiet", ["short", "setting", "environment", "pipe", "reporter", "worker"])
def test_a_short_fit_and_one_that_nobody_watches_show_nothing(monkeypatch, quiet):
    with contextlib.ExitStack() as stack:
        if quiet == "setting":
            gramian.set_progress(False)
            stack.callback(gramian.set_progress, True)
        elif quiet == "environment":
            monkeypatch.setenv("GRAMIAN_PROGRESS", "0")
        elif quiet == "pipe":
            monkeypatch.setattr(Screen, "isatty", lambda self: False)
        elif quiet == "worker":
            monkeypatch.setattr(multiprocessing.current_process(), "_name", "LokyProcess-1")
        elif quiet == "reporter":
            stack.enter_context(report_to(Listener()))
        assert written(monkeypatch, delay=60.0 if quiet == "short" else 0.0) == ""


def test_a_notebook_gets_a_bar_below_the_cell(monkeypatch):
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(Screen, "isatty", lambda self: False)
    assert "PCA: full, about 0.01 s" in written(monkeypatch, patience=10.0)
