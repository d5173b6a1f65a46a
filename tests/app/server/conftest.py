"""A server that most tests ask, and what it was started with."""

import pytest

from gramian import PCA, KernelPCA
from gramian.faces import FaceSpace


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    from served import FACES, X

    folder = tmp_path_factory.mktemp("served")
    PCA(3).fit(X).save(folder / "pca.gramian")
    KernelPCA(3, kernel="rbf", gamma=0.05).fit(X).save(folder / "kernel.gramian")
    FaceSpace(20).fit(FACES).save(folder / "faces.gramian")
    return folder


@pytest.fixture(scope="session")
def server(files):
    from served import serving, warm_fits

    names = ("pca.gramian", "kernel.gramian", "faces.gramian")
    with serving(*(files / name for name in names)) as server, warm_fits(server):
        yield server


@pytest.fixture(scope="session")
def ids(server):
    from served import client_of

    with client_of(server) as client:
        listed = client.get("/api/v1/models").json()
    return {item["name"].partition(".")[0]: item["id"] for item in listed if item["given"]}


@pytest.fixture
def client(server):
    """A client whose items and fits go after the test."""
    from served import client_of

    def items():
        listed = {kinds: client.get(f"/api/v1/{kinds}").json() for kinds in ("models", "data")}
        return {f"{kinds}/{one['id']}" for kinds, found in listed.items() for one in found}

    server.app.state.gramian.jobs.clear()
    with client_of(server) as client:
        before = items()
        yield client
        for item in items() - before:
            client.delete(f"/api/v1/{item}")
