"""countless doctor."""

from __future__ import annotations

import argparse
import os
import time

from countless.analysis.tables import Table
from countless.cli.show import print_json, print_table
from countless.core.records import versions
from countless.envs.catalog import make_mdp
from countless.experiments.table6 import SWEEP_RUNS, SWEEPS
from countless.tabular.agents import make_agent
from countless.tabular.simulate import compile_kernels, simulate, thread_count

PROBE_RUNS = 8000


def command(arguments: argparse.Namespace) -> None:
    compile_seconds, speed = _speed()
    sweep_steps = sum(len(sweep.study(0).settings) for sweep in SWEEPS) * SWEEP_RUNS * 5000
    facts = {
        **versions(),
        "cores": thread_count(),
        "memory": _memory(),
        "kernel ready after": f"{compile_seconds:.1f} s (compiled once, then read from a cache)",
        "sarsa-sr in riverswim": f"{speed / 1e6:.0f} million steps/s",
        "the published sweep": f"about {sweep_steps / speed:.0f} to "
        f"{3 * sweep_steps / speed:.0f} s, under 1 GB of memory",
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
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return "unknown"
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{total / 2**30:.0f} GiB"
