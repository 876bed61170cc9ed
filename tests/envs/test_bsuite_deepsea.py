"""bsuite's DeepSea against what bsuite 0.3.6 showed: mapping, observations, rewards."""

import json
from pathlib import Path

import numpy as np
import pytest

from countless.envs.domains import BSUITE_MAPPING_SEED
from countless.envs.make import make_frame_env

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "bsuite_deep_sea.json").read_text())


@pytest.mark.parametrize("size", [int(size) for size in RECORDED["sizes"]])
def test_the_mapping_is_bsuites(size):
    coins = np.random.RandomState(BSUITE_MAPPING_SEED).binomial(1, 0.5, (size, size))
    shown = ["".join(map(str, row)) for row in coins.tolist()]
    assert shown == RECORDED["sizes"][str(size)]["mapping"]


@pytest.mark.parametrize("size", [int(size) for size in RECORDED["sizes"]])
def test_episodes_are_bsuites(size):
    env = make_frame_env(f"bsuite-deepsea-{size}", seed=0)
    bad = 0
    for episode in RECORDED["sizes"][str(size)]["episodes"]:
        frames, rewards, ends = [env.reset()], [], []
        for action in episode["actions"]:
            step = env.step(int(action))
            frames.append(step.frame)
            rewards.append(step.reward)
            ends.append(step.terminated)
        assert ends == [False] * (size - 1) + [True]
        np.testing.assert_allclose(rewards, episode["rewards"], rtol=0, atol=1e-15)
        for frame, cell in zip(frames, episode["cells"], strict=True):
            expected = np.zeros(size * size, np.uint8)
            if cell >= 0:
                expected[cell] = 255
            np.testing.assert_array_equal(frame.ravel(), expected)
        bad += sum(rewards) < 0.5
        assert bad == episode["bad"]  # bad is without the treasure


def test_without_a_mapping_one_is_right_everywhere():
    env = make_frame_env("deepsea-6", seed=0)
    env.reset()
    assert sum(env.step(1).reward for _ in range(6)) == pytest.approx(0.99)
