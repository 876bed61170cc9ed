"""Exploration bonuses as parts: they get what was seen, and nothing else."""

from countless.bonuses.ssr import SubstochasticSR

__all__ = ["SubstochasticSR"]
