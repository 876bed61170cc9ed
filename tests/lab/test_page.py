"""The page in a real browser: opened, turned, drawn on, resized, read by a machine.

Without Playwright or chromium these tests are skipped, and say so.
"""

import pytest

from countless.envs.mdp_file import read_mdp
from web.browser import DESKTOP, PHONE, launch, violations

playwright = pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def browser():
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture
def visit(browser, address):
    """Open the page with a setting; at the end nothing may have been said in the console."""
    contexts, said = [], []

    def hear(message, refused):
        if not (refused and "400 (Bad Request)" in message):
            said.append(message)

    def opened(setting="", viewport=DESKTOP, scheme="light", refused=False):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: hear(message.text, refused))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address + setting)
        wait_for_runs(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def wait_for_runs(page):
    """The picture of the latest change, with all its runs."""
    page.wait_for_selector("html[data-complete]", state="attached")


def means(page):
    return page.locator("#returns tbody tr td:nth-child(2)").all_text_contents()


def test_the_first_screen_says_what_it_is_and_shows_it(visit):
    page = visit()
    assert "Choose a world" in page.inner_text("header")
    assert means(page)[0] == "24,761"  # countless run sarsa riverswim --runs 200
    assert page.locator("#columns article").count() == 3
    inked = page.evaluate(
        """() => [...document.querySelectorAll('canvas')].map((canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size; })"""
    )
    assert len(inked) == 1 + 1 + 4 + 3  # curves; maps of sarsa, sarsa-sr, sarsa-counts
    assert min(inked) > 3


def test_a_slider_redraws_and_the_address_keeps_it(visit):
    page = visit("#env=riverswim&agent=sarsa&agent=sarsa-sr")
    before = means(page)
    page.focus("#p-1-beta")
    page.keyboard.press("ArrowRight")
    wait_for_runs(page)
    playwright.expect(page.locator("#status")).to_contain_text("Redrawn in")
    assert page.evaluate("document.activeElement.id") == "p-1-beta"
    after = means(page)
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert "sarsa-sr%2Cbeta%3D200" in page.url
    page.reload()
    wait_for_runs(page)
    assert means(page) == after
    page.select_option("#agent-0", "sarsa-counts")
    wait_for_runs(page)
    page.click("text=Show the command")
    assert "countless run sarsa-sr riverswim --runs 200 --seed 0 --beta 200" in page.inner_text(
        "dialog"
    )


def test_time_and_the_row_of_the_sr_under_the_pointer(visit):
    page = visit("#env=fourrooms&agent=sarsa-sr&agent=sarsa-counts")
    page.wait_for_selector("html[data-rows='5000']", state="attached")
    map_of_visits = page.locator("#columns canvas").first
    map_of_visits.hover(position={"x": 5, "y": 5})
    reading = page.locator(".reading").first
    playwright.expect(reading).to_contain_text("State 0:")
    map_of_visits.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(reading).to_contain_text("State 1:")
    playwright.expect(page.locator("#columns figcaption").nth(3)).to_contain_text("SR of state 1")
    late = reading.inner_text()
    page.fill("#step", "9")
    playwright.expect(page.locator("#step-shown")).to_have_text("1,000 steps")
    assert reading.inner_text() != late
    assert "step=1000" in page.url
    page.fill("#step", "45")
    page.click("#play")
    playwright.expect(page.locator("#step-shown")).to_have_text("5,000 steps")


def test_a_drawing_is_painted_and_exported(visit, tmp_path):
    page = visit("#env=drawn&map=S..%7C..9&agent=sarsa&agent=sarsa-sr")
    page.click("[aria-label='row 1, column 2: floor']")
    wait_for_runs(page)
    assert page.locator("[aria-label='row 1, column 2: wall']").count() == 1
    page.focus("[role=gridcell][tabindex='0']")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    page.check("text=pit")
    page.focus("[role=gridcell][tabindex='0']")
    page.keyboard.press(" ")
    wait_for_runs(page)
    with page.expect_download() as download:
        page.click("text=Export as .mdp")
    path = tmp_path / "drawn.mdp"
    download.value.save_as(path)
    mdp = read_mdp(path)
    assert mdp.n_states == 5
    assert sorted(set(mdp.reward)) == [-1.0, 0.0, 9.0]


def test_a_setting_that_cannot_be_is_explained(visit):
    page = visit(refused=True)
    page.evaluate("location.hash = 'env=riverswim&agent=sarsa,alpha=7'")
    playwright.expect(page.locator("#problem")).to_have_text("alpha must lie in (0, 1], not 7")
    page.evaluate("location.hash = 'env=riverswim&agent=sarsa'")
    playwright.expect(page.locator("#problem")).to_be_hidden()


def test_a_tour_leads_to_the_maps_that_it_speaks_of(visit):
    page = visit()
    page.locator("#tours button").first.click()
    page.click("#tour .maps")
    box = page.locator("#columns canvas").first.bounding_box()
    assert 0 <= box["y"] < DESKTOP["height"]
    tour = page.locator("#tour").bounding_box()
    assert 0 <= tour["y"] < DESKTOP["height"]  # its text is still there


def test_tours_can_be_walked_to_their_question(visit):
    page = visit()
    for tour in range(3):
        page.locator("#tours button").nth(tour).click()
        for _ in range(10):
            text = page.locator("#tour p")
            playwright.expect(text).not_to_contain_text("…")
            assert "{" not in text.inner_text()
            assert "NaN" not in text.inner_text()
            assert page.locator("#problem").is_hidden()
            if not page.locator("#tour .primary").count():
                break
            page.click("#tour .primary")
        assert text.inner_text().startswith("Try it:")
        page.click("text=Close and try it")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_a_reader_of_screens(visit, scheme):
    page = visit("#env=drawn&agent=sarsa-sr&agent=sarsa", scheme=scheme)
    page.locator("#tours button").first.click()
    assert violations(page) == []
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert violations(page) == []


def test_four_tabs_all_redraw(visit):
    pages = [
        visit("#env=riverswim&agent=sarsa&agent=sarsa-sr&agent=sarsa-counts") for _ in range(4)
    ]
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
        for page in pages:
            page.focus("#p-1-beta")
            page.keyboard.press(key)
    for page in pages:  # countless run sarsa-sr riverswim --runs 200 --beta 50
        playwright.expect(page.locator("#returns tbody tr").nth(1)).to_contain_text("1,190,832")
