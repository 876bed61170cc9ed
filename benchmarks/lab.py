"""From a slider to the redrawn picture, measured in the browser that shows it.

    python benchmarks/lab.py            milliseconds, and their share of the 200 that are allowed
    python benchmarks/lab.py --json     one JSON document

The lab runs as people start it, chromium is driven by Playwright, and the page's own clock goes from
the change to the frame after the drawing. Every change is a value that was not shown before, so that
nothing comes out of a cache. Milliseconds depend on what else the machine does: the load average is
printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from countless.analysis.tables import Cell, Table
from countless.cli.output import print_table

LIMIT = 200.0  # milliseconds
SLIDER_CHANGES, SEED_CHANGES = 12, 30
LARGE = "|".join(["S" + "." * 19, *["." * 20] * 18, "." * 19 + "9"])
THREE = "agent=sarsa&agent=sarsa-sr&agent=sarsa-counts"
PAGES = {
    "riverswim, 6 states (the first screen)": f"env=riverswim&{THREE}",
    "fourrooms, 104 states": f"env=fourrooms&{THREE}",
    "a drawing of 400 states": f"env=drawn&map={LARGE}&{THREE}",
}


def settled(page: Page) -> dict[str, float]:
    """The page's own times of its last change, when all runs are in."""
    page.wait_for_selector("html[data-complete]", state="attached")
    return {
        "first": float(page.get_attribute("html", "data-redrawn") or "nan"),
        "whole": float(page.get_attribute("html", "data-complete") or "nan"),
    }


def turn_slider(page: Page, i: int) -> dict[str, float]:
    """One more stop of one of three sliders of the second agent: at most four each are there."""
    name, key = (("alpha", "Left"), ("eta", "Right"), ("gamma_sr", "Left"))[i % 3]
    page.focus(f"#p-1-{name}")
    page.keyboard.press(f"Arrow{key}")
    return settled(page)


def turn_seed(page: Page, i: int) -> dict[str, float]:
    """Another seed: all agents are computed anew."""
    page.fill("#seed", str(1000 + i))
    page.keyboard.press("Enter")
    return settled(page)


def measure(page: Page, change: Any, count: int) -> dict[str, float]:
    """The times of some changes."""
    times = [change(page, i) for i in range(count)]
    first, whole = ([time[key] for time in times] for key in ("first", "whole"))
    return {
        "median": float(np.median(first)),
        "ninety_fifth": float(np.quantile(first, 0.95)),
        "share_of_limit": float(np.median(first)) / LIMIT,
        "all_runs_median": float(np.median(whole)),
    }


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("this needs chromium: apt-get install chromium")
    command = [sys.executable, "-m", "countless", "lab", "--no-browser", "--json"]
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    address = json.loads(lab.stdout.readline())["address"]
    found: dict[str, dict[str, float]] = {}
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for title, setting in PAGES.items():
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(f"{address}#{setting}")
                settled(page)  # compiled
                found[f"{title}: a slider"] = measure(page, turn_slider, SLIDER_CHANGES)
                found[f"{title}: seed, all agents"] = measure(page, turn_seed, SEED_CHANGES)
                page.close()
            browser.close()
    finally:
        lab.send_signal(signal.SIGINT)
        lab.wait(30)
    load = os.getloadavg()[0]
    if arguments.json:
        print(json.dumps({"milliseconds": found, "load": load, "limit": LIMIT}))
        return
    rows: list[tuple[Cell, ...]] = [(name, *times.values()) for name, times in found.items()]
    columns = ("change", "median ms", "95% below, ms", "share of 200 ms", "all 200 runs, ms")
    formats = dict.fromkeys(columns[1:], ".0f") | {"share of 200 ms": ".2f"}
    note = f"load average {load:.1f} on {os.cpu_count()} cores"
    print_table(
        Table(
            "From a change to the redrawn picture", columns, tuple(rows), note=note, formats=formats
        )
    )


if __name__ == "__main__":
    main()
