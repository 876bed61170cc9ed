"""The old names of `frame_env`; to be deleted with their last use."""

from countless.envs.frame_env import FrameEnv as Game
from countless.envs.frame_env import Step as Step

__all__ = ["Game", "Step"]
