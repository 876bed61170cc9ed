"""Does the norm count visits: visits against an independent count, correlations, and the figure."""

import json

import numpy as np
import pytest

from countless.bonuses.registry import bonus_kind
from countless.cli.main import main
from countless.core.errors import BadInput
from countless.envs.catalog import make_mdp
from countless.envs.mdp import build_mdp
from countless.envs.mdp_env import MDPEnv
from countless.experiments import figure2_deep
from countless.experiments.experiment import DIFFERS, OPEN, REPRODUCED, Plan, run
from countless.experiments.figure2_deep import EXPERIMENT, SETTINGS, Extent, job_of
from countless.experiments.norm_visits import (
    Moment,
    acted_in,
    measure,
    measurement,
    moments,
    places,
    state_frames,
)
from countless.runs.dqn import make_job, make_trainer
from countless.runs.engine import LocalEngine
from countless.runs.job import Execution, Stopped

TINY = {"warmup": 30, "width": 0.1, "epsilon_steps": 20, "replay": 1_100, "max_frames": 25}


def tiny_job(env="fourrooms", frames=60, **parameters):
    return make_job(
        "dqn-mmc-sr", env, frames=frames, scale="small", device="cpu", parameters=TINY | parameters
    )


@pytest.mark.parametrize("env", ["fourrooms", "bsuite-deepsea-10", "riverswim"])
def test_visits_are_the_states_that_were_acted_in(env, monkeypatch):
    counts = np.zeros(make_mdp(env).n_states, np.int64)
    step = MDPEnv.step

    def counted(self, action):
        counts[self._state] += 1
        return step(self, action)

    monkeypatch.setattr(MDPEnv, "step", counted)
    first, last = moments(measure(tiny_job(env), 2, Execution()))
    assert (first.step, last.step) == (30, 60)
    np.testing.assert_array_equal(last.visits, counts)
    assert (last.visits.sum(), first.visits.sum()) == (30 + 60, 30 + 30)  # the warm-up among them
    assert not last.visits[~acted_in(make_mdp(env))].any()


@pytest.mark.parametrize(
    "parameters",
    [{"norm": 2.0}, {"bonus": "sr-norm", "bonus_sees": "vector"}, {"bonus": "sr-norm"}],
)
def test_norms_and_bonuses_are_the_agents_own(parameters):
    job = tiny_job(**parameters)
    last = moments(measure(job, 3, Execution()))[-1]
    trainer = make_trainer(job)
    for _ in trainer.turns(job.frames):
        pass
    frames = state_frames(make_mdp("fourrooms"))
    assert trainer.bonuses_at(frames[:, None]) == pytest.approx(last.bonus)
    limit = job.config.bonus_limit
    assert last.bonus == pytest.approx(np.minimum(job.config.beta / last.norm, limit))


def test_states_have_their_place_on_the_map():
    rows, columns = places(make_mdp("bsuite-deepsea-10"))
    assert (rows[37], columns[37]) == (3, 7)
    assert (rows[100], columns[100]) == (-1, -1)  # the end of an episode
    rooms = make_mdp("fourrooms")
    rows, columns = places(rooms)
    np.testing.assert_array_equal(rooms.layout[rows, columns], np.arange(rooms.n_states))
    assert set(places(make_mdp("riverswim"))[0]) == {-1}


def test_a_measured_bonus_has_its_version_in_the_identity():
    on_features = measurement(tiny_job(bonus="sr-norm", bonus_sees="vector"), 2)
    assert on_features.parameters["bonus_bits"] == bonus_kind("sr-norm").bits
    assert "bonus_bits" not in measurement(tiny_job(), 2).parameters


def test_the_correlations_of_a_known_table():
    visits = np.array([0, 1, 2, 3, 1, 2, 3])
    norm = np.array([9.0, 1.0, 2.0, 3.0, 6.0, 5.0, 4.0])
    moment = Moment(10, visits, norm, 1 / norm)
    depth = np.array([0, 0, 0, 0, 1, 1, 1])
    assert moment.within(np.where(depth == 0, 0, -1)) == pytest.approx(1.0)
    assert moment.within(depth) == pytest.approx(0.0)  # 1 in one row, -1 in the other
    # Ranks of visits 1.5 3.5 5.5 1.5 3.5 5.5, of norms 1 2 3 6 5 4: no relation but for the ties.
    assert moment.over_visited() == pytest.approx(0.0)
    assert moment.over(visits < 3) < 0  # the state that was never visited has the largest norm
    few = Moment(10, visits[:2], norm[:2], norm[:2])
    assert np.isnan(few.over_visited())
    assert np.isnan(few.within(depth[:2]))


def test_a_measurement_is_the_same_again_and_can_be_stopped():
    first, again = (measure(tiny_job(frames=20), 2, Execution()) for _ in range(2))
    np.testing.assert_array_equal(first["sr_norm"], again["sr_norm"])
    with pytest.raises(Stopped):
        measure(tiny_job(), 2, Execution(stop=lambda: True))


@pytest.mark.parametrize(
    ("parameters", "checkpoints", "said"),
    [
        ({"history": 2}, 2, "history"),
        ({"bonus": "off"}, 2, "no bonus of the SR"),
        ({"bonus": "counts"}, 2, "no bonus of the SR"),
        ({"bonus_form": "difference"}, 2, "no bonus of the SR"),
        ({}, 61, "at least 61"),
        ({}, 0, "checkpoints"),
    ],
)
def test_what_cannot_be_measured_is_refused(parameters, checkpoints, said):
    with pytest.raises(BadInput, match=said):
        measurement(tiny_job(**parameters), checkpoints)


def test_states_that_look_the_same_are_refused():
    to_itself = ([0, 1], [0, 0], [0, 1], [0.0, 0.0], [1.0, 1.0])
    hidden = build_mdp("hidden", to_itself, [0.5, 0.5], layout=np.full((2, 2), -1))
    with pytest.raises(BadInput, match="look the same"):
        state_frames(hidden)


@pytest.mark.parametrize("scale", figure2_deep.EXTENTS)
def test_every_job_is_its_own(scale):
    plan = Plan(scale=scale, games=EXPERIMENT.games)
    made = [
        job_of(env, name, seed, plan) for env in plan.games for name in SETTINGS for seed in (0, 1)
    ]
    assert len({json.dumps(job.identity(), sort_keys=True) for job in made}) == len(made)


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        ((0.75, 0.9), REPRODUCED), ((0.75, 0.6), OPEN), ((0.1, 0.5), OPEN), ((0.1, -0.5), DIFFERS),
        ((float("nan"), 0.9), OPEN),
    ],
)  # fmt: skip
def test_the_claim_is_read_off_the_last_look(monkeypatch, last, verdict):
    class Known:
        def __init__(self, value):
            self.value = value

        def over_visited(self):
            return np.array([0.8, self.value])

    monkeypatch.setattr(figure2_deep, "SETTINGS", {"a": {}, "b": {}})
    env = figure2_deep.ROOMS
    traces = {(env, name): [Known(value)] * 2 for name, value in zip("ab", last, strict=True)}
    claim = figure2_deep.claim(env, traces)
    assert claim.verdict == verdict
    assert f"b: {max(0.8, last[1]):.2f} at most, {last[1]:.2f} at the end" in claim.ours


def test_the_study_runs_once_and_is_shown(monkeypatch, tmp_path):
    monkeypatch.setitem(figure2_deep.EXTENTS, "smoke", Extent(40, 2, TINY))
    monkeypatch.setattr(figure2_deep, "SETTINGS", {"ℓ2": {"norm": 2.0}})
    plan = Plan(scale="smoke", games=EXPERIMENT.games)
    finished = run(EXPERIMENT, plan, tmp_path, LocalEngine())
    (table,) = finished.section.tables
    assert len(table.rows) == 4
    assert {row[0] for row in table.rows} == {"FourRooms", "DeepSea 10"}
    numbers = np.array(
        [[cell for cell in row[3:] if isinstance(cell, float)] for row in table.rows]
    )
    assert (np.abs(numbers) <= 1).all()
    for figure in finished.section.figures:
        assert figure.stem.with_suffix(".png").stat().st_size > 5_000
        assert figure.stem.with_suffix(".svg").exists()
    assert len(finished.section.figures) == 3
    assert len(finished.section.claims) == 2
    assert [figure.interactive for figure in finished.section.figures] == [True, True, True]
    correlations, norms, maps = finished.section.panels
    assert maps.charts[0].times.tolist() == [20, 40]
    shown = {chart.title: chart.series[0] for chart in correlations.charts}
    first = next(row for row in table.rows if row[:3] == ("FourRooms", "ℓ2", "visited states"))
    assert shown["FourRooms: visited states"].y[0] == pytest.approx(first[3])
    assert {chart.log for chart in norms.charts} == {"xy"}

    def never(*arguments):
        raise AssertionError("what is finished is not run again")

    monkeypatch.setattr("countless.experiments.norm_visits.measure", never)
    sea = Plan(scale="smoke", games=(figure2_deep.SEA,), seeds=(0,))
    again = run(EXPERIMENT, sea, tmp_path, LocalEngine())
    assert len(again.section.figures) == 2  # DeepSea alone has no maps


def test_other_environments_are_refused(capsys, tmp_path):
    code = main(["reproduce", "figure2-deep", "--games", "riverswim", "-o", str(tmp_path)])
    assert code == 2
    assert "fourrooms, bsuite-deepsea-10, not riverswim" in capsys.readouterr().err
