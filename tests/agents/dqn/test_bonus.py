"""Bonuses of the registry in the deep agent."""

from dataclasses import dataclass

import numpy as np
import pytest

from countless.agents.dqn.agents import AGENTS, make_config
from countless.agents.dqn.bonus import SRBonus, StepBonus
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.device import Device
from countless.agents.dqn.trainer import Trainer
from countless.bonuses import registry
from countless.bonuses.registry import BonusKind
from countless.core.errors import BadInput
from countless.core.parameters import real, validate
from countless.envs.make import make_frame_env
from small_runs import replay_arrays

TINY = {
    "width": 0.1, "history": 2, "replay": 2_000, "warmup": 40, "target_period": 50,
    "epsilon_steps": 100,
}  # fmt: skip
WITH_BONUS = ("dqn-cts", "dqn-pixelcnn", "dqn-rnd", "dqn-counts")


@pytest.mark.parametrize("bonus", ["cts", "pixelcnn", "rnd", "counts"])
def test_a_bonus_brings_what_its_own_agent_gives_it(bonus):
    ours = make_config("dqn-mmc-sr", parameters={"bonus": bonus, "norm": 2.0})
    own = make_config(f"dqn-{bonus}")
    for name in ("beta", "bonus_limit", "clip_total"):
        assert getattr(ours, name) == getattr(own, name)
    assert make_config("dqn-mmc", parameters={"bonus": bonus, "beta": 0.7}).beta == 0.7


def make(agent, env="deepsea-5", **parameters):
    config = make_config(agent, parameters=TINY | parameters)
    return Trainer([make_frame_env(env, seed=i) for i in range(config.envs)], config, Device(), 0)


def run(trainer, steps):
    while trainer.step < steps:
        trainer.turn()


def test_counts_are_those_of_the_observations():
    trainer = make("dqn-counts", history=1)
    run(trainer, 60)
    written = int(trainer.replay.opened[0])
    visits: dict[bytes, int] = {}
    steps = 0
    for slot in range(written):
        if not trainer.replay.flags[0, slot] & 2:
            continue
        steps += 1
        key = trainer.replay.frames[0, slot].tobytes()
        visits[key] = visits.get(key, 0) + 1
        if steps <= 40:
            assert trainer.replay.intrinsic[0, slot] == 0.0  # the warm-up's
            continue
        assert trainer.replay.intrinsic[0, slot] == pytest.approx(visits[key] ** -0.5, rel=1e-6)
    assert max(visits.values()) > 5


@pytest.mark.parametrize("agent", WITH_BONUS)
def test_each_is_the_same_agent_with_another_bonus(agent):
    plain, own = make_config("dqn-mmc").describe(), make_config(agent).describe()
    differing = {name for name in plain if plain[name] != own[name]}
    assert differing <= {"bonus", "beta", "clip_total", "bonus_limit"}
    assert own["bonus"] == agent.removeprefix("dqn-")


@pytest.mark.parametrize("agent", ["dqn-rnd", "dqn-counts"])
def test_killed_and_resumed_is_never_killed(agent, tmp_path):
    whole = make(agent, envs=2)
    run(whole, 120)
    first = make(agent, envs=2)
    run(first, 60)
    Checkpoints(tmp_path / "checkpoint").save(first)
    second = make(agent, envs=2)
    Checkpoints(tmp_path / "checkpoint").load(second)
    run(second, 120)
    for name, array in replay_arrays(whole.replay).items():
        np.testing.assert_array_equal(array, replay_arrays(second.replay)[name])
    for name, array in whole.bonus.get_state().items():
        np.testing.assert_array_equal(array, second.bonus.get_state()[name])


@dataclass(frozen=True)
class MineParameters:
    scale: float = real(3.0, "what it always gives", "[0, inf)")

    def __post_init__(self):
        validate(self)


class Mine:
    def __init__(self, scale):
        self.scale, self.starts = scale, []

    def observe(self, observations, features=None, *, starts=None, **more):
        self.starts.append(bool(starts[0]))
        return np.full(len(observations), self.scale)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        assert state == {}


KIND = BonusKind(
    "mine", "always the same", MineParameters, lambda seen, given, **_: Mine(given.scale)
)


def test_a_bonus_of_ones_own_by_name(monkeypatch):
    class Point:
        value = "mine:KIND"

        def load(self):
            return KIND

    monkeypatch.setattr(registry, "_entry_points", lambda: {"mine": Point()})
    trainer = make("dqn-mmc", bonus="mine", warmup_bonus=True, env="CartPole-v1")
    run(trainer, 30)
    assert (trainer.replay.intrinsic[0, : int(trainer.replay.opened[0]) - 1].max()) == 3.0
    assert sum(trainer.bonus.bonus.starts) == trainer.episodes + 1


def test_bonuses_that_do_not_fit():
    with pytest.raises(BadInput, match="did you mean 'rnd'"):
        make_config("dqn-mmc", parameters={"bonus": "rdn"})
    with pytest.raises(BadInput, match="cts takes images"):
        make("dqn-cts", env="CartPole-v1")
    assert set(WITH_BONUS) < set(AGENTS)


def stacks(n, fill=0.0):
    return np.full((n, 2, 5, 5), fill, np.float32)


def test_the_sr_bonus_waits_until_its_batch_is_full_or_flushed():
    asked = []

    def evaluate(observations):
        asked.append(len(observations))
        return observations[:, 0, 0, 0]

    bonus = SRBonus(evaluate, batch=3)
    assert bonus.flush() == []
    assert bonus.remember(0, 7, stacks(1, 2.0)[0]) == []
    assert bonus.remember(1, 4, stacks(1, 4.0)[0]) == []
    again = SRBonus(evaluate, batch=3)
    again.set_state(bonus.get_state())
    for one in (bonus, again):
        known = one.remember(0, 8, stacks(1, 8.0)[0])
        assert known == [(0, 7, 2.0, 0.5), (1, 4, 4.0, 0.25), (0, 8, 8.0, 0.125)]
        assert one.get_state() == {}
        assert one.remember(0, 9, stacks(1, 16.0)[0]) == []
        assert one.flush() == [StepBonus(0, 9, 16.0, 1 / 16)]
    assert asked == [3, 1, 3, 1]


@pytest.mark.parametrize("agent", [*AGENTS])
def test_every_bonus_is_met_through_the_same_few_calls(agent):
    """What the loop, the checkpoint and the video ask of it."""
    env = "deepsea-10" if agent == "dqn-pixelcnn" else "deepsea-5"
    trainer = make(agent, env)
    bonus, actor = trainer.bonus, trainer.actors[0]
    bonus.observe(trainer.actors)
    known = bonus.remember(0, 0, actor.stack.copy()) + bonus.flush()
    assert bonus.flush() == []
    shown = bonus.compute(np.stack([actor.stack] * 3))
    if trainer.config.rewards.bonus == "off":
        assert (known, shown, bonus.get_state()) == ([], None, {})
        assert trainer.bonuses_at(actor.stack[None]) is None
        return
    (one,) = known
    assert (one.lane, one.slot) == (0, 0)
    assert np.isfinite(one.value)
    assert one.value >= 0.0
    assert (one.sr_norm > 0.0) == (trainer.config.rewards.bonus == "sr")
    assert shown.shape == (3,)
    assert trainer.bonuses_at(actor.stack[None]) == pytest.approx(
        min(trainer.config.beta * float(shown[0]), trainer.config.bonus_limit)
    )
    state = {name: value.copy() for name, value in bonus.get_state().items()}
    other = make(agent, env).bonus
    other.set_state(state)
    for name, value in other.get_state().items():
        np.testing.assert_array_equal(value, state[name])
