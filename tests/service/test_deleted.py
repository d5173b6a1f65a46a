"""What is left of what was deleted: nothing in a process, in a list, or of a folder that somebody removed."""

import asyncio
import os
import shutil

import pytest

from served import BINARY, CSV, Limits, client_of, create_app, httpx, until

API = "/api/v1"
ROWS = b"a,b\n1,2\n3,5\n4,4\n"


def processes(server):
    """Return the processes of workers and of fits."""
    state = server.app.state.gramian
    return {worker._process.pid for pool in (state.quick, state.fits) for worker in pool._all}


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.walk
def test_no_process_and_no_list_knows_what_was_deleted(server, client):
    data = client.post(f"{API}/data?name=secret", content=ROWS, headers=CSV).json()["id"]
    fit = {"data": data, "parameters": {"n_components": 1}, "name": "secret"}
    job = client.post(f"{API}/jobs", json=fit).json()["id"]
    until(lambda: client.get(f"{API}/jobs/{job}").json()["state"] == "done")
    place = f"{API}/models/{client.get(f'{API}/jobs/{job}').json()['model']}"

    def ended(act):
        assert client.post(f"{place}/transform", content=ROWS, headers=CSV).status_code == 200
        before = processes(server)
        act()
        return not any(map(lives, before))

    assert client.post(f"{place}/transform?data={data}").status_code == 200
    assert ended(lambda: client.delete(f"{API}/data/{data}").raise_for_status())
    assert client.get(f"{API}/jobs").json() == []
    assert client.get(f"{API}/jobs/{job}").status_code == 404
    content = client.get(f"{place}/file").content
    assert ended(lambda: client.put(place, content=content, headers=BINARY).raise_for_status())

    def leave():
        visitors = server.app.state.gramian.sessions
        for visitor in visitors.known:
            os.utime(visitor.folder, (0, 0))
        visitors.remove_idle()
        with client_of(server) as newcomer:
            newcomer.post(f"{API}/data", content=ROWS, headers=CSV).raise_for_status()

    assert ended(leave)


@pytest.mark.walk
def test_a_fit_of_deleted_data_is_cancelled(server, client):
    rows = b"\n".join([b"a,b,c", *(b"%d,%d,%d" % (i, i * i % 97, i * i * i % 89) for i in range(2500))])
    data = client.post(f"{API}/data", content=rows, headers=CSV).json()["id"]
    fit = {"data": data, "estimator": "KernelPCA", "parameters": {"kernel": "rbf", "n_components": 900}}
    assert client.post(f"{API}/jobs", json=fit).json()["state"] == "running"
    assert client.delete(f"{API}/data/{data}").status_code == 204
    assert client.get(f"{API}/jobs").json() == []
    until(lambda: server.app.state.gramian.fits.busy == 0)
    assert {one["whose"] for one in client.get(f"{API}/models").json()} == {"given"}


# ------------------------------------------------------------------ the temporary folder


def asked(app, use):
    """Let a function use a client of a running application, and its folder."""

    async def ask():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30) as client,
        ):
            await use(client, app.state.gramian.root)

    asyncio.run(ask())


def modes(root):
    return {path.name: path.stat().st_mode & 0o777 for path in (root, *root.iterdir())}


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.walk
def test_a_temporary_folder_that_a_cleaner_removed_is_made_again(temporary):
    async def use(client, root):
        before = modes(root)
        assert before == {root.name: 0o700, ".gramian-store": 0o600} | dict.fromkeys(
            ("models", "visitors", "work"), 0o700
        )
        for gone in (".", "work", "visitors", ".gramian-store"):
            item = (await client.post(f"{API}/data", content=ROWS, headers=CSV)).json()["id"]
            assert (await client.get(f"{API}/data/{item}")).status_code == 200
            (shutil.rmtree if (root / gone).is_dir() else os.unlink)(root / gone)
            assert (await client.get("/healthz")).status_code == 200
            got = await client.get(f"{API}/data/{item}")
            lost = gone in (".", "visitors")
            assert got.status_code == (404 if lost else 200)
            assert not lost or "It was deleted" in got.json()["error"]
            assert (await client.get("/metrics")).status_code == 200
            assert (await client.post(f"{API}/data", content=ROWS, headers=CSV)).status_code == 201
            assert gone == ".gramian-store" or modes(root) == before

    asked(create_app(limits=Limits(workers=1)), use)
    assert os.listdir(temporary) == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no such owners")
def test_a_folder_that_another_user_made_in_its_place_is_not_used(temporary):
    theirs = temporary / "theirs"
    theirs.mkdir()

    async def use(client, root):
        def open_to_all():
            for name in ("models", "visitors", "work"):
                (root / name).mkdir(parents=True)
            root.chmod(0o777)

        for take, remove in (
            (open_to_all, shutil.rmtree),
            (lambda: root.symlink_to(theirs), os.unlink),
            (lambda: root.write_text("theirs"), os.unlink),
        ):
            shutil.rmtree(root)
            take()
            for method, path in (("GET", "/healthz"), ("POST", f"{API}/data"), ("GET", f"{API}/models")):
                got = await client.request(method, path, content=ROWS, headers=CSV)
                assert got.status_code == 503
                assert "temporary folder was removed" in got.json()["error"]
            remove(root)
            assert (await client.get("/healthz")).status_code == 200
        assert list(theirs.iterdir()) == []

    asked(create_app(limits=Limits(workers=0)), use)


def test_a_store_that_is_gone_is_not_made_again(tmp_path):
    async def use(client, root):
        shutil.rmtree(root)
        got = await client.get("/healthz")
        assert (got.status_code, "folder of the store" in got.json()["error"]) == (503, True)
        assert not root.exists()
        root.mkdir()

    asked(create_app(store=tmp_path / "store", limits=Limits(workers=0)), use)
