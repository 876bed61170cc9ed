"""Learning curves: bands from the runs that are known, one style per agent everywhere."""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from countless.agents.catalogue import AGENTS
from countless.analysis.curves import (
    KNOWN,
    band,
    draw_curves,
    plot_curves,
    plot_distribution,
    styles,
)


@dataclass
class Points:
    x: np.ndarray
    y: np.ndarray
    unit: str = "steps"


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_the_band_is_that_of_the_known_runs():
    y = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    mean, half = band(y)
    np.testing.assert_array_equal(mean, [2.0, 5.0, np.nan])
    assert half[0] == pytest.approx(1.96 * np.sqrt(2.0) / np.sqrt(2))
    assert np.isnan(half[1:]).all()


def test_every_agent_has_a_style_of_its_own():
    chosen = styles((name, name) for name in AGENTS)
    assert len(set(chosen.values())) == len(AGENTS)
    assert set(AGENTS) <= set(KNOWN)
    # The same one in any company.
    for name in AGENTS:
        assert styles([(name, name)])[name] == chosen[name]


def test_labels_of_one_agent_are_told_apart():
    chosen = styles([("ESSR, a", "essr"), ("ESSR, b", "essr"), ("R-Max", "rmax")])
    assert len(set(chosen.values())) == 3


def test_lines_end_at_the_mean_of_the_runs():
    x = np.array([10.0, 20.0])
    ax = plot_curves({"a": ("sarsa", Points(x, np.array([[1.0, 2.0], [3.0, 6.0]])))})
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[10, 2], [20, 4]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("steps", "reward so far")
    assert ax.get_legend() is None


def test_a_line_of_one_point_is_seen():
    for points, mark in ((1, "o"), (2, "None")):
        y = np.ones((3, points))
        ax = plot_curves({"a": ("sarsa", Points(np.arange(float(points)), y))})
        assert ax.lines[0].get_marker() == mark


def test_the_band_of_a_drawing_is_that_of_a_page():
    y = np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 1.0]])  # three runs: their range, not an interval
    ax = plot_curves({"a": ("sarsa", Points(np.array([10.0, 20.0]), y))})
    (drawn,) = ax.collections
    box = drawn.get_paths()[0].get_extents()
    assert (box.ymin, box.ymax) == (0.0, 1.0)


def test_distributions_show_every_run():
    ax = plot_distribution({"a": np.array([3.0, 1.0, np.nan, 2.0]), "b": np.array([1.0])})
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1, 100], [2, 200 / 3], [3, 100 / 3]])


def test_panels_are_drawn_the_same_each_time(tmp_path):
    curve = Points(np.arange(1.0, 5.0), np.arange(8.0).reshape(2, 4))
    panels = {
        "one": {"Sarsa": ("sarsa", curve), "R-Max": ("rmax", curve)},
        "two": {"R-Max": ("rmax", curve)},
    }
    for name in ("a", "b"):
        draw_curves(tmp_path / name, panels)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob(".*"))
