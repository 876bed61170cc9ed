"""Maps over time in a real browser: moved through, played, read, downloaded."""

import pytest

from web.browser import PHONE, open_page, violations


def opened(browser, path, *arguments):
    page, errors = open_page(browser, path.as_uri(), *arguments)
    page.wait_for_selector(".chart[data-drawn]")
    return page, errors


def colours(page, canvas, x, y):
    """The colour in the middle of a cell."""
    return page.evaluate(
        """([canvas, x, y]) => {
          const c = document.querySelectorAll('.maps canvas')[canvas];
          const at = [c.width * (x + .5) / 3, c.height * (y + .5) / 2];
          return [...c.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3);
        }""",
        [canvas, x, y],
    )


def test_the_slider_goes_through_time(browser, maps):
    page, errors = opened(browser, maps)
    slider = page.locator("input[type=range]")
    assert page.locator("output").inner_text() == "after 10 steps"  # opens in the middle
    unseen, wall = colours(page, 0, 2, 0), colours(page, 0, 1, 1)
    assert unseen != wall
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("output").inner_text() == "after 1,000 steps"
    # Both agents share the colours of a column: 900 visits are the brightest, 9 are not.
    assert colours(page, 2, 0, 0) == [253, 231, 37]
    assert colours(page, 0, 0, 0) != [253, 231, 37]
    assert colours(page, 0, 1, 1) == wall
    label = page.locator(".maps canvas").first.get_attribute("aria-label")
    assert label == "one, visits after 1,000 steps: from 1 to 9 over 5 of 5 cells"
    assert page.locator(".maps .bar").first.inner_text().split() == ["1", "900", "(log)"]
    assert errors == []
    page.close()


def test_it_plays_and_stops_at_the_end(browser, maps):
    page, errors = opened(browser, maps)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('output').textContent === 'after 1,000 steps'")
    page.get_by_role("button", name="Play").wait_for()
    assert errors == []
    page.close()


def test_a_cell_is_read_under_the_pointer(browser, maps, tmp_path):
    page, _ = opened(browser, maps)
    canvas = page.locator(".maps canvas").first
    box = canvas.bounding_box()
    canvas.hover(position={"x": 2, "y": box["height"] - 2})
    assert page.locator(".chart [role=status]").inner_text() == (
        "one, cell in row 2 and column 1: visits 2"
    )
    with page.expect_download() as download:
        page.get_by_text("Download CSV").click()
    download.value.save_as(tmp_path / "data.csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()
    assert lines[0] == "agent,steps,state,visits,norm"
    assert len(lines) == 1 + 2 * 3 * 5
    assert "two,1000,4,100,0.1" in lines
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_inaccessible_or_cut_off(browser, maps, scheme):
    page, errors = opened(browser, maps, PHONE, scheme)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert errors == []
    page.close()
