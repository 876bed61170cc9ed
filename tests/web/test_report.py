"""The report in a real browser: drawn, read, zoomed, filtered, on a phone, in the dark."""

import json

import pytest

from countless.analysis.charts import Chart, Intervals, Mark, Panels, Series
from countless.analysis.html import page, panels_html
from web.browser import DESKTOP, PHONE, open_page, violations


def drawn(page):
    """Scroll through the page until every chart is drawn."""
    for section in page.query_selector_all("section, .chart"):
        section.scroll_into_view_if_needed()
        page.wait_for_timeout(60)
    page.wait_for_function(
        "document.querySelectorAll('.chart:not([data-drawn])').length === 0", timeout=10_000
    )
    return page.locator(".chart canvas").count()


def test_it_opens_from_disk_and_says_first_what_came_out(browser, report):
    page, errors = open_page(browser, report.as_uri())
    assert page.locator("#scoreboard").bounding_box()["y"] < 900  # on the first screen
    assert "4 of 4 to the last digit" in page.locator(".score").inner_text()
    charts = page.locator(".chart").count()
    assert charts >= 6
    assert drawn(page) == charts + 1  # the sweep has two parameters
    assert errors == []
    assert report.stat().st_size < 5_000_000
    page.close()


def test_lines_are_read_hidden_zoomed_and_downloaded(browser, report, tmp_path):
    page, errors = open_page(browser, report.as_uri())
    drawn(page)
    chart = page.locator("#runs-riverswim-curves .chart").first
    chart.scroll_into_view_if_needed()
    over = chart.locator(".u-over")
    box = over.bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    values = chart.locator(".legend .value").all_inner_texts()
    assert len(values) == 2
    assert all(values)
    # Hide a line by keyboard.
    button = chart.locator(".legend button").first
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    # Zoom: by dragging, and back; by keys.
    plot = chart.locator(".plot")
    before = plot.screenshot()
    box = chart.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    page.mouse.up()
    page.mouse.move(0, 0)
    assert plot.screenshot() != before
    chart.get_by_text("Zoom out").click()
    plot.focus()
    page.keyboard.press("+")
    with page.expect_download() as download:
        chart.get_by_text("Download CSV").click()
    download.value.save_as(tmp_path / "data.csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()
    assert lines[0] == "line,steps,reward so far,low,high"
    assert {line.split(",")[0] for line in lines[1:]} == {"sarsa", "sarsa-sr"}
    assert errors == []
    page.close()


def test_a_sweep_is_filtered(browser, report):
    page, errors = open_page(browser, report.as_uri())
    drawn(page)
    chart = page.locator("#runs-chain-5-settings .chart")
    assert chart.locator("canvas").count() == 2  # one for each parameter
    assert "6 of 6 settings" in chart.locator("[role=status]").inner_text()
    chart.locator("label:has-text('alpha') select").select_option(label="0.3")
    assert "2 of 6 settings" in chart.locator("[role=status]").inner_text()
    assert errors == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_inaccessible(browser, report, scheme):
    page, errors = open_page(browser, report.as_uri(), scheme=scheme)
    drawn(page)
    assert violations(page) == []
    assert errors == []
    page.close()


def test_dark_and_light_are_two_pages(browser, report):
    colours = []
    for scheme in ("light", "dark"):
        page, _ = open_page(browser, report.as_uri(), scheme=scheme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


def test_on_a_phone_nothing_is_cut_off(browser, report):
    page, errors = open_page(browser, report.as_uri(), PHONE)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    wide = page.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.scrollWidth > c.clientWidth + 1).length"
    )
    assert wide == 0
    assert errors == []
    page.close()


def test_the_command_is_copied(browser, report):
    page, _ = open_page(browser, report.as_uri())
    button = page.locator("#table1 button[data-copy]")
    assert button.get_attribute("data-copy") == "countless reproduce table1 --runs 30 --seed 0"
    button.click()
    page.wait_for_function(
        "document.querySelector('#table1 button[data-copy]').textContent === 'Copied'"
    )
    page.close()


INKED = """() => [...document.querySelectorAll('.plot canvas')].map((canvas) => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let light = 0, inked = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 200) continue;
    inked += 1;
    if (Math.min(data[i], data[i + 1], data[i + 2]) > 200) light += 1;
  }
  return [inked, light / Math.max(inked, 1)];
})"""


def test_on_paper_all_charts_are_drawn_dark_on_white(browser, report, tmp_path):
    page, errors = open_page(browser, report.as_uri(), scheme="dark")
    assert page.locator(".chart:not([data-drawn])").count() > 0
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function("document.documentElement.classList.contains('printing')")
    assert page.locator(".chart:not([data-drawn])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    found = page.evaluate(INKED)
    assert len(found) >= 6
    assert all(inked > 100 for inked, _ in found)
    # On a dark page the axes are written in white, and much of a canvas is light.
    assert all(light < 0.9 for _, light in found)
    assert page.locator("#table1 details dl").first.is_visible()
    page.emulate_media(media="screen", color_scheme="dark")
    page.wait_for_function("!document.documentElement.classList.contains('printing')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert not page.locator("#table1 details dl").first.is_visible()
    assert errors == []
    page.close()


def test_a_browser_that_prints_draws_first(browser, report):
    page, errors = open_page(browser, report.as_uri())
    page.pdf()
    assert page.locator(".chart:not([data-drawn])").count() == 0
    assert errors == []
    page.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_links_within_the_page_end_where_they_say(browser, report, size):
    name = "runs-deepsea-6"  # the last section: all charts stand before it
    where = f"document.getElementById('{name}').getBoundingClientRect().top"
    page, errors = open_page(browser, f"{report.as_uri()}#{name}", size)
    page.wait_for_timeout(500)
    room = page.evaluate("document.documentElement.scrollHeight - innerHeight - scrollY")
    assert abs(page.evaluate(where) - 16) < 5 or room < 1  # the page ends there
    page.close()
    page, errors = open_page(browser, report.as_uri(), size)
    for name in ("runs-riverswim", "theorem1"):
        page.evaluate("scrollTo(0, 0)")
        page.locator(f"nav a[href='#{name}']").click()
        page.wait_for_timeout(500)
        top = page.evaluate(f"document.getElementById('{name}').getBoundingClientRect().top")
        assert abs(top - 16) < 5
    assert errors == []
    page.close()


def test_the_place_of_a_chart_is_kept(browser, report):
    page, _ = open_page(browser, report.as_uri())
    heights = "[...document.querySelectorAll('.chart')].map(c => c.getBoundingClientRect().height)"
    before = page.evaluate(heights)
    drawn(page)
    for kept, needed in zip(before, page.evaluate(heights), strict=True):
        assert kept == pytest.approx(needed, rel=0.25)
    page.close()


def test_a_wide_table_shows_numbers_on_a_phone_and_says_that_there_is_more(browser, report):
    page, _ = open_page(browser, report.as_uri(), PHONE, "dark")
    table = page.locator("#runs-riverswim .scroll").first
    assert page.locator("#runs-riverswim .cue").first.is_visible()
    assert "sideways" in page.locator("#runs-riverswim .cue").first.inner_text()
    left = table.locator("tbody th").first.bounding_box()
    assert left["width"] <= 0.4 * PHONE["width"] + 1
    table.evaluate("element => { element.scrollLeft = 200; }")
    assert table.locator("tbody th").first.bounding_box()["x"] == pytest.approx(left["x"], abs=1)
    for table in page.query_selector_all(".scroll:visible"):
        table.evaluate("element => { element.scrollLeft = 0; }")
        number = table.query_selector("tbody td:not(.label)").bounding_box()
        assert number["x"] + number["width"] <= PHONE["width"]
    page.close()
    page, _ = open_page(browser, report.as_uri())
    assert page.locator(".cue:visible").count() == 0  # all tables are whole on a desk
    page.close()


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    """A page of its own with logarithmic axes, points, lines that wait, and intervals."""
    n = [10, 100, 1_000, 10_000]
    regret = Chart(
        "Regret", "steps", "regret (steps)",
        (
            Series("a", n, [5, float("nan"), 50, 90], [0, 1, 40, 80], [9, 30, 60, 100]),
            Series("b", n, [3, 30, 300, 3_000], style=("#000000", "--"), points="too", hidden=True),
        ),
        log="xy", ticks=n,
    )  # fmt: skip
    cloud = Chart("Cloud", "visits", "norm", (Series("s", [1, 1, 9], [2, 3, 4], points="only"),))
    rows = {
        f"a long name of agent {i}": {
            "tuned": Mark(0.1 * i, (0.1 * i - 0.05, 0.1 * i + 0.07)),
            "default": Mark(float("nan"), note="0 of 5"),
        }
        for i in range(6)
    }
    scores = Intervals("Scores", "agent", "IQM of the score", rows)
    none = Intervals("Nothing", "agent", "episodes", {"a": {"x": Mark(float("nan"))}}, log=True)
    path = tmp_path_factory.mktemp("charts") / "charts.html"
    body = [panels_html(Panels("all", "A caption.", (regret, cloud, scores, none)))]
    path.write_text(page("Charts", "Of all kinds.", [], body), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")]
)
def test_every_kind_of_chart_is_drawn_and_accessible(browser, charts, size, scheme):
    page, errors = open_page(browser, charts.as_uri(), size, scheme)
    assert drawn(page) == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert violations(page) == []
    assert errors == []
    page.close()


def test_logarithmic_axes_are_zoomed_and_lines_wait_to_be_shown(browser, charts):
    page, errors = open_page(browser, charts.as_uri())
    drawn(page)
    chart = page.locator(".chart").first
    waiting = chart.locator(".legend button").nth(1)
    assert waiting.get_attribute("aria-pressed") == "false"
    plot = chart.locator(".plot")
    pictures = [plot.screenshot()]
    waiting.click()
    page.mouse.move(0, 0)
    pictures.append(plot.screenshot())
    plot.focus()
    for key in ("+", "ArrowRight", "0"):
        page.keyboard.press(key)
        pictures.append(plot.screenshot())
    assert len(set(pictures[:4])) == 4
    assert errors == []
    page.close()


def test_intervals_are_text_and_can_be_hidden_and_downloaded(browser, charts, tmp_path):
    page, errors = open_page(browser, charts.as_uri())
    drawn(page)
    chart = page.locator(".chart").nth(2)
    row = chart.locator("li").nth(3)
    said = " ".join(row.locator(".said").inner_text().split())
    assert said == "tuned: 0.30 (0.25 to 0.37) default: –, 0 of 5"
    track = row.locator(".track").bounding_box()
    dot = row.locator(".track .dot").bounding_box()
    last = chart.locator("li").nth(5).locator(".track .dot").bounding_box()
    assert track["x"] < dot["x"] < last["x"] < track["x"] + track["width"]
    button = chart.locator(".legend button").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    assert "default" not in row.locator(".said").inner_text()
    with page.expect_download() as download:
        chart.get_by_text("Download CSV").click()
    download.value.save_as(tmp_path / "data.csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()
    assert lines[0] == "agent,of,IQM of the score,low,high,note"
    assert lines[5] == "a long name of agent 2,tuned,0.2,0.15,0.27,"
    assert lines[6] == "a long name of agent 2,default,,,,0 of 5"
    assert errors == []
    page.close()


def test_data_cannot_break_out_of_the_page(tmp_path):
    bad = "</script><script>alert(1)</script>"
    html = panels_html(Panels("x", bad, (Chart(bad, "x", "y", (Series(bad, [1], [2]),)),)))
    assert "<script>alert" not in html
    start = html.index('json">') + 6
    content = json.loads(html[start : html.index("</script>", start)])
    assert content["series"][0]["label"] == bad
