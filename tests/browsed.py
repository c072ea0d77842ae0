"""A report in Chromium: opened from disk, and held to ask nothing of the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import needed

TIMEOUT_MS = 60_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

Open = Callable[..., Any]


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a browser."""
    chromium = needed(*BROWSERS)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root may have no sandbox, and /dev/shm is small in containers.
        opened = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@contextmanager
def visiting(browser: Any, site: Path) -> Iterator[Open]:
    """Yield what opens a page of the report; at the end nothing may have gone wrong on any."""
    faults: list[str] = []
    contexts = []

    def opened(address: str, *, folder: Path = site, **settings: Any) -> Any:
        context = browser.new_context(**settings)
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.extend(_remote(request.url)))
        name, mark, state = address.partition("#")
        page.goto(f"{(folder / name).as_uri()}{mark}{state}")
        if address.startswith("answers"):
            page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _remote(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [url]


def opened_item(page: Any) -> str:
    """The id of the item that is shown, once its chunk is there."""
    page.wait_for_selector("#item .answer")
    text: str = page.locator("#item-title").inner_text()
    return text
