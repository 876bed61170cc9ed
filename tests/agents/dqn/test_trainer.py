"""The loop: what is stored, when it learns, when it copies, and that bits depend on the seed only."""

import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import AUTHORS, make_config
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner, NonFiniteError
from countless.agents.dqn.replay import DONE, STEP
from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput
from countless.envs.make import make_frame_env
from oracles.replay import Script

TINY = {
    "width": 0.1, "history": 2, "replay": 4_000, "warmup": 40, "target_period": 50,
    "epsilon_steps": 100, "learning_rate": 0.001,
}  # fmt: skip


def make(games=None, *, agent="dqn-mmc-sr", seed=0, env="deepsea-5", **parameters):
    config = make_config(agent, parameters=TINY | parameters)
    games = games or [make_frame_env(env, seed=1000 * seed + i) for i in range(config.envs)]
    return Trainer(games, config, Device(), seed)


def run(trainer, steps):
    """Turns until `steps` steps after the warm-up; the last record."""
    while trainer.step < steps:
        record = trainer.turn()
    return record


def transitions(trainer, lane=0):
    """All transitions of finished episodes in a ring that was never full, and their slots."""
    flags = trainer.replay.flags[lane, : trainer.replay.opened[lane]]
    slots = np.flatnonzero(flags & STEP)
    return trainer.replay.gather(np.full(len(slots), lane), slots), slots


def weights(trainer):
    kept = trainer.learner.tensors_to_keep()
    return {f"{a}.{b}": x.clone() for a, named in kept.items() for b, x in named.items()}


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def long_script(length=30):
    return Script(lengths=[length], rewards=[0.0, 1.0, 0.0], cut=[False])


def test_the_bonus_is_the_targets_at_the_observation_before_acting():
    trainer = make(target_period=10_000, initial_copy=False)
    run(trainer, 150)
    batch, _ = transitions(trainer)
    assert (batch.r_int_t[:40] == 0.0).all()
    ours = batch.r_int_t[40:]
    norms = trainer.learner.target.sr_norm(trainer.learner.device.observations(batch.s_tm1[40:]))
    np.testing.assert_allclose(ours, 1.0 / norms.detach().numpy(), rtol=1e-5)
    after = trainer.learner.sr_bonuses(batch.s_t[40:])
    learning = trainer.learner.network.sr_norm(
        trainer.learner.device.observations(batch.s_tm1[40:])
    )
    assert not np.allclose(ours, after, rtol=1e-3)
    assert not np.allclose(ours, 1.0 / learning.detach().numpy(), rtol=1e-3)


@pytest.mark.parametrize("norm", [2.0, float("inf")])
def test_the_bonus_uses_the_norm_that_was_asked_for(norm):
    trainer = make(target_period=10_000, norm=norm)
    run(trainer, 60)
    batch, _ = transitions(trainer)
    raw, phi = trainer.learner.target.features(
        trainer.learner.device.observations(batch.s_tm1[45:])
    )
    psi = trainer.learner.target.psi(raw, phi).detach().numpy()
    exact = 1.0 / np.linalg.norm(psi, norm, axis=1)
    np.testing.assert_allclose(batch.r_int_t[45:], exact, rtol=1e-5)


@pytest.mark.parametrize("envs", [1, 3])
def test_bonuses_in_batches_are_those_evaluated_at_once(envs):
    def played(size):
        games = [long_script() for _ in range(envs)]
        trainer = make(games, envs=envs, bonus_batch=size, target_period=37)
        run(trainer, 240)
        trainer._store(trainer.bonus.flush())
        return trainer

    at_once, deferred = played(1), played(32)
    np.testing.assert_array_equal(at_once.replay.actions, deferred.replay.actions)
    np.testing.assert_allclose(at_once.replay.intrinsic, deferred.replay.intrinsic, rtol=1e-4)
    np.testing.assert_allclose(at_once.replay.returns, deferred.replay.returns, rtol=1e-4)
    assert at_once.replay.intrinsic.any()


def test_a_waiting_bonus_is_evaluated_before_the_target_changes():
    trainer = make([long_script(1000)], bonus_batch=10_000, target_period=25)
    targets = [trainer.learner.target.state_dict()]
    copies = trainer.learner.copy_to_target

    def copy():
        copies()
        state = trainer.learner.target.state_dict()
        targets.append({name: value.clone() for name, value in state.items()})

    targets = [{name: value.clone() for name, value in targets[0].items()}]
    trainer.learner.copy_to_target = copy
    # Without a finished episode nothing is learned, so that targets are made to differ here.
    for _ in range(140):
        trainer.turn()
        with torch.no_grad():
            for weight in trainer.learner.network.parameters():
                weight.add_(0.01 * torch.randn_like(weight))
    assert (trainer.step, len(targets)) == (100, 5)
    slots = np.arange(40, 140)
    batch = trainer.replay.gather(np.zeros(100, np.int64), slots)
    for period in range(4):
        part = slice(25 * period, 25 * (period + 1))
        trainer.learner.target.load_state_dict(targets[period])
        exact = trainer.learner.sr_bonuses(batch.s_tm1[part])
        np.testing.assert_allclose(batch.r_int_t[part], exact, rtol=1e-4)
        trainer.learner.target.load_state_dict(targets[period + 1])
        assert not np.allclose(exact, trainer.learner.sr_bonuses(batch.s_tm1[part]), rtol=1e-3)


def test_returns_of_an_episode_hold_reward_and_bonus():
    trainer = make([long_script(20)], target_period=10_000, beta=0.3)
    run(trainer, 100)
    batch, _ = transitions(trainer)
    rewards = np.clip(batch.r_t, -1, 1) + np.minimum(0.3 * batch.r_int_t, 1.0)
    gamma = trainer.config.gamma
    for first in range(0, len(rewards), 20):
        for t in range(first, first + 20):
            exact = sum(gamma ** (k - t) * rewards[k] for k in range(t, first + 20))
            assert batch.g_tm1[t] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("env", ["deepsea-5", "CartPole-v1"])
def test_same_seed_same_bits(env):
    def bits(seed):
        trainer = make(seed=seed, env=env)
        run(trainer, 120)
        return weights(trainer), trainer.replay

    (one, replay), (again, same), (other, different) = bits(0), bits(0), bits(1)
    assert equal(one, again)
    np.testing.assert_array_equal(replay.frames, same.frames)
    np.testing.assert_array_equal(replay.intrinsic, same.intrinsic)
    assert not equal(one, other)
    assert (replay.actions != different.actions).any()


def test_learning_leaves_torchs_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    make()
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(("envs", "period"), [(1, 4), (4, 4), (3, 4), (8, 4), (4, 1)])
def test_updates_per_step_do_not_depend_on_the_number_of_environments(envs, period):
    trainer = make(envs=envs, update_period=period)
    run(trainer, 96)
    assert trainer.step == 96
    assert trainer.updates == 96 // period


def test_environments_are_asked_together():
    trainer = make(envs=4, epsilon=0.0, epsilon_start=0.0)
    sizes = []
    greedy = trainer.learner.greedy
    trainer.learner.greedy = lambda stacks: sizes.append(len(stacks)) or greedy(stacks)
    run(trainer, 20)
    assert sizes == [4] * 5


def test_the_warm_up_is_random_and_not_counted():
    trainer = make(warmup=30)
    for turn in range(1, 31):
        record = trainer.turn()
        assert (record.step, record.frames, record.warm) == (0, 0, turn)
        assert record.epsilon == 1.0
        assert record.losses is None
        assert all(ended.warmup for ended in record.finished)
    assert trainer.updates == 0
    assert (trainer.replay.intrinsic == 0.0).all()
    record = trainer.turn()
    assert (record.step, record.frames, record.warm) == (1, 1, 30)


def test_a_bonus_in_the_warm_up_if_asked_for():
    trainer = make(warmup=30, warmup_bonus=True)
    for _ in range(30):
        trainer.turn()
    batch, _ = transitions(trainer)
    assert len(batch.r_int_t) == 30
    assert (batch.r_int_t > 0.0).all()


def test_without_a_bonus_none_is_stored():
    for agent in ("dqn", "dqn-mmc"):
        trainer = make(agent=agent)
        run(trainer, 40)
        assert (trainer.replay.intrinsic == 0.0).all()


def test_epsilon_falls_linearly():
    trainer = make(epsilon_start=1.0, epsilon=0.2, epsilon_steps=40, warmup=8)
    seen = []
    while trainer.step < 60:
        seen.append(trainer.turn().epsilon)
    assert seen[:8] == [1.0] * 8
    expected = [max(0.2, 1.0 - 0.8 * step / 40) for step in range(60)]
    np.testing.assert_allclose(seen[8:], expected)


def test_without_exploration_actions_are_the_greedy_ones():
    trainer = make(epsilon=0.0, epsilon_start=0.0, update_period=10_000, env="CartPole-v1")
    run(trainer, 60)
    batch, _ = transitions(trainer)
    values = trainer.learner.network.values(trainer.learner.device.observations(batch.s_tm1[40:]))
    np.testing.assert_array_equal(batch.a_tm1[40:], values.argmax(1).numpy())


def test_actions_are_random_as_often_as_epsilon_says():
    trainer = make(epsilon=0.3, epsilon_start=0.3, update_period=100_000, bonus="off")
    run(trainer, 3000)
    batch, _ = transitions(trainer)
    greedy = trainer.learner.greedy(batch.s_tm1[40:])
    # A random action is the greedy one half of the time.
    assert np.mean(batch.a_tm1[40:] != greedy) == pytest.approx(0.15, abs=0.02)


def test_the_target_is_copied_every_period_and_not_between():
    trainer = make(target_period=20, update_period=4)

    def same():
        target = trainer.learner.target.state_dict()
        return equal(trainer.learner.network.state_dict(), target)

    run(trainer, 19)
    assert not same()
    run(trainer, 20)
    assert same()
    run(trainer, 24)
    assert not same()


def test_the_initial_copy():
    for switch in (True, False):
        learner = make(initial_copy=switch).learner
        assert equal(learner.network.state_dict(), learner.target.state_dict()) is switch


@pytest.mark.parametrize("stacks", ["episode", "released"])
@pytest.mark.parametrize("limit", ["terminal", "truncation"])
def test_a_time_limit_ends_the_values_or_only_the_episode(limit, stacks):
    game = Script(lengths=[10], rewards=[0.5], cut=[True])
    trainer = make([game], agent="dqn-mmc", time_limit=limit, warmup=10_000, stacks=stacks)
    for _ in range(25):
        trainer.turn()
    batch, _ = transitions(trainer)
    assert len(batch.terminal_t) == 20
    value = trainer.learner.value_after(batch.s_t[9:10])
    assert abs(value) > 1e-4
    tail = value if limit == "truncation" else 0.0
    gamma = trainer.config.gamma
    exact = sum(0.5 * gamma**k for k in range(10)) + gamma**10 * tail
    assert batch.g_tm1[0] == pytest.approx(exact, rel=1e-5)
    assert batch.terminal_t[9] == (limit == "terminal")
    assert not batch.terminal_t[:9].any()
    np.testing.assert_array_equal(batch.s_t[9, -1], game.episodes[0]["frames"][-1])


def test_an_end_of_the_game_is_one_under_either_limit():
    game = Script(lengths=[10], rewards=[0.5], cut=[False])
    trainer = make([game], agent="dqn-mmc", time_limit="truncation", warmup=10_000)
    for _ in range(15):
        trainer.turn()
    batch, _ = transitions(trainer)
    assert batch.terminal_t[9]
    assert batch.g_tm1[9] == 0.5


@pytest.mark.parametrize("end", ["goes-on", "reset"])
def test_the_episode_open_at_the_end_of_the_warm_up(end):
    game = Script(lengths=[20], rewards=[1.0], cut=[False])
    trainer = make(
        [game], agent="dqn-mmc", warmup=30, warmup_end=end, stacks="released", update_period=10_000
    )
    for _ in range(30):
        trainer.turn()
    assert len(game.episodes) == (2 if end == "goes-on" else 3)
    run(trainer, 30)
    ends = np.flatnonzero(trainer.replay.flags[0] & DONE)
    # Reset behind the returns' back, ten steps of warm-up and twenty more make one long return.
    assert ends.tolist() == ([19, 39, 59] if end == "goes-on" else [19, 49])
    gamma, length = trainer.config.gamma, 20 if end == "goes-on" else 30
    exact = (1 - gamma**length) / (1 - gamma)
    assert trainer.replay.returns[0, 20] == pytest.approx(exact, rel=1e-5)


def test_finished_episodes_are_told():
    game = Script(lengths=[12], rewards=[2.0, 0.0], cut=[False])
    trainer = make([game], warmup=12)
    told = []
    while trainer.step < 36:
        told += trainer.turn().finished
    assert [(one.step, one.frames, one.warmup) for one in told] == [
        (0, 0, True), (12, 12, False), (24, 24, False), (36, 36, False),
    ]  # fmt: skip
    assert [one.episode.steps for one in told] == [12] * 4
    assert told[1].episode.score == sum(game.episodes[1]["rewards"])
    batch, _ = transitions(trainer)
    bonuses = batch.r_int_t[12:24]
    added = np.minimum(trainer.config.beta * bonuses, 1.0)
    assert told[1].episode.bonus == pytest.approx(added.sum(), rel=1e-5)
    assert told[1].episode.sr_norm == pytest.approx((1.0 / bonuses).sum(), rel=1e-5)


def test_a_loss_that_is_no_number_stops():
    trainer = make()
    run(trainer, 8)
    batch = trainer.replay.sample(4, np.random.default_rng(0))
    batch.g_tm1[0] = np.nan
    before = weights(trainer)
    with pytest.raises(NonFiniteError, match=r"a loss is not finite \(td nan") as stop:
        trainer.learner.update(batch)
    assert stop.value.arrays["g_tm1"] is batch.g_tm1
    assert equal(before, weights(trainer))


def test_a_gradient_that_is_no_number_stops_though_the_loss_is_one(monkeypatch):
    trainer = make()
    run(trainer, 8)
    batch = trainer.replay.sample(4, np.random.default_rng(0))
    learner = trainer.learner
    original = learner.with_gradients

    def spoiled(batch):
        losses = original(batch)
        next(learner.network.parameters()).grad[-1, -1] = np.inf
        return losses

    monkeypatch.setattr(learner, "with_gradients", spoiled)
    before = weights(trainer)
    with pytest.raises(NonFiniteError, match=r"a gradient is not finite \(td ") as stop:
        learner.update(batch)
    assert stop.value.arrays["a_tm1"] is batch.a_tm1
    assert equal(before, weights(trainer))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_a_bonus_that_is_no_number_stops(monkeypatch, value):
    """A bonus of 0 is the norm of an SR that is infinite."""
    trainer = make()
    run(trainer, 8)
    shown = []

    def spoiled(observations):
        shown.extend(observations)
        return np.full(len(observations), value, np.float32)

    monkeypatch.setattr(trainer.bonus, "_evaluate", spoiled)
    with pytest.raises(NonFiniteError, match=r"a bonus is not finite \(bonus .*, SR norm") as stop:
        run(trainer, 300)
    np.testing.assert_array_equal(stop.value.arrays["observation"], shown[0])


def poisoned(trainer, updates, bad):
    """As many batches, one of them with a return that is no number."""
    batches = [trainer.replay.sample(4, np.random.default_rng(i)) for i in range(updates)]
    batches[bad].g_tm1[0] = np.nan
    return batches


def test_losses_are_looked_at_together_where_that_means_waiting(monkeypatch):
    trainer = make()
    run(trainer, 8)
    config, device = trainer.config, trainer.learner.device
    learner = Learner(trainer.spec, config, device, 0, updates_per_check=6)
    looks = []
    isfinite = torch.isfinite
    monkeypatch.setattr(torch, "isfinite", lambda x: looks.append(len(x)) or isfinite(x))
    batches = poisoned(trainer, 6, bad=2)
    for batch in batches[:5]:
        learner.update(batch)
    assert looks == []
    with pytest.raises(NonFiniteError, match=r"a loss is not finite \(td nan") as stop:
        learner.update(batches[5])
    assert looks == [6]
    assert (
        stop.value.arrays["g_tm1"] is batches[2].g_tm1
    )  # the first, not those that it has spoiled


def test_a_loss_that_is_no_number_is_noticed_at_the_end_and_before_a_checkpoint(tmp_path):
    for notice in (
        lambda trainer: list(trainer.turns(trainer.frames)),
        lambda trainer: Checkpoints(tmp_path / "checkpoint").save(trainer),
    ):
        trainer = make()
        run(trainer, 8)
        trainer.learner = Learner(
            trainer.spec, trainer.config, trainer.learner.device, 0, updates_per_check=100
        )
        for batch in poisoned(trainer, 3, bad=0):
            trainer.learner.update(batch)
        with pytest.raises(NonFiniteError):
            notice(trainer)
        assert not (tmp_path / "checkpoint").exists()
        trainer.learner.check_losses()  # said once


def test_the_released_variant_differs_in_named_fields_only():
    ours, theirs = make_config("dqn-mmc-sr"), make_config("dqn-mmc-sr", variant="authors")
    differing = {
        name for name, value in ours.describe().items() if theirs.describe()[name] != value
    }
    assert differing == {*AUTHORS, "beta", "variant"}
    assert (theirs.norm, theirs.beta) == (2.0, 0.025)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sr": False}, "the bonus of the SR needs the SR"),
        ({"replay": 20, "envs": 4}, "replay=20 is too small for 4 environments"),
        ({"betta": 1}, "dqn-mmc-sr has no parameter 'betta'"),
        ({"warmup": 1.5}, "warmup must be a whole number"),
        ({"network": "big"}, "network must be one of auto, auto-nature"),
        ({"norm": 0.5}, r"norm must lie in \[1, inf\]"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(BadInput, match=message):
        make_config("dqn-mmc-sr", parameters=parameters)


def test_the_ablations():
    no_bonus = make_config("dqn-mmc-sr", parameters={"bonus": "off"})
    assert (no_bonus.sr, no_bonus.reconstruction) == (False, True)
    no_reconstruction = make_config("dqn-mmc-sr", parameters={"reconstruction": False})
    assert (no_reconstruction.sr, no_reconstruction.bonus) == (True, "sr")


def test_an_episode_that_began_in_the_warm_up_belongs_to_it():
    trainer = make([long_script(30)], warmup=40)
    ended = [over for _ in range(100) for over in trainer.turn().finished]
    assert [over.warmup for over in ended] == [True, True, False]


def test_a_variant_among_the_parameters_counts():
    assert make_config("dqn-mmc-sr", parameters={"variant": "authors"}).sr_target == "next"
