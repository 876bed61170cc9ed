"""Feature health against closed forms; measuring it changes nothing; a collapse is said once."""

import numpy as np
import pytest
import torch

from countless.agents.dqn import trainer as module
from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import Device
from countless.agents.dqn.features import measure_features
from countless.agents.dqn.trainer import Trainer
from countless.envs.make import make_frame_env

TINY = {
    "width": 0.1, "history": 2, "replay": 4_000, "warmup": 40, "target_period": 50,
    "epsilon_steps": 100,
}  # fmt: skip


def make(agent="dqn-mmc-sr", env="deepsea-5", **parameters):
    config = make_config(agent, parameters=TINY | parameters)
    return Trainer([make_frame_env(env, seed=0)], config, Device(), 0)


def records(trainer, steps):
    found = []
    while trainer.step < steps:
        found.append(trainer.turn())
    return found


@pytest.mark.parametrize("n", [3, 10, 50])
def test_a_one_hot_code_is_perfect_though_one_feature_is_active(n):
    health = measure_features(np.repeat(np.eye(n), 4, axis=0))
    assert (health.active, health.ever_active, health.of) == (1.0, n, n)
    assert health.rank == pytest.approx(n - 1)
    assert health.spread == pytest.approx((1 - 1 / n) ** 0.5)
    assert not health.collapsed


@pytest.mark.parametrize("phi", [np.eye(6)[0], np.linspace(0.1, 0.3, 6), np.zeros(6)])
def test_features_that_are_the_same_everywhere_have_collapsed(phi):
    health = measure_features(np.tile(phi.astype(np.float32), (20, 1)))
    assert (health.spread, health.rank) == (0.0, 0.0)
    assert health.collapsed
    assert health.ever_active == health.active == np.count_nonzero(phi)


def test_rounding_is_no_direction():
    random = np.random.default_rng(0)
    phi = np.tile(random.random(200, dtype=np.float32), (256, 1))
    shaken = phi * (1 + 1e-7 * random.normal(size=phi.shape).astype(np.float32))
    assert (shaken != phi).any()
    assert measure_features(shaken).rank == 0.0


def test_many_directions_with_hardly_any_length_are_a_collapse():
    random = np.random.default_rng(0)
    phi = 1.0 + 0.002 * random.normal(size=(256, 50))
    assert measure_features(phi).rank > 20
    assert measure_features(phi).collapsed
    assert not measure_features(1.0 + 0.1 * random.normal(size=(256, 50))).collapsed


def test_one_direction_is_a_collapse_and_two_equal_ones_are_not():
    t = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    line = np.stack((1 + np.cos(t), np.ones(64), np.zeros(64)), axis=1)
    circle = np.stack((1 + np.cos(t), 1 + np.sin(t), np.zeros(64)), axis=1)
    assert measure_features(line).rank == pytest.approx(1.0)
    assert measure_features(line).collapsed
    assert measure_features(circle).rank == pytest.approx(2.0)
    assert measure_features(circle).ever_active == 2


def test_the_rank_is_the_participation_ratio_of_singular_values():
    random = np.random.default_rng(1)
    left, _ = np.linalg.qr(random.normal(size=(40, 4)) - 0.0)
    left -= left.mean(0)
    right, _ = np.linalg.qr(random.normal(size=(9, 4)))
    phi = left @ np.diag([4.0, 2.0, 1.0, 1.0]) @ right.T
    singular = np.linalg.svd(phi, compute_uv=False)[:4]
    expected = singular.sum() ** 2 / (singular**2).sum()
    assert measure_features(phi).rank == pytest.approx(expected)
    # What all observations have in common does not count.
    assert measure_features(phi + 3.0).rank == pytest.approx(expected)


def test_how_much_the_bonus_varies():
    phi = np.eye(3)
    assert measure_features(phi).bonus_cv is None
    assert measure_features(phi, np.zeros(3)).bonus_cv is None
    assert measure_features(phi, np.full(3, 0.2)).bonus_cv == pytest.approx(0.0)
    assert measure_features(phi, np.array([1.0, 3.0])).bonus_cv == pytest.approx(0.5)


def test_features_that_are_no_numbers_are_left_to_the_losses():
    trainer = make()
    records(trainer, 20)
    with torch.no_grad():
        trainer.learner.network.encoder[-2].bias.fill_(float("nan"))
    assert trainer.feature_health() is None


def test_it_is_plain_data():
    health = measure_features(np.eye(4), np.ones(4)).describe()
    assert list(health) == ["active", "ever_active", "of", "spread", "rank", "bonus_cv"]


@pytest.mark.parametrize("agent", ["dqn", "dqn-mmc", "dqn-mmc-sr", "dqn-counts", "dqn-rnd"])
def test_every_agent_has_a_health(agent):
    trainer = make(agent)
    assert trainer.feature_health() is None  # nothing to look at yet
    records(trainer, 40)
    health = trainer.feature_health()
    assert health.of == trainer.learner.network.q_head.in_features
    assert 0 < health.active <= health.ever_active <= health.of
    assert 0 < health.spread < 1
    assert (health.bonus_cv is None) == (agent in ("dqn", "dqn-mmc"))
    assert trainer.feature_health() == health


def test_the_bonus_of_counts_varies_as_counts_do():
    trainer = make("dqn-counts", history=1, bonus_limit=100.0)
    records(trainer, 200)
    random = np.random.default_rng((trainer._health_seed, trainer.updates))
    observations = trainer.replay.sample(module.OBSERVATIONS, random).s_tm1[: module.BONUSES]
    bonus = trainer.bonus.compute(observations)
    assert bonus.std() > 0.1 * bonus.mean()
    assert trainer.feature_health().bonus_cv == pytest.approx(bonus.std() / bonus.mean())


@pytest.mark.parametrize("agent", ["dqn-mmc-sr", "dqn-rnd"])
def test_looking_at_the_features_changes_no_bit(agent, monkeypatch):
    def weights(period):
        monkeypatch.setattr(module, "UPDATES_PER_HEALTH", period)
        trainer = make(agent)
        found = [record.features for record in records(trainer, 120)]
        kept = trainer.learner.tensors_to_keep()
        return found, kept, trainer

    often, kept, one = weights(5)
    never, same, other = weights(10_000)
    assert sum(health is not None for health in often) == 120 // 4 // 5
    assert all(health is None for health in never)
    for part, tensors in kept.items():
        assert all(torch.equal(value, same[part][name]) for name, value in tensors.items())
    np.testing.assert_array_equal(one.replay.intrinsic, other.replay.intrinsic)
    assert one.counters() == other.counters()


def test_a_collapse_is_said_once(monkeypatch):
    monkeypatch.setattr(module, "UPDATES_PER_HEALTH", 5)
    trainer = make()
    healthy = records(trainer, 40)
    assert any(record.features is not None for record in healthy)
    assert not any(record.collapsed for record in healthy)
    last = [m for m in trainer.learner.network.encoder if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(1.0)
    # Small steps from there: the features stay the same for every observation for a while.
    trainer.learner.optimiser.settings["lr"] = 0.0
    collapsed = records(trainer, 120)
    measured = [record for record in collapsed if record.features is not None]
    assert len(measured) > 2
    assert all(record.features.collapsed for record in measured)
    assert [record.collapsed for record in measured] == [True] + [False] * (len(measured) - 1)
    assert sum(record.collapsed for record in collapsed) == 1
