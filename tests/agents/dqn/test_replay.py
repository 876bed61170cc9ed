"""The replay memory against plain lists, and what it may take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import Device
from countless.agents.dqn.replay import (
    DONE,
    FIRST,
    SLOT_BYTES,
    STEP,
    Replay,
    bytes_needed,
    discounted_returns,
)
from countless.agents.dqn.trainer import Trainer
from oracles.replay import Script, episode_transitions, released_transitions

GAMMA = 0.9
ORACLES = {"episode": episode_transitions, "released": released_transitions}


def play(games, steps, *, stacks, capacity, history=4):
    """A trainer that only acts at random, and remembers."""
    config = make_config(
        "dqn-mmc",
        parameters={
            "warmup": 10**6, "stacks": stacks, "history": history, "gamma": GAMMA,
            "replay": capacity * len(games), "envs": len(games), "width": 0.02,
        },
    )  # fmt: skip
    trainer = Trainer(games, config, Device(), seed=0)
    for _ in range(steps):
        trainer.turn()
    return trainer.replay


def expected(game, *, stacks, capacity, history, written):
    """The oracle's transitions that a ring of `capacity` frames still holds whole."""
    told = ORACLES[stacks](game, history, GAMMA)
    if written <= capacity:
        return told
    return [one for one in told if one.slot - (history - 1) >= written - capacity]


def assert_same(batch, i, one):
    np.testing.assert_array_equal(batch.s_tm1[i], one.stack)
    np.testing.assert_array_equal(batch.s_t[i], one.following)
    assert batch.a_tm1[i] == one.action
    assert batch.r_t[i] == np.float32(one.reward)
    assert batch.terminal_t[i] == one.ended
    assert batch.g_tm1[i] == pytest.approx(one.after, abs=1e-5)
    assert batch.r_int_t[i] == 0.0


scripts = st.builds(
    Script,
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    rewards=st.lists(st.sampled_from([-3.0, -0.5, 0.0, 1.0, 7.0]), min_size=1, max_size=7),
    cut=st.lists(st.booleans(), min_size=1, max_size=3),
)


@given(
    games=st.lists(scripts, min_size=1, max_size=3),
    steps=st.integers(1, 90),
    capacity=st.integers(10, 60),
    history=st.integers(1, 4),
    stacks=st.sampled_from(["episode", "released"]),
)
def test_equals_plain_lists(games, steps, capacity, history, stacks):
    replay = play(games, steps, stacks=stacks, capacity=capacity, history=history)
    kept = {}
    for lane, game in enumerate(games):
        written = int(replay.written[lane])
        for one in expected(
            game, stacks=stacks, capacity=capacity, history=history, written=written
        ):
            kept[lane, one.slot] = one
    # All that lists hold, the ring gives back.
    if kept:
        lanes, slots = (np.array(column) for column in zip(*kept, strict=True))
        batch = replay.gather(lanes, slots)
        for i, one in enumerate(kept.values()):
            assert_same(batch, i, one)
    # And it never gives anything else.
    if replay.can_sample():
        assert kept
        sampled, places = sample_with_places(replay, 40, np.random.default_rng(0))
        for i, place in enumerate(places):
            assert_same(sampled, i, kept[place])
    else:
        assert len(kept) < 3 * len(games)


def sample_with_places(replay, size, random):
    """A batch and the (lane, slot) of each of its transitions."""
    places = []
    original = replay.gather

    def gather(lane, slot):
        places.extend(zip(lane.tolist(), slot.tolist(), strict=True))
        return original(lane, slot)

    replay.gather = gather
    batch = replay.sample(size, random)
    del replay.gather
    return batch, places


def test_released_stacks_by_hand():
    game = Script(lengths=[3, 5], rewards=[0.0], cut=[False])
    replay = play([game], 8, stacks="released", capacity=100)
    batch = replay.gather(np.zeros(4, np.int64), np.array([1, 2, 3, 4]))
    shown, ahead = batch.s_tm1[:, :, 0], batch.s_t[:, :, 0]
    # Frames: reset 1, steps 2 3 4 (end); reset 5, steps 6 7 ...; nothing is seen before step 1.
    assert shown.tolist() == [[0, 0, 0, 2], [0, 0, 2, 3], [0, 0, 0, 4], [0, 0, 4, 6]]
    assert ahead.tolist() == [[0, 0, 2, 3], [0, 0, 0, 4], [0, 0, 4, 6], [0, 4, 6, 7]]
    assert batch.terminal_t.tolist() == [False, True, False, False]


def test_only_finished_episodes():
    game = Script(lengths=[5, 1000], rewards=[1.0], cut=[False])
    replay = play([game], 60, stacks="episode", capacity=200)
    _, places = sample_with_places(replay, 500, np.random.default_rng(0))
    assert {slot for _, slot in places} == set(range(5))
    assert play(
        [Script([1000], [1.0], [False])], 60, stacks="episode", capacity=200
    ).can_sample() is (False)


def test_an_open_episode_longer_than_the_ring_leaves_nothing():
    game = Script(lengths=[5, 1000], rewards=[1.0], cut=[False])
    replay = play([game], 60, stacks="episode", capacity=20)
    assert len(replay) == 0
    assert not replay.can_sample()


def test_sampling_is_uniform_over_transitions_and_lanes():
    games = [Script([7, 3], [1.0], [False]), Script([4], [1.0], [False])]
    replay = play(games, 60, stacks="episode", capacity=50)
    draws = 40_000
    _, places = sample_with_places(replay, draws, np.random.default_rng(0))
    wanted = [
        (lane, one.slot)
        for lane, game in enumerate(games)
        for one in expected(
            game, stacks="episode", capacity=50, history=4, written=int(replay.written[lane])
        )
    ]
    counts = np.array([places.count(place) for place in wanted])
    assert counts.sum() == draws
    each = draws / len(wanted)
    chi_square = ((counts - each) ** 2 / each).sum()
    freedom = len(wanted) - 1
    assert abs(chi_square - freedom) < 4.0 * np.sqrt(2.0 * freedom)


@given(
    rewards=st.lists(st.floats(-1, 1, width=32), max_size=20),
    gamma=st.floats(0, 0.999),
    tail=st.floats(-5, 5),
)
def test_returns(rewards, gamma, tail):
    ours = discounted_returns(np.array(rewards, np.float32), gamma, tail)
    n = len(rewards)
    for t in range(n):
        exact = sum(gamma**k * r for k, r in enumerate(rewards[t:])) + gamma ** (n - t) * tail
        assert ours[t] == pytest.approx(exact, abs=1e-4)


def test_rewards_stay_apart_and_both_enter_the_return():
    replay = Replay(1, 20, (2,))
    for i in range(3):
        slot = replay.append(0, np.array([i, i]), i, 10.0 * i, STEP | (FIRST if i == 0 else 0))
        replay.set_bonus(0, slot, 0.5)
    replay.append(0, np.array([3, 3]), 0, 0.0, 0)
    replay.finish(0, lambda extrinsic, intrinsic: extrinsic + 2.0 * intrinsic, 0.5, tail=8.0)
    batch = replay.gather(np.zeros(3, np.int64), np.arange(3))
    assert batch.r_t.tolist() == [0.0, 10.0, 20.0]
    assert batch.r_int_t.tolist() == [0.5, 0.5, 0.5]
    assert batch.g_tm1.tolist() == [13.25 - 0.5, 23.5, 25.0]


def test_a_bonus_of_an_overwritten_slot_is_dropped():
    replay = Replay(1, 10, (2,))
    slots = [replay.append(0, np.zeros(2), 0, 0.0, STEP) for _ in range(12)]
    replay.set_bonus(0, slots[1], 9.0)
    assert (replay.intrinsic == 0.0).all()
    replay.set_bonus(0, slots[2], 9.0)
    assert replay.intrinsic[0, 2] == 9.0


def test_a_batch_is_a_copy():
    game = Script([5], [1.0], [False])
    replay = play([game], 30, stacks="episode", capacity=100)
    before = replay.frames.copy()
    batch = replay.sample(32, np.random.default_rng(0))
    batch.s_tm1[:] = 99
    batch.s_t[:] = 99
    np.testing.assert_array_equal(replay.frames, before)


def test_bytes_of_a_transition_are_counted_right():
    replay = Replay(2, 50, (84, 84))
    per_slot = (
        replay.frames, replay.actions, replay.flags, replay.extrinsic, replay.intrinsic,
        replay.returns,
    )  # fmt: skip
    assert sum(array.nbytes for array in per_slot) == bytes_needed(100, 84 * 84)
    assert 84 * 84 + SLOT_BYTES <= 7056 + 32
    assert bytes_needed(1_000_000, 84 * 84) <= 7.2e9
    # Nothing else of the replay grows with it.
    others = {k: v for k, v in vars(replay).items() if isinstance(v, np.ndarray)}
    small = sum(v.nbytes for v in others.values()) - sum(a.nbytes for a in per_slot)
    assert small <= 100


def test_kept_arrays_bring_it_back():
    games = [Script([5, 9], [1.0, 0.0], [False]), Script([3], [1.0], [True])]
    for steps in (12, 70):
        replay = play(games, steps, stacks="episode", capacity=30)
        other = Replay(2, 30, (2,))
        other.set_counters(replay.counters())
        for lane in (0, 1):
            for i in replay.segments(lane):
                other.set_segment(lane, replay.get_segment(lane, i))
        for name, array in vars(replay).items():
            np.testing.assert_array_equal(getattr(other, name), array)
    assert replay.flags.max() < FIRST + STEP + DONE + 1
