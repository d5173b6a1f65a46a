"""Who may enter: tokens that are guessed, cookies of several servers, and a proxy in front."""

import asyncio

import pytest

from gramian.errors import ParameterError
from served import Limits, app, create_app, httpx

access = cookies = pytest.importorskip("gramian.service.guard")
Refusal = app.Refusal

TOKEN = "correct-horse-battery"
NAME = "pca.example.org"


def scope_of(address="192.0.2.1", scheme="http", host="localhost:8765", **headers):
    named = {"host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    told = [(name.encode(), value.encode()) for name, value in named.items()]
    return {"type": "http", "scheme": scheme, "client": (address, 1), "headers": told}


class Time:
    """A clock that waits at once, until it is stopped."""

    def __init__(self):
        self.now, self.waited, self.goes = 0.0, [], asyncio.Event()
        self.goes.set()

    async def sleep(self, seconds):
        self.waited.append(seconds)
        await self.goes.wait()


async def guess(entry, count, address="192.0.2.1"):
    for _ in range(count):
        assert not await entry.is_token(scope_of(address), "wrong")


def test_guesses_of_an_address_are_slowed_and_the_token_enters():
    async def attack():
        time = Time()
        entry = access.Access(TOKEN, lambda: time.now, time.sleep)
        await guess(entry, access.FREE)
        assert time.waited == []
        await guess(entry, 3)
        assert time.waited == 3 * [access.DELAY]
        # The right token enters, from the same address after the delay, and from others at once.
        assert await entry.is_token(scope_of(), TOKEN)
        assert len(time.waited) == 4
        assert await entry.is_token(scope_of("192.0.2.2"), TOKEN)
        bearer = scope_of("198.51.100.1", authorization=f"Bearer {TOKEN}")
        assert await entry.may_enter(bearer)
        known = scope_of(cookie=f"gramian_pass_8765={entry.issue_pass()}")
        assert await entry.may_enter(known)
        assert len(time.waited) == 4
        # At most a few wait at the same time.
        time.goes.clear()
        pending = [asyncio.create_task(guess(entry, 1)) for _ in range(access.PENDING)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="Too many wrong tokens") as raised:
            await entry.is_token(scope_of(), TOKEN)
        assert (raised.value.status, raised.value.headers["Retry-After"]) == (429, "1")
        assert await entry.may_enter(known)
        time.goes.set()
        await asyncio.gather(*pending)
        assert await entry.is_token(scope_of(), TOKEN)
        # Later it is forgotten.
        time.now, waited = access.FORGOTTEN + 1, len(time.waited)
        await guess(entry, 1)
        assert len(time.waited) == waited

    asyncio.run(attack())


def test_addresses_of_one_network_are_one_and_few_are_remembered(monkeypatch):
    monkeypatch.setattr(access, "ADDRESSES", 3)

    async def attack():
        time = Time()
        entry = access.Access(TOKEN, lambda: time.now, time.sleep)
        for place in range(access.FREE + 1):
            await guess(entry, 1, f"2001:db8::{place:x}")
        assert len(time.waited) == 1
        for place in range(9):
            await guess(entry, 1, f"192.0.2.{place}")
        assert len(entry._guesses) == 3
        await guess(entry, 1, "no address")

    asyncio.run(attack())


def test_a_cookie_of_the_login_ends_with_the_logout_and_after_a_day(monkeypatch):
    monkeypatch.setattr(access, "PASSES", 3)
    time = Time()
    entry = access.Access(TOKEN, lambda: time.now, time.sleep)

    def new():
        return scope_of(cookie=f"gramian_pass_8765={entry.issue_pass()}")

    def enter(*scopes):
        return [asyncio.run(entry.may_enter(scope)) for scope in scopes]

    one, other = new(), new()
    assert enter(one, other) == [True, True]
    entry.revoke_pass(one)
    entry.revoke_pass(scope_of())  # somebody without a cookie
    assert enter(one, other) == [False, True]
    time.now = access.PASS_SECONDS - 1
    later = new()
    assert enter(other, later) == [True, True]
    time.now += 1
    assert enter(other, later) == [False, True]
    # The server remembers only so many, the latest, and forgets those that have ended.
    assert enter(later, *(scopes := [new() for _ in range(3)])) == [False, True, True, True]
    time.now += access.PASS_SECONDS
    assert enter(*scopes, new()) == [False, False, False, True]
    assert len(entry._passes) == 1


def test_what_is_no_token_is_no_guess():
    async def ask():
        entry = access.Access(TOKEN)
        for headers in ({}, {"authorization": "Basic d3Jvbmc="}, {"cookie": "gramian_pass_8765=wrong"}):
            assert not await entry.may_enter(scope_of(**headers))
        assert entry._guesses == {}

    asyncio.run(ask())


def test_servers_of_one_host_have_cookies_of_their_own():
    seen = set()
    for scheme, host, name in (
        ("http", "localhost:8765", "v_8765"),
        ("http", "localhost:8766", "v_8766"),
        ("http", "[::1]:8765", "v_8765"),
        ("http", "[::1]", "v_80"),
        ("https", NAME, "__Host-v_443"),
        ("https", f"{NAME}:8443", "__Host-v_8443"),
    ):
        scope = scope_of(scheme=scheme, host=host)
        cookies.set_cookie(scope, "v", "value", 10)
        (text,) = scope["state"]["cookies"]
        assert text.startswith(f"{name}=value; HttpOnly; SameSite=Strict; Path=/;")
        # Browsers take a __Host- cookie only where it is Secure, for / and of no Domain.
        assert (text.endswith("; Secure"), "Domain" in text) == (scheme == "https", False)
        assert cookies.get_cookie(scope_of(scheme=scheme, host=host, cookie=f"{name}=value"), "v") == "value"
        seen.add(name)
    assert len(seen) == 5


def asked(made, requests, peer="127.0.0.1"):
    """Return the answers of an application to requests of a peer."""

    async def ask():
        transport = httpx.ASGITransport(made, client=(peer, 1))
        async with made.router.lifespan_context(made), httpx.AsyncClient(transport=transport) as client:
            return [
                await client.request(method, f"http://{NAME}{path}", **more)
                for method, path, more in requests
            ]

    return asyncio.run(ask())


@pytest.mark.parametrize(("behind", "peer", "believed"), [
    (True, "127.0.0.1", True),
    (True, "::1", True),
    (True, "192.0.2.1", False),
    (["192.0.2.0/24"], "192.0.2.1", True),
    (["192.0.2.0/24"], "127.0.0.1", False),
    (False, "127.0.0.1", False),
])  # fmt: skip
def test_forwarded_headers_are_those_of_the_proxy_or_nothing(behind, peer, believed):
    made = create_app(token=TOKEN, hosts=[NAME], behind_proxy=behind, limits=Limits(workers=0))
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"}
    secure, plain = {"Origin": f"https://{NAME}"}, {"Origin": f"http://{NAME}"}
    login = {"json": {"token": TOKEN}}
    got = asked(made, [
        ("POST", "/api/v1/login", login | {"headers": forwarded | secure}),
        ("POST", "/api/v1/login", login | {"headers": forwarded | plain}),
        ("POST", "/api/v1/login", login | {"headers": plain}),
        ("POST", "/api/v1/login", login | {"headers": secure}),
        ("GET", "/healthz", {"headers": {"X-Forwarded-Host": NAME, "Host": "evil.example"}}),
    ], peer)  # fmt: skip
    assert [one.status_code for one in got] == [
        204 if believed else 403,
        403 if believed else 204,
        204,
        403,
        400,
    ]
    assert "--behind-proxy" in got[3].json()["what_to_do"]
    cookie = got[0 if believed else 1].headers["set-cookie"]
    assert (cookie.startswith("__Host-gramian_pass_443="), cookie.endswith("; Secure")) == (
        believed,
        believed,
    )
    assert got[2].headers["set-cookie"].startswith("gramian_pass_80=")


def test_guesses_are_counted_by_the_address_that_the_proxy_names(monkeypatch):
    monkeypatch.setattr(access, "DELAY", 0.0)
    monkeypatch.setattr(access, "PENDING", 0)
    made = create_app(token=TOKEN, hosts=[NAME], behind_proxy=True, limits=Limits(workers=0))
    wrong = {"json": {"token": "wrong"}, "headers": {"X-Forwarded-For": "198.51.100.7"}}
    page = {"headers": {"X-Forwarded-For": "198.51.100.7", "Authorization": "Bearer wrong"}}
    right = {"json": {"token": TOKEN}, "headers": {"X-Forwarded-For": "198.51.100.8"}}
    requests = [*access.FREE * [("POST", "/api/v1/login", wrong)], ("POST", "/api/v1/login", wrong)]
    got = asked(made, [*requests, ("GET", "/", page), ("POST", "/api/v1/login", right)])
    assert [one.status_code for one in got] == [*access.FREE * [401], 429, 429, 204]


def test_a_logout_ends_the_cookie_on_the_server_too():
    made = create_app(token=TOKEN, hosts=[NAME], limits=Limits(workers=0))

    async def ask():
        transport = httpx.ASGITransport(made, client=("127.0.0.1", 1))
        async with (
            made.router.lifespan_context(made),
            httpx.AsyncClient(transport=transport, base_url=f"http://{NAME}") as client,
            httpx.AsyncClient(transport=transport, base_url=f"http://{NAME}") as other,
        ):
            assert (await client.post("/api/v1/logout")).status_code == 401
            for one in (client, other):
                got = await one.post("/api/v1/login", json={"token": TOKEN})
                assert f"Max-Age={24 * 3600}" in got.headers["set-cookie"]
            page = await client.get("/", headers={"Accept": "text/html"})
            assert 'id="logout"' in page.text
            cookie = {"Cookie": f"gramian_pass_80={client.cookies['gramian_pass_80']}"}
            assert (await client.post("/api/v1/logout")).status_code == 204
            assert not client.cookies  # the browser's is gone
            assert (await client.get("/api/v1/models", headers=cookie)).status_code == 401
            assert (await other.get("/api/v1/models")).status_code == 200

    asyncio.run(ask())


def test_pages_of_other_sites_change_nothing_even_without_an_origin():
    made = create_app(token=TOKEN, hosts=[NAME], limits=Limits(workers=0))
    path, cases = f"/api/v1/models/{32 * '0'}", []
    for site in ("cross-site", "same-site", "same-origin", "none"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            headers = {"Sec-Fetch-Site": site, "Authorization": f"Bearer {TOKEN}"}
            cases.append((method, "/api/v1/login" if method == "POST" else path, {"headers": headers}))
    got = [one.status_code == 403 for one in asked(made, cases)]
    assert got == 2 * [False, True, True, True] + 8 * [False]


def test_what_lets_others_in_needs_a_token_that_is_long_enough(monkeypatch):
    monkeypatch.delenv("GRAMIAN_TOKEN", raising=False)
    for options in ({"hosts": [NAME]}, {"behind_proxy": True}, {"behind_proxy": ["10.0.0.1"]}):
        with pytest.raises(ParameterError, match=r"admits other machines\. Give one, or set GRAMIAN_TOKEN\."):
            create_app(**options)
    create_app(hosts=["localhost"])
    with pytest.raises(ParameterError, match=r"token has 15 characters; at least 16 are required\. Create"):
        create_app(token=15 * "x")
    create_app(token=16 * "x")
    for address in ("proxy.example", "*", "10.0.0.0/99"):
        with pytest.raises(
            ParameterError, match=r"is not an address\. Use its IP address or network, such as"
        ):
            create_app(token=TOKEN, behind_proxy=[address])
