"""countless.sweep: grids, their files, and settings that are the same jobs as runs."""

import json

import numpy as np
import pytest

import countless
from countless.agents.catalogue import AGENTS
from countless.core.errors import BadInput, naming_options
from countless.runs import tabular
from countless.runs.sweep import expand, find_grid, read_grid
from small_runs import TINY


def sweep(*args, **more):
    return countless.sweep(*args, progress=False, **more)


def test_a_setting_of_a_sweep_is_that_run(tmp_path):
    grid = {"beta": [1, 10], "norm": [1, 2, float("inf")]}
    result = sweep("sarsa-sr", "riverswim", grid=grid, runs=5, steps=200, out=tmp_path)
    assert len(result.groups) == 6
    for group in result.groups:
        parameters = {"beta": group.config["beta"], "norm": float(group.config["norm"])}
        alone = countless.run(
            "sarsa-sr", "riverswim", runs=5, steps=200, progress=False, **parameters
        )
        np.testing.assert_array_equal(group.returns, alone.returns)
    document = json.loads(json.dumps(result.sweep_json(), allow_nan=False))
    means = [setting["mean"] for setting in document["settings"]]
    assert means == sorted(means, reverse=True)
    assert (document["agent"], document["runs"], document["steps"]) == ("sarsa-sr", 5, 200)
    about = json.loads((result.folders[0] / "job.json").read_text())
    assert about["budget"] == {"runs": 5, "steps": 200}
    assert len(about["identity"]["settings"]) == 6


def test_a_sweep_goes_on(tmp_path, monkeypatch):
    options = {"grid": {"alpha": [0.1, 0.2]}, "runs": 3, "steps": 50, "out": tmp_path}
    first = sweep("sarsa", "riverswim", **options)
    monkeypatch.setattr(tabular, "simulate", None)
    again = sweep("sarsa", "riverswim", **options)
    for one, other in zip(first.groups, again.groups, strict=True):
        np.testing.assert_array_equal(one.returns, other.returns)


def test_a_deep_sweep_is_single_runs_and_goes_on(tmp_path, monkeypatch):
    options = {"frames": 40, "device": "cpu", "out": tmp_path} | TINY
    grid = {"gamma": [0.9, 0.95]}
    result = sweep("dqn", "deepsea-5", grid=grid, seeds=[0, 1], **options)  # in worker processes
    assert [group.config["gamma"] for group in result.groups] == [0.9, 0.95]
    assert [[job.about["seed"] for job in group.jobs] for group in result.groups] == [[0, 1]] * 2
    monkeypatch.setattr("countless.runs.dqn.make_trainer", None)
    monkeypatch.setattr("countless.runs.workers.Workers", None)
    alone = countless.run("dqn", "deepsea-5", gamma=0.95, seeds=[0, 1], progress=False, **options)
    np.testing.assert_array_equal(alone.returns, result.groups[1].returns)
    document = sweep("dqn", "deepsea-5", grid=grid, seeds=[0, 1], **options).sweep_json()
    assert document["seeds"] == [0, 1]
    assert [run["seed"] for run in document["settings"][0]["runs"]] == [0, 1]


def test_the_papers_grids():
    assert len(expand("sarsa", find_grid("sarsa", "paper"), {})) == 1500
    assert len(expand("sarsa-sr", find_grid("sarsa-sr", "paper"), {"norm": 2})) == 1500
    assert find_grid("sarsa", "paper")["alpha"][92] == 0.465
    with pytest.raises(BadInput, match="random has no grid: give one with grid"):
        find_grid("random", "paper")
    with naming_options(), pytest.raises(BadInput, match="give one with --grid"):
        find_grid("dqn", "default")


@pytest.mark.parametrize("name", [e.name for e in AGENTS.values() if e.grid])
def test_every_learner_has_a_grid(name):
    settings = expand(name, find_grid(name, "default"), {})
    assert len(settings) == len({tuple(setting.items()) for setting in settings}) > 1


def test_what_is_fixed_overrides_the_grid():
    settings = expand("sarsa", {"epsilon": [0.1, 0.2], "alpha": [0.3, 0.4]}, {"alpha": 0.5})
    assert settings == [{"alpha": 0.5, "epsilon": 0.1}, {"alpha": 0.5, "epsilon": 0.2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("alpha = [0.1", "is not a TOML file"),
        ("alpha = []", "alpha: must be a value or a list of values"),
        ("alpha = [[0.1]]", "alpha: must be a value or a list of values"),
        ("alpha = [0.1, 0.1]", "alpha: has a value twice"),
        ("alhpa = [0.1]", "sarsa has no parameter 'alhpa'; did you mean 'alpha'"),
        ("alpha = [0.1, 2.0]", r"alpha must lie in \(0, 1\], not 2"),
        ("alpha = ['x']", "alpha must be a number"),
        ("update = 'never'", "update must be one of"),
    ],
)
def test_bad_grids(tmp_path, text, message):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=message) as error:
        sweep("sarsa", "riverswim", grid=path, runs=1, steps=1)
    assert "grid.toml" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grids": {}}, "did you mean 'grid'"),
        ({"run": 3}, "did you mean 'runs'"),
        ({"seeds": [0]}, "sarsa is a tabular agent"),
    ],
)
def test_misspelt_keywords(options, message):
    with pytest.raises(BadInput, match=message):
        sweep("sarsa", "riverswim", **options)


def test_grid_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_grid(tmp_path / "no.toml")


def test_grid_too_large():
    grid = {name: [i / 2000 + 0.0001 for i in range(1100)] for name in ("alpha", "epsilon")}
    with pytest.raises(BadInput, match="1,210,000 settings"):
        expand("sarsa", grid, {})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"alpha": []}, "grid: alpha: must be a value or a list of values"),
        ({"alpha": [[0.1]]}, "grid: alpha: must be a value or a list of values"),
        ({"alpha": [0.1, 0.1]}, "grid: alpha: has a value twice"),
        (5, "grid must be a mapping from parameters to lists of values"),
    ],
)
def test_bad_grids_from_python(grid, message):
    with pytest.raises(BadInput, match=message):
        sweep("sarsa", "riverswim", grid=grid)


def test_a_single_value_in_a_grid_is_fixed():
    grid = {"alpha": 0.3, "epsilon": np.array([0.1, 0.2])}
    result = sweep("sarsa", "riverswim", grid=grid, runs=2, steps=10)
    assert [group.config["alpha"] for group in result.groups] == [0.3, 0.3]


def test_a_sweep_takes_an_agent_by_name():
    with pytest.raises(BadInput, match="by its name, not Sarsa"):
        sweep(countless.make_agent("sarsa"), "riverswim")


def test_errors_say_whether_the_grid_is_to_blame(tmp_path):
    grid = tmp_path / "grid.toml"
    grid.write_text("gamma_sr = [0.5, 7]\n")
    options = {"grid": grid, "runs": 2}
    with naming_options():
        with pytest.raises(BadInput, match=r"grid\.toml: gamma_sr must lie"):
            sweep("sarsa-sr", "riverswim", **options)
        with pytest.raises(BadInput, match=r"^--epsilon must lie"):
            sweep("sarsa-sr", "riverswim", epsilon=7, **options)
        with pytest.raises(BadInput, match=r"^unknown environment"):
            sweep("sarsa-sr", "rivrswim", **options)
