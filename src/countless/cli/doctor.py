"""countless doctor."""

from __future__ import annotations

import argparse
import math
import time

from countless.agents.catalogue import make_agent
from countless.agents.dqn.agents import require_deep
from countless.agents.dqn.config import DQNConfig
from countless.agents.tabular.simulate import compile_kernels, simulate
from countless.analysis.tables import Table
from countless.cli.output import print_json, print_table
from countless.core.cores import usable_cores
from countless.core.errors import BadInput
from countless.core.memory import available_memory
from countless.core.provenance import versions
from countless.envs.catalog import make_mdp
from countless.experiments.table6 import SWEEP_RUNS, SWEEPS

PROBE_RUNS = 8000


def command(arguments: argparse.Namespace) -> None:
    compile_seconds, speed = _speed()
    sweep_steps = sum(len(sweep.job(0).settings) for sweep in SWEEPS) * SWEEP_RUNS * 5000
    facts = {
        **versions(),
        "cores": usable_cores(),
        "memory": _memory(),
        "kernel ready after": f"{compile_seconds:.1f} s (compiled once, then read from a cache)",
        "sarsa-sr in riverswim": f"{speed / 1e6:.0f} million steps/s",
        "the published sweep": f"about {sweep_steps / speed:.0f} to "
        f"{3 * sweep_steps / speed:.0f} s, under 1 GB of memory",
        "deep agents": _deep(),
    }
    if arguments.json:
        print_json({"facts": facts, "steps_per_second": speed})
    else:
        rows = tuple((name, str(value)) for name, value in facts.items())
        print_table(Table("What is here", ("", ""), rows, labels=2))


def _speed() -> tuple[float, float]:
    """Seconds until the kernel is ready, and steps per second of it."""
    agent, mdp = make_agent("sarsa-sr", "riverswim"), make_mdp("riverswim")
    began = time.perf_counter()
    compile_kernels([agent], mdp, "countless")
    ready = time.perf_counter()
    simulate([agent], mdp, runs=PROBE_RUNS, steps=5000, seed=0)
    return ready - began, PROBE_RUNS * 5000 / (time.perf_counter() - ready)


def _memory() -> str:
    free = available_memory()
    return "unknown" if math.isinf(free) else f"{free / 1e9:.0f} GB free"


def _deep() -> str:
    """Whether the deep agents would run here, where, and whether the paper's replay fits."""
    try:
        require_deep()
    except BadInput as error:
        return str(error)
    from countless.agents.dqn.device import available
    from countless.agents.dqn.replay import bytes_needed

    needed = bytes_needed(DQNConfig().replay, 84 * 84)
    fits = "fits" if needed < available_memory() else "does not fit"
    where = ", ".join(reversed(available()))
    return f"on {where}; the paper's replay of {needed / 1e9:.1f} GB {fits}"
