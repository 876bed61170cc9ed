"""Countless: count-based exploration, without counting.

>>> import countless
>>> result = countless.run("sarsa-sr", "riverswim", runs=100, progress=False)
>>> result.summary.runs
100

`run` and `sweep` execute agents, `load` reads what they kept, `make_mdp`, `make_agent` and
`make_bonus` give the parts for code of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countless.agents.catalogue import make_agent as make_agent
    from countless.bonuses.registry import make_bonus as make_bonus
    from countless.envs.catalog import make_mdp as make_mdp
    from countless.runs.result import Result as Result
    from countless.runs.result import load as load
    from countless.runs.run import run as run
    from countless.runs.sweep import sweep as sweep

    __version__: str

# Imported when first used: `countless --help` must not wait for the compiler.
_LAZY = {
    "run": "countless.runs.run",
    "sweep": "countless.runs.sweep",
    "load": "countless.runs.result",
    "Result": "countless.runs.result",
    "make_mdp": "countless.envs.catalog",
    "make_agent": "countless.agents.catalogue",
    "make_bonus": "countless.bonuses.registry",
}

__all__ = [
    "Result", "__version__", "load", "make_agent", "make_bonus", "make_mdp", "run", "sweep",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("countless")
    if name == "train":  # the earlier name
        name = "run"
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'countless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
