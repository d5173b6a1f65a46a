"""A cluster of two processes: one is killed, data is larger than one, two clients compute."""

import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster, as_completed, get_task_stream

from gramian import PCA

LIMIT = 800_000_000  # bytes of memory of a worker
N, D = 60_000, 50
MIXED = np.random.default_rng(0).standard_normal((D, D)) * 0.8 ** np.arange(D)[:, None]


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": LIMIT, "dashboard_address": ":0"}
    with LocalCluster(**options) as result:
        yield result


@pytest.fixture
def client(cluster):
    with Client(cluster) as result:
        result.wait_for_workers(2)
        yield result


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "x.zarr"
    X = (np.random.default_rng(1).standard_normal((N, D)) @ MIXED + 3).astype("f4")
    zarr.create_array(path, data=X, chunks=(1000, D))
    return path, X


def agree(result, whole):
    np.testing.assert_allclose(result.explained_variance_, whole.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(result.components_, whole.components_, atol=1e-3)
    assert result.certificate_.ok


@pytest.mark.parametrize("solver", ["covariance", "krylov"])
def test_a_fit_goes_on_when_a_worker_is_killed(client, stored, solver):
    path, X = stored
    pids = client.run(os.getpid)
    reads, lazy = [], da.from_zarr(path)

    def kill_when_it_works():
        with Client(client.scheduler.address, set_as_default=False) as other:
            while len(reads) < 5:
                reads.extend(
                    key for keys in other.processing().values() for key in keys if "_on_part" in str(key)
                )
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_when_it_works)
    killer.start()
    result = PCA(5, solver=solver).fit(lazy)
    killer.join()
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != set(pids.values())
    agree(result, PCA(5, solver=solver).fit(X))


def test_data_larger_than_a_worker_is_in_no_place_as_a_whole(client):
    shape = (6_000_000, D)  # 1.2 GB of float32
    rng = da.random.default_rng(0)
    lazy = rng.standard_normal(shape, chunks=(100_000, D), dtype="f4") * np.linspace(2, 1, D, dtype="f4")
    assert lazy.nbytes > 1.4 * LIMIT
    result = PCA(3, solver="covariance").fit(lazy)
    np.testing.assert_allclose(result.explained_variance_, np.linspace(2, 1, D)[:3] ** 2, rtol=0.01)
    sums = result.transform(lazy).sum(axis=0).compute()
    np.testing.assert_allclose(sums / len(lazy), 0, atol=1e-4)
    peaks = client.run(lambda dask_worker: max(dask_worker.monitor.quantities["memory"]))
    assert max(peaks.values()) < 0.8 * LIMIT


def test_the_plan_tells_the_tasks_of_a_pass(client, stored):
    lazy = client.persist(da.from_zarr(stored[0]))
    list(as_completed(client.futures_of(lazy)))
    step = PCA(5, solver="covariance").plan(lazy).steps[0].detail
    said = re.search(r"60 chunks on 2 workers: a pass is (\d+) tasks$", step)
    with get_task_stream(client) as stream:
        PCA(5, solver="covariance", tol=1e-3).fit(lazy)
    assert sum(task["key"].startswith(("_on_part", "_merged")) for task in stream.data) == int(said[1])


def test_two_clients_fit_at_once(cluster, stored):
    path, X = stored

    def fit(count):
        with Client(cluster, set_as_default=False) as own, own.as_current():
            return PCA(count).fit(da.from_zarr(path))

    with ThreadPoolExecutor(2) as pool:
        for result, count in zip(pool.map(fit, (3, 6)), (3, 6), strict=True):
            agree(result, PCA(count).fit(X))
