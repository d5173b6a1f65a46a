"""Array kinds, exact scaling, threads and amounts of memory."""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import ThreadpoolController, threadpool_limits

from gramian.core import arrays
from gramian.errors import ParameterError

# ---------------------------------------------------------------- array kinds


def test_every_view_of_numpy_goes_to_every_kind(array_kind):
    like, values = array_kind.make(np.zeros((1, 1))), np.arange(12.0, dtype=array_kind.dtype).reshape(3, 4)
    # Eigenvectors by falling eigenvalue: a reversed view, of which (m, 1) is contiguous to NumPy.
    views = [values[:, :1][:, ::-1], values[:1][::-1], values[::-1, ::-1], values[:, 1], values[::-1, 0]]
    views += [values.T, values[:0], values[0, :1][::-1], np.broadcast_to(2.0, (3, 1))]
    read_only = values.copy()
    read_only.flags.writeable = False
    for view in (*views, read_only):
        there = arrays.from_numpy(view.astype(array_kind.dtype, copy=False), like)
        assert array_kind.same(there)
        assert_array_equal(arrays.to_numpy(there), view)


def test_kinds_go_to_numpy_and_back_with_random_numbers_and_bases(array_kind):
    X = array_kind.make(np.zeros((1, 1)))
    drawn = arrays.random_normal(np.random.default_rng(3), (5, 2), X)
    expected = np.random.default_rng(3).standard_normal((5, 2)).astype(array_kind.dtype)
    assert array_kind.same(drawn)
    assert_array_equal(arrays.to_numpy(drawn), expected)
    values = np.random.default_rng(0).standard_normal((40, 6))
    Q, R = arrays.orthonormal(array_kind.make(values))
    Q = arrays.as_float64(Q)
    eps = np.finfo(array_kind.dtype).eps
    assert_allclose(Q.T @ Q, np.eye(6), atol=20 * eps)
    assert_allclose(Q @ R, values, atol=50 * eps)
    assert_allclose(R, np.triu(R), atol=20 * eps)
    values = np.arange(12.0).reshape(3, 4)
    X = array_kind.make(values)
    assert arrays.numpy_dtype(X) == array_kind.dtype
    assert arrays.is_numpy(X) == array_kind.name.startswith("numpy")
    assert_array_equal(arrays.to_numpy(X), values)
    assert arrays.as_float64(X).dtype == np.float64
    assert isinstance(arrays.as_float64(X), np.ndarray)
    assert arrays.numpy_dtype(arrays.to_float64(X)) == np.float64
    assert arrays.numpy_dtype(arrays.to_dtype(X, np.dtype("f4"))) == np.float32
    assert arrays.numpy_dtype(arrays.to_dtype(X, np.dtype("f8"))) == np.float64
    back = arrays.from_numpy(values.astype(array_kind.dtype)[::-1], X)
    assert array_kind.same(back)
    assert_array_equal(arrays.to_numpy(back), values[::-1])
    assert arrays.namespace(X).sum(X) == 66


def test_columns_have_norms_and_tensors_with_gradients_become_numpy(array_kind):
    norms = arrays.column_norms(array_kind.make([[3.0, 0.0], [4.0, 2.0]]))
    assert norms.dtype == np.float64
    assert_allclose(norms, [5, 2], rtol=1e-6)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    tensor = torch.ones(2, 2, requires_grad=True)
    assert_array_equal(arrays.to_numpy(tensor), np.ones((2, 2)))


def test_orthonormal_on_input_of_any_condition():
    for condition in [1e2, 1e5, 1e7, 1e9, 1e12, 1e15]:
        rng = np.random.default_rng(1)
        left = np.linalg.qr(rng.standard_normal((60, 8)))[0]
        right = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        V = (left * np.geomspace(1, 1 / condition, 8)) @ right.T
        Q, R = arrays.orthonormal(V)
        assert_allclose(Q.T @ Q, np.eye(8), atol=1e-14)
        assert_allclose(Q @ R, V, atol=1e-14)
    for V in [
        np.zeros((5, 2)),
        np.ones((5, 3)),
        np.eye(4)[:, [0, 0, 1]],
        np.c_[np.ones(6), 1e-200 * np.arange(6.0)],
        np.full((4, 2), 1e-170),
    ]:
        Q, R = arrays.orthonormal(V)
        assert_allclose(Q.T @ Q, np.eye(V.shape[1]), atol=1e-14)
        assert_allclose(Q @ R, V, atol=1e-14)
    Q, R = arrays.orthonormal(np.empty((5, 0)))
    assert Q.shape == (5, 0)
    assert R.shape == (0, 0)


def test_power_of_two():
    for value, exponent in [
        (1.0, 0),
        (1.999, 0),
        (2.0, 1),
        (0.5, -1),
        (1e150, 498),
        (5e-324, -1074),
        (0.0, 0),
    ]:
        assert arrays.power_of_two(value) == exponent
    for value in [np.inf, np.nan, -1.0]:
        assert arrays.power_of_two(value) == 0


def blas_limits():
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library.num_threads for library in libraries]


@pytest.fixture
def two_workers():
    """At least two BLAS threads, whatever the machine has."""
    with threadpool_limits(2, user_api="blas"):
        yield


def test_the_guard_restores_what_it_found(two_workers):
    before = blas_limits()
    with arrays.blas_threads() as outer:
        assert outer == max(before)
        assert set(blas_limits()) == {1}
        with arrays.blas_threads() as inner:
            assert inner == outer
        assert set(blas_limits()) == {1}
    assert blas_limits() == before
    with pytest.raises(ZeroDivisionError, match="division"), arrays.blas_threads():
        1 / 0  # noqa: B018
    assert blas_limits() == before
    names = []
    with threadpool_limits(1, user_api="blas"):
        arrays.parallel_map(lambda _: names.append(threading.current_thread().name), range(3))
        arrays.each_thread(lambda draw: names.extend(threading.current_thread().name for _ in draw), "abc")
    assert set(names) == {threading.current_thread().name}


def test_libraries_are_looked_for_when_there_may_be_new_ones(two_workers, monkeypatch):
    looked = []

    class Looking(ThreadpoolController):
        def __init__(self):
            looked.append(1)
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Looking)
    monkeypatch.setitem(sys.modules, "something_new", threadpoolctl)
    for _ in range(3):
        with arrays.blas_threads():
            assert set(blas_limits()) == {1}
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "something_newer", threadpoolctl)
    with arrays.blas_threads():
        assert set(blas_limits()) == {1}
    assert len(looked) == 2


def test_overlapping_guards_of_several_threads(two_workers):
    before = blas_limits()
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        with arrays.blas_threads():
            first_in.set()
            assert second_in.wait(10)
        first_out.set()

    def second():
        assert first_in.wait(10)
        with arrays.blas_threads():
            second_in.set()
            assert first_out.wait(10)
            assert set(blas_limits()) == {1}

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result()
    assert blas_limits() == before


def test_workers_keep_the_order_and_pass_on_errors(two_workers):
    def work(i):
        time.sleep(0.002 * (5 - i % 5))
        return i * i

    assert arrays.parallel_map(work, range(20)) == [i * i for i in range(20)]
    assert arrays.parallel_map(work, []) == []
    assert arrays.parallel_map(work, [3]) == [9]
    started = []

    def work(i):
        started.append(i)
        if i == 1:
            raise ValueError("item 1")
        time.sleep(0.01)

    with pytest.raises(ValueError, match="item 1"):
        arrays.parallel_map(work, range(200))
    assert len(started) < 200

    def share(draw):
        for item in draw:
            if item == 5:
                raise ValueError("item 5")

    with pytest.raises(ValueError, match="item 5"):
        arrays.each_thread(share, range(10))


def test_each_thread_draws_every_item_once_in_the_callers_error_state(two_workers):
    for count in [0, 1, 2, 97]:
        shares = arrays.each_thread(list, range(count))
        assert sorted(item for share in shares for item in share) == list(range(count))
        assert all(share == sorted(share) for share in shares)
    for spread in [arrays.parallel_map, arrays.each_thread]:

        def work(item, spread=spread):
            for _ in item if spread is arrays.each_thread else [item]:
                np.float64(1e300) * np.float64(1e300)

        with np.errstate(over="ignore"):
            spread(work, range(8))
        with pytest.raises(FloatingPointError, match="overflow"), np.errstate(over="raise"):
            spread(work, range(8))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1000, 1000),
        (1.5e9, 1_500_000_000),
        ("4GB", 4 * 10**9),
        ("4gb", 4 * 10**9),
        ("4 G", 4 * 10**9),
        ("512 MiB", 512 * 2**20),
        ("512MiB", 512 * 2**20),
        ("2TiB", 2 * 2**40),
        ("1.5kB", 1500),
        ("1e9", 10**9),
        ("800 B", 800),
        (" 7K ", 7000),
    ],
)
def test_amounts_of_memory(limit, expected):
    assert arrays.memory_limit_bytes(limit) == expected


NO_AMOUNTS = ["", "GB", "many", "4 XB", "-1GB", "0", "inf", "nan GB", "4GBGB"]


@pytest.mark.parametrize("limit", [*NO_AMOUNTS, 0, -1, float("nan"), float("inf"), True, [4]])
def test_what_is_no_amount(limit):
    with pytest.raises(ParameterError, match=r"is not an amount of memory\. Give bytes or text such as"):
        arrays.memory_limit_bytes(limit)


def test_the_default_is_a_share_of_the_machine(monkeypatch):
    monkeypatch.delenv("GRAMIAN_MEMORY_LIMIT", raising=False)
    assert 2**20 < arrays.memory_limit_bytes(None) < 2**60
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "3GB")
    assert arrays.memory_limit_bytes(None) == 3 * 10**9
    assert arrays.memory_limit_bytes("1GB") == 10**9
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "")
    assert arrays.memory_limit_bytes(None) > 2**20
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "lots")
    with pytest.raises(ParameterError, match=r"is not an amount of memory\. Give bytes or text such as"):
        arrays.memory_limit_bytes(None)


def test_workers_that_ask_for_workers_do_not_wait_for_each_other(two_workers):
    def inner(draw):
        return sum(draw)

    def outer(draw):
        return sum(sum(arrays.each_thread(inner, range(item))) for item in draw)

    assert sum(arrays.each_thread(outer, range(60))) == sum(sum(range(item)) for item in range(60))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_workers_of_its_own(two_workers):
    def share(draw):
        time.sleep(0.05)  # so long that the other one begins
        return sum(draw)

    assert sum(arrays.each_thread(share, range(100))) == 4950
    child = os.fork()
    if child == 0:
        result = arrays.each_thread(share, range(100))
        os._exit(0 if sum(result) == 4950 and len(result) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
