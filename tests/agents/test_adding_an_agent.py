"""The example of CONTRIBUTING.md is a whole agent: it runs, sweeps and is listed."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from countless.agents import catalogue
from countless.agents.tabular.simulate import simulate
from countless.envs import make_mdp
from countless.runs.run import run
from countless.runs.sweep import sweep

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def example(monkeypatch):
    """The module of the example, and the class that its line names, in the catalogue."""
    section = TEXT.split("## Adding a tabular agent")[1].split("\n## ")[0]
    (source,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    ((name, kind),) = re.findall(r'```diff\n\+ *"(\w+):(\w+)",\n```', section)
    module = types.ModuleType(f"countless.agents.tabular.{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)
    entry = catalogue.tabular_entry(getattr(module, kind))
    monkeypatch.setitem(catalogue.AGENTS, entry.name, entry)
    return entry


def test_the_example_runs(example):
    assert example.summary.startswith("Random actions")
    assert catalogue.parameter_names(example.name) == ["repeat"]
    agent = catalogue.make_agent(example.name, "riverswim")
    assert agent.repeat == 0.9
    mdp = make_mdp("riverswim")
    returns = simulate([agent], mdp, runs=6, steps=200, seed=0)[0]
    assert len(set(returns)) > 1
    again = simulate([agent], mdp, runs=2, steps=200, seed=0, first_run=4, threads=1)[0]
    np.testing.assert_array_equal(again, returns[4:])


def test_the_example_is_an_agent_like_the_others(example):
    assert run(example.name, "deepsea-3", runs=2, steps=30, progress=False).config["repeat"] == 0.5
    result = sweep(example.name, "riverswim", runs=2, steps=30, progress=False)
    assert len(result.ranking) == 3
