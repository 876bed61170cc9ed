"""The tables in docs are those of the code."""

import importlib.util
from pathlib import Path

import pytest

from countless.agents.catalogue import AGENTS
from countless.bonuses.registry import bonus_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def make_tables():
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date(make_tables):
    for path, text in make_tables.pages().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is behind the code: run `python docs/make_tables.py`"
        )


def test_every_agent_is_in_the_index(make_tables):
    text = make_tables.pages()[ROOT / "docs" / "algorithms" / "index.md"]
    assert all(f"`{name}`" in text for name in AGENTS)
    assert all(f"[`{name}`]" in text for name in bonus_names())


def test_readme_counts_the_agents():
    assert f"{len(AGENTS)} of them" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_pages_of_algorithms(make_tables):
    """An agent that is DQN with a bonus has the page of that bonus."""
    assert make_tables.page_of("dqn-rnd") == make_tables.page_of("rnd") == "rnd"
    assert make_tables.page_of("dqn-mmc-sr") == "dqn-mmc-sr"
    assert make_tables.page_of("random") is None


def test_a_bar_in_a_cell_does_not_end_it(make_tables):
    assert "||" not in make_tables.options("deep-options")
    for line in make_tables.algorithm_rows().splitlines():
        assert line.count("|") == 5, line


def test_a_missing_marker_is_an_error(make_tables):
    with pytest.raises(ValueError, match="no marker"):
        make_tables.filled("no table here", "agents", "")
