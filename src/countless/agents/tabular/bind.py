"""Names that the plain-Python twins of the kernels import; see `task`."""

from __future__ import annotations

from countless.agents.tabular.task import configuration_key, reward_scale

__all__ = ["configuration_key", "reward_scale"]
