"""Every algorithm has a page with the same five sections, and the code that it names exists."""

import re
from pathlib import Path

import pytest

from countless.agents.catalogue import AGENTS
from countless.bonuses.registry import bonus_names

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "algorithms"
SECTIONS = ["Equation", "Code", "Options", "Where we deviate", "Results"]
SHARED = {"index", "deep-options"}
BONUSES = set(bonus_names())
# DQN with a bonus is on the page of the bonus; `random` and `optimal` learn nothing.
AS_BONUS = {f"dqn-{bonus}" for bonus in BONUSES}
PAGES = sorted((set(AGENTS) - AS_BONUS - {"random", "optimal"}) | BONUSES)


def section(page, title):
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_there_is_one_page_per_algorithm():
    assert {path.stem for path in FOLDER.glob("*.md")} - SHARED == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_five_sections_none_of_them_empty(page):
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert all(len(section(page, title).strip()) > 100 for title in SECTIONS)
    assert re.search(r"^> ", section(page, "Equation"), re.MULTILINE), "no equation"
    assert "<!-- options -->" in section(page, "Options")
    assert "`countless " in section(page, "Results"), "no command"


def rows_of_code(page):
    table = [line for line in section(page, "Code").splitlines() if line.startswith("|")]
    for line in table[2:]:
        what, *places = (cell.strip() for cell in line.strip("|").split("|"))
        yield what, re.findall(r"`([^`]+)`", " ".join(places))


@pytest.mark.parametrize("page", PAGES)
def test_the_code_that_it_names_exists(page):
    """A cell is `PATH`, or `PATH`: `NAME`, `NAME`, with several of these apart by a semicolon."""
    rows = list(rows_of_code(page))
    assert rows
    for what, words in rows:
        source = ""
        assert words, f"{page}, {what}: no path"
        assert words[0].endswith(".py"), f"{page}, {what}: {words[0]} stands before any path"
        for word in words:
            if word.endswith(".py"):
                path = (
                    ROOT / word if word.startswith("tests/") else ROOT / "src" / "countless" / word
                )
                assert path.is_file(), f"{page}, {what}: there is no {word}"
                source = path.read_text(encoding="utf-8")
            else:
                defined = rf"^ *(?:def|class) {word}\b|^{word}\b.*="
                assert re.search(defined, source, re.MULTILINE), f"{page}, {what}: no {word}"
