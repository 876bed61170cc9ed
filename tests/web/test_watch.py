"""The page of `countless watch` in a real browser: played, moved through, read."""

import pytest

from web.browser import PHONE, open_page, violations
from web.conftest import STEPS


def field(page, name):
    return page.locator(f".now div:has(dt:text-is('{name}')) dd").inner_text()


def opened(browser, watched, *arguments):
    page, errors = open_page(browser, watched.as_uri(), *arguments)
    page.wait_for_function("document.querySelector('video').readyState >= 2")
    return page, errors


def test_the_slider_goes_through_the_film(browser, watched):
    page, errors = opened(browser, watched)
    assert field(page, "step") == f"1 of {STEPS}"
    slider = page.locator("input[type=range]")
    slider.focus()
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    assert field(page, "step") == f"8 of {STEPS}"
    assert field(page, "episode") == "2"  # of five steps each
    seconds = page.evaluate("document.querySelector('video').currentTime")
    rate = page.evaluate("JSON.parse(document.getElementById('watched').textContent).rate")
    assert seconds * rate == pytest.approx(7.5)
    assert page.locator(".stacked .value").count() == 3
    assert all(page.locator(".stacked .value").all_inner_texts())
    assert errors == []
    page.close()


def test_it_plays_to_the_end_and_stops(browser, watched):
    page, errors = opened(browser, watched)
    page.locator("select").select_option("8")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('video').ended", timeout=20_000)
    page.wait_for_function(f"document.querySelector('input[type=range]').value === '{STEPS}'")
    assert page.get_by_role("button", name="Play").count() == 1
    assert errors == []
    page.close()


def test_a_press_on_a_curve_goes_there(browser, watched):
    page, errors = opened(browser, watched)
    over = page.locator(".u-over").first
    box = over.bounding_box()
    over.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
    assert field(page, "step") == f"{STEPS} of {STEPS}"
    assert errors == []
    page.close()


def test_the_numbers_can_be_had(browser, watched, tmp_path):
    page, _ = opened(browser, watched)
    with page.expect_download() as download:
        page.get_by_text("Download CSV").click()
    download.value.save_as(tmp_path / "data.csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()
    assert lines[0].startswith("step,episode,score,")
    assert len(lines) == 1 + STEPS
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_inaccessible_or_cut_off(browser, watched, scheme):
    page, errors = opened(browser, watched, PHONE, scheme)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert errors == []
    page.close()
