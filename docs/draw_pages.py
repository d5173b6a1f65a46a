"""Takes the pictures of pages in docs/images: ``python docs/draw_pages.py``, with Playwright and Chromium.

Take them again after a change of their looks. CONTRIBUTING.md says how to install Playwright.
"""

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).with_name("images")
GRAMIAN = [sys.executable, "-m", "gramian"]
COLOURS = 64  # enough for pages, at a third of the size


@contextmanager
def served() -> Iterator[str]:
    """Serve a page; yield its address."""
    command = [*GRAMIAN, "serve", "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if match := re.search(r"http://127\.0\.0\.1:\d+/", line):
                yield match[0]
                server.terminate()
                return
    raise SystemExit("the server did not start")


def take(page: Page, name: str) -> None:
    """Save what the window shows."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)


def page_of_a_model(page: Page) -> None:
    """Take the page of the penguins' PCA, which the start page leads to."""
    with served() as address:
        page.goto(address)
        page.click("[data-example=penguins]")
        page.wait_for_url("**/data/*")
        page.click("#run:enabled")
        page.wait_for_url("**/models/*")
        page.wait_for_selector("main[data-ready]")
        take(page, "page.png")


def report(page: Page, folder: Path) -> None:
    """Take the first screen of the penguins' report."""
    table = folder / "penguins.csv"
    table.write_bytes(files("gramian").joinpath("examples", "penguins.csv").read_bytes())
    reading = ["--label", "species", "--drop", "island,sex,year", "--missing", "drop-rows", "--scale", "unit"]
    subprocess.run([*GRAMIAN, "fit", table, *reading, "-o", folder / "results", "--report"], check=True)
    page.goto((folder / "results" / "report.html").as_uri())
    take(page, "report.png")


def main() -> None:
    """Take both."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page_of_a_model(page)
        report(page, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
