"""One flat set of settings, made of the settings of each part."""

import pickle
from dataclasses import FrozenInstanceError, fields

import pytest

from countless.agents.dqn.agents import AGENTS, make_config
from countless.agents.dqn.config import FIELDS, GROUPS, DQNConfig
from countless.core.errors import BadInput, naming_options


def test_no_two_parts_share_a_name():
    names = [item.name for kind in GROUPS.values() for item in fields(kind)]
    assert len(names) == len(set(names))
    assert not set(names) & set(GROUPS)
    assert list(FIELDS) == ["variant", *names]


@pytest.mark.parametrize("agent", AGENTS)
def test_flat_and_by_part_are_the_same(agent):
    config = make_config(agent)
    assert list(config.settings()) == list(FIELDS)
    for group, kind in GROUPS.items():
        for item in fields(kind):
            assert getattr(config, item.name) == getattr(getattr(config, group), item.name)
    assert DQNConfig(**config.settings()) == config
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(config) == hash(make_config(agent))


def test_replacing_a_setting_leaves_the_others():
    config = make_config("dqn-mmc-sr")
    other = config.replace(replay=5_000, sr_target="next")
    changed = {name for name, value in config.settings().items() if other.settings()[name] != value}
    assert changed == {"replay", "sr_target"}
    assert config.memory.replay == 1_000_000


def test_a_configuration_does_not_change():
    config = make_config("dqn")
    with pytest.raises(FrozenInstanceError):
        config.replay = 3
    with pytest.raises(FrozenInstanceError):
        config.memory.replay = 3


def test_unknown_settings():
    with pytest.raises(TypeError, match="no setting 'betta'"):
        DQNConfig(betta=1)
    with pytest.raises(AttributeError, match="no setting 'betta'"):
        _ = DQNConfig().betta
    with pytest.raises(BadInput, match="variant must be one of paper, authors"):
        DQNConfig(variant="other")


@pytest.mark.parametrize(
    ("parameters", "python", "options"),
    [
        ({"sr": False}, "give bonus='off', or sr=True", "give --bonus off, or --sr on"),
        ({"sr": "off"}, "sr must be True or False", "--sr must be True or False"),
        ({"replay": 20, "envs": 4}, "replay=20 is too small", "--replay 20 is too small"),
        ({"bonus": "off", "w_sr": 2}, "w_sr changes nothing", "--w-sr changes nothing"),
    ],
)
def test_messages_name_parameters_or_options(parameters, python, options):
    with pytest.raises(BadInput, match=f"^{python}|{python}"):
        make_config("dqn-mmc-sr", parameters=parameters)
    with naming_options(), pytest.raises(BadInput, match=options):
        make_config("dqn-mmc-sr", parameters=parameters)
