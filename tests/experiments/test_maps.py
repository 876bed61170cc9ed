"""Maps and ways are those of the runs."""

import numpy as np
import pytest

from countless.agents.catalogue import make_agent
from countless.agents.tabular.simulate import NORM, REWARD, STATE, trace_runs
from countless.analysis import plots_norm
from countless.envs import make_mdp
from countless.experiments import maps
from countless.runs.job import Execution, Stopped


@pytest.fixture
def short(monkeypatch):
    for name, value in {"STEPS": 90, "RUNS": 6, "PIECE": 3, "MARKS": np.array([7, 30, 90])}.items():
        monkeypatch.setattr(maps, name, value)


def test_maps_against_a_loop_over_the_trace(short):
    mdp = make_mdp("fourrooms")
    agent = make_agent("sarsa-sr", mdp, {"beta": 0.0})
    columns = maps.measure_maze(agent, 0.5, 4, Execution())
    trace = trace_runs(agent, mdp, runs=6, steps=90, seed=4)
    for mark in maps.MARKS:
        now = columns["step"] == mark
        visits, norms = np.zeros(mdp.n_states), [[] for _ in range(mdp.n_states)]
        for run in trace[:, :mark]:
            last = {}
            for step in run:
                visits[int(step[STATE])] += 1
                last[int(step[STATE])] = step[NORM]
            for state, norm in last.items():
                norms[state].append(norm)
        assert columns["visits"][now] == pytest.approx(visits / 6)
        assert columns["seen"][now] == pytest.approx([len(found) / 6 for found in norms])
        mean = [np.mean(found) if found else np.nan for found in norms]
        paid = [np.mean(0.5 / np.array(found)) if found else np.nan for found in norms]
        assert columns["norm"][now] == pytest.approx(mean, nan_ok=True)
        assert columns["bonus"][now] == pytest.approx(paid, nan_ok=True)
        reward = trace[:, :mark, REWARD].sum() / 6
        assert columns["reward"][now] == pytest.approx(np.full(mdp.n_states, reward))


def test_the_way_is_that_of_the_run_in_the_middle(short):
    mdp = make_mdp("riverswim")
    agent = make_agent("sarsa-sr", mdp, {})
    columns = maps.measure_river(agent, 2, Execution())
    trace = trace_runs(agent, mdp, runs=3, steps=90, seed=2)
    returns = trace[:, :, REWARD].sum(axis=1)
    run = columns["run"][0]
    assert returns[run] == np.median(returns)
    np.testing.assert_array_equal(columns["state"], trace[run, :, STATE])
    assert columns["reward"].sum() == returns[run]


def test_it_stops_when_asked(short):
    agent = make_agent("sarsa-sr", make_mdp("fourrooms"), {})
    with pytest.raises(Stopped):
        maps.measure_maze(agent, 1.0, 0, Execution(stop=lambda: True))


def test_the_times_of_the_figure_are_kept():
    assert set(maps.SHOWN) <= set(maps.MARKS.tolist())
    assert maps.MARKS[-1] == maps.STEPS
    assert maps.RUNS % maps.PIECE == 0


def test_a_way_is_drawn_step_by_step_at_first_and_in_windows():
    step = np.arange(1, 5_001)
    state = step % 6
    columns = {"step": step, "state": state, "reward": np.ones(5_000)}
    first, whole = maps._way("Sarsa+SR", columns)
    assert first.title == "Sarsa+SR: the first 500 steps"
    assert len(first.series[0].x) == 500
    assert whole.title == "Sarsa+SR: all 5,000 steps, return 5,000"
    assert len(whole.series[0].x) == 200
    assert whole.series[0].y[0] == state[:25].mean()
    assert whole.series[0].x[-1] == 5_000
    assert "first 500 steps" in maps.WAYS
    assert "every 25 steps" in maps.WAYS


def test_rows_that_show_the_same_share_their_colours(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(plots_norm, "save_figure", lambda figure, stem: kept.append(figure))
    rows = [plots_norm.MapRow(name, [np.full((2, 2), most)], True) for name, most in PAIR.items()]
    walls = np.zeros((2, 2), bool)
    for shared in ("visits", ""):
        plots_norm.draw_maps(tmp_path / "maps", walls, ["t"], rows, shared)
    alike, apart = ([ax.images[-1].norm for ax in one.axes if len(ax.images) == 2] for one in kept)
    assert [(norm.vmin, norm.vmax) for norm in alike] == [(1.0, 100.0)] * 2
    assert apart[0].vmax < apart[1].vmax


PAIR = {"one": 1.0, "two": 100.0}
