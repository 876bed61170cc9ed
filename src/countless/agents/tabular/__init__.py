"""Tabular agents: one module each, compiled kernels, and the simulation that drives them."""

from importlib import import_module

from countless.agents.tabular.agent import TabularAgent

# Every tabular agent as module:class, in the order in which they are listed.
_AGENTS = (
    "sarsa:Sarsa",
    "sarsa_sr:SarsaSR",
    "sarsa_dr:SarsaDR",
    "sarsa_counts:SarsaCounts",
    "spie:Spie",
    "essr:Essr",
    "rmax:RMax",
    "e3:E3",
    "mbie:Mbie",
    "mbie_eb:MbieEb",
    "psrl:Psrl",
    "ucrl2:Ucrl2",
    "uniform_random:RandomAgent",
    "optimal:OptimalAgent",
)


def _load(place: str) -> type[TabularAgent]:
    module, name = place.split(":")
    kind: type[TabularAgent] = getattr(import_module(f"{__name__}.{module}"), name)
    return kind


TABULAR_AGENTS: tuple[type[TabularAgent], ...] = tuple(_load(place) for place in _AGENTS)
