"""Countless: count-based exploration, without counting.

import countless
result = countless.run("sarsa-sr", "riverswim", runs=1000)
print(result.summary)
deep = countless.train("dqn-mmc-sr", "Freeway", scale="laptop")
print(deep.performance)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countless.agents.catalogue import make_agent as make_agent
    from countless.envs.catalog import make_mdp as make_mdp
    from countless.runs.run import run as run
    from countless.runs.sweep import sweep as sweep
    from countless.runs.train import train as train

# Imported when first used: `countless --help` must not wait for the compiler.
_LAZY = {
    "run": "countless.runs.run",
    "sweep": "countless.runs.sweep",
    "train": "countless.runs.train",
    "make_mdp": "countless.envs.catalog",
    "make_agent": "countless.agents.catalogue",
}

__all__ = ["make_agent", "make_mdp", "run", "sweep", "train"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'countless' has no attribute {name!r}")
