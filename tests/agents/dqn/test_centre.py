"""The bonus centred, as a difference, and psi that goes on through terminals."""

import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.bonus import SRDifferenceBonus
from countless.agents.dqn.centre import Affine, BonusCentre
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.config import DQNConfig, RewardConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.losses import compute_targets, total_reward
from countless.agents.dqn.network import Spec
from countless.agents.dqn.replay import DONE, FIRST, STEP, Replay
from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput
from countless.envs.make import make_frame_env
from small_runs import replay_arrays

TINY = {
    "width": 0.1, "history": 2, "replay": 2_000, "warmup": 40, "target_period": 50,
    "epsilon_steps": 100, "beta": 0.2,
}  # fmt: skip


def make(agent="dqn-mmc-sr", **parameters):
    config = make_config(agent, parameters=TINY | parameters)
    return Trainer(
        [make_frame_env("deepsea-5", i) for i in range(config.envs)], config, Device(), 0
    )


def run(trainer, steps):
    while trainer.step < steps:
        trainer.turn()


def test_running_statistics_are_those_of_all_at_first_and_of_late_ones_then():
    random = np.random.default_rng(0)
    seen = random.random(500)
    centre = BonusCentre(RewardConfig(bonus_centre="standardise", beta=0.5))
    for value in seen:
        centre.add(float(value))
    assert centre.affine.shift == pytest.approx(seen.mean())
    assert centre.affine.scale == pytest.approx(0.5 / seen.std())
    for _ in range(20_000):
        centre.add(3.0)
    assert centre.affine.shift == pytest.approx(3.0, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("off", None), ("mean", Affine(0.25, 1.0)), ("limit", Affine(0.5, 1.0))],
)
def test_what_is_subtracted(kind, expected):
    centre = BonusCentre(RewardConfig(bonus_centre=kind, bonus_limit=0.5))
    for added in (0.125, 0.375):
        centre.add(added)
    assert centre.affine == expected


def test_the_limit_comes_first_and_steps_without_a_bonus_have_none_to_centre():
    config = RewardConfig(beta=0.5, bonus_limit=1.0)
    r, bonus = torch.tensor([0.0, 1.0, 0.25]), torch.tensor([1.0, 9.0, 0.0])
    plain = total_reward(r, bonus, config)
    assert plain.tolist() == [0.5, 2.0, 0.25]
    assert total_reward(r, bonus, config, Affine(0.75, 2.0)).tolist() == [-0.5, 1.5, 0.25]


@pytest.mark.parametrize("kind", ["mean", "standardise"])
def test_centred_rewards_of_what_is_collected_average_to_nothing(kind):
    trainer = make("dqn-counts", bonus_centre=kind, warmup_bonus=True)
    run(trainer, 400)
    steps = (trainer.replay.flags[0] & STEP) > 0
    bonus = trainer.replay.intrinsic[0][steps]
    centred = trainer.learner.rewards(np.zeros_like(bonus), bonus)
    assert abs(centred.mean()) < 1e-5
    if kind == "standardise":
        assert centred.std() == pytest.approx(0.2, rel=1e-3)


def test_it_is_seen_by_the_loss():
    off, limit = make(), make(bonus_centre="limit", bonus_limit=0.75)
    run(off, 60)
    batch = off.replay.sample(32, np.random.default_rng(0))
    limit.learner.load_tensors(off.learner.tensors_to_keep())
    assert off.learner.losses(batch).td.item() != limit.learner.losses(batch).td.item()


@pytest.mark.parametrize(
    "parameters",
    [
        {"bonus_centre": "mean"},
        {"bonus_centre": "standardise", "bonus_from": "sampled"},
        {"bonus_form": "difference"},
        {"bonus_form": "difference", "envs": 2, "bonus_batch": 7},
        {"sr_terminal": "continue"},
    ],
)
def test_killed_and_resumed_is_never_killed(parameters, tmp_path):
    whole = make(**parameters)
    run(whole, 130)
    first = make(**parameters)
    run(first, 62)
    Checkpoints(tmp_path / "checkpoint").save(first)
    second = make(**parameters)
    Checkpoints(tmp_path / "checkpoint").load(second)
    run(second, 130)
    assert second.counters() == whole.counters()
    for name, array in replay_arrays(whole.replay).items():
        np.testing.assert_array_equal(array, replay_arrays(second.replay)[name])
    kept, again = whole.learner.tensors_to_keep(), second.learner.tensors_to_keep()
    for name, value in kept["network"].items():
        assert torch.equal(value, again["network"][name])
    plain = make()
    run(plain, 130)
    changed = [
        not torch.equal(value, kept["network"][name])
        for name, value in plain.learner.tensors_to_keep()["network"].items()
    ]
    assert any(changed)  # the option does something


class At:
    """An actor, as far as a bonus looks at it."""

    def __init__(self, steps):
        self.episode = self
        self.steps = steps


def test_the_difference_of_norms():
    bonus = SRDifferenceBonus(lambda seen: 1.0 / seen[:, 0], batch=2)
    found = []
    norms = [(0, 5.0), (1, 3.0), (2, 4.0), (3, 1.0), (0, 0.5), (1, 0.25)]
    for slot, (step, norm) in enumerate(norms):
        bonus.observe([At(step)])
        found += bonus.remember(0, slot, np.array([norm]))
        if slot == 2:
            again = SRDifferenceBonus(lambda seen: 1.0 / seen[:, 0], batch=2)
            again.set_state(bonus.get_state())
            bonus = again
    found += bonus.flush()
    assert [one.value for one in found] == pytest.approx([0.0, 2.0, 0.0, 3.0, 0.0, 0.25])
    assert [one.sr_norm for one in found] == pytest.approx([norm for _, norm in norms])
    assert bonus.compute(np.ones((3, 1))) is None


def test_a_run_has_the_differences_of_its_norms():
    trainer = make(bonus_form="difference", target_period=10_000, history=1)
    run(trainer, 100)
    replay = trainer.replay
    norms = 1.0 / trainer.learner.sr_bonuses(replay.frames[0, : replay.opened[0], None])
    compared = 0
    for slot in range(50, int(replay.opened[0])):
        if not replay.flags[0, slot] & STEP:
            continue
        before = norms[slot] if replay.flags[0, slot] & FIRST else norms[slot - 1]
        expected = max(0.0, before - norms[slot])
        assert replay.intrinsic[0, slot] == pytest.approx(expected, abs=1e-5)
        compared += expected > 0.0
    assert compared > 5
    assert trainer.bonuses_at(trainer.actors[0].stack[None]) is None
    assert trainer.feature_health().bonus_cv is None


def filled(released=False):
    """Episodes of two steps whose frames are numbered on; the last one is just over."""
    replay = Replay(1, 50, (1,), np.uint8, history=2, next_starts=True)
    number = 1
    for _ in range(3):
        for step in range(2):
            flags = STEP | (FIRST if step == 0 else 0) | (DONE if step == 1 else 0)
            replay.append(0, np.array([number]), 0, 0.0, flags)
            number += 1
        if not released:
            replay.append(0, np.array([100]), 0, 0.0, 0)
        replay.finish(0, lambda extrinsic, intrinsic: extrinsic, 0.9, 0.0)
    return replay


@pytest.mark.parametrize("released", [False, True])
def test_where_an_episode_goes_on(released):
    replay = filled(released)
    batch = replay.sample(200, np.random.default_rng(0))
    newest = batch.s_tm1[:, -1, 0]
    assert batch.s_next.shape == batch.s_t.shape
    for row, frame in enumerate(newest):
        if not batch.terminal_t[row]:
            np.testing.assert_array_equal(batch.s_next[row], batch.s_t[row])
            assert batch.continues_t[row]
        elif frame < 6:
            assert batch.s_next[row, :, 0].tolist() == [0, frame + 1]  # the next episode's start
            assert batch.continues_t[row]
        else:
            assert not batch.continues_t[row]  # it has not begun
    assert {2, 4} <= set(newest[batch.terminal_t].tolist())


def test_an_episode_whose_next_has_not_begun():
    replay = filled()
    lane, slot = np.zeros(3, np.int64), np.full(3, 7)  # the last step of all
    batch = replay._with_starts(replay.gather(lane, slot), lane, slot)
    assert batch.terminal_t.all()
    assert not batch.continues_t.any()


def test_psi_goes_on_in_the_target():
    config = DQNConfig(network="mlp", history=1, sr_terminal="continue", width=0.1)
    learner = Learner(Spec((5, 5), 2, True), config, Device(), 0)
    trainer = make(sr_terminal="continue", history=1, network="mlp")
    run(trainer, 60)
    batch = trainer.replay.sample(32, np.random.default_rng(1))
    assert batch.terminal_t.any()
    tensors = learner.tensors(batch)
    discount = 0.99 * (1.0 - tensors.terminal_t)
    targets = compute_targets(learner.target, tensors, discount, config.losses, config.rewards)
    _, phi = learner.target.features(tensors.s_tm1)
    follows = learner.target.psi(*learner.target.features(tensors.s_next))
    expected = phi + 0.99 * tensors.continues_t[:, None] * follows
    torch.testing.assert_close(targets.psi_tm1, expected)
    without = tensors._replace(s_next=None, continues_t=None)
    stopped = compute_targets(learner.target, without, discount, config.losses, config.rewards)
    rows = tensors.terminal_t == 1.0
    torch.testing.assert_close(stopped.psi_tm1[rows], phi[rows])
    torch.testing.assert_close(stopped.psi_tm1[~rows], targets.psi_tm1[~rows])


@pytest.mark.parametrize(
    ("agent", "parameters", "message"),
    [
        ("dqn-mmc", {"bonus_centre": "mean"}, "bonus_centre changes nothing"),
        ("dqn-mmc", {"sr_terminal": "continue"}, "sr_terminal changes nothing"),
        ("dqn-counts", {"bonus_form": "difference"}, "bonus_form changes nothing"),
        ("dqn-rnd", {"bonus_centre": "limit"}, "subtracts bonus_limit, which is infinite"),
        ("dqn-mmc-sr", {"bonus_form": "difference", "bonus_from": "sampled"}, "the step before"),
        ("dqn-mmc-sr", {"bonus_form": "difference", "bonus_centre": "mean"}, "a change already"),
        ("dqn-mmc-sr", {"bonus_centre": "median"}, "bonus_centre must be one of off, mean"),
    ],
)
def test_bad_input(agent, parameters, message):
    with pytest.raises(BadInput, match=message):
        make_config(agent, parameters=parameters)
