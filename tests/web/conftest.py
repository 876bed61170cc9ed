"""One browser, and the pages that are opened in it."""

import numpy as np
import pytest

from countless.analysis.charts import MapChart, MapLine, Panels
from countless.analysis.html import page as whole_page
from countless.analysis.html import panels_html
from countless.cli.main import main
from small_runs import deep_job, execute
from web.browser import launch

STEPS = 40  # of the run that is watched
LAYOUT = np.array([[0, 1, 2], [3, -1, 4]])  # of the maps


@pytest.fixture(scope="session")
def browser():
    browser = launch()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A page with an experiment, tabular and deep runs, and a sweep."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "grid.toml").write_text("alpha = [0.1, 0.3, 0.5]\nepsilon = [0.01, 0.1]\n")
    store = str(folder / "store")
    for command in (
        ["reproduce", "table1", "--runs", "30"],
        ["reproduce", "theorem1", "--runs", "20"],
        ["run", "sarsa-sr", "riverswim", "--runs", "25", "--steps", "400"],
        ["run", "sarsa", "riverswim", "--runs", "25", "--steps", "400"],
        ["sweep", "sarsa", "chain-5", "--grid", str(folder / "grid.toml"), "--runs", "5"],
        ["run", "dqn", "deepsea-6", "--scale", "smoke", "--frames", "120", "--seeds", "0", "1"],
    ):
        assert main([*command, "-o", store]) == 0
    assert main(["report", store, "-o", str(folder)]) == 0
    return folder / "report.html"


@pytest.fixture(scope="session")
def maps(tmp_path_factory):
    visits = np.array([[1.0, 0, 0, 0, 0], [3, 1, 0, 2, 0], [9, 5, 4, 3, 1]])
    norm = np.where(visits > 0, visits / 10, np.nan)
    lines = (
        MapLine("one", {"visits": visits, "norm": norm}),
        MapLine("two", {"visits": 100 * visits, "norm": norm}),
    )
    chart = MapChart("Where agents go", LAYOUT, "steps", np.array([1, 10, 1000]), lines)
    path = tmp_path_factory.mktemp("maps") / "maps.html"
    content = [f"<section>{panels_html(Panels('maps', 'A caption.', (chart,)))}</section>"]
    path.write_text(whole_page("Maps", "A page.", [], content), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def watched(tmp_path_factory):
    folder = execute(deep_job(frames=60), tmp_path_factory.mktemp("runs")).folder
    out = folder / "page.html"
    assert main(["watch", str(folder), "--steps", str(STEPS), "-o", str(out)]) == 0
    assert not (folder / "watch.mp4").exists()
    return out
