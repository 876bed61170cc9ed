"""The experiments by name."""

from __future__ import annotations

from countless.core.errors import unknown_name
from countless.experiments import (
    atari_table,
    beta,
    conjecture,
    deepsea,
    default_representation,
    figure2,
    figure2_deep,
    harm,
    leaderboard,
    maps,
    minigrid,
    montezuma,
    more_mdps,
    norm_exponents,
    regret,
    table1,
    table2,
    table5,
    table6,
    theorem1,
)
from countless.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        table1.EXPERIMENT,
        table2.EXPERIMENT,
        table5.EXPERIMENT,
        table6.EXPERIMENT,
        figure2.EXPERIMENT,
        maps.EXPERIMENT,
        theorem1.EXPERIMENT,
        more_mdps.EXPERIMENT,
        conjecture.EXPERIMENT,
        norm_exponents.EXPERIMENT,
        default_representation.EXPERIMENT,
        regret.EXPERIMENT,
        leaderboard.EXPERIMENT,
        atari_table.TABLE_3,
        atari_table.TABLE_4,
        atari_table.ABLATIONS,
        deepsea.EXPERIMENT,
        figure2_deep.EXPERIMENT,
        minigrid.EXPERIMENT,
        montezuma.EXPERIMENT,
        beta.EXPERIMENT,
        harm.EXPERIMENT,
    )
}
BEYOND = ("conjecture", "norm-exponents", "default-representation", "regret", "leaderboard")
GROUPS: dict[str, tuple[str, ...]] = {
    "tabular": tuple(
        name for name, e in EXPERIMENTS.items() if e.engine == "tabular" and name not in BEYOND
    ),
    "beyond": BEYOND,  # tabular questions that the paper leaves open
    "deep": tuple(name for name, e in EXPERIMENTS.items() if e.engine == "dqn"),
}


def members(name: str) -> list[Experiment]:
    """The experiments that `name` stands for: itself, or those of a group."""
    if name in GROUPS:
        return [EXPERIMENTS[member] for member in GROUPS[name]]
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, [*EXPERIMENTS, *GROUPS])
    return [EXPERIMENTS[name]]
