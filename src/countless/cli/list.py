"""countless list."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from countless.agents.catalogue import AGENTS, AgentEntry
from countless.analysis.tables import Table
from countless.bonuses.registry import bonus_kind, bonus_names
from countless.cli.output import print_json, print_table, print_text
from countless.envs.catalog import DOMAINS, OTHER_FORMS
from countless.experiments.catalogue import EXPERIMENTS, GROUPS


def command(arguments: argparse.Namespace) -> None:
    lists: dict[str, list[dict[str, Any]]] = {
        "agents": [_agent(entry) for entry in AGENTS.values()],
        "envs": [{"name": domain.form, "summary": domain.summary} for domain in DOMAINS],
        "bonuses": [_bonus(name) for name in bonus_names()],
        "experiments": [
            {"name": name, "summary": experiment.summary}
            for name, experiment in EXPERIMENTS.items()
        ]
        + [{"name": name, "summary": ", ".join(group)} for name, group in GROUPS.items()],
    }
    wanted = [arguments.what] if arguments.what else list(lists)
    if arguments.json:
        print_json({what: lists[what] for what in wanted})
        return
    for what in wanted:
        rows = tuple((str(entry["name"]), str(entry["summary"])) for entry in lists[what])
        if what == "bonuses":
            more = [", ".join(entry["parameters"]) for entry in lists[what]]
            rows = tuple(
                (name, f"{is_}; takes {t}") for (name, is_), t in zip(rows, more, strict=True)
            )
        print_table(Table(what, ("name", "what it is"), rows, labels=2))
        if what == "envs":
            print_text(OTHER_FORMS)


def _agent(entry: AgentEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "summary": entry.summary,
        "engine": entry.engine,
        "parameters": list(entry.parameters),
        "presets": [
            {"env": preset.env, "source": preset.source, **preset.when, **preset.parameters}
            for preset in entry.presets
        ],
        "grid": None if entry.grid is None else {"source": entry.grid.source, **entry.grid.values},
    }


def _bonus(name: str) -> dict[str, Any]:
    kind = bonus_kind(name)
    return {
        "name": name,
        "summary": kind.summary,
        "observations": list(kind.observations),
        "parameters": [item.name for item in fields(kind.parameters)],
        "needs_torch": kind.needs_torch,
    }
