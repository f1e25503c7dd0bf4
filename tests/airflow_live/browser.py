"""Chromium that looks at Airflow as people do, and keeps what it saw."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.airflow_live.server import ROOT, LiveAirflow

KEPT = ROOT / "build" / "screenshots"
"""Where pictures of pages are kept, whether the test passed or not."""

WIDE, PHONE = (1280, 800), (390, 844)
_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these Chromium calls home at every start.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


def why_no_browser() -> str | None:
    """What this machine lacks to look at pages; None when nothing."""
    if find_spec("playwright") is None:
        return "playwright is not installed (make setup)"
    return None if browser_program() else "there is no Chromium: apt-get install chromium"


@dataclass
class Window:
    """A window of a user who is logged in, and what went wrong in it.

    ``asked`` has every address that was asked for, ``errors`` what the page's console says.
    """

    page: Any
    url: str
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def go(self, path: str) -> Any:
        """Go to a path, and wait until all parts of the page are there."""
        answer = self.page.goto(self.url + path)
        self.settle()
        return answer

    def settle(self) -> None:
        """Wait until nothing is being fetched."""
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_function("!document.querySelector('[aria-busy=true]')")

    def keep(self, name: str) -> None:
        """Keep a picture of the whole page."""
        KEPT.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=KEPT / f"{name}.png", full_page=True)

    def is_wider_than_its_window(self) -> bool:
        """Whether somebody would have to scroll sideways."""
        return bool(
            self.page.evaluate(
                "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            )
        )

    def least_contrast(self) -> tuple[float, str]:
        """The least ratio of luminance between a text and what it stands on, and the text.

        Source: WCAG 2.2, relative luminance and contrast ratio; 4.5 is its AA for texts.
        """
        found = self.page.evaluate(_CONTRAST)
        return float(found["ratio"]), str(found["text"])


class Browser:
    """One Chromium for all tests; each takes windows of its own."""

    def __init__(self, chromium: Any, airflow: LiveAirflow) -> None:
        self._chromium, self._airflow = chromium, airflow

    @contextmanager
    def window(
        self,
        *,
        token: str | None,
        size: tuple[int, int] = WIDE,
        theme: str = "light",
        url: str | None = None,
    ) -> Iterator[Window]:
        """A window in a theme; ``token`` is that of the user, None for nobody."""
        address = url or self._airflow.url
        context = self._chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme
        )
        if token is not None:
            context.add_cookies([{"name": "_token", "value": token, "url": address}])
        found = Window(page=context.new_page(), url=address)
        found.page.on("request", lambda request: found.asked.append(request.url))
        found.page.on("pageerror", lambda error: found.errors.append(str(error)))
        found.page.on("dialog", lambda dialog: found.errors.append(f"dialog {dialog.message}"))
        found.page.on(
            "console",
            lambda said: found.errors.append(said.text) if said.type == "error" else None,
        )
        try:
            yield found
        finally:
            context.close()


@contextmanager
def browser(airflow: LiveAirflow) -> Iterator[Browser]:
    """A Chromium for as long as the context lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_program(), args=list(_QUIET))
        yield Browser(chromium, airflow)
        chromium.close()


def is_ci() -> bool:
    """Whether what cannot run counts as failed."""
    return os.environ.get("CI") == "true"


def browser_program() -> str | None:
    """The Chromium of this machine; Playwright would fetch one of its own."""
    found = (shutil.which(name) for name in _NAMES)
    return next((path for path in found if path), None)
