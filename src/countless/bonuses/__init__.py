"""Exploration bonuses for any agent: they are given observations, and nothing else.

>>> bonus = make_bonus("sr-norm", 104)
>>> bonus.observe([0], next_observations=[1]).tolist()
[5.0]
"""

from countless.bonuses.protocol import Bonus, Transitions
from countless.bonuses.registry import BonusKind, bonus_names, make_bonus
from countless.bonuses.scaled import ScaledBonus, Scaling
from countless.bonuses.ssr import SubstochasticSR
from countless.bonuses.storage import load_state, save_state

__all__ = [
    "Bonus",
    "BonusKind",
    "ScaledBonus",
    "Scaling",
    "SubstochasticSR",
    "Transitions",
    "bonus_names",
    "load_state",
    "make_bonus",
    "save_state",
]
