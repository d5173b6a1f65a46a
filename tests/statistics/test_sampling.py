"""Standard errors are those of the delta method, and groups those of a test with the stated level."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

import gramian
from gramian import PCA, KernelPCA
from gramian.app.cli import main
from gramian.statistics.sampling import Sampling, reaches, sampling_of, separated

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)) + RNG.standard_normal((60, 5)) * [
    6,
    3,
    1,
    0.5,
    0.2,
]
CLOSE = RNG.standard_normal((60, 4)) * [3, 2.9, 1, 0.3]


def literal_error(of_covariance, S, degrees):
    """Delta method for a Wishart matrix: the variance of f(S) is ``2 trace(G S G S) / degrees``."""
    G = np.zeros_like(S)
    for i in range(len(S)):
        for j in range(len(S)):
            step = np.zeros_like(S)
            step[i, j] += 1e-6
            step = (step + step.T) / 2
            G[i, j] = (of_covariance(S + step) - of_covariance(S - step)) / 2e-6
    return math.sqrt(2 * np.trace(G @ S @ G @ S) / degrees)


@pytest.mark.parametrize("weight", [None, [10, 1, 0.3, 2, 1]])
@pytest.mark.parametrize(("scale", "power"), [(None, 0), ("unit", 0.5), ("pareto", 0.25)])
def test_standard_errors_are_those_of_the_delta_method(scale, power, weight):
    def eigenvalues(S):
        divisors = np.diag(S) ** power / np.sqrt(1 if weight is None else weight)
        return np.linalg.eigvalsh(S / np.outer(divisors, divisors))[::-1]

    result, S = PCA(scale=scale, feature_weight=weight).fit(X).sampling_, np.cov(X.T)
    for j in range(5):
        error = literal_error(lambda S, j=j: eigenvalues(S)[j], S, 59)
        assert result.standard_errors[j] == pytest.approx(error, rel=1e-4)
        error = literal_error(lambda S, j=j: eigenvalues(S)[j] / eigenvalues(S).sum(), S, 59)
        assert result.ratio_standard_errors[j] == pytest.approx(error, rel=1e-4)


def test_errors_and_separations_are_those_of_all_components_and_named():
    whole, part = PCA().fit(X).sampling_, PCA(2).fit(X).sampling_
    assert part.standard_errors == pytest.approx(whole.standard_errors[:2])
    assert part.ratio_standard_errors == pytest.approx(whole.ratio_standard_errors[:2])
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = PCA(3).fit(X, sample_weight=weights).sampling_
    repeated = PCA(3).fit(np.repeat(X, weights, axis=0)).sampling_
    assert weighted.standard_errors == pytest.approx(repeated.standard_errors)
    assert weighted.brief.startswith(f"{weights.sum()} effective rows cannot tell")
    stream = PCA(3, forgetting=0.5).partial_fit(X[:30]).partial_fit(X[30:]).sampling_
    assert stream.n_effective == pytest.approx(45**2 / (30 + 30 / 4))
    tables = np.random.default_rng(1).standard_normal((4000, 30, 2))
    tables -= tables.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(np.einsum("tni,tnj->tij", tables, tables))
    rate = separated(values[:, 1], values[:, 0], 29.0).mean()
    assert abs(rate - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 4000)
    rows = np.random.default_rng(0).standard_normal((5, 10)) * 10.0 ** -np.arange(10)
    flat = X[:, :2] @ np.random.default_rng(1).standard_normal((2, 6))
    for table, rank in ((rows, 4), (flat, 2), (X[:2], 1), (X, 5)):
        for k in range(1, rank + 1):
            result = PCA(k).fit(table).sampling_
            assert (result.next_separated is None) == (k == rank)
            assert k < rank or "left out" not in result.brief
    assert PCA(1).fit(X[:2]).sampling_.brief == ""
    assert not separated(np.array([1.0]), np.array([0.0]), 1.0).any()
    values, degrees = np.array([9.0, 7.5, 6.5, 2.0, 1.9, 1.4, 1.3]), 80.0
    for j, reach in enumerate(reaches(values, len(values), degrees)):
        accepted = []
        for q in range(2, len(values) - j + 1):
            some = values[j : j + q]
            logs = np.log(some).sum() - q * np.log(some.mean())
            statistic = -(degrees - (2 * q * q + q + 2) / (6 * q)) * logs
            accepted.append(chi2.sf(statistic, (q - 1) * (q + 2) / 2) >= 0.05)
        expected = j + next((i for i, one in enumerate(accepted) if not one), len(accepted))
        assert reach == expected
    neighbours = separated(values[:-1], values[1:], degrees)
    assert np.array_equal(neighbours, reaches(values, 6, degrees) == np.arange(6))
    assert PCA(4).fit(CLOSE).sampling_.groups == (range(0, 2), range(2, 3), range(3, 4))
    for k, said in ((4, "PC1 and PC2"), (1, "PC1 and the first component left out")):
        mixed = "another sample may mix them, so read them together (only their span is determined)."
        expected = f"60 rows cannot tell {said} apart: {mixed}"
        assert PCA(k).fit(CLOSE).sampling_.brief == expected
    chain = Sampling(*[np.array([9.0, 7.5, 6.0])] * 4, (range(3),), None, 60, 60.0)
    assert chain.brief.startswith("60 rows cannot tell neighbours among PC1 to PC3 apart: ")
    apart = RNG.standard_normal((60, 3)) * [9, 3, 1]
    assert PCA(2).fit(apart).sampling_.brief == (
        "60 rows are enough to tell PC1, PC2 and the first component left out apart."
    )
    assert PCA(2).fit(apart).sampling_.separated.all()
    assert PCA(1).fit(apart[:, :1]).sampling_.brief == ""
    values, pairs = np.repeat([16.0, 8.0, 4.0, 2.0, 1.0], 2), tuple(range(j, j + 2) for j in range(0, 10, 2))
    many = Sampling(values, values, values, values, pairs, None, 40, 40.0)
    assert many.brief == (
        "40 rows cannot tell PC1 and PC2, nor PC3 and PC4, nor PC5 and PC6, nor 2 more groups apart: "
        "another sample may mix them, so read each group together (only its span is determined)."
    )


@pytest.mark.filterwarnings("ignore:The data has rank 0:gramian.errors.RankWarning")
def test_where_normal_theory_says_nothing_there_is_none():
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    for model in (
        PCA(2, center=False).fit(X),
        PCA(2, missing="em").fit(holed),
        PCA(2, scale="genotype").fit(np.random.default_rng(0).binomial(2, 0.4, (30, 4))),
        PCA().fit(np.ones((4, 2))),
    ):
        assert model.sampling_ is None
    assert sampling_of(KernelPCA(2).fit(X)) is None


@pytest.mark.walk
def test_every_surface_says_it_next_to_the_certificate(tmp_path, capsys):
    np.savetxt(tmp_path / "close.csv", CLOSE, delimiter=",", header="a,b,c,d", comments="")
    assert (
        main(
            [
                "fit",
                str(tmp_path / "close.csv"),
                "--n-components",
                "2",
                "-o",
                str(tmp_path / "out"),
                "--report",
            ]
        )
        == 0
    )
    model = gramian.load(tmp_path / "out" / "model.gramian")
    sample, computed = model.sampling_.brief, model.certificate_.brief
    assert "60 rows cannot tell PC1 and PC2 apart" in sample
    texts = [
        capsys.readouterr().out,
        (tmp_path / "out" / "summary.md").read_text(encoding="utf-8"),
        (tmp_path / "out" / "report.html").read_text(encoding="utf-8"),
        str(model.summary()),
        model._repr_html_(),
    ]
    assert main(["info", str(tmp_path / "out" / "model.gramian")]) == 0
    for text in [*texts, capsys.readouterr().out]:
        assert text.index(sample) < text.index(computed if computed in text else "Certificate: holds")
