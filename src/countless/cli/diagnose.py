"""countless diagnose."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from countless.analysis.tables import Table, number
from countless.bonuses.registry import bonus_kind, make_parameters
from countless.cli.output import print_json, print_lines, print_table
from countless.core.bars import Bars
from countless.core.errors import BadInput, naming_options
from countless.core.parameters import default_of
from countless.core.seeding import check_seed, check_seeds
from countless.experiments.diagnose import Diagnosis, diagnose, draw


def command(arguments: argparse.Namespace) -> None:
    parameters = _parameters(arguments.bonus, arguments.set)
    seeds = check_seeds(arguments.seeds) if arguments.seeds else (check_seed(arguments.seed),)
    walks = [
        diagnose(
            arguments.bonus,
            arguments.env,
            steps=arguments.steps,
            seed=seed,
            view=arguments.view,
            parameters=parameters,
            reporter=Bars(),
        )
        for seed in seeds
    ]
    first = walks[0]
    figure = draw(first, arguments.out)
    if arguments.json:
        print_json({
            "bonus": first.bonus_name,
            "env": first.env,
            "view": first.view,
            "steps": first.steps,
            "seed": first.seed,
            "parameters": {
                name: "inf" if value == math.inf else value
                for name, value in first.parameters.items()
            },
            "rank_correlation": _correlations(first),
            "visits": first.visits.tolist(),
            "bonuses": first.bonus.tolist(),
            "figure": str(figure),
            "seeds": [{"seed": walk.seed, **_correlations(walk)} for walk in walks],
        })  # fmt: skip
        return
    print_table(_table(first))
    if len(walks) > 1:
        print_table(_seeds_table(walks))
    print_lines(str(figure))


def _correlations(diagnosis: Diagnosis) -> dict[str, float | None]:
    return {"states": _or_none(diagnosis.over_states), "walk": _or_none(diagnosis.over_walk)}


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _parameters(bonus: str, settings: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs, each read as the parameter's default is: a number or a word."""
    kind = bonus_kind(bonus)
    defaults = {item.name: default_of(item) for item in fields(kind.parameters)}
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise BadInput(f"--set takes NAME=VALUE, not {setting!r}")
        if name not in defaults or isinstance(defaults[name], str):
            parameters[name] = value.strip()
            continue
        if isinstance(defaults[name], bool):
            if value.strip() not in ("on", "off"):
                raise BadInput(f"{name} must be on or off, not {value!r}")
            parameters[name] = value.strip() == "on"
            continue
        try:
            parameters[name] = float(value)
        except ValueError:
            raise BadInput(f"{name} must be a number, not {value!r}") from None
    with naming_options(False):  # --set names parameters, not options
        make_parameters(kind, parameters)
    return parameters


def _table(diagnosis: Diagnosis) -> Table:
    visits, bonus = diagnosis.visits, diagnosis.bonus
    order = np.argsort(-visits, kind="stable")
    order = order[visits[order] > 0]
    chosen = np.unique(np.linspace(0, len(order) - 1, 7).round().astype(int))
    rows = tuple(
        (str(order[i]), number(visits[order[i]]), f"{bonus[order[i]]:.4g}") for i in chosen
    )
    return Table(
        f"{diagnosis.bonus_name} in {diagnosis.env}, {diagnosis.steps:,} random steps, seen as "
        f"{diagnosis.view}: {(visits > 0).sum()} of {len(visits)} states visited",
        ("state", "visits", "bonus"),
        rows,
        note=f"rank correlation of bonus and rarity: {_shown(diagnosis.over_states)} over the states "
        f"at the end, {_shown(diagnosis.over_walk)} along the walk (1: orders them as counts do)",
    )


def _seeds_table(walks: Sequence[Diagnosis]) -> Table:
    rows = [(str(walk.seed), _shown(walk.over_states), _shown(walk.over_walk)) for walk in walks]
    both = ([walk.over_states for walk in walks], [walk.over_walk for walk in walks])
    rows.append(("mean", _mean(both[0]), _mean(both[1])))
    return Table(
        "Rank correlation of bonus and rarity, seed by seed",
        ("seed", "over the states", "along the walk"),
        tuple(rows),
    )


def _mean(correlations: Sequence[float]) -> str:
    known = [value for value in correlations if not math.isnan(value)]
    return _shown(float(np.mean(known)) if known else math.nan)


def _shown(correlation: float) -> str:
    return "undefined: all bonuses equal" if math.isnan(correlation) else f"{correlation:.3f}"
