"""Names that the plain-Python twins of the kernels import; the agents have a module each."""

from __future__ import annotations

from countless.agents.tabular.agent import TabularAgent as Agent
from countless.agents.tabular.sarsa_counts import SarsaCounts
from countless.agents.tabular.sarsa_sr import SarsaSR

__all__ = ["Agent", "SarsaCounts", "SarsaSR"]
