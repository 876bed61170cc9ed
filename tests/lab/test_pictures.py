"""What the page draws is what the library computes."""

import json
import math
import shlex

import numpy as np
import pytest

import countless
from countless.agents.catalogue import make_agent
from countless.agents.tabular.maps import QUANTITIES
from countless.agents.tabular.simulate import NORM, REWARD, STATE, trace_runs
from countless.cli.main import main
from countless.core.errors import BadInput, CountlessError
from countless.envs.mdp_file import mdp_text
from countless.lab.board import Board, Superseded
from countless.lab.catalogue import (
    DRAWN,
    ENVS,
    EXAMPLE_MAP,
    column_controls,
    lab_mdp,
    tabular_agents,
)
from countless.lab.pictures import REPRESENTATION_RUNS, RUNS, Picture, representation
from countless.lab.settings import read_request

MAP = "S..#..|.#.x.1|...#.9"


def complete(env, agent, drawing="", seed=0, **parameters):
    mdp = lab_mdp(env, drawing)
    picture = Picture(make_agent(agent, mdp, parameters), mdp, seed)
    while runs := picture.claim():
        picture.work(runs)
    return picture


def request(**parts):
    content = {"client": "a", "number": 1, "env": "riverswim", "columns": [{"agent": "sarsa"}]}
    return json.dumps(content | parts).encode()


@pytest.mark.parametrize("env", ["riverswim", DRAWN])
@pytest.mark.parametrize("agent", ["sarsa", "sarsa-sr", "sarsa-counts"])
def test_the_runs_are_those_of_countless_run(env, agent):
    picture = complete(env, agent, MAP, seed=3)
    result = countless.run(agent, picture.mdp, runs=RUNS, seed=3, progress=False)
    np.testing.assert_array_equal(picture.rewards[:, -1], result.returns)
    summary = picture.summary()
    assert summary["mean"] == pytest.approx(result.summary.mean)
    assert summary["median"] == pytest.approx(result.summary.median)
    assert summary["runs"] == summary["of"] == RUNS


def test_maps_against_a_loop_over_the_trace():
    """Visits, norm as of the last visit and bonus, in the middle of the runs."""
    picture = complete("riverswim", "sarsa-sr", norm=2.0)
    trace = trace_runs(picture.agent, picture.mdp, runs=RUNS, steps=picture.steps, seed=0)
    at = 7
    visits, norms = np.zeros((RUNS, 6)), np.full((RUNS, 6), np.nan)
    for run in range(RUNS):
        for step in trace[run, : picture.marks[at]]:
            visits[run, int(step[STATE])] += 1
            norms[run, int(step[STATE])] = step[NORM]
    arrays = picture.arrays()
    assert arrays is picture.arrays()  # made once
    np.testing.assert_allclose(arrays["visits"][at], visits.mean(axis=0))
    np.testing.assert_allclose(arrays["norm"][at], np.nanmean(norms, axis=0))
    np.testing.assert_allclose(arrays["bonus"][at], np.nanmean(picture.agent.beta / norms, axis=0))
    so_far = trace[:, : picture.marks[at], REWARD].sum(axis=1)
    np.testing.assert_allclose(arrays["mean"][at], so_far.mean())
    assert arrays["low"][at] < arrays["mean"][at] < arrays["high"][at]


def test_a_picture_grows_with_its_runs():
    mdp = lab_mdp("riverswim", "")
    picture = Picture(make_agent("sarsa-sr", mdp), mdp, 0)
    picture.work(picture.claim())
    early, half = picture.arrays(), picture.summary()["half"]
    while runs := picture.claim():
        picture.work(runs)
    assert not np.array_equal(early["mean"], picture.arrays()["mean"])
    assert picture.summary()["half"] < half
    np.testing.assert_allclose(picture.arrays()["visits"].sum(axis=1), picture.marks)


@pytest.mark.parametrize("name", ["sarsa-sr", "sarsa-counts", "sarsa-dr"])
def test_a_bonus_is_what_the_kernel_adds_to_the_reward(name):
    """Of a run of one step nothing is bootstrapped: it takes a value from 0 to alpha (r + bonus)."""
    mdp = lab_mdp("riverswim", "")
    agent = make_agent(name, mdp, {"initial_value": 0.0, "alpha": 0.5})
    _, _, reward, norm, value = trace_runs(agent, mdp, runs=1, steps=1, seed=0)[0, 0]
    assert value == pytest.approx(0.5 * (reward + QUANTITIES[name].bonus(agent, np.array(norm))))


@pytest.mark.parametrize(("env", "step"), [("riverswim", 700), ("riverswim", 5000), (DRAWN, 5000)])
def test_rows_of_the_sr_sum_to_the_norms_of_the_agent(env, step):
    mdp = lab_mdp(env, MAP if env == DRAWN else "")
    agent = make_agent("sarsa-sr", mdp)
    trace = trace_runs(agent, mdp, runs=REPRESENTATION_RUNS, steps=5000, seed=4)[:, :step]
    norms = np.zeros((REPRESENTATION_RUNS, mdp.n_states))
    for run in range(REPRESENTATION_RUNS):
        norms[run, trace[run, :, STATE].astype(int)] = trace[run, :, NORM]  # the last one stays
    matrix = representation(agent, mdp, 4, step)
    np.testing.assert_allclose(matrix.sum(axis=1), norms.mean(axis=0), rtol=1e-9)
    with pytest.raises(BadInput, match="no successor representation"):
        representation(make_agent("sarsa", mdp), mdp, 0, step)


def test_what_stands_in_the_command_does_the_same(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body = request(
        env=DRAWN,
        map=MAP,
        seed=5,
        columns=[{"agent": "sarsa-sr", "parameters": {"beta": 0.25, "norm": "inf"}}],
    )
    setting = read_request(body).setting
    (tmp_path / "drawn.mdp").write_text(mdp_text(setting.mdp))
    column = setting.columns[0]
    picture = complete(DRAWN, "sarsa-sr", MAP, seed=5, beta=0.25, norm=math.inf)
    command = shlex.split(setting.command(column))
    assert command[0] == "countless"
    assert main([*command[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["per_run"] == picture.rewards[:, -1].tolist()
    names = {}
    exec(setting.python(column), names)
    np.testing.assert_array_equal(names["result"].returns, picture.rewards[:, -1])


def test_every_agent_of_the_lab_has_a_control_for_each_parameter():
    mdp = lab_mdp("riverswim", "")
    for entry in tabular_agents():
        controls = column_controls(entry.name, mdp, {})
        assert [control["name"] for control in controls["parameters"]] == list(entry.parameters)
        for control in controls["parameters"]:
            assert {"stops", "choices", "switch", "interval"} & set(control)
            assert "stops" not in control or control["value"] in control["stops"]


def test_an_agent_that_plans_is_kept_to_small_worlds():
    with pytest.raises(BadInput, match="psrl plans: in the lab it takes at most 40 states"):
        Picture(make_agent("psrl", lab_mdp("fourrooms", "")), lab_mdp("fourrooms", ""), 0)


def test_values_beyond_all_numbers_are_an_error_that_stays():
    mdp = lab_mdp("riverswim", "")
    picture = Picture(make_agent("sarsa-sr", mdp, {"beta": 1e308, "eta": 1e-9}), mdp, 0)
    with pytest.raises(CountlessError, match="beyond all numbers"):
        picture.work(picture.claim())
    assert picture.error is not None


def test_a_newer_question_supersedes_an_older_one():
    board = Board(threads=1)
    older, newer = read_request(request(number=1)), read_request(request(number=2))
    asked = board.announce(older)
    assert not asked()
    board.announce(newer)
    assert asked()
    with pytest.raises(Superseded):
        board.answer(older, asked)
    pictures = board.answer(newer, board.announce(newer))
    assert pictures[0].done > 0
    board.close()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"env": "riverswin"}, "unknown environment 'riverswin'; did you mean 'riverswim'"),
        ({"env": "/etc/passwd.mdp"}, "unknown environment"),
        ({"env": "CartPole-v1"}, "unknown environment"),
        ({"env": 3}, "env must be a text"),
        ({"env": DRAWN, "map": "S.|."}, "row 2 has 1 cells, its first 2"),
        ({"env": DRAWN, "map": "S?"}, "row 1, column 2 is '\\?'; a cell is"),
        ({"env": DRAWN, "map": "..9"}, "has no start"),
        ({"env": DRAWN, "map": "|".join(["S" * 21] * 2)}, "at most 20 x 20 cells, this has 21 x 2"),
        ({"env": DRAWN, "map": "S" * 501}, "map must be a text of at most 500"),
        ({"columns": []}, "one to 3 agents"),
        ({"columns": [{"agent": "sarsa"}] * 4}, "one to 3 agents"),
        ({"columns": [{"agent": "sarsa-rs"}]}, "unknown agent"),
        ({"columns": [{"agent": "dqn"}]}, "dqn is a deep agent"),
        ({"columns": ["sarsa"]}, "a column must be a JSON object"),
        ({"columns": [{"agent": "sarsa", "x": 1}]}, "nothing else"),
        (
            {"columns": [{"agent": "sarsa", "parameters": {"beta": 1}}]},
            "sarsa has no parameter 'beta'",
        ),
        ({"columns": [{"agent": "sarsa", "parameters": {"alpha": 2}}]}, "alpha must lie in"),
        ({"columns": [{"agent": "sarsa", "parameters": {"alpha": "1"}}]}, "alpha must be a number"),
        ({"columns": [{"agent": "sarsa", "parameters": {"alpha": [1]}}]}, "alpha must be a number"),
        ({"columns": [{"agent": "sarsa-sr", "parameters": {"beta": None}}]}, "beta has no value"),
        ({"columns": [{"agent": "sarsa", "parameters": []}]}, "parameters must be a JSON object"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**40}, "seed must be at most"),
        ({"number": "1"}, "number must be a whole number"),
        ({"client": None}, "client must be a text"),
        ({"path": "x"}, "unknown part 'path'"),
    ],
)
def test_bad_requests(parts, message):
    with pytest.raises(BadInput, match=message):
        read_request(request(**parts))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        (b"[" * 10_000, "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"seed": NaN}', "numbers must be finite"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_bodies_that_are_no_request(body, message):
    with pytest.raises(BadInput, match=message):
        read_request(body)


@pytest.mark.parametrize("env", [*ENVS, DRAWN])
def test_every_world_can_be_asked_for(env):
    setting = read_request(request(env=env, map=EXAMPLE_MAP)).setting
    assert setting.mdp.n_states <= 400


def mean(env, agent, **parameters):
    return complete(env, agent, **parameters).summary()["mean"]


def test_what_the_tours_say():
    """The numbers in their texts come from the picture; this is what they say about them."""
    chance = [mean("riverswim", "sarsa", epsilon=epsilon) for epsilon in (0.01, 0.3, 1.0)]
    assert chance == sorted(chance, reverse=True)
    same = mean("riverswim", "sarsa", epsilon=0.1, alpha=0.25)
    little, some, much = (mean("riverswim", "sarsa-sr", beta=beta) for beta in (1, 100, 10_000))
    assert some > 40 * same
    assert little < some / 2
    assert much < some / 2
    few = complete("riverswim", "sarsa-sr", beta=1).summary()
    assert few["median"] < few["mean"] / 4
    rooms = complete("fourrooms", "sarsa-sr").arrays()["alike"]
    assert rooms[4] < rooms[-1]
    assert rooms[-1] > 0.99
    counts = [complete("riverswim", "sarsa-sr", eta=eta) for eta in (0.001, 0.5)]
    assert counts[0].arrays()["alike"][-1] > 0.9 > 0.5 > counts[1].arrays()["alike"][-1]
    none, default, large = (mean("fourrooms", "sarsa-sr", beta=beta) for beta in (0, 0.001, 0.1))
    assert none > default > 20 > 1 > large
