"""The experiments by name."""

from __future__ import annotations

from pathlib import Path

from countless.core.errors import CountlessError, unknown_name
from countless.experiments import elsewhere, figure2, table1, table2, table5, table6, theorem1
from countless.experiments.deep_catalog import DEEP_EXPERIMENTS
from countless.experiments.section import Experiment, Section

EXPERIMENTS: dict[str, Experiment] = {
    "table1": table1.EXPERIMENT,
    "table2": table2.EXPERIMENT,
    "table5": table5.EXPERIMENT,
    "table6": table6.EXPERIMENT,
    "figure2": figure2.EXPERIMENT,
    "theorem1": theorem1.EXPERIMENT,
    "elsewhere": elsewhere.EXPERIMENT,
}
# What `make reproduce` runs.
GROUPS: dict[str, tuple[str, ...]] = {
    "tabular": ("table1", "table2", "table5", "table6", "figure2", "theorem1", "elsewhere"),
    "deep": tuple(DEEP_EXPERIMENTS),
}


def members(name: str) -> tuple[str, ...]:
    """The experiments that `name` stands for: itself, or those of a group."""
    if name in GROUPS:
        return GROUPS[name]
    if name in EXPERIMENTS or name in DEEP_EXPERIMENTS:
        return (name,)
    raise unknown_name("experiment", name, [*EXPERIMENTS, *DEEP_EXPERIMENTS, *GROUPS])


def finished_sections(results: Path) -> list[Section]:
    """What can be shown of the experiments in a folder of results."""
    sections = []
    for name, experiment in EXPERIMENTS.items():
        if (results / name / "made.json").is_file():
            sections.append(experiment.show(results / name))
    for name, table in DEEP_EXPERIMENTS.items():
        if (results / name / "made.json").is_file():
            sections.append(table.show(results))
    if not sections:
        raise CountlessError(
            f"{results} holds no finished experiment; make some with `countless reproduce tabular`"
        )
    return sections
