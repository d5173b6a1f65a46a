"""Kernels compared on data whose answer is known."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import gramian
from gramian import KernelPCA
from gramian.errors import DataError, InputTypeError, ParameterError
from gramian.kernels import RBF, Linear
from gramian.selection.choose_kernel import choose_kernel

RINGS, RING = make_circles(150, factor=0.4, noise=0.05, random_state=0)
FEW = ("linear", "rbf(sigma=1)", "rbf(sigma=0.4)")
CRITERIA = ("preimage", "parallel", "alignment", "score")
LABELLED = ("alignment", "score")


def choose(X, y=None, candidates=FEW, criterion=None, **given):
    return choose_kernel(X, y, list(candidates), criterion, random_state=0, **given)


def plane(n=120, noise=0.2):
    rng = np.random.default_rng(1)
    loadings = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    Z = rng.standard_normal((n, 2))
    return Z @ loadings + noise * rng.standard_normal((n, 6)), Z[:, 0] - Z[:, 1]


@pytest.mark.parametrize("criterion", ["preimage", "alignment", "score"])
def test_on_rings_rbf_beats_linear(criterion):
    choice = choose(RINGS, RING if criterion in LABELLED else None, criterion=criterion)
    linear, best = choice.candidates[0], choice.candidates[choice.place]
    assert isinstance(choice.best, RBF)
    assert abs(best.value - linear.value) > linear.standard_error


@pytest.mark.parametrize("criterion", CRITERIA)
def test_on_linear_data_linear_is_not_beaten_beyond_a_standard_error(criterion):
    X, y = plane()
    choice = choose(
        X, y if criterion in LABELLED else None, ("linear", "rbf(sigma=1)", "rbf(sigma=3)"), criterion
    )
    linear, best = choice.candidates[0], choice.candidates[choice.place]
    assert abs(best.value - linear.value) <= linear.standard_error


def test_the_criterion_follows_the_labels():
    assert choose(RINGS).criterion == "preimage"
    assert choose(RINGS, RING).criterion == "score"
    assert choose(RINGS, np.where(RING == 1, "in", "out")).measure == "accuracy"
    assert choose(RINGS, RINGS[:, 0] ** 2).measure == "r2"


def test_labels_of_a_file(tmp_path):
    lines = [f"{a},{b},{'in' if c else 'out'}" for (a, b), c in zip(RINGS.tolist(), RING, strict=True)]
    (tmp_path / "rings.csv").write_text("a,b,ring\n" + "\n".join(lines) + "\n")
    choice = choose(gramian.scan(tmp_path / "rings.csv", label="ring"))
    assert choice.criterion == "score"
    assert choice.candidates[2].value > 0.95


def test_the_model_does_what_was_promised():
    choice = choose(RINGS, RING)
    scores = choice.model.fit_transform(RINGS)
    assert scores.shape == (150, choice.n_components)
    assert LogisticRegression(C=100).fit(scores, RING).score(scores, RING) > 0.95


def test_ties_go_to_the_first():
    choice = choose(RINGS, RING, ("rbf(sigma=0.5)", "rbf(sigma=0.45)", "rbf(sigma=0.4)"))
    assert choice.place == 0
    assert choose(RINGS, None, (Linear(), Linear()), "preimage").place == 0
    # Of the same object only one is marked.
    kernel = Linear()
    assert [row[4] for row in choose(RINGS, RING, (kernel, kernel)).rows()] == [True, False]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_what_is_no_kernel_stays_in_the_table_with_the_reason(criterion):
    y = RING if criterion in LABELLED else None
    choice = choose(RINGS * 3, y, ("sigmoid(gamma=2)", "chi2", "linear"), criterion)
    assert choice.best == Linear()
    assert [trial.value is None for trial in choice.candidates] == [True, True, False]
    assert "negative" in choice.candidates[0].remark or "no valid kernel" in choice.candidates[0].remark
    assert "takes no negative numbers" in choice.candidates[1].remark
    with pytest.raises(
        DataError, match=f"None of 1 kernels can be judged by criterion='{criterion}'. sigmoid"
    ):
        choose(RINGS * 3, y, ("sigmoid(gamma=2)",), criterion)


def test_what_is_not_proven_is_doubted():
    def product(a, b):
        return float(a @ b)

    mild = KernelPCA(1, kernel="sigmoid", gamma=2)
    choice = choose(RINGS[:60], RING[:60], ("linear", product, mild), "score", cv=2, n_components=1)
    remarks = [trial.remark for trial in choice.candidates]
    assert remarks[:2] == ["", "It is not proven to be a kernel."]
    assert remarks[2].startswith("It is no valid kernel; on these rows")
    assert f"    {remarks[2]}" in str(choice).splitlines()


@pytest.mark.parametrize("criterion", LABELLED)
def test_clipping_can_be_asked_for(criterion):
    choice = choose(RINGS * 3, RING, (KernelPCA(kernel="sigmoid", gamma=2, repair="clip"),), criterion)
    assert choice.candidates[0].value is not None
    assert choice.model.repair == "clip"
    assert choice.candidates[0].remark.endswith("negative eigenvalues are set to 0.")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "change", [lambda X: X * 2.0**498, lambda X: X * 2.0**-498, lambda X: (X + 100).astype(np.float32)]
)
def test_scale_and_offset_change_nothing(criterion, change):
    X, y = plane(60)
    y = y if criterion in LABELLED else None
    width = "rbf(sigma='median')"
    plain = choose(X, y, ("linear", width), criterion, **two_folds(criterion))
    other = choose(change(X), y, ("linear", width), criterion, **two_folds(criterion))
    assert other.place == plain.place
    assert other.n_components == plain.n_components
    for mine, its in zip(plain.candidates, other.candidates, strict=True):
        assert its.value == pytest.approx(mine.value, rel=2e-3, abs=1e-6)


def two_folds(criterion):
    return {"cv": 2} if criterion in ("preimage", "score") else {}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_constant_columns_and_equal_rows_are_no_trouble(criterion):
    X = np.repeat(np.column_stack([RINGS[:40], np.full(40, 0.1)]), 2, axis=0)
    y = np.repeat(RING[:40], 2) if criterion in LABELLED else None
    choice = choose(X, y, criterion=criterion)
    assert all(np.isfinite(trial.value) for trial in choice.candidates)


@pytest.mark.parametrize("criterion", ["parallel", "alignment"])
def test_three_rows_are_enough_where_none_is_held_out(criterion):
    choice = choose(RINGS[:3], [0, 1, 1] if criterion in LABELLED else None, criterion=criterion)
    assert all(np.isfinite(trial.value) for trial in choice.candidates)


def test_three_rows_in_three_folds():
    assert np.isfinite(choose(RINGS[:3], criterion="preimage", cv=3).candidates[0].value)
    with pytest.raises(DataError, match="cv=5 but there are 3 rows"):
        choose(RINGS[:3])


def test_the_number_of_components_of_a_model_is_kept():
    choice = choose(RINGS, RING, (KernelPCA(3, kernel="rbf"), KernelPCA(kernel="rbf")), n_components=[2, 5])
    assert choice.candidates[0].n_components == 3
    assert choice.candidates[1].n_components in (2, 5)
    with pytest.raises(ParameterError, match="finds the number of components itself"):
        choose(RINGS, None, (KernelPCA(3),), "parallel")


def test_where_no_component_exceeds_chance_one_is_kept():
    choice = choose(np.random.default_rng(0).standard_normal((60, 3)), criterion="parallel")
    assert choice.reason.startswith("No component of 3 kernels exceeds what permuted columns have")
    assert (choice.place, choice.n_components, choice.candidates[0].n_components) == (0, 1, 0)


def test_the_default_list_on_rings():
    choice = choose_kernel(RINGS, criterion="alignment", y=RING)
    assert isinstance(choice.best, RBF)
    assert len(choice.candidates) == 12


def test_oil_flow_is_curved(data_dir):
    X = np.loadtxt(data_dir / "tables" / "oil_flow" / "DataTrn.txt")
    choice = choose(X, None, ("linear", "rbf(sigma=4)", "rbf(sigma=1)"))
    values = [trial.value for trial in choice.candidates]
    assert choice.best == RBF(sigma=1)
    assert values[2] < 0.75 * values[0]
    assert "300 of the 1,000 rows were looked at, evenly spaced." in choice.notes


def test_notes():
    labels = choose(RINGS, RING, criterion="parallel")
    assert labels.notes[-1] == "The labels take no part in criterion='parallel'."
    scored = choose(RINGS, RING, ("linear", "rbf(sigma=0.5)"))
    assert any("is therefore optimistic" in note for note in scored.notes)
    edge = choose(RINGS, RING, ("rbf(sigma=4)", "rbf(sigma=2)", "rbf(sigma=0.5)"), "alignment")
    assert edge.notes == (
        "It is the narrowest rbf that was tried. Try others beyond it too: candidates=[...].",
    )
    straight = choose(np.random.default_rng(0).standard_normal((60, 3)))
    assert any(note.startswith("No kernel takes out noticeably more") for note in straight.notes)
    near = choose(*plane(), ("rbf(sigma=3)", "linear"), "alignment")
    assert near.best == Linear()
    assert near.notes[0].startswith("rbf(sigma=3), which was listed before it, is within one standard error")
    hurried = choose(RINGS, RING, ("linear",), estimator=MLPClassifier(max_iter=1, random_state=0))
    assert any(note.startswith("While validating: ConvergenceWarning: ") for note in hurried.notes)


def test_several_kernels_at_the_same_time():
    alone, together = choose(RINGS, RING), choose(RINGS, RING, n_jobs=2)
    assert together.rows() == alone.rows()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_seed_decides(criterion):
    y = RING if criterion in LABELLED else None
    assert choose(RINGS, y, criterion=criterion).rows() == choose(RINGS, y, criterion=criterion).rows()


def test_arrays_of_every_kind(array_kind):
    choice = choose(array_kind.make(RINGS), RING, criterion="alignment")
    assert choice.rows()[2][1] == pytest.approx(
        choose(RINGS, RING, criterion="alignment").rows()[2][1], rel=1e-5
    )


def test_pictures_are_rows():
    pictures = np.random.default_rng(0).standard_normal((20, 2, 2))
    assert choose(pictures, criterion="parallel").about == "20 rows x 4 columns"


@pytest.mark.parametrize(
    ("X", "y", "given", "kind", "match"),
    [
        (RINGS, None, {"criterion": "pre-image"}, ParameterError, "Did you mean 'preimage'"),
        (RINGS, None, {"criterion": "score"}, DataError, "requires y to be passed"),
        (RINGS, None, {"criterion": "alignment"}, DataError, "requires y to be passed"),
        (RINGS, RING[:5], {}, DataError, "y has 5 labels but X has 150 rows"),
        (RINGS, RING[:5], {"criterion": "preimage"}, DataError, "y has 5 labels but X has 150 rows"),
        (RINGS, np.zeros(150, int), {}, DataError, "the same 1 class"),
        (RINGS, np.where(RING == 1, np.nan, 1.0), {}, DataError, "Input y contains NaN"),
        (np.where(RINGS > 1, np.nan, RINGS), None, {}, DataError, "Input X contains NaN"),
        (np.ones((20, 2)), None, {}, DataError, "All 20 rows are equal"),
        (RINGS[:2], None, {}, DataError, "minimum of 3 is required by choose_kernel"),
        (sparse.csr_array(RINGS), None, {}, InputTypeError, "does not take sparse data yet. Use X.toarray()"),
        (sparse.csr_array(RINGS), RING, {}, InputTypeError, "does not take sparse data yet"),
        (RINGS, None, {"n_jobs": 0}, ParameterError, "n_jobs=0 is no number of jobs"),
        (RINGS, None, {"n_jobs": 1.5}, ParameterError, "n_jobs=1.5 is no number of jobs"),
        (
            RINGS,
            RING,
            {"estimator": LogisticRegression()} | {"criterion": "preimage"},
            ParameterError,
            "estimator",
        ),
        (RINGS, None, {"candidates": ()}, ParameterError, "candidates is empty"),
    ],
)
def test_what_is_wrong_is_said(X, y, given, kind, match):
    with pytest.raises(kind, match=match):
        choose(X, y, **given)
