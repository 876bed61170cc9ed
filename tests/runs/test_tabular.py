import json

import numpy as np
import pytest
from countless.runs.study import Study, complete, load

import countless
from countless.agents.catalogue import AGENTS
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.core.errors import BadInput
from countless.envs import make_mdp
from countless.runs import study as study_module
from countless.runs.run import run
from countless.runs.sweep import default_grid, expand, paper_grid, read_grid, sweep

MDP = make_mdp("riverswim")


def small_study(runs=6, seed=0):
    return Study((SarsaSR(), SarsaSR(beta=1), SarsaSR(norm=2)), MDP, runs, 50, seed)


@pytest.fixture
def tiny_parts(monkeypatch):
    monkeypatch.setattr(study_module, "PART_STEPS", 100)


def test_parts_tile_the_study(tiny_parts):
    study = small_study(runs=5)
    seen = np.zeros((3, 5), dtype=int)
    for part in study.parts():
        seen[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop] += 1
    assert (seen == 1).all()
    assert len(study.parts()) == 9


def test_interrupted_and_resumed_is_never_interrupted(tmp_path, tiny_parts, monkeypatch):
    study = small_study()
    whole = complete(study).returns
    calls = 0
    original = study_module.simulate

    def failing(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(study_module, "simulate", failing)
    with pytest.raises(KeyboardInterrupt):
        complete(study, tmp_path)
    assert load(study, tmp_path) is None
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("part-*")}
    assert len(kept) == 2
    monkeypatch.setattr(study_module, "simulate", original)
    resumed = complete(study, tmp_path)
    np.testing.assert_array_equal(resumed.returns, whole)
    assert resumed.simulated_steps == study.total_steps - 2 * 100
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items())
    again = complete(study, tmp_path)
    assert again.simulated_steps == 0
    np.testing.assert_array_equal(load(study, tmp_path), whole)


def test_parts_change_no_bit(monkeypatch):
    study = small_study()
    whole = complete(study).returns
    monkeypatch.setattr(study_module, "PART_STEPS", 100)
    np.testing.assert_array_equal(complete(study).returns, whole)
    assert len(np.unique(whole[0])) > 1


def test_a_part_of_other_runs_is_not_taken(tmp_path, tiny_parts):
    study = small_study()
    whole = complete(study, tmp_path).returns
    first, second = sorted(tmp_path.glob("part-*"))[:2]
    second.replace(first)
    np.testing.assert_array_equal(complete(study, tmp_path).returns, whole)


def test_what_cannot_run_leaves_nothing(tmp_path):
    with pytest.raises(BadInput, match="--rng authors replays"):
        run("random", "riverswim", rng="authors", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "x.mdp"
    for reward in (1, 7):
        path.write_text(f"s, a, s', r, p\n0, 0, 0, {reward}, 1\nstart, 0, 1\n")
        assert run("random", str(path), runs=1, steps=10).returns[0] == 10 * reward


def test_presets_go_by_what_an_mdp_does(tmp_path):
    path = tmp_path / "sixarms.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\nstart, 0, 1\ntime_limit, 5\n")
    assert run("sarsa", str(path), runs=1).agent == Sarsa()


def test_the_released_scripts_need_a_time_limit(tmp_path):
    path = tmp_path / "x.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\nstart, 0, 1\n")
    with pytest.raises(BadInput, match="say how many steps"):
        run("sarsa", str(path), rng="authors")
    assert run("sarsa", str(path), rng="authors", steps=5, runs=1).returns[0] == 5


def test_a_broken_part_is_run_again(tmp_path, tiny_parts):
    study = small_study()
    whole = complete(study, tmp_path).returns
    next(tmp_path.glob("part-*")).write_bytes(b"torn")
    np.testing.assert_array_equal(complete(study, tmp_path).returns, whole)


def test_names_tell_studies_apart():
    names = {small_study().name, small_study(seed=1).name, small_study(runs=7).name}
    assert len(names) == 3
    assert small_study().name == small_study().name


def test_replayed_runs_stay_together(tiny_parts):
    study = Study((Sarsa(),), MDP, 10, 50, 0, "authors")
    assert len(study.parts()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs must be a whole number from 1"),
        ({"runs": -3}, "runs must be"),
        ({"runs": 1.5}, "runs must be"),
        ({"steps": 0}, "steps must be"),
        ({"seed": -1}, "seed must be"),
        ({"rng": "numpy"}, "rng must be one of countless, authors"),
        ({"alpha": 0}, "alpha must lie in"),
        ({"gamma": 1}, "gamma must lie in"),
        ({"nonsense": 1}, "has no parameter 'nonsense'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(BadInput, match=message):
        run("sarsa-sr", "riverswim", **options)


def test_three_lines_of_python():
    result = countless.run("sarsa-sr", "riverswim", runs=20, steps=100)
    assert result.summary.runs == 20
    assert result.returns.shape == (20,)


def test_run_takes_objects_too():
    by_name = run("sarsa-sr", "riverswim", runs=3, steps=100)
    by_object = run(SarsaSR(), MDP, runs=3, steps=100)
    np.testing.assert_array_equal(by_name.returns, by_object.returns)
    with pytest.raises(BadInput, match="not both"):
        run(SarsaSR(), MDP, beta=1.0)
    with pytest.raises(AttributeError):
        countless.no_such_thing  # noqa: B018


def test_json_document():
    document = run("sarsa-sr", "riverswim", runs=4, steps=100, norm=float("inf")).to_json()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert set(again) == {
        "agent", "env", "runs", "steps", "seed", "config", "returns", "seconds",
        "steps_per_second", "per_run",
    }  # fmt: skip
    assert set(again["returns"]) == {"mean", "sd", "median", "iqm", "ci95", "min", "max"}
    assert len(again["per_run"]) == 4
    assert again["config"]["norm"] == "inf"


def test_a_setting_of_a_sweep_is_that_run(tmp_path):
    result = sweep(
        "sarsa-sr",
        "riverswim",
        grid={"beta": [1, 10], "norm": [1, 2]},
        runs=5,
        steps=200,
        out=tmp_path,
    )
    assert len(result.study.settings) == 4
    for i, agent in enumerate(result.study.settings):
        np.testing.assert_array_equal(
            result.finished.returns[i], run(agent, "riverswim", runs=5, steps=200).returns
        )
    document = result.to_json()
    means = [setting["mean"] for setting in document["settings"]]
    assert means == sorted(means, reverse=True)
    assert json.loads((result.folder / "study.json").read_text())["runs"] == 5


def test_the_papers_grids():
    assert len(expand("sarsa", "riverswim", paper_grid("sarsa"), {})) == 1500
    assert len(expand("sarsa-sr", "sixarms", paper_grid("sarsa-sr"), {"norm": 2})) == 1500
    assert paper_grid("sarsa")["alpha"][92] == 0.465
    with pytest.raises(BadInput, match="the paper has no grid for random"):
        paper_grid("random")


@pytest.mark.parametrize("name", [e.name for e in AGENTS.values() if e.grid])
def test_every_learner_has_a_grid(name):
    settings = expand(name, "riverswim", default_grid(name), {})
    assert len(settings) == len(set(settings)) > 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("alpha = [0.1", "is not a TOML file"),
        ("alpha = []", "alpha: must be a value or a list of values"),
        ("alpha = [[0.1]]", "alpha: must be a value or a list of values"),
        ("alpha = [0.1, 0.1]", "alpha: has a value twice"),
        ("alhpa = [0.1]", "sarsa has no parameter 'alhpa'"),
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


def test_grid_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        read_grid(tmp_path / "no.toml")


def test_grid_too_large():
    grid = {name: [i / 2000 + 0.0001 for i in range(1100)] for name in ("alpha", "epsilon")}
    with pytest.raises(BadInput, match="1,210,000 settings"):
        expand("sarsa", "riverswim", grid, {})
