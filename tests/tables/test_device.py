"""Rows that are arrays of PyTorch: here on the host, with as little memory as a test says."""

from itertools import product

import numpy as np
import pytest

from gramian import PCA, KernelPCA, Whitener
from gramian.engine import tiles
from gramian.errors import DataError, MemoryLimitError
from gramian.tables import memory

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

rng = np.random.default_rng(0)
TABLE = rng.standard_normal((3000, 12)) * 0.7 ** np.arange(12) + 5.0


@pytest.fixture
def failing(monkeypatch):
    """Return a function after which arrays of more entries than it is given are out of memory."""

    def above(entries):
        def checked(real, size):
            def call(*args, **options):
                if size(*args) > entries:
                    raise torch.OutOfMemoryError("CUDA out of memory.")
                return real(*args, **options)

            return call

        moments, fill = memory.ArrayRows.cut, tiles.TileMatrix._fill
        monkeypatch.setattr(
            memory.ArrayRows,
            "cut",
            checked(
                moments, lambda rows, part, columns: part_size(rows, part, columns) * (rows.shape[1] == 12)
            ),
        )
        monkeypatch.setattr(
            tiles.TileMatrix, "_fill", checked(fill, lambda matrix, stack, scratch: stack.size)
        )

    return above


@pytest.fixture(autouse=True)
def one_thread():
    """Small arrays are slow on many threads of PyTorch, and slower where others compute too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def part_size(rows, part, columns):
    n, d = rows.shape
    return len(range(n)[part]) * len(range(d)[columns])


def models():
    yield PCA(4, random_state=0), "explained_variance_"
    yield PCA(4, solver="krylov", scale="unit", random_state=0), "explained_variance_"
    yield PCA(4, solver="gram", whiten=True, random_state=0), "explained_variance_"
    yield KernelPCA(4, kernel="rbf", gamma=0.1, random_state=0), "eigenvalues_"
    options = {"kernel": "rbf", "gamma": 0.1, "n_landmarks": 60, "random_state": 0}
    yield KernelPCA(4, solver="nystroem", **options), "eigenvalues_"
    yield Whitener("zca"), "eigenvalues_"
    yield Whitener("pca", n_components=3, regularization="ledoit-wolf"), "eigenvalues_"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_device_finds_what_the_host_finds(dtype):
    X, new = TABLE[:900].astype(dtype), TABLE[900:1000].astype(dtype)
    tolerance = 1e-9 if dtype == "float64" else 2e-5
    for model, values in models():
        host = model.fit(X)
        expected, there = host.transform(new), getattr(host, values).copy()
        scores = model.fit_transform(torch.asarray(X))
        assert isinstance(scores, torch.Tensor)
        assert scores.dtype == getattr(torch, dtype)
        np.testing.assert_allclose(getattr(model, values), there, rtol=tolerance, err_msg=repr(model))
        np.testing.assert_allclose(
            model.transform(torch.asarray(new)), expected, atol=100 * tolerance, err_msg=repr(model)
        )
        # Of kernel PCA, as far as residuals are allowed.
        np.testing.assert_allclose(model.transform(X), scores, atol=1e4 * tolerance, err_msg=repr(model))
        assert model.certificate_.ok


def test_what_the_device_has_no_memory_for_says_what_would_fit(failing):
    failing(100)
    kernel = KernelPCA(3, kernel="rbf", gamma=0.2, solver="krylov")
    for model, X, what in (
        (PCA(2, solver="covariance"), TABLE, "columns"),
        (PCA(2, solver="krylov"), TABLE, "columns"),
        (kernel, TABLE[:400, :3], "400 rows of a kernel matrix"),
    ):
        with pytest.raises(MemoryLimitError, match=f"{what} do not fit on the device: it is out of memory"):
            model.fit(torch.asarray(X))


def test_a_step_that_cannot_be_smaller_says_what_would_fit(monkeypatch):
    def full(A, *args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("gramian.engine.routes._svd", full)
    with pytest.raises(MemoryLimitError, match=r"100 rows x 12 columns do not fit .* it is out of memory"):
        PCA(2, solver="full").fit(torch.asarray(TABLE[:100]))


def test_rules_and_streams_of_a_device():
    X = TABLE[:200] + rng.standard_normal((200, 1))
    for rule in ("parallel", "cv", "mle"):
        there, here = (PCA(rule, random_state=0).fit(data) for data in (torch.asarray(X), X))
        assert there.n_components_ == here.n_components_
    stream = PCA(3)
    for batch in np.array_split(TABLE, 4):
        stream.partial_fit(torch.asarray(batch))
    assert isinstance(stream.components_, torch.Tensor)
    np.testing.assert_allclose(stream.explained_variance_, PCA(3).fit(TABLE).explained_variance_, rtol=1e-10)


def test_a_wrong_entry_is_found_in_its_row():
    X = TABLE.copy()
    X[2345, 6] = np.nan
    with pytest.raises(DataError, match="Input X contains NaN: row 2345, column 6"):
        PCA(2, solver="covariance").fit(torch.asarray(X))
    model = PCA(2, solver="covariance").fit(torch.asarray(TABLE))
    with pytest.raises(DataError, match=r"row 2345, column 6\. The model maps complete rows only"):
        model.transform(torch.asarray(X))
    by_least_squares = {"solver": "covariance", "missing": "projection"}
    np.testing.assert_allclose(
        PCA(2, **by_least_squares).fit(torch.asarray(TABLE)).transform(torch.asarray(X)),
        PCA(2, **by_least_squares).fit(TABLE).transform(X),
        rtol=1e-6,
    )
    X[2345, 6] = np.inf
    with pytest.raises(DataError, match=r"Input X contains inf \(infinity\): row 2345, column 6"):
        model.transform(torch.asarray(X))


def test_hard_data_and_float32_are_as_exact_as_on_the_host():
    spread = rng.standard_normal((400, 5)) * [5, 4, 3, 2, 1]
    cases = {
        "offset": (spread + 1e4).astype("f4"), "huge": spread * 1e95, "tiny": spread * 1e-95,
        "one value": np.column_stack([spread, np.full(400, 0.1)]), "far": spread * 1e-3 + 1e9,
        "rank one": np.outer(np.arange(400.0), [1.0, 2.0, 3.0]), "two rows": spread[:2],
    }  # fmt: skip
    for (name, X), solver in product(cases.items(), ("covariance", "gram")):
        here, there = (PCA(1, solver=solver, random_state=0).fit(data) for data in (X, torch.asarray(X)))
        np.testing.assert_allclose(
            there.explained_variance_, here.explained_variance_, rtol=1e-6 if X.dtype == "f4" else 1e-11,
            err_msg=name,
        )  # fmt: skip
        np.testing.assert_allclose(there.total_variance_, here.total_variance_, rtol=1e-7, err_msg=name)
        assert (there.constant_features_ == here.constant_features_).all()
    # With "medium" products are of bfloat16, wrong by 1e-3, where the certificate states 1e-5.
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(DataError, match="set to multiply float32 with the precision 'medium'"):
            PCA(2).fit(torch.asarray(TABLE.astype("float32")))
    finally:
        torch.set_float32_matmul_precision("highest")


def test_few_copies_leave_the_device(monkeypatch):
    # Each waits for all that was asked of the device before.
    copies = []
    real = torch.Tensor.cpu
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: copies.append(tensor.shape) or real(tensor))
    X = torch.asarray(TABLE)
    PCA(4, solver="covariance", random_state=0).fit(X)
    # One for all that the pass finds; the others are of the certificate and of norms for the findings.
    assert len(copies) <= 5


def test_a_device_of_fast_float64_makes_the_covariance_in_it_at_once(monkeypatch):
    X = (10 * TABLE @ rng.standard_normal((12, 120))).astype("float32")
    X = torch.asarray(X)
    plain = PCA(2, solver="covariance").fit(X)
    monkeypatch.setattr("gramian.tables.device.quick_double", lambda like: True)
    quick = PCA(2, solver="covariance").fit(X)
    assert (plain.plan_.arithmetic, quick.plan_.arithmetic) == ("float32", "float64")
    np.testing.assert_allclose(quick.explained_variance_, plain.explained_variance_, rtol=1e-6)
