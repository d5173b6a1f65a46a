"""What one visitor can take of the server: a share of its uploads and of its workers, and no more."""

import asyncio
import gc

import pytest

from served import Limits, create_app, httpx

guard = pytest.importorskip("gramian.service.guard")
workers = pytest.importorskip("gramian.service.workers")
Refusal = workers.Refusal


class Uploads:
    """Uploads whose bodies never end."""

    def __init__(self, app):
        self.app, self.open = app, []

    async def status(self, address, cookie=None):
        """Start an upload; return its status, or None once the server waits for more of it."""
        status, waits, called = [], asyncio.Event(), 0
        headers = {"host": "localhost", "content-type": "text/csv", "content-length": "1000"}
        headers |= {"cookie": f"gramian_visitor_80={cookie}"} if cookie else {}

        async def receive():
            nonlocal called
            called += 1
            if called == 2:  # the first time it was too slow, and then it was admitted
                waits.set()
            await asyncio.Event().wait()

        async def send(message):
            status.append(message.get("status"))

        scope = {
            "type": "http", "method": "POST", "scheme": "http", "path": "/api/v1/data", "query_string": b"",
            "root_path": "", "client": (address, 1), "server": ("127.0.0.1", 80), "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        tasks = [asyncio.create_task(one) for one in (self.app(scope, receive, send), waits.wait())]
        self.open += tasks
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return status[0] if status else None

    async def end(self):
        for task in self.open:
            task.cancel()
        await asyncio.wait(self.open)


def test_slow_uploads_of_one_visitor_or_network_lock_nobody_out(monkeypatch):
    monkeypatch.setattr(guard, "QUICK", 0.0)
    app = create_app(limits=Limits(workers=0, uploads=8))

    async def attack():
        async with app.router.lifespan_context(app):
            uploads, visitors = Uploads(app), app.state.gramian.sessions
            cookies = [visitors.make("192.0.2.1")[1] for _ in range(3)]
            status = uploads.status
            # Two of eight for all at an address who have no cookie, whatever they make up, and two a visitor.
            assert [await status("192.0.2.1", cookie) for cookie in (None, "x", "y")] == [None, None, 429]
            for cookie in cookies[:2]:
                assert [await status("192.0.2.1", cookie) for _ in range(3)] == [None, None, 429]
            # The last two are for other networks, one for each.
            assert await status("192.0.2.1", cookies[2]) == 429
            assert [await status("192.0.2.2") for _ in range(2)] == [None, 429]
            assert [await status("2001:db8::1"), await status("2001:db8::2")] == [None, 429]
            assert await status("192.0.2.3") == 429
            # What arrives at once has its place, also at the same address.
            transport = httpx.ASGITransport(app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                assert (await client.post("/api/v1/login", json={"token": ""})).status_code == 204
            await uploads.end()
            assert await status("192.0.2.1") is None
            await uploads.end()

    asyncio.run(attack())


class Worker:
    """A worker whose orders end when the test says so."""

    def __init__(self):
        self.usable, self.spent, self.ended, self.ids = True, False, False, set()
        self.goes = asyncio.Event()

    async def ask(self, order, on_message):
        self.ids |= workers.ids_in(order)
        await self.goes.wait()
        return {}

    async def end(self):
        self.ended = True


@pytest.fixture
def started(monkeypatch):
    """Return the workers that a pool starts."""
    made = []

    async def start(memory, threads):
        made.append(Worker())
        return made[-1]

    monkeypatch.setattr(workers.Worker, "start", start)
    return made


async def settled():
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.walk
def test_a_visitor_has_a_quarter_of_the_workers_and_at_least_one(started):
    async def attack(count, share):
        started.clear()
        pool = workers.Pool(count, 0, 30, 4, 5)
        orders = [asyncio.create_task(pool.ask({}, who="attacker")) for _ in range(share + 4)]
        await settled()
        assert pool.busy == share
        # Too many wait; the others do not notice.
        with pytest.raises(Refusal, match="Too many of your requests") as raised:
            await pool.ask({}, who="attacker")
        assert raised.value.status == 429
        if count > share:
            orders.append(asyncio.create_task(pool.ask({}, who="somebody")))
            await settled()
            assert pool.busy == share + 1
        for _ in range(3):
            for worker in started:
                worker.goes.set()
            await settled()
        assert await asyncio.gather(*orders) == len(orders) * [{}]
        del raised
        gc.collect()  # of exceptions, whose frames have the share
        assert len(pool._shares) == 0

    for count, share in ((1, 1), (3, 1), (4, 1), (8, 2)):
        asyncio.run(attack(count, share))


def test_workers_that_have_seen_a_deleted_file_end_and_others_stay(started):
    first, second, third = ({"data": {"path": f"/work/{32 * sign}.csv"}} for sign in "abc")

    async def use():
        pool = workers.Pool(3, 0, 30, 4, 5)
        orders = [asyncio.create_task(pool.ask(order)) for order in (first, second, third)]
        await settled()
        for worker in started[:2]:
            worker.goes.set()
        await asyncio.gather(*orders[:2])
        # The worker that knows a file gets its next order.
        await pool.ask(first)
        assert [worker.ids for worker in started] == [{32 * "a"}, {32 * "b"}, {32 * "c"}]
        await pool.forget({32 * "a", 32 * "c"})
        # A busy one is still at its order.
        assert [worker.ended for worker in started] == [True, False, False]
        started[2].goes.set()
        await orders[2]
        assert [worker.ended for worker in started] == [True, False, True]
        await pool.ask(third)
        assert (len(started), started[1].ids) == (3, {32 * "b", 32 * "c"})

    asyncio.run(use())


class Obedient(Worker):
    """Replies as its orders say, and notes what it was sent at once, and how much it had to do then."""

    def __init__(self, sent):
        super().__init__()
        self.left, self.orders, self.sent, self.goes_on = 0, [], sent, asyncio.Event()

    async def send(self, orders):
        self.sent.append((self.left, [order["says"] for order in orders]))
        self.usable, self.left = False, self.left + len(orders)
        self.orders += orders
        await self.goes.wait()

    async def reply(self):
        order = self.orders.pop(0)
        if order["says"] == "hold":
            await self.goes_on.wait()
        self.left = 0 if order["says"] == "die" else self.left - 1
        self.usable = not self.left and order["says"] != "die"
        if order["says"] == "die":
            raise Refusal(413, "It died.")
        if order["says"] == "fail":
            raise Refusal(422, "X has 2 features.")
        if order["says"] == "later" and not order.setdefault("again", False):
            order["again"] = True
            return None
        return {"said": order["says"]}


@pytest.fixture
def obedient(monkeypatch):
    """Return the workers that a pool starts, and what they were sent."""
    made, sent = [], []

    async def start(memory, threads):
        made.append(Obedient(sent))
        return made[-1]

    monkeypatch.setattr(workers.Worker, "start", start)
    return made, sent


def small(says, model="pca"):
    return {"says": says, "model": {"path": model}, "data": {}}


def test_small_orders_of_a_visitor_go_together_and_fail_alone(obedient):
    made, sent = obedient

    async def ask():
        pool = workers.Pool(8, 0, 30, 256, 5)  # two workers for a visitor

        def asked(*orders, who="somebody"):
            return [asyncio.create_task(pool.ask_small(order, who)) for order in orders]

        first = asked(small("a"), small("b", "kernel"))
        await settled()
        rest = asked(*map(small, ("c", "fail", "later", "d", "die", "e", "f")))
        others = asked(small("g"), who="somebody else")
        kernel = asked(small("h", "kernel"))
        await settled()
        # Those who find a free worker do not wait for others, and nobody waits for another visitor's.
        together = ["c", "fail", "later", "d", "die", "e", "f", "h"]
        assert sent == [(0, ["a", "b"]), (0, together), (0, ["g"])]
        for _ in range(4):
            for worker in made:
                worker.goes.set()
            await settled()
        said = await asyncio.gather(*first, *rest, *others, *kernel, return_exceptions=True)
        # What there was no time for, and what was left by a process that ended.
        assert sent[3:] == [(0, ["later", "e", "f", "h"])]
        shown = [getattr(one, "status", None) or one["said"] for one in said]
        assert shown == ["a", "b", "c", 422, "later", "d", 413, "e", "f", "g", "h"]
        assert (pool.busy, pool._working) == (0, set())
        assert sum(worker.ended for worker in made) == 1

    asyncio.run(ask())


def test_a_worker_gets_more_small_orders_before_it_is_done_unless_others_wait(obedient):
    made, sent = obedient

    async def ask(other, last, spent=False):
        sent.clear()
        made.clear()
        pool = workers.Pool(1, 0, 30, 256, 5)
        orders = [asyncio.create_task(pool.ask_small(small(say), "somebody")) for say in ("hold", "a")]
        await settled()
        made[0].goes.set()
        orders.append(asyncio.create_task(pool.ask_small(small("b"), "somebody")))
        if other is not None:
            orders.append(asyncio.create_task(other(pool)))
        await settled()
        made[0].spent = spent
        assert sent == [(0, ["hold", "a"])]
        made[0].goes_on.set()
        await settled()
        for worker in made:
            worker.goes.set()
        await asyncio.gather(*orders)
        assert sent[1:] == last
        assert [worker.ended for worker in made] == ([True, False] if spent else [False])

    asyncio.run(ask(None, [(1, ["b"])]))
    asyncio.run(ask(None, [(0, ["b"])], spent=True))
    asyncio.run(ask(lambda pool: pool.ask_small(small("c"), "another"), [(0, ["c"]), (0, ["b"])]))
    asyncio.run(ask(lambda pool: pool.ask({}, lambda said: None, "somebody"), [(0, ["b"])]))


def test_small_orders_that_wait_are_limited_as_others_are(obedient):
    made, sent = obedient

    async def ask():
        pool = workers.Pool(1, 0, 30, 4, 5)
        orders = [asyncio.create_task(pool.ask_small(small("a"), "somebody"))]
        await settled()  # a worker has it, and the others wait
        orders += [asyncio.create_task(pool.ask_small(small("a"), "somebody")) for _ in range(4)]
        await settled()
        for refused in (pool.ask_small(small("a"), "somebody"), pool.ask({}, who="somebody")):
            with pytest.raises(Refusal, match="Too many of your requests") as raised:
                await refused
            assert (raised.value.status, raised.value.headers) == (429, {"Retry-After": "1"})
        made[0].goes.set()
        assert await asyncio.gather(*orders) == 5 * [{"said": "a"}]
        # Nobody waits any more, and as many may again.
        made[0].goes.clear()
        many = 3 * workers.MOST_TOGETHER
        pool.waiting = many
        orders = [asyncio.create_task(pool.ask_small(small("b"), "somebody")) for _ in range(many)]
        await settled()
        made[0].goes.set()
        assert len(await asyncio.gather(*orders)) == many
        assert max(left + len(orders) for left, orders in sent) == workers.MOST_TOGETHER

    asyncio.run(ask())


def test_small_orders_are_answered_after_another_turn_took_those_before(obedient):
    made, _ = obedient

    async def ask():
        pool = workers.Pool(8, 0, 30, 4, 5)
        share = pool._share("somebody")
        first = asyncio.create_task(pool.ask_small(small("a"), "somebody"))
        await asyncio.sleep(0)  # its task has not begun
        ((_, taken),) = share.taken(1)
        await settled()
        second = asyncio.create_task(pool.ask_small(small("b"), "somebody"))
        await settled()
        made[0].goes.set()
        assert await second == {"said": "b"}
        taken.set_result({"said": "a"})
        assert await first == {"said": "a"}
        assert (share.waiting, share.tasks, share.begins) == (0, 0, False)

    asyncio.run(ask())


def test_small_orders_end_with_the_server(obedient):
    made, _ = obedient

    async def ask():
        pool = workers.Pool(1, 0, 30, 4, 5)
        orders = [asyncio.create_task(pool.ask_small(small("a"), "somebody")) for _ in range(3)]
        await settled()
        await pool.end()
        await asyncio.wait(orders)
        assert [order.cancelled() for order in orders] == 3 * [True]
        assert [worker.ended for worker in made] == [True]

    asyncio.run(ask())
