"""The pages look as they did when they were last looked at: `pytest tests/web --update-screens`
stores them as they are now, for somebody to look at."""

import numpy as np
import pytest

from lab.conftest import started
from web.browser import DESKTOP, PHONE, open_page
from web.screens import difference, looks_as_stored
from web.test_report import drawn
from web.test_watch import opened as opened_film

SCREENS = [(DESKTOP, "light", "desktop"), (PHONE, "dark", "phone")]


@pytest.fixture
def update(request):
    return request.config.getoption("--update-screens")


@pytest.mark.parametrize(("size", "scheme", "name"), SCREENS)
def test_the_report(browser, report, update, size, scheme, name):
    page, _ = open_page(browser, report.as_uri(), size, scheme)
    assert looks_as_stored(page, f"report-{name}", update)
    drawn(page)
    page.locator(".chart").first.evaluate("element => element.scrollIntoView()")
    page.wait_for_timeout(200)
    assert looks_as_stored(page, f"report-charts-{name}", update)
    page.close()


@pytest.mark.parametrize(("size", "scheme", "name"), SCREENS)
def test_maps(browser, maps, update, size, scheme, name):
    page, _ = open_page(browser, maps.as_uri(), size, scheme)
    page.wait_for_selector(".chart[data-drawn]")
    assert looks_as_stored(page, f"maps-{name}", update)
    page.close()


@pytest.mark.parametrize(("size", "scheme", "name"), SCREENS)
def test_watch(browser, watched, update, size, scheme, name):
    page, _ = opened_film(browser, watched, size, scheme)
    page.locator("input[type=range]").focus()
    page.keyboard.press("End")
    page.wait_for_function("!document.querySelector('video').seeking")
    page.wait_for_timeout(300)
    assert looks_as_stored(page, f"watch-{name}", update)
    page.close()


@pytest.mark.parametrize(("size", "scheme", "name"), SCREENS)
def test_the_lab(browser, update, size, scheme, name):
    with started() as (address, _):
        page, _ = open_page(browser, address, size, scheme)
        page.wait_for_selector("html[data-complete]", state="attached", timeout=60_000)
        page.wait_for_timeout(300)
        assert looks_as_stored(page, f"lab-{name}", update)
        page.close()


def test_a_page_that_looks_otherwise_is_found_out(browser, maps):
    page, _ = open_page(browser, maps.as_uri())
    page.wait_for_selector(".chart[data-drawn]")
    assert looks_as_stored(page, "maps-desktop")
    page.evaluate("document.querySelector('.maps').remove()")
    assert not looks_as_stored(page, "maps-desktop")
    page.close()


def test_the_measure():
    white = np.full((10, 10, 3), 255, np.uint8)
    black = white.copy()
    black[:, :5] = 0
    assert difference(white, white) == 0.0
    assert difference(white, black) == 0.5
    assert difference(white, white - 20) == 0.0
    assert difference(white, white[:5]) == 1.0
