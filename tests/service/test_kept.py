"""Who may put a model into the store, replace it and delete it, and how much fits."""

import os
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from gramian.service import media
from served import BINARY, CSV, Limits, client_of, serving

API = "/api/v1"
BODY = {"content": b"a,b\n1,2\n3,5\n", "headers": CSV}
TOKEN = {"Authorization": "Bearer a token for the tests"}


def names_in(page):
    return [line for line in page.splitlines() if "data-remove" in line]


@pytest.mark.walk
def test_whoever_put_a_model_there_may_change_it(files, tmp_path, monkeypatch):
    content, other = ((files / f"{name}.gramian").read_bytes() for name in ("pca", "kernel"))
    limits = Limits(workers=1, store_items=2)
    with serving(store=tmp_path, token="a token for the tests", limits=limits) as server:
        owner, stranger = (client_of(server, headers=TOKEN) for _ in range(2))
        with owner, stranger:
            kept = owner.post(f"{API}/models", content=content, headers=BINARY).json()
            assert (kept["whose"], kept["changeable"]) == ("kept", True)
            place = f"{API}/models/{kept['id']}"
            stranger.post(f"{API}/data", content=b"a,b\n1,2\n3,5\n", headers=CSV)
            for got in (stranger.delete(place), stranger.put(place, content=other, headers=BINARY)):
                assert got.status_code == 403
                assert "Only the visitor who added this shared model" in got.json()["error"]
            assert stranger.get(f"{place}/file").content == content
            assert [one["changeable"] for one in stranger.get(f"{API}/models").json()] == [False]
            pages = [one.get("/", headers={"Accept": "text/html"}).text for one in (owner, stranger)]
            assert [f"models/{kept['id']}" in "".join(names_in(text)) for text in pages] == [True, False]
            # When all else of theirs is gone, the model is still theirs, by the same cookie.
            (visitor,) = (one for one in server.app.state.gramian.sessions.known if not one.items())
            os.utime(visitor.folder, (0, 0))
            server.app.state.gramian.sessions.remove_idle()
            assert owner.put(place, content=other, headers=BINARY).json()["changeable"]
            got = owner.post(f"{API}/models?keep=false", content=content, headers=BINARY)
            assert "set-cookie" not in got.headers
            assert owner.post(f"{API}/models/{got.json()['id']}/keep").json()["changeable"]
            # Two models are what this store takes.
            got = stranger.post(f"{API}/models", content=content, headers=BINARY)
            assert (got.status_code, "The store is full" in got.json()["error"]) == (507, True)
            got = stranger.post(f"{API}/models?keep=false", content=content, headers=BINARY).json()
            assert stranger.post(f"{API}/models/{got['id']}/keep").status_code == 507
            assert stranger.get(f"{API}/models/{got['id']}/file").content == content
            assert owner.delete(place).status_code == 204
            assert stranger.post(f"{API}/models/{got['id']}/keep").status_code == 201
            # Without a token only this machine is answered, and whoever runs the server tidies up there.
            state = server.app.state.gramian
            monkeypatch.setattr(state, "settings", replace(state.settings, token=None))
            for model in stranger.get(f"{API}/models").json():
                assert (model["whose"], model["changeable"]) == ("kept", True)
            with client_of(server, headers=TOKEN) as somebody:
                for model in somebody.get(f"{API}/models").json():
                    assert somebody.delete(f"{API}/models/{model['id']}").status_code == 204


def everybody_leaves(visitors):
    for visitor in visitors.known:
        with suppress(FileNotFoundError):
            os.utime(visitor.folder, (0, 0))
    visitors.remove_idle()


@pytest.mark.walk
def test_uploads_without_a_cookie_lock_nobody_out(server, client, monkeypatch):
    monkeypatch.setattr("gramian.service.sessions.NEW", -1.0)
    visitors = server.app.state.gramian.sessions
    everybody_leaves(visitors)
    monkeypatch.setattr(visitors, "limits", replace(visitors.limits, visitors=2))
    client.post(f"{API}/data", **BODY)
    assert len(client.get(f"{API}/data").json()) == 1
    for _ in range(3):
        with client_of(server) as newcomer:
            assert newcomer.post(f"{API}/data", **BODY).status_code == 201
    assert len(client.get(f"{API}/data").json()) == 1


def test_an_upload_is_taken_from_a_visitor_who_made_room_meanwhile(client, monkeypatch):
    received = media.received

    @asynccontextmanager
    async def received_slowly(request, taken, work):
        async with received(request, taken, work) as path:
            everybody_leaves(request.app.state.gramian.sessions)
            yield path

    assert client.post(f"{API}/data", **BODY).status_code == 201
    monkeypatch.setattr(media, "received", received_slowly)
    assert client.post(f"{API}/data", **BODY).status_code == 201
    assert len(client.get(f"{API}/data").json()) == 1
