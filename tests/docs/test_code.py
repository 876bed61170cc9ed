"""Every block of code in README and docs runs, and every command in them is one."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest

from countless.cli.parser import build_parser
from countless.core.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
# CONTRIBUTING's agent is run by tests/agents/test_adding_an_agent.py.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The same code with less to do: these sizes show the result that the page tells, and take minutes.
SMALLER = {
    "n_envs=8": "n_envs=1",  # PPO takes at least 2,048 steps in each
    "learn(100_000": "learn(100",
    "batch_size=256": "batch_size=128",  # of one environment
    "learn(70_000": "learn(100",
    "learn(20_000": "learn(100",
    "learn(10_000": "learn(100",
    "learn(4_096": "learn(100",
    "runs=1000": "runs=50",
    "frames=20_000": "frames=200",
    "frames=3_000": "frames=300",
    "range(1_000)": "range(20)",
    '"warmup": 500': '"warmup": 100',
}


def blocks(language, pages=PAGES):
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for found in BLOCK.finditer(text):
            if found[1] in language:
                line = text[: found.start()].count("\n") + 1
                yield pytest.param(found[2], id=f"{page.relative_to(ROOT)}:{line}")


def pages_with_code():
    for page in PAGES:
        if found := [param.values[0] for param in blocks(["python"], [page])]:
            yield pytest.param(found, id=str(page.relative_to(ROOT)))


@pytest.mark.parametrize("found", list(pages_with_code()))
def test_code_runs(found, tmp_path, monkeypatch):
    """The blocks of a page in their order: a later one may use what an earlier one has made."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType("documentation")  # dataclasses look their module up
    monkeypatch.setitem(sys.modules, "documentation", module)
    with mpl.rc_context():
        mpl.use("Agg")
        for code in found:
            for long, short in SMALLER.items():
                code = code.replace(long, short)
            exec(compile(code, "<documentation>", "exec"), module.__dict__)


def test_the_bonus_of_the_tutorial_learns_nothing_from_resets():
    page = ROOT / "docs" / "tutorials" / "own-bonus.md"
    first = next(blocks(["python"], [page])).values[0]
    made = {}
    exec(compile(first, "<documentation>", "exec"), made)
    bonus = made["Recency"](states=4)
    assert bonus.observe([1, 2], active=[True, False]).tolist() == [1.0, 0.0]
    assert bonus.last.tolist() == [-float("inf"), 0.0, -float("inf"), -float("inf")]
    bonus.observe([1, 2], active=[False, False])
    assert bonus.now == 1


def commands(text):
    """The lines that call countless, comments and prompts removed, `…` left out."""
    for line in text.splitlines():
        words = line.strip().removeprefix("$ ")
        if words.startswith("countless ") and "…" not in words:
            for part in words.split(" && "):
                yield shlex.split(part, comments=True)[1:]


def all_commands():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = "\n".join(
            found[2] for found in BLOCK.finditer(text) if found[1] in ("", "console")
        )
        inline = re.findall(r"`(countless [^`]*)`", " ".join(BLOCK.sub("", text).split()))
        for words in [*commands(fenced), *(w for line in inline for w in commands(line))]:
            yield page.relative_to(ROOT), words


def test_every_command_is_one():
    """Placeholders such as AGENT are values like others: the parser does not look at them."""
    parser = build_parser()
    checked = 0
    for page, words in all_commands():
        if not words or "[" in " ".join(words) or {"-h", "--help"} & set(words):
            continue
        if words[-1] in ("run", "sweep", "reproduce", "diagnose", "watch"):
            continue  # the name of a command in a sentence
        try:
            _, unknown = parser.parse_known_args(words)
        except BadInput as error:
            pytest.fail(f"{page}: countless {' '.join(words)}: {error}")
        assert not unknown, f"{page}: countless {' '.join(words)}: {unknown}"
        checked += 1
    assert checked > 100


def test_links_lead_somewhere():
    for page in PAGES:
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
