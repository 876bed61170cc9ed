"""The one catalogue of agents, tabular and deep: what each is, takes, and where its values come from.

Light to import: neither the compiler nor torch is needed to read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from countless.agents.dqn.agents import AGENTS as DEEP_AGENTS
from countless.agents.dqn.agents import SUMMARIES as DEEP_SUMMARIES
from countless.agents.dqn.config import FIELDS as DEEP_FIELDS
from countless.agents.tabular import TABULAR_AGENTS
from countless.agents.tabular.agent import (
    Grid,
    Preset,
    TabularAgent,
    describe,
    preset_for,
    resolve,
    summary_of,
)
from countless.core.errors import BadInput, unknown_name, unknown_parameter
from countless.core.parameters import default_of

if TYPE_CHECKING:
    from countless.envs.mdp import MDP

__all__ = [
    "AGENTS",
    "AgentEntry",
    "Choice",
    "Grid",
    "Preset",
    "agent_entry",
    "choose_parameters",
    "describe",
    "make_agent",
    "parameter_names",
    "published_preset",
    "resolve",
    "tabular_entry",
]

TABULAR, DQN = "tabular", "dqn"  # engines
DEEP_BITS = 2  # as `TabularAgent.bits`, for all deep agents

GIVEN, DEFAULT = "given", "default"


@dataclass(frozen=True)
class AgentEntry:
    """One agent of the catalogue.

    Attributes:
        name: what the command line and `countless.run` call it.
        summary: one line for lists and help texts.
        engine: what executes it, "tabular" or "dqn".
        parameters: its fields by name, in order; `metadata` holds help and range.
        defaults: its default values; None where the variant or a rule decides.
        presets: published or tuned parameters for an environment, with their source.
        grid: the default grid of a sweep, with its source, if there is one.
        bits: the version of what decides its results to the bit.
        kind: the class of a tabular agent.
    """

    name: str
    summary: str
    engine: str
    parameters: Mapping[str, Field[Any]] = field(repr=False)
    defaults: Mapping[str, Any] = field(repr=False)
    presets: tuple[Preset, ...] = field(default=(), repr=False)
    grid: Grid | None = field(default=None, repr=False)
    bits: int = 1
    kind: type[TabularAgent] | None = field(default=None, repr=False)


def tabular_entry(kind: type[TabularAgent]) -> AgentEntry:
    """The entry of a tabular agent, read from its class."""
    parameters = {item.name: item for item in fields(kind)}
    return AgentEntry(
        name=kind.name,
        summary=summary_of(kind),
        engine=TABULAR,
        parameters=parameters,
        defaults={name: default_of(item) for name, item in parameters.items()},
        presets=kind.presets,
        grid=kind.grid,
        bits=kind.bits,
        kind=kind,
    )


def _deep_entry(name: str) -> AgentEntry:
    defaults = {key: default_of(item) for key, item in DEEP_FIELDS.items()}
    return AgentEntry(
        name=name,
        summary=DEEP_SUMMARIES[name],
        engine=DQN,
        parameters=DEEP_FIELDS,
        defaults=defaults | DEEP_AGENTS[name],
        bits=DEEP_BITS,
    )


AGENTS: dict[str, AgentEntry] = {
    entry.name: entry
    for entry in (
        *(tabular_entry(kind) for kind in TABULAR_AGENTS),
        *(_deep_entry(name) for name in DEEP_AGENTS),
    )
}


def agent_entry(name: str) -> AgentEntry:
    """The entry called `name`, or a `BadInput` with the nearest name.

    >>> agent_entry("sarsa-sr").engine
    'tabular'
    """
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    return AGENTS[name]


def parameter_names(name: str) -> list[str]:
    """The parameters of the agent called `name`, in order."""
    return list(agent_entry(name).parameters)


@dataclass(frozen=True)
class Choice:
    """A tabular agent and, for each of its parameters, where the value came from.

    A source is "given", the source of a preset ("the paper's Table 6"), the rule that a default
    follows ("0.01 times the range of the rewards"), or "default".
    """

    agent: TabularAgent
    sources: Mapping[str, str]


def choose_parameters(
    name: str, env: str | MDP = "", given: Mapping[str, Any] | None = None
) -> Choice:
    """The agent called `name` for an environment: your values, then its preset's, then defaults.

    Args:
        name: a tabular agent of the catalogue.
        env: an environment by name or an MDP; without one, there is no preset, and parameters in
            units of the rewards stay open (None) until the agent is run.
        given: parameters by name.

    >>> choice = choose_parameters("sarsa-sr", "riverswim", {"alpha": 0.5})
    >>> choice.agent.beta, choice.sources["beta"], choice.sources["alpha"]
    (100.0, "the paper's Table 6", 'given')
    """
    entry = agent_entry(name)
    if entry.kind is None:
        raise BadInput(f"{name} is a deep agent, which no table of states can hold")
    given = dict(given or {})
    for key in given:
        if key not in entry.parameters:
            raise unknown_parameter(name, key, entry.parameters)
    mdp = _as_mdp(env)
    preset = None if mdp is None else _preset(entry.kind, mdp, given)
    chosen = {} if preset is None else dict(preset.parameters)
    agent = entry.kind(**(chosen | given))
    sources = {key: entry.parameters[key].metadata.get("rule", DEFAULT) for key in entry.parameters}
    if preset is not None:
        sources |= dict.fromkeys(chosen, _source(preset, agent))
    sources |= dict.fromkeys(given, GIVEN)
    return Choice(agent if mdp is None else resolve(agent, mdp), sources)


def make_agent(
    name: str, env: str | MDP = "", parameters: Mapping[str, Any] | None = None
) -> TabularAgent:
    """A tabular agent with its preset for `env` where there is one, and your parameters on top.

    Args:
        name: a tabular agent of `countless list agents`.
        env: an environment by name or an MDP.
        parameters: parameters by name; they override the preset's.

    >>> make_agent("sarsa-sr", "sixarms", {"beta": 10}).gamma_sr
    0.99
    """
    return choose_parameters(name, env, parameters).agent


def published_preset(name: str, env: str, given: Mapping[str, Any] | None = None) -> Preset | None:
    """The preset of the agent called `name` for one of the paper's domains, or None.

    >>> published_preset("sarsa-sr", "sixarms", {"norm": 2.0}).parameters["beta"]
    10.0
    """
    kind = agent_entry(name).kind
    return None if kind is None else preset_for(kind, env, given)


def _as_mdp(env: str | MDP) -> MDP | None:
    if not isinstance(env, str):
        return env
    if not env:
        return None
    from countless.envs.catalog import make_mdp

    return make_mdp(env)


def _preset(kind: type[TabularAgent], mdp: MDP, given: Mapping[str, Any]) -> Preset | None:
    from countless.envs.catalog import paper_domain

    return preset_for(kind, paper_domain(mdp), given)


def _source(preset: Preset, agent: TabularAgent) -> str:
    other = [
        f"{name} {value:g}" for name, value in preset.when.items() if getattr(agent, name) != value
    ]
    return f"{preset.source} for {', '.join(other)}" if other else preset.source
