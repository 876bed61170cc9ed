"""What the page offers: environments, agents, and the stops of every slider."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field
from functools import lru_cache
from typing import Any

import numpy as np

from countless.agents.catalogue import AGENTS, AgentEntry, agent_entry, choose_parameters
from countless.agents.tabular.agent import reward_range
from countless.agents.tabular.maps import QUANTITIES
from countless.core.errors import BadInput, unknown_name
from countless.envs.catalog import make_mdp
from countless.envs.drawing import grid_from_text
from countless.envs.mdp import MDP

DRAWN = "drawn"
ENVS = (
    "riverswim", "riverswim-12", "sixarms", "chain-20", "deepsea-8", "deepsea-14", "gridworld-10",
    "fourrooms",
)  # fmt: skip
EXAMPLE_MAP = (
    "S....#....|.....#....|.....#..x.|..........|.....#....|"
    "##.###.##.|.....#....|..1..#....|.........9|.....#...."
)
SYMBOLS = {
    "alpha": "α", "eta": "η", "gamma_sr": "γ of the SR", "beta": "β", "epsilon": "ε", "norm": "norm, p",
}  # fmt: skip
SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
STOPS: Mapping[str, tuple[float, ...]] = {
    "alpha": SHARES,
    "eta": SHARES,
    "gamma_sr": (0.0, 0.25, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99),
    "epsilon": (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0),
    "norm": (1.0, 2.0, math.inf),
}
BETA_SHARES = (0.0, *(digit * 10.0**power for power in range(-5, 1) for digit in (1, 2, 5)))


def tabular_agents() -> list[AgentEntry]:
    """The agents of the lab: those whose learning fits into a table."""
    return [entry for entry in AGENTS.values() if entry.engine == "tabular"]


@lru_cache(maxsize=64)
def lab_mdp(env: str, drawing: str) -> MDP:
    """The MDP that the page asks for: one of those it offers, or a drawing."""
    if env == DRAWN:
        return grid_from_text(drawing)
    if env not in ENVS:
        raise unknown_name("environment", env, (*ENVS, DRAWN))
    return make_mdp(env)


def _stops(name: str, values: tuple[float, ...], mdp: MDP) -> dict[str, Any]:
    """The stops of a slider, the chosen value and the agent's own among them."""
    if name not in SYMBOLS:
        return {}
    stops = set(STOPS.get(name, ()))
    if name == "beta":
        unit = reward_range(mdp) or 1.0
        stops = {float(f"{share * unit:.3g}") for share in BETA_SHARES}
    return {"stops": [plain(stop) for stop in sorted(stops.union(values))]}


def page_catalogue() -> dict[str, Any]:
    """What the page needs to know before anything is computed."""
    return {
        "envs": [*ENVS, DRAWN],
        "agents": {entry.name: entry.summary for entry in tabular_agents()},
        "map": EXAMPLE_MAP,
    }


def mdp_description(mdp: MDP) -> dict[str, Any]:
    """The MDP as the page draws it: states in a row where they have no places on a map."""
    layout = mdp.layout
    if layout is None:
        layout = np.arange(mdp.n_states)[None, :]
    return {
        "name": mdp.name,
        "states": mdp.n_states,
        "actions": mdp.n_actions,
        "layout": layout.tolist(),
        "start": np.flatnonzero(mdp.start).tolist(),
        "reward_range": reward_range(mdp),
    }


def column_controls(name: str, mdp: MDP, given: Mapping[str, Any]) -> dict[str, Any]:
    """The controls of one agent: for each parameter its value, where that comes from, and its range."""
    entry = agent_entry(name)
    if entry.engine != "tabular":
        raise BadInput(f"{name} is a deep agent; the lab has those that learn tables")
    choice, own = choose_parameters(name, mdp, given), choose_parameters(name, mdp).agent
    quantity = QUANTITIES.get(name)
    return {
        "agent": name,
        "summary": entry.summary,
        "caution": choice.agent.caution,
        "quantity": None if quantity is None else quantity.label,
        "has_bonus": quantity is not None and quantity.bonus is not None,
        "has_sr": hasattr(choice.agent, "eta") and hasattr(choice.agent, "gamma_sr"),
        "parameters": [
            _control(item, getattr(choice.agent, key), choice.sources[key])
            | _stops(key, (getattr(choice.agent, key), getattr(own, key)), mdp)
            for key, item in entry.parameters.items()
        ],
    }


def _control(item: Field[Any], value: Any, source: str) -> dict[str, Any]:
    known = item.metadata
    control = {
        "name": item.name,
        "symbol": SYMBOLS.get(item.name, item.name),
        "help": known["help"],
        "value": plain(value),
        "source": source,
    }
    if "choices" in known:
        control["choices"] = list(known["choices"])
    elif "switch" in known:
        control["switch"] = True
    else:
        control["interval"] = known["interval"].text
    return control


def plain(value: Any) -> Any:
    """A value as JSON has it: an infinite norm is the word "inf"."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value
