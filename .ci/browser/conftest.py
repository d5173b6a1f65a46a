"""Somebody at a browser: ``arrive()`` opens a page, and no walk may leave an error, or ask another host."""

import os
import re
import shutil
from itertools import count
from pathlib import Path

import pytest

from served import client_of, serving

MUST = "GRAMIAN_BROWSER_MUST"  # set where a skip would hide that nothing was tried
SHOTS = Path(os.environ.get("GRAMIAN_SCREENSHOTS") or Path(__file__).with_name("screenshots"))
WIDE, NARROW = 1280, 390
READY = 30_000  # milliseconds for what the server computes
if os.environ.get(MUST):
    import playwright.sync_api  # noqa: F401  (the tests skip without it)


def missing(what):
    (pytest.fail if os.environ.get(MUST) else pytest.skip)(what)


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import expect, sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        missing("Chromium is not installed (CONTRIBUTING.md says how)")
    expect.set_options(timeout=READY)
    with sync_playwright() as playwright:
        result = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield result
        result.close()


@pytest.fixture(scope="session")
def axe():
    path = Path(os.environ.get("GRAMIAN_AXE") or "axe.min.js")
    if not path.is_file():
        missing("GRAMIAN_AXE names no axe.min.js (CONTRIBUTING.md says how)")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def server():
    with serving() as result:
        yield result


@pytest.fixture(params=[(WIDE, "light"), (NARROW, "dark")], ids=["wide", "narrow"])
def sight(request):
    """Return the width of the window, and the scheme of its colours."""
    return request.param


@pytest.fixture
def arrive(browser, server, request):
    """Return a function that opens a page in a browser of its own, on a server without items."""
    walks = []
    with client_of(server) as client:
        for job in client.get("/api/v1/jobs").json():
            client.delete(f"/api/v1/jobs/{job['id']}")
        for kinds in ("data", "models"):
            for item in client.get(f"/api/v1/{kinds}").json():
                client.delete(f"/api/v1/{kinds}/{item['id']}")

    def opened(width=WIDE, scheme="light", where=None, refused=(), **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True, **options
        )
        name = re.sub(r"^test_|\[.*", "", request.node.name)
        walks.append(Walk(context, (where or server).url.rstrip("/"), f"{name}-{width}-{scheme}", refused))
        return walks[-1]

    yield opened
    for walk in walks:
        walk.context.close()
        assert walk.wrong == []


class Walk:
    """A page, and everything that went wrong on it.

    A status in `refused` is one that the walk means to meet.
    """

    def __init__(self, context, url, name, refused):
        self.context, self.url, self.name, self.wrong = context, url, name, []
        self._number, self._refused = count(1), refused
        page = self.page = context.new_page()
        page.set_default_timeout(READY)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        context.on("request", self._asked)
        page.goto(url)

    def _heard(self, message):
        status = re.match(r"Failed to load resource: .* responded with a status of (\d+)", message.text)
        if message.type in ("error", "warning") and not (status and int(status[1]) in self._refused):
            self.wrong.append(f"{message.text} at {message.location['url']}")

    def _asked(self, request):
        if not request.url.startswith((f"{self.url}/", "data:", f"blob:{self.url}/")):
            self.wrong.append(f"asked {request.url}")

    def shot(self, name):
        """Keep a picture for people to look at, of a page that is no wider than its window."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{self.name}-{next(self._number)}-{name}.png", full_page=True)
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def example(self, name):
        self.page.goto(self.url)
        self.page.click(f"[data-example={name}]")
        self.page.wait_for_url("**/data/*")

    def choose(self, name, content):
        """Choose a file on the start page."""
        self.page.goto(self.url)
        kind = "application/octet-stream"
        self.page.set_input_files("#file", {"name": name, "mimeType": kind, "buffer": content})

    def upload(self, name, content):
        self.choose(name, content)
        self.page.click("#upload button")

    def run(self):
        """Run what is planned, to the page of the model with all its figures."""
        self.page.click("#run:enabled")
        self.page.wait_for_url("**/models/*")
        self.page.wait_for_selector("main[data-ready]")
