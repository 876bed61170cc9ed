"""E3 (Kearns & Singh 2002), as Strehl & Littman (2008) ran it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, STREHL_LITTMAN, Grid, Preset
from countless.agents.tabular.counted import CountedAgent
from countless.core.parameters import choice, real

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class E3(CountedAgent):
    """E3: explore while an unknown pair is likely enough within reach, else exploit."""

    name: ClassVar[str] = "e3"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"m": 16.0, "threshold": 0.01}, STREHL_LITTMAN),
        Preset("sixarms", {"m": 4.0, "threshold": 0.09}, STREHL_LITTMAN),
    )
    grid: ClassVar[Grid | None] = Grid(
        {"m": (1.0, 2.0, 4.0, 8.0, 16.0, 32.0), "threshold": (0.001, 0.01, 0.03, 0.09, 0.3)},
        OWN_SWEEP,
    )

    m: float = fields.known_after(16.0)
    threshold: float = real(0.01, "probability of escape above which it explores", "[0, 1]")
    escape: str = choice(
        "horizon",
        "what the probability of escape is: the chance to reach an unknown pair within a horizon, "
        "or the discounted value of getting there",
        ("horizon", "discounted"),
    )
    horizon: float = real(20.0, "steps of the horizon of `escape`", "[1, inf)")
    gamma: float = fields.gamma()
    counts: str = fields.counts()
    gamma_ssr: float = fields.gamma_ssr()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import e3
        from countless.agents.tabular.planners import planner_kernel
        from countless.agents.tabular.task import columns, reward_scale

        settings = columns(agents, "gamma", "m", "threshold", "horizon", "gamma_ssr")
        if agents[0].escape == "discounted":
            settings[:, e3.HORIZON] = 0.0
        spread, _ = reward_scale(task.mdp, cls.name)
        reading = agents[0].reading
        options = e3.OptionsBySSR(spread, reading) if reading else e3.Options(spread)
        return planner_kernel(cls.name, task, settings, options)
