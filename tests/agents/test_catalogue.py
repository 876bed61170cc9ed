"""One catalogue: every agent, its parameters, presets and grid, and where values come from."""

from dataclasses import replace

import pytest

from countless.agents.catalogue import (
    AGENTS,
    agent_entry,
    choose_parameters,
    describe,
    make_agent,
    resolve,
)
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.core.errors import BadInput, naming_options
from countless.core.parameters import default_of
from countless.envs import build_mdp, make_mdp

TABULAR = [entry for entry in AGENTS.values() if entry.engine == "tabular"]


@pytest.mark.parametrize("entry", AGENTS.values(), ids=lambda entry: entry.name)
def test_every_entry_is_complete(entry):
    assert AGENTS[entry.name] is entry
    assert entry.summary
    assert "\n" not in entry.summary
    assert entry.engine in ("tabular", "dqn")
    assert entry.bits >= 1
    assert list(entry.defaults) == list(entry.parameters)
    for preset in entry.presets:
        assert preset.source
        assert {*preset.parameters, *preset.when} <= set(entry.parameters)
        assert (
            preset.parameters.items()
            <= describe(make_agent(entry.name, preset.env, preset.when)).items()
        )
    if entry.grid is not None:
        assert entry.grid.source
        assert set(entry.grid.values) <= set(entry.parameters)


@pytest.mark.parametrize("entry", TABULAR, ids=lambda entry: entry.name)
@pytest.mark.parametrize("env", ["riverswim", "deepsea-3", "FrozenLake-v1"])
def test_every_value_has_a_source_and_no_value_stays_open(entry, env):
    choice = choose_parameters(entry.name, env)
    assert list(choice.sources) == list(entry.parameters)
    for name, item in entry.parameters.items():
        if getattr(choice.agent, name) is None:
            assert "switch" in item.metadata
        if choice.sources[name] == "default":
            assert getattr(choice.agent, name) == default_of(item)


def test_sources():
    given = choose_parameters("sarsa-sr", "sixarms", {"beta": 7})
    assert given.agent.beta == 7.0
    assert given.sources["beta"] == "given"
    assert given.sources["eta"] == "the paper's Table 6"
    assert given.sources["gamma"] == "default"
    cubed = choose_parameters("sarsa-sr", "sixarms", {"norm": 3})
    assert cubed.agent.beta == 100.0
    assert cubed.sources["beta"] == "the paper's Table 6 for norm 1"
    assert choose_parameters("rmax", "riverswim").sources["m"] == "Strehl & Littman 2008"
    assert choose_parameters("psrl", "riverswim").sources["a"] == "our own sweep"
    elsewhere = choose_parameters("sarsa-sr", "chain-5")
    assert elsewhere.sources["beta"].endswith("times the range of the rewards")


def test_beta_is_in_units_of_the_rewards():
    def mdp(*rewards):
        n = len(rewards)
        return build_mdp("line", ([0] * n, range(n), [0] * n, rewards, [1.0] * n), [1.0])

    share = agent_entry("sarsa-sr").parameters["beta"].metadata["share"]
    for rewards, unit in (
        ((0.0, 8.0), 8.0),
        ((-3.0, 5.0), 8.0),
        ((-3.0, -1.0), 3.0),
        ((0.0,), 1.0),
    ):
        assert make_agent("sarsa-sr", mdp(*rewards)).beta == share * unit
    assert resolve(SarsaSR(), mdp(0.0, 8.0)) == make_agent("sarsa-sr", mdp(0.0, 8.0))
    assert make_agent("sarsa-sr").beta is None
    agent = make_agent("sarsa-sr", mdp(0.0, 8.0), {"beta": 5})
    assert resolve(agent, make_mdp("riverswim")) == replace(agent, beta=5.0)


def test_unknown_names_get_the_nearest():
    with pytest.raises(BadInput, match="unknown agent 'sarsa-rs'; did you mean 'sarsa-sr'"):
        agent_entry("sarsa-rs")
    with pytest.raises(BadInput, match="no parameter 'gama_sr'; did you mean 'gamma_sr'"):
        make_agent("sarsa-sr", "riverswim", {"gama_sr": 0.9})
    with naming_options(), pytest.raises(BadInput, match="--gama-sr; did you mean --gamma-sr"):
        make_agent("sarsa-sr", "riverswim", {"gama_sr": 0.9})
    with pytest.raises(BadInput, match="dqn is a deep agent"):
        make_agent("dqn", "riverswim")
