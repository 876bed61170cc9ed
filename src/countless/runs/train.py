"""One deep agent in one environment: what `countless.train` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.agents.dqn.agents import require_deep
from countless.core.parameters import settings_label

if TYPE_CHECKING:
    from countless.runs.deep import DeepResult, Status


def train(
    agent: str,
    env: str,
    *,
    out: Path | str | None = None,
    seed: int = 0,
    frames: int | None = None,
    scale: str = "paper",
    device: str = "auto",
    threads: int = 1,
    report: Callable[[Status], None] = lambda status: None,
    **parameters: Any,
) -> DeepResult:
    """Run a deep agent in a folder under `out`, or go on with it there, as `countless run` does.

    Without `out` it is results/deep/SCALE, and the folder names the settings given; `frames` are
    the scale's. `parameters` are the fields of `DQNConfig`. `report` gets a `Status` twice a second.
    """
    require_deep()
    from countless.agents.dqn.device import torch_threads
    from countless.runs.deep import make_job, run_deep

    label = settings_label(agent, settings=parameters) if out is None else ""
    job = make_job(
        agent, env, seed=seed, frames=frames, scale=scale, device=device, parameters=parameters,
        label=label,
    )  # fmt: skip
    folder = Path("results/deep", scale) if out is None else Path(out)
    with torch_threads(threads):
        return run_deep(job, folder, report=report)
