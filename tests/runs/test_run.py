"""countless.run: any agent, by name or as an object; what it refuses; what it leaves alone."""

import json

import gymnasium
import numpy as np
import pytest
import torch

import countless
from countless.agents.catalogue import make_agent
from countless.agents.dqn import agents
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.core.errors import BadInput
from countless.envs import make_mdp
from small_runs import TINY, Listener, checkpoint_bytes, deep_job, execute

MDP = make_mdp("riverswim")


def run(*args, **more):
    return countless.run(*args, progress=False, **more)


def test_three_lines_of_python():
    result = countless.run("sarsa-sr", "riverswim", runs=20, steps=100)
    assert result.summary.runs == 20
    assert result.returns.shape == (20,)


def test_run_takes_objects_too():
    by_name = run("sarsa-sr", "riverswim", runs=3, steps=100)
    by_object = run(make_agent("sarsa-sr", MDP), MDP, runs=3, steps=100)
    np.testing.assert_array_equal(by_name.returns, by_object.returns)
    with pytest.raises(BadInput, match="not both"):
        run(SarsaSR(), MDP, beta=1.0)
    with pytest.raises(BadInput, match="sarsa-sr is a tabular agent"):
        run(SarsaSR(), MDP, scale="smoke")
    with pytest.raises(BadInput, match="an agent is a name"):
        run(3, MDP)


def test_wrong_types_are_bad_input():
    with pytest.raises(BadInput, match="seeds must be a list of seeds, not 0"):
        run("dqn", "deepsea-4", seeds=0)
    with pytest.raises(BadInput, match="progress must be True or False"):
        countless.run("sarsa", "riverswim", runs=1, progress="yes")
    with pytest.raises(BadInput, match="an MDP is made from a name or a path, not 3"):
        make_mdp(3)


def test_an_mdp_shows_itself_in_one_line():
    assert repr(MDP) == "MDP(riverswim: 6 states, 2 actions)"


def test_the_public_names():
    assert dir(countless) == sorted(
        ["Result", "__version__", "load", "make_agent", "make_bonus", "make_mdp", "run", "sweep"]
    )
    for name in dir(countless):
        assert getattr(countless, name) is not None
    assert countless.train is countless.run
    with pytest.raises(AttributeError):
        countless.no_such_thing  # noqa: B018


def test_a_gymnasium_environment_itself():
    by_id = run("sarsa-sr", "FrozenLake-v1", runs=3, steps=50)
    by_object = run("sarsa-sr", gymnasium.make("FrozenLake-v1"), runs=3, steps=50)
    np.testing.assert_array_equal(by_object.returns, by_id.returns)
    assert "FrozenLake" in repr(by_object)
    with pytest.raises(BadInput, match=r"CartPole-v1: exposes no model"):
        run("sarsa-sr", gymnasium.make("CartPole-v1"))
    with pytest.raises(BadInput, match="dqn takes an environment by its name, not TimeLimit"):
        run("dqn", gymnasium.make("CartPole-v1"))


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "x.mdp"
    for reward in (1, 7):
        path.write_text(f"s, a, s', r, p\n0, 0, 0, {reward}, 1\nstart, 0, 1\n")
        result = run("random", str(path), runs=1, steps=10, out=tmp_path / "out")
        assert result.returns[0] == 10 * reward


def test_presets_go_by_what_an_mdp_does(tmp_path):
    path = tmp_path / "sixarms.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\nstart, 0, 1\ntime_limit, 5\n")
    assert run("sarsa", str(path), runs=1).config["alpha"] == Sarsa().alpha
    published = run("sarsa-sr", "sixarms-1660", runs=1, steps=1).config
    assert published["gamma_sr"] == make_agent("sarsa-sr", "sixarms").gamma_sr == 0.99


def test_the_released_scripts_need_a_time_limit(tmp_path):
    path = tmp_path / "x.mdp"
    path.write_text("s, a, s', r, p\n0, 0, 0, 1, 1\nstart, 0, 1\n")
    with pytest.raises(BadInput, match="say how many steps at most with steps"):
        run("sarsa", str(path), rng="authors")
    assert run("sarsa", str(path), rng="authors", steps=5, runs=1).returns[0] == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 0}, "runs must be a whole number from 1"),
        ({"runs": -3}, "runs must be"),
        ({"runs": 1.5}, "runs must be"),
        ({"steps": 0}, "steps must be"),
        ({"seed": -1}, "^seed must be"),
        ({"threads": 0}, "threads must be a whole number from 1"),
        ({"rng": "numpy"}, "rng must be one of countless, authors"),
        ({"alpha": 0}, "alpha must lie in"),
        ({"gamma": 1}, "gamma must lie in"),
        ({"nonsense": 1}, "has no parameter 'nonsense'"),
        ({"bata": 1}, "did you mean 'beta'"),
        ({"step": 1}, "did you mean 'steps'"),
        ({"seeds": [0]}, "sarsa-sr is a tabular agent: it takes runs, steps, rng, seed, not seeds"),
        ({"frames": 9}, "not frames"),
    ],
)
def test_bad_options(options, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        run("sarsa-sr", "riverswim", out=tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 3}, "dqn is a deep agent: it takes seeds, frames, .*, seed, not runs"),
        ({"seeds": []}, "seeds names no seed"),
        ({"seeds": [1, 1]}, "seeds names a seed twice: 1 1"),
        ({"seed": 1, "seeds": [2]}, "give seed or seeds, not both"),
        ({"frame": 9}, "did you mean 'frames'"),
        ({"scale": "huge"}, "scale must be one of smoke, laptop, paper, small"),
        ({"device": "abacus"}, "there is no device 'abacus' here"),
        ({"beta": 0.1}, "beta changes nothing: bonus is off in this dqn"),
        ({"norm": 2}, "norm changes nothing: dqn has no SR"),
        ({"replay": 1e15}, "a replay of 1,000,000,000,000,000 frames needs"),
    ],
)
def test_refused_deep_runs_leave_no_trace_and_no_thread_count(options, message, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(BadInput, match=message):
            run("dqn", "deepsea-5", out=tmp_path, **options)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert list(tmp_path.iterdir()) == []


def test_parameters_without_effect_are_refused(tmp_path):
    with pytest.raises(BadInput, match="w_sr changes nothing: sr is off"):
        run("dqn-mmc-sr", "deepsea-5", out=tmp_path, bonus="off", w_sr=2.0)
    with pytest.raises(BadInput, match="bonus_batch changes nothing: it is of the bonus sr, not c"):
        run("dqn-counts", "deepsea-5", out=tmp_path, bonus_batch=3)
    assert list(tmp_path.iterdir()) == []


def test_a_deep_run_leaves_the_callers_process_as_it_was(tmp_path, monkeypatch):
    def tuned(*arguments):
        raise AssertionError("the caller's process is not ours to tune")

    monkeypatch.setattr("countless.runs.dqn.tune_process", tuned)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for threads in (1, 3):
            run("dqn", "deepsea-5", frames=20, device="cpu", out=tmp_path, threads=threads, **TINY)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_deep_run_from_python_is_the_job_of_that_name(tmp_path):
    heard = Listener()
    result = countless.run(
        "dqn-mmc-sr", "deepsea-5", out=tmp_path / "a", frames=80, device="cpu",
        variant="authors", progress=heard, **TINY,
    )  # fmt: skip
    same = execute(deep_job(frames=80, variant="authors"), tmp_path / "b")
    (stored,) = result.jobs
    assert stored.about["id"] == same.about["id"]
    assert stored.records.equals(same.records)
    assert checkpoint_bytes(stored.folder) == checkpoint_bytes(same.folder)
    assert heard.tasks == [("dqn-mmc-sr in deepsea-5, seed 0", 80)]
    assert sum(heard.advanced) == 80
    assert stored.about["command"] == "countless.run('dqn-mmc-sr', 'deepsea-5', ...)"


def test_without_a_folder_deep_runs_are_kept_in_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (folder,) = run("dqn", "deepsea-5", frames=20, device="cpu", **TINY).folders
    assert folder.parent.name == "results"
    assert run("sarsa", "riverswim", runs=2, steps=20).folders == []
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_missing_packages_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(agents, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="deep agents need torch"):
        run("dqn", "Pong", out=tmp_path)


def test_unknown_agents_get_a_suggestion():
    with pytest.raises(BadInput, match="unknown agent 'dqn-mcc'; did you mean 'dqn-mmc'"):
        run("dqn-mcc", "deepsea-5")


def test_json_document():
    document = run("sarsa-sr", "riverswim", runs=4, steps=100, norm=float("inf")).to_json()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert set(again) >= {
        "agent", "env", "runs", "steps", "seed", "config", "returns", "seconds",
        "steps_per_second", "per_run",
    }  # fmt: skip
    assert set(again["returns"]) == {"mean", "sd", "median", "iqm", "ci95", "min", "max"}
    assert len(again["per_run"]) == 4
    assert again["config"]["norm"] == "inf"


def test_json_document_of_a_deep_agent(tmp_path):
    result = run("dqn-mmc-sr", "deepsea-5", frames=60, device="cpu", out=tmp_path, **TINY)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(document) >= {"agent", "env", "frames", "config", "runs"}
    (one,) = document["runs"]
    assert set(one) >= {
        "seed", "episodes", "performance", "last_scores", "steps_per_second", "features", "folder",
    }  # fmt: skip
    assert (one["episodes"], len(one["last_scores"])) == (12, 12)
    assert one["performance"] == pytest.approx(np.mean(one["last_scores"]))


def test_an_episode_that_never_ends_is_told(tmp_path):
    result = run("dqn", "deepsea-5", frames=2, device="cpu", out=tmp_path, **TINY)
    assert repr(result) == "Result(dqn in deepsea-5: 1 run of 2 frames, no episode ended)"
    assert result.to_json()["runs"][0]["performance"] is None
    with pytest.raises(BadInput, match="no episode ended within the budget: give more frames"):
        result.summary  # noqa: B018
