import numpy as np

import gramian
from gramian.report.summary import Fitted, component_lines, headline, methods_paragraph, summary_page
from gramian.rows.table import Table

X = np.random.default_rng(0).normal(size=(40, 12)) * np.arange(1, 13)
NOTE = "first column used as row names"
TABLE = Table(X, source="a`b.csv", sha256="ab" * 32, notes=(NOTE,), row_numbers=range(5, 45))


def page(model, files=("model.gramian", "scores.csv", "eigenvalues.csv"), notes=()):
    command = ("gramian", "fit", "a b.csv", "-o", "r")
    return summary_page(Fitted(model, TABLE, np.empty((0, 0)), command, 0.5), files, notes)


def test_the_page_tells_everything():
    text = page(gramian.PCA(11, scale="unit", random_state=0).fit(X))
    for part in (
        "# PCA of ``a`b.csv``",
        "The certificate holds.",
        "SHA-256: `abab",
        "Rows 5 to 44 of the source",
        "First column used as row names",
        "The other 1 are in [eigenvalues.csv]",
        "gramian fit 'a b.csv' -o r",
        "scaled to unit variance; variances divide by n - 1",
        "## What is guaranteed",
        f"numpy {np.__version__}",
    ):
        assert part in text


def test_a_certificate_that_fails_is_not_hidden():
    model = gramian.PCA(2).fit(X)
    object.__setattr__(model.certificate_, "ok", False)
    assert "DOES NOT HOLD" in page(model)


def test_the_methods_paragraph_says_what_was_done():
    for model, words in [
        (gramian.PCA(0.9), "the fewest that carry 90 % of the variance"),
        (gramian.PCA(2, center=False), "not centred"),
        (gramian.PCA(2, ddof=0), "variances divide by n."),
        (gramian.PCA("gavish-donoho"), "as chosen by the optimal hard threshold for singular values (Gavish"),
        (
            gramian.PCA(max_rmse=3.0),
            "as chosen by the largest reconstruction error that was allowed, carrying",
        ),
        (gramian.KernelPCA(2, kernel="rbf"), "centred in feature space"),
    ]:
        assert words in methods_paragraph(model.fit(X), TABLE)


def test_the_page_says_which_rule_chose_the_number():
    model = gramian.PCA(max_rmse=3.0).fit(X)
    assert f"- Number of components, by max_rmse: {model.component_choice_.sentence}" in page(model)
    assert "Number of components, by" not in page(gramian.PCA(2).fit(X))


def test_unknown_shares_are_called_so():
    model = gramian.PCA(1).fit(X)
    model.explained_variance_ratio_ = None
    assert component_lines(model)[-1].endswith("| not known | not known |")
    assert headline(model, TABLE) == "PCA of 40 rows x 12 columns: 1 component."


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
    assert "as chosen by parallel analysis with permuted columns (Horn 1965)." in methods_paragraph(
        model, TABLE
    )
    model.component_choice_ = gramian.KernelPCA("cv", random_state=0).fit(rows).component_choice_
    assert "how well pre-images tell hidden entries" in methods_paragraph(model, TABLE)
