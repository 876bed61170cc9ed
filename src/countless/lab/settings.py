"""What the page asks for, checked as the command line checks it."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countless.agents.catalogue import agent_entry, choose_parameters
from countless.agents.tabular.agent import TabularAgent
from countless.core.errors import BadInput
from countless.core.parameters import check_count
from countless.core.seeding import check_seed
from countless.envs.mdp import MDP
from countless.lab.catalogue import DRAWN, lab_mdp, plain
from countless.lab.pictures import RUNS

MOST_COLUMNS = 3
MOST_SEED = 2**32 - 1
MOST_LETTERS = 500  # of any text but the drawing's, whose own check is stricter


@dataclass(frozen=True)
class Column:
    """One agent of the page, with the parameters that were given."""

    agent: TabularAgent
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """All that decides what the page shows."""

    env: str
    mdp: MDP
    columns: tuple[Column, ...]
    seed: int

    @property
    def env_name(self) -> str:
        """What stands for the environment on the command line."""
        return f"{DRAWN}.mdp" if self.env == DRAWN else self.env

    def command(self, column: Column) -> str:
        """The line that does the same in a terminal."""
        words = ["countless", "run", column.agent.name, self.env_name, "--runs", str(RUNS)]
        words += ["--seed", str(self.seed)]
        for name, value in column.given.items():
            shown = ("on" if value else "off") if isinstance(value, bool) else f"{plain(value)}"
            words += [f"--{name.replace('_', '-')}", shown]
        return shlex.join(words)

    def python(self, column: Column) -> str:
        """The lines that do the same in Python."""
        given = {"runs": RUNS, "seed": self.seed, **column.given}
        values = {
            name: 'float("inf")' if value == math.inf else repr(value)
            for name, value in given.items()
        }
        arguments = "".join(f", {name}={value}" for name, value in values.items())
        return (
            "import countless\n"
            f'result = countless.run("{column.agent.name}", "{self.env_name}"{arguments})\n'
            "print(result.summary.mean, result.summary.ci95)\n"
            "result.plot()"
        )


@dataclass(frozen=True)
class Request:
    """A setting, who asks for it, and the number of the question: a later one supersedes it."""

    setting: Setting
    client: str
    number: int
    body: Mapping[str, Any]


def read_request(body: bytes) -> Request:
    """The request in a JSON body; whatever is wrong with it is a `BadInput`."""
    content = _object("the request", _parse(body))
    unknown = set(content) - {"client", "number", "env", "map", "columns", "seed", "step", "column"}
    if unknown:
        raise BadInput(f"the request has an unknown part {sorted(unknown)[0][:40]!r}")
    columns = content.get("columns")
    if not isinstance(columns, list) or not 1 <= len(columns) <= MOST_COLUMNS:
        raise BadInput(f"columns must be a list of one to {MOST_COLUMNS} agents")
    env = _text("env", content.get("env"))
    mdp = lab_mdp(env, _text("map", content.get("map", "")) if env == DRAWN else "")
    seed = check_seed(content.get("seed", 0))
    if seed > MOST_SEED:
        raise BadInput(f"seed must be at most {MOST_SEED:,} here, not {seed:,}")
    setting = Setting(env, mdp, tuple(_column(mdp, column) for column in columns), seed)
    return Request(
        setting,
        _text("client", content.get("client")),
        check_count("number", content.get("number"), 10**9, least=0),
        content,
    )


def _parse(body: bytes) -> Any:
    def refuse(word: str) -> None:
        raise BadInput(f"the request has the number {word}; numbers must be finite")

    try:
        return json.loads(body, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise BadInput("the request is not JSON") from None


def _column(mdp: MDP, content: Any) -> Column:
    column = _object("a column", content)
    if set(column) - {"agent", "parameters"}:
        raise BadInput("a column has an agent and its parameters, nothing else")
    name = _text("agent", column.get("agent"))
    if agent_entry(name).engine != "tabular":
        raise BadInput(f"{name} is a deep agent; the lab has agents that learn tables")
    given = {
        key: math.inf if key == "norm" and value == "inf" else value
        for key, value in _object("parameters", column.get("parameters", {})).items()
    }
    for key, value in given.items():
        if value is None:
            raise BadInput(f"{name}: {key[:40]} has no value; leave it out to have its default")
    return Column(choose_parameters(name, mdp, given).agent, given)


def _object(what: str, content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise BadInput(f"{what} must be a JSON object")
    return content


def _text(what: str, content: Any) -> str:
    if not isinstance(content, str) or len(content) > MOST_LETTERS:
        raise BadInput(f"{what} must be a text of at most {MOST_LETTERS} characters")
    return content
