"""The tables in README and docs are those of the catalogue."""

import importlib.util
from pathlib import Path

import pytest

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
            f"{path.name} is behind the catalogue: run `python docs/make_tables.py`"
        )


def test_every_agent_is_in_both_pages(make_tables):
    from countless.agents.catalogue import AGENTS

    for text in make_tables.pages().values():
        assert all(f"`{name}`" in text for name in AGENTS)


def test_a_missing_marker_is_an_error(make_tables):
    with pytest.raises(ValueError, match="no marker"):
        make_tables.filled("no table here", "agents", "")
