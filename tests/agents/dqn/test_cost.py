"""What a run will take, before it starts."""

import gymnasium
import numpy as np

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.cost import measure_cost
from countless.agents.dqn.device import make_device
from countless.envs.make import make_frame_env


class Strict(gymnasium.Env):
    """Episodes of ten steps, and an error for a step after the end."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    left = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 10
        return np.zeros(3, np.float32), {}

    def step(self, action):
        assert self.left > 0, "a step after the end of an episode"
        self.left -= 1
        return np.zeros(3, np.float32), 0.0, self.left == 0, False, {}


def test_the_environment_is_timed_over_the_ends_of_episodes():
    gymnasium.register("StrictForCost-v0", Strict)
    game = make_frame_env("StrictForCost-v0", 0)
    game.reset()
    config = make_config("dqn", scale="small", parameters={"network": "mlp"})
    cost = measure_cost(game, config, make_device("cpu"), rounds=2)
    assert cost.parts["environment"] > 0.0
