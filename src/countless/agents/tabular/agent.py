"""What every tabular agent says about itself: parameters, presets, default grid, compiled kernel.

Light to import: the command line reads it before it knows whether anything will be compiled.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from countless.core.errors import BadInput, named
from countless.core.parameters import default_of, validate

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task
    from countless.envs.mdp import MDP

RNGS = ("countless", "authors")

# Where parameters and grids come from.
TABLE_6 = "the paper's Table 6"
PAPER_SWEEP = "the paper's sweep"
PAPER_RANGES = "the paper's ranges"  # for an agent that the paper does not have
RELEASED_CODE = "the released code's README"
STREHL_LITTMAN = "Strehl & Littman 2008"
TSE_ET_AL = "Tse et al. 2025"
OWN_SWEEP = "our own sweep"


@dataclass(frozen=True)
class Preset:
    """Parameters for one environment, and where they come from.

    `when` names the values of other parameters that the preset was found with: the paper has one
    for each norm. Where none of an environment's presets was found with the value that is asked
    for, its first one is taken.
    """

    env: str
    parameters: Mapping[str, float | str]
    source: str
    when: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """The values that a sweep tries of each parameter, and who chose them."""

    values: Mapping[str, tuple[float | str, ...]]
    source: str


@dataclass(frozen=True)
class TabularAgent(ABC):
    """The base of all tabular agents: a frozen dataclass, one field per parameter.

    `bits` is the version of whatever decides this agent's returns to the bit. Raise it when a
    change of the code changes returns, and only then: stored results stay valid otherwise.
    """

    name: ClassVar[str]
    presets: ClassVar[tuple[Preset, ...]] = ()
    grid: ClassVar[Grid | None] = None
    bits: ClassVar[int] = 1
    # Parameters that came after the first stores of runs: at their defaults they change nothing, and
    # the ids of jobs must not change with them.
    later: ClassVar[tuple[str, ...]] = ()
    # Parameters that choose no random stream: runs that differ only in these see the same draws.
    paired: ClassVar[tuple[str, ...]] = ()
    replays_released_draws: ClassVar[bool] = False  # whether rng="authors" is possible

    def __post_init__(self) -> None:
        validate(self)

    @property
    def caution(self) -> str:
        """What someone who chose these parameters should know, if anything."""
        return ""

    @classmethod
    @abstractmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        """The compiled kernel for these settings, which differ only in real-valued parameters."""

    @classmethod
    def released_script_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        """The same with the released code's own random draws, for agents that it contains."""
        raise BadInput(f"{named('rng', 'authors')}: the released code has no {cls.name}")


AnyAgent = TypeVar("AnyAgent", bound=TabularAgent)


def describe(agent: TabularAgent) -> dict[str, float | str | bool | None]:
    """The agent's parameters as plain data; an infinite norm becomes the word "inf"."""
    return {key: "inf" if value == math.inf else value for key, value in asdict(agent).items()}


def identity_of(agent: TabularAgent) -> dict[str, float | str | bool | None]:
    """What decides the bits: `describe` without later parameters that are at their defaults."""
    defaults = {item.name: default_of(item) for item in fields(agent)}
    return {
        key: value
        for key, value in describe(agent).items()
        if key not in agent.later or value != defaults[key]
    }


def kernel_case(agent: TabularAgent) -> tuple[Any, ...]:
    """What all settings of one kernel call must share: everything but the real numbers."""
    shared = {
        key: value
        for key, value in asdict(agent).items()
        if key == "norm" or not isinstance(value, float)
    }
    return (agent.name, *shared.items())


def summary_of(kind: type[TabularAgent]) -> str:
    """The first line of an agent's docstring."""
    return (kind.__doc__ or "").splitlines()[0].rstrip(".")


def reward_range(mdp: MDP) -> float:
    """The distance from the smallest reward to the largest, 0 included: Rmax if none is negative."""
    return max(float(mdp.reward.max()), 0.0) - min(float(mdp.reward.min()), 0.0)


def resolve(agent: AnyAgent, mdp: MDP) -> AnyAgent:
    """The agent with its open parameters filled in from the range of the rewards.

    Where all rewards are 0, a bonus has nothing to be weighed against: the range counts as 1.
    """
    unit = reward_range(mdp) or 1.0
    missing = {
        item.name: item.metadata["share"] * unit
        for item in fields(agent)
        if "share" in item.metadata and getattr(agent, item.name) is None
    }
    return replace(agent, **missing) if missing else agent


def preset_for(
    kind: type[TabularAgent], env: str, given: Mapping[str, Any] | None = None
) -> Preset | None:
    """The preset of an agent for one of the paper's domains, or None."""
    known = {item.name: default_of(item) for item in fields(kind)} | dict(given or {})
    presets = [preset for preset in kind.presets if preset.env == env]
    for preset in presets:
        if all(known[name] == value for name, value in preset.when.items()):
            return preset
    return presets[0] if presets else None
