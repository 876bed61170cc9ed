"""A real browser, and what is asked of every page in it."""

import atexit
import shutil
from functools import cache
from pathlib import Path

import pytest

AXE = Path(__file__).parent.parent / "data" / "axe-core" / "axe.min.js"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Rules of WCAG 2.1, levels A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def launch():
    """A browser, or a skipped test that says what is missing."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium; `make browser` installs it where apt can")
    pytest.importorskip("playwright.sync_api")
    return _manager().chromium.launch(executable_path=chromium, args=FLAGS)


@cache
def _manager():
    """One for all browsers of this process, which refuses a second: it ends with the process."""
    from playwright.sync_api import sync_playwright

    manager = sync_playwright().start()
    atexit.register(manager.stop)
    return manager


def open_page(browser, address, size=DESKTOP, scheme="light"):
    """A page and the list of its errors, which grows while it is used."""
    page = browser.new_page(viewport=size, color_scheme=scheme)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.goto(address)
    return page, errors


def violations(page):
    """What axe-core finds: rule, and the first element that breaks it."""
    page.evaluate(
        AXE.read_text(encoding="utf-8")
    )  # a script tag would be refused where the page says so
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}}).then(r => r.violations)",
        RULES,
    )
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
