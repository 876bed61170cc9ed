"""What the records of a job must look like before anything else reads them.

A checksum tells that a file is as it was written, not that we wrote it. So whatever has another form
than we write counts as damaged, and no reader behind this one meets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.core.records import read_json

if TYPE_CHECKING:
    import pyarrow

TEXT = ("id", "engine", "agent", "env", "command", "date")
MAPPINGS = ("budget", "identity", "versions")
WHOLE = ("frames", "step", "rows", "runs", "steps", "simulated_steps")
REAL = ("seconds", "steps_per_second", "simulated_seconds")
EPISODIC = ("dqn", "host")


def read_about(path: Path) -> dict[str, Any]:
    """What `job.json` says; nothing where it is damaged."""
    content = read_json(path)
    return content if content is not None and is_about(content) else {}


def read_reached(path: Path) -> dict[str, Any] | None:
    """What `finished.json` or `progress.json` says; None where it is damaged or not there."""
    content = read_json(path)
    return content if content is not None and is_reached(content) else None


def is_about(content: Mapping[str, Any]) -> bool:
    """Whether this is what `job.json` says of a job."""
    if not (
        all(isinstance(content.get(name), str) for name in TEXT)
        and all(isinstance(content.get(name), dict) for name in MAPPINGS)
        and _is_whole(content.get("seed"))
        and isinstance(content.get("before", []), list)
    ):
        return False
    budget, identity = content["budget"], content["identity"]
    if content["engine"] == "tabular":
        settings = identity.get("settings")
        return (
            _is_whole(budget.get("runs"))
            and _is_whole(budget.get("steps"))
            and isinstance(identity.get("rng"), str)
            and isinstance(settings, list)
            and all(isinstance(setting, dict) and _is_plain(setting) for setting in settings)
        )
    if content["engine"] in EPISODIC:
        config = identity.get("config")
        return _is_whole(budget.get("frames")) and isinstance(config, dict) and _is_plain(config)
    return True


def is_reached(content: Mapping[str, Any]) -> bool:
    """Whether this is what is said of how far a job came."""
    features = content.get("features")
    return (
        all(_is_whole(content.get(name, 0)) for name in WHOLE)
        and all(_is_real(content.get(name) or 0.0) for name in REAL)
        and (features is None or (isinstance(features, dict) and _is_plain(features)))
        and isinstance(content.get("solved", {}), dict)
    )


def are_records(about: Mapping[str, Any], table: pyarrow.Table) -> bool:
    """Whether a table has the columns that the records of such a job have."""
    if about.get("engine") == "tabular":
        return _has(table, whole=("setting", "run"), real=("return",))
    if about.get("engine") in EPISODIC:
        return _has(table, whole=("frames", "step"), real=("return",))
    return True


def are_curves(table: pyarrow.Table) -> bool:
    """Whether a table holds curves, each with the same steps."""
    if not _has(table, whole=("run", "step"), real=("return",)):
        return False
    steps = len(table["step"].unique())
    return steps > 0 and len(table) % steps == 0


def _has(table: pyarrow.Table, whole: tuple[str, ...], real: tuple[str, ...]) -> bool:
    import pyarrow

    kinds = {field.name: field.type for field in table.schema}
    return (
        len(kinds) == table.num_columns
        and all(kinds.get(name) == pyarrow.int64() for name in whole)
        and all(kinds.get(name) == pyarrow.float64() for name in real)
        and all(table[name].null_count == 0 for name in (*whole, *real))
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain(values: Mapping[str, Any]) -> bool:
    return all(value is None or isinstance(value, int | float | str) for value in values.values())
