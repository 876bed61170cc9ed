"""The old names of `make`; to be deleted with their last use."""

from countless.envs.make import canonical_name as one_name
from countless.envs.make import folder_name as game_label
from countless.envs.make import make_frame_env as make_game
from countless.envs.make import means_atari as means_atari

__all__ = ["game_label", "make_game", "means_atari", "one_name"]
