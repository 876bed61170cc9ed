import math
from dataclasses import dataclass

import pytest

from countless.agents.catalogue import AGENTS, make_agent, published_preset
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.core.errors import BadInput, named, naming_options, unknown_name
from countless.core.parameters import Interval, check_real, check_whole, switch, validate


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, r"alpha must lie in \(0, 1\], not 0"),
        ({"alpha": -0.1}, "alpha must lie in"),
        ({"alpha": 1.5}, "alpha must lie in"),
        ({"gamma": 1.0}, r"gamma must lie in \[0, 1\), not 1"),
        ({"epsilon": 1.1}, r"epsilon must lie in \[0, 1\]"),
        ({"epsilon": -0.1}, "epsilon must lie in"),
        ({"eta": 0}, "eta must lie in"),
        ({"gamma_sr": 1}, "gamma_sr must lie in"),
        ({"beta": -1}, "beta must lie in"),
        ({"beta": math.inf}, "beta must lie in"),
        ({"norm": 0.5}, r"norm must lie in \[1, inf\]"),
        ({"alpha": math.nan}, "alpha must lie in .* not nan"),
        ({"alpha": "x"}, "alpha must be a number"),
        ({"alpha": True}, "alpha must be a number"),
        ({"update": "other"}, "update must be one of resampled, executed"),
        ({"time_limit": ""}, "time_limit must be one of terminal, truncation"),
    ],
)
def test_out_of_range(parameters, message):
    with pytest.raises(BadInput, match=message):
        make_agent("sarsa-sr", "riverswim", parameters)


def test_edges_are_allowed():
    agent = SarsaSR(alpha=1, epsilon=0, gamma=0, gamma_sr=0, beta=0, norm=math.inf)
    assert agent.alpha == 1.0
    assert isinstance(agent.alpha, float)
    assert SarsaSR(epsilon=1).epsilon == 1.0


def test_unknown_parameter_names_those_there_are():
    with pytest.raises(BadInput, match="sarsa has no parameter 'beta'; it takes alpha, epsilon"):
        make_agent("sarsa", "riverswim", {"beta": 1})


def test_published_parameters_are_presets():
    assert make_agent("sarsa", "sixarms") == Sarsa(alpha=0.465, epsilon=0.03)
    assert make_agent("sarsa-sr", "sixarms").gamma_sr == 0.99
    assert make_agent("sarsa-sr", "sixarms", {"norm": 2}).beta == 10.0
    assert make_agent("sarsa-sr", "sixarms-1660") == make_agent("sarsa-sr", "sixarms")
    assert make_agent("sarsa-sr", "riverswim", {"beta": 7}).beta == 7.0
    assert published_preset("sarsa-sr", "chain-5") is None


def test_every_parameter_says_what_it_is():
    for entry in AGENTS.values():
        assert entry.summary
        for item in entry.parameters.values():
            assert item.metadata["help"]


def test_unknown_name_without_a_near_one():
    text = str(unknown_name("agent", "zzz", ["sarsa"], "hint"))
    assert text == "unknown agent 'zzz'. Known: sarsa. hint"


def test_whole_numbers():
    assert check_whole("size", 42.0, Interval("[1, inf)")) == 42
    for value, message in ((0, "must lie in"), (1.5, "must be a whole number"), ("3", "a number")):
        with pytest.raises(BadInput, match=message):
            check_whole("size", value, Interval("[1, inf)"))


def test_switch_takes_booleans_only():
    @dataclass(frozen=True)
    class Switched:
        sr: bool = switch(True, "learn the SR")
        pseudo: bool | None = switch(None, "as the variant says")

        def __post_init__(self):
            validate(self)

    assert Switched(sr=False).sr is False
    assert Switched().pseudo is None
    for wrong in ({"sr": "off"}, {"sr": None}, {"pseudo": 1}):
        with pytest.raises(BadInput, match="must be True or False"):
            Switched(**wrong)


def test_messages_name_parameters_in_python_and_options_on_the_command_line():
    assert named("gamma_sr") == "gamma_sr"
    with naming_options():
        assert named("gamma_sr") == "--gamma-sr"
        assert named("sr", False) == "--sr off"
        with pytest.raises(BadInput, match=r"^--gamma-sr must lie in"):
            check_real("gamma_sr", 2, Interval("[0, 1)"))
    assert named("gamma_sr") == "gamma_sr"
