"""Charts as data: what a page gets is what was computed, in fewer digits."""

import numpy as np
import pytest

from countless.analysis.charts import (
    Chart,
    Intervals,
    Mark,
    Series,
    Sweep,
    curve_chart,
    distribution_chart,
    profile_chart,
)
from countless.analysis.curves import PALETTE, line_styles, spread
from countless.analysis.statistics import mean_interval
from countless.runs.groups import Curve


def test_a_curve_of_few_runs_is_their_mean_and_range():
    y = np.array([[1.0, 2.0, np.nan], [3.0, 2.0, np.nan]])
    chart = curve_chart("t", {"a": ("sarsa", Curve(np.array([10.0, 20.0, 30.0]), y, "steps"))})
    (series,) = chart.to_json()["series"]
    assert series["x"] == [10, 20]  # what no run reached is not drawn
    assert series["y"] == [2, 2]
    assert (series["low"], series["high"]) == ([1, 2], [3, 2])
    assert (chart.x, chart.y) == ("steps", "reward so far")


@pytest.mark.parametrize("runs", [5, 12])
def test_from_five_runs_on_the_band_is_the_interval_of_the_mean(runs):
    y = np.random.default_rng(1).exponential(size=(runs, 3))
    low, high = spread(y)
    for k in range(3):
        assert (low[k], high[k]) == pytest.approx(mean_interval(y[:, k]), rel=0.06)
    assert (low >= y.min(axis=0)).all()  # a band does not leave the values that there are
    assert (high <= y.max(axis=0)).all()


def test_a_band_where_some_runs_have_ended():
    y = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, np.nan], [4.0, np.nan], [5.0, np.nan]])
    low, high = spread(y)
    assert 1 < low[0] < 3 < high[0] < 5
    assert np.isnan([low[1], high[1]]).all()  # one run


def test_many_runs_have_the_normal_interval():
    y = np.random.default_rng(0).normal(size=(300, 1))
    (low,), (high,) = spread(y)
    assert (low, high) == pytest.approx(mean_interval(y[:, 0]), abs=0.01)


def test_a_single_run_has_no_band():
    chart = curve_chart("t", {"a": ("dqn", Curve(np.array([1.0]), np.array([[4.0]]), "frames"))})
    assert "low" not in chart.to_json()["series"][0]


def test_a_distribution_is_the_share_of_runs_that_reach_a_return():
    returns = {"a": np.array([1.0, 2.0, 2.0, 5.0]), "none": np.array([np.nan])}
    (series,) = distribution_chart("t", returns).series
    for level, share in zip(series.x, series.y, strict=True):
        assert share == 100.0 * np.mean(returns["a"] >= level)
    assert (series.y[0], series.y[-1]) == (100.0, 25.0)


def test_a_profile_weighs_tasks_alike():
    scores = {"a": [np.array([1.0, 1.0, 1.0]), np.array([0.0])]}
    (series,) = profile_chart("t", scores, "success (%)").series
    assert (series.y[0], series.y[1], series.y[-1]) == (100.0, 50.0, 50.0)


def test_few_lines_have_colours_of_their_own_and_no_dashes():
    few = line_styles({f"agent {i}": f"agent {i}" for i in range(len(PALETTE))})
    assert {colour for colour, _ in few.values()} == set(PALETTE)
    assert {dash for _, dash in few.values()} == {"-"}
    many = line_styles({f"agent {i}": f"agent {i}" for i in range(len(PALETTE) + 1)})
    assert len(set(many.values())) == len(many)


def test_settings_are_told_by_the_place_of_their_value():
    sweep = Sweep({"alpha": [0.5, 0.1, 0.5]}, [1.0, 2.0, float("nan")], marked=1).to_json()
    assert sweep["levels"] == [[0.1, 0.5]]
    assert sweep["settings"] == [[1, 0, 1]]
    assert sweep["means"] == [1, 2, None]
    assert sweep["marked"] == 1


def test_a_chart_says_what_its_axes_are():
    chart = Chart("title", "steps", "reward", (Series("a", [1], [2]),), steps=-1).to_json()
    assert (chart["kind"], chart["x"], chart["y"], chart["steps"]) == (
        "lines",
        "steps",
        "reward",
        -1,
    )


def test_axes_are_linear_and_lines_are_shown_unless_said_otherwise():
    plain = Chart("t", "x", "y", (Series("a", [1], [2]),)).to_json()
    assert (plain["log"], plain["ticks"]) == ("", [])
    assert not {"points", "hidden"} & set(plain["series"][0])
    series = Series("a", [6, 50], [1, 2], points="only", hidden=True)
    chart = Chart("t", "N", "steps", (series,), log="xy", ticks=(6, 50)).to_json()
    assert (chart["log"], chart["ticks"]) == ("xy", [6, 50])
    assert (chart["series"][0]["points"], chart["series"][0]["hidden"]) == ("only", True)


def test_intervals_have_a_mark_for_each_name_in_every_row():
    rows = {
        "a": {"tuned": Mark(0.5, (0.4, 0.6)), "default": Mark(1 / 3)},
        "b": {"default": Mark(np.nan, note="0 of 5")},
    }
    chart = Intervals("t", "agent", "IQM", rows).to_json()
    assert (chart["kind"], chart["names"]) == ("intervals", ["tuned", "default"])
    assert chart["rows"] == [
        ["a", [[0.5, 0.4, 0.6], [0.33333, None, None]]],
        ["b", [None, [None, None, None, "0 of 5"]]],
    ]
    assert len(set(chart["colours"])) == 2


def test_a_profile_has_a_band_from_five_runs_on_and_few_lines_at_first():
    rng = np.random.default_rng(1)
    scores = {f"agent {i}": [rng.random(8), rng.random(6)] for i in range(3)}
    first, second, third = profile_chart("t", scores, "score (%)", most=2).series
    assert (first.hidden, second.hidden, third.hidden) == (False, False, True)
    assert np.all(first.low <= first.y)
    assert np.all(first.y <= first.high)
    few = profile_chart("t", {"a": [rng.random(4)]}, "score (%)").series[0]
    assert few.low is None
