"""The records of a run that is made of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from countless.runs.job import Job, as_columns

if TYPE_CHECKING:
    import pyarrow


class _Described(Protocol):
    def describe(self) -> dict[str, Any]: ...


class EpisodicJob(Job, Protocol):
    """A job with a configuration that its records repeat."""

    @property
    def config(self) -> _Described: ...


def episode_table(job: EpisodicJob, episodes: Sequence[dict[str, Any]]) -> pyarrow.Table:
    """One row per episode: agent, environment, seed and every parameter as columns, and the return."""
    import pyarrow

    shared = {"agent": job.agent, "env": job.env, "seed": job.seed}
    columns = {name: pyarrow.repeat(value, len(episodes)) for name, value in shared.items()}
    for name, value in as_columns(job.config.describe()).items():
        columns[name] = pyarrow.repeat(value, len(episodes))
    columns["episode"] = pyarrow.array(range(len(episodes)), pyarrow.int64())
    whole, real = pyarrow.int64(), pyarrow.float64()
    kept = (
        ("step", "step", whole),
        ("total_frames", "frames", whole),
        ("env", "lane", whole),
        ("steps", "length", whole),
        ("score", "return", real),
        ("bonus", "mean_bonus", real),
        ("sr_norm", "mean_sr_norm", real),
    )
    # Of games whose places are known: what the run had seen, and whether the episode held a key.
    coverage = (
        ("rooms", "rooms", whole), ("cells", "cells", whole), ("key", "key", pyarrow.bool_())
    )  # fmt: skip
    surveyed = any("cells" in episode for episode in episodes)
    for key, name, kind in (*kept, *(coverage if surveyed else ())):
        columns[name] = pyarrow.array([episode.get(key) for episode in episodes], kind)
    return pyarrow.table(columns)
