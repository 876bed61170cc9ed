"""The examples run, and the bonus does what their text says."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def lines(script, *arguments):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    return done.stdout.splitlines()


def test_every_example_is_run_here():
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {
        "sb3_minigrid.py", "gymnasium_loop.py", "own_tabular_agent.py", "submitit_seeds.py",
        "slurm.sbatch", "bonus_in_ppo.ipynb",
    }  # fmt: skip


def test_gymnasium_loop():
    for line, last in zip(lines("gymnasium_loop.py"), (0, 20), strict=True):
        assert f"in {last} of the last 20" in line


def test_own_tabular_agent():
    alone, with_bonus = lines("own_tabular_agent.py", "--runs", "2")
    returns = [int(line.split()[-1].replace(",", "")) for line in (alone, with_bonus)]
    assert returns[0] < 30_000
    assert returns[1] > 5 * returns[0]


@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_sb3_minigrid(agent):
    """A short look: both agents run, and what is printed is the task's reward, which is 0 to 1."""
    room = ("--env", "MiniGrid-Empty-5x5-v0", "--steps", "3000")
    without, with_bonus = lines("sb3_minigrid.py", "--agent", agent, *room)
    assert "without a bonus" in without
    assert "with sr-norm" in with_bonus
    for line in (without, with_bonus):
        reward = float(re.search(r"last 100 episodes (\S+),", line)[1])
        assert 0.0 < reward <= 1.0


def printed(notebook):
    return [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream"
    ]


def solved(notebook):
    """Of the last 20 episodes, without and with the bonus."""
    return [int(count) for count in re.findall(r"(\d+) of the last 20", "".join(printed(notebook)))]


def test_in_the_notebook_ppo_learns_with_the_bonus_and_not_without(monkeypatch):
    """It is executed as it is, in a minute; `sb3_minigrid.py` has the same agent by default."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    kept = nbformat.read(EXAMPLES / "bonus_in_ppo.ipynb", as_version=4)
    pictures = [
        output
        for cell in kept.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 2
    again = nbclient.NotebookClient(copy.deepcopy(kept), timeout=500).execute()
    for notebook in (kept, again):
        alone, with_bonus = solved(notebook)
        assert alone <= 5
        assert with_bonus >= 18
