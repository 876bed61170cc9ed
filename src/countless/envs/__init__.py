"""MDPs as arrays: built-in domains, `.mdp` files, Gymnasium models, and their exact solutions.

Importing this package registers the Gymnasium ids (`countless/RiverSwim-v0` and so on).
"""

from countless.envs.catalog import DOMAINS, make_mdp
from countless.envs.mdp import MDP, build_mdp
from countless.envs.mdp_env import MDPEnv, register

register()

__all__ = ["DOMAINS", "MDP", "MDPEnv", "build_mdp", "make_mdp"]
