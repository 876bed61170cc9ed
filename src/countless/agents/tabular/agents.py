"""Names that the plain-Python twins of the kernels import; the agents have a module each."""

from __future__ import annotations

from countless.agents.tabular.agent import TabularAgent as Agent
from countless.agents.tabular.sarsa_counts import SarsaCounts
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.spie import Spie

__all__ = ["Agent", "SarsaCounts", "SarsaSR", "Spie"]
