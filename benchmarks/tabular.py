"""How fast the tabular agents are: steps per second on all cores, as a ratio to plain Python.

    python benchmarks/tabular.py             each agent in each domain, scaling, start-up
    python benchmarks/tabular.py --sweep     also the published sweep: 4.5 billion steps
    python benchmarks/tabular.py --json      one JSON document

Both sides of a ratio are measured in this one run, the best of three each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import plain
import plain_planning
from countless.agents.catalogue import make_agent
from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import compile_kernels, simulate, thread_count
from countless.analysis.tables import Table
from countless.cli.output import print_table
from countless.envs.catalog import make_mdp
from countless.experiments.table6 import SWEEPS
from countless.runs.job import Execution
from countless.runs.store import Store

STEPS = 5000
RUNS = 4000
PLAIN_RUNS = 20
REPEATS = 3
PLANNED_RUNS = 100
# An agent that plans, its plain peer, what the peer takes, and how long it runs: whole runs where it
# plans seldom, their first 1,000 steps where it plans at each.
PLANNERS: dict[str, tuple[Callable[..., float], tuple[str, ...], int]] = {
    "essr": (plain_planning.essr, ("gamma", "beta"), 1000),
    "rmax": (plain_planning.optimist, ("gamma", "m"), STEPS),
    "e3": (plain_planning.e3, ("gamma", "m", "threshold", "horizon"), STEPS),
    "mbie": (plain_planning.optimist, ("gamma", "a", "b"), 1000),
    "mbie-eb": (plain_planning.optimist, ("gamma", "c"), 1000),
    "psrl": (plain_planning.psrl, ("gamma", "a"), STEPS),
    "ucrl2": (plain_planning.ucrl2, ("gamma", "a", "b", "delta"), STEPS),
}
GROWTH_STEPS = 5000

CASES = (
    ("sarsa", None),
    ("sarsa-sr", 1.0),
    ("sarsa-sr", 2.0),
    ("sarsa-counts", None),
    ("random", None),
    ("optimal", None),
)


def best_seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def plain_loop(agent: TabularAgent) -> Callable[..., float]:
    loops = {
        "sarsa": plain.sarsa,
        "sarsa-counts": plain.sarsa_counts,
        "random": plain.fixed,
        "optimal": plain.fixed,
    }
    if isinstance(agent, SarsaSR):
        return plain.sarsa_sr if agent.norm == 1.0 else plain.sarsa_sr_l2
    return loops[agent.name]


def throughput(name: str, norm: float | None, env: str) -> dict[str, Any]:
    agent = make_agent(name, env, {} if norm is None else {"norm": norm})
    mdp = make_mdp(env)
    compile_kernels([agent], mdp, "countless")
    ours = best_seconds(lambda: simulate([agent], mdp, runs=RUNS, steps=STEPS, seed=0))
    parameters = {
        key: value
        for key, value in asdict(agent).items()
        if key not in ("norm", "update", "time_limit")
    }
    loop = plain_loop(agent)
    theirs = best_seconds(lambda: [loop(mdp, STEPS, **parameters) for _ in range(PLAIN_RUNS)])
    fast, slow = RUNS * STEPS / ours, PLAIN_RUNS * STEPS / theirs
    label = name if norm is None else f"{name} l{norm:g}"
    return {"agent": label, "env": env, "countless": fast, "plain": slow, "ratio": fast / slow}


def scaling() -> list[dict[str, Any]]:
    """Nanoseconds a step, on one thread, as the number of states grows."""
    rows = []
    for norm, sizes in ((1.0, (10, 1000, 100_000)), (2.0, (10, 100, 1000))):
        for size in sizes:
            mdp = make_mdp(f"chain-{size}")
            agent = SarsaSR(norm=norm)
            compile_kernels([agent], mdp, "countless")
            runs, steps = (32, 1_000_000) if norm == 1.0 else (4, 100_000)
            seconds = best_seconds(
                lambda agent=agent, mdp=mdp, runs=runs, steps=steps: simulate(
                    [agent], mdp, runs=runs, steps=steps, seed=0, threads=1
                )
            )
            rows.append({"norm": norm, "states": size, "ns_per_step": seconds / runs / steps * 1e9})
    return rows


def planning() -> list[dict[str, Any]]:
    """Steps per second of the agents that plan, runs of equal length on both sides."""
    rows = []
    for env in ("riverswim", "sixarms"):
        for name, (loop, names, steps) in PLANNERS.items():
            exact = {"planner": "exact"} if name == "essr" else {}
            agent, mdp = make_agent(name, env, exact), make_mdp(env)
            compile_kernels([agent], mdp, "countless")
            work = partial(simulate, [agent], mdp, runs=PLANNED_RUNS, steps=steps, seed=0)
            speed = PLANNED_RUNS * steps / best_seconds(work)
            parameters = {key: getattr(agent, key) for key in names}
            began = time.perf_counter()
            loop(mdp, steps, **parameters)
            slow = steps / (time.perf_counter() - began)
            rows.append({"agent": name, "env": env, "countless": speed, "plain": slow})
    return rows


def planning_scaling() -> list[dict[str, Any]]:
    """Microseconds a step, on one thread, as the number of states grows: open gridworlds."""
    rows = []
    for name in ("rmax", "mbie-eb", "essr"):
        for size in (3, 10, 32):
            exact = {"planner": "exact"} if name == "essr" else {}
            agent, mdp = make_agent(name, "", exact), make_mdp(f"gridworld-{size}")
            compile_kernels([agent], mdp, "countless")
            began = time.perf_counter()
            simulate([agent], mdp, runs=1, steps=GROWTH_STEPS, seed=0, threads=1)
            seconds = time.perf_counter() - began
            rows.append(
                {"agent": name, "states": size**2, "us_per_step": seconds / GROWTH_STEPS * 1e6}
            )
    return rows


def start_up() -> dict[str, float]:
    """Wall-clock seconds of whole commands; `first run` compiles into an empty cache."""
    command = [sys.executable, "-m", "countless"]

    def run(out: str, seed: int) -> list[str]:
        """A run that no store holds yet."""
        return [*command, "run", "sarsa-sr", "riverswim", "--seed", str(seed), "--out", out]

    def seconds(arguments: list[str], **environment: str) -> float:
        began = time.perf_counter()
        subprocess.run(
            arguments, check=True, stdout=subprocess.DEVNULL, env=os.environ | environment
        )
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as cache:
        out = os.path.join(cache, "results")
        first = seconds(run(out, 0), NUMBA_CACHE_DIR=cache)
        later = min(seconds(run(out, 1 + i), NUMBA_CACHE_DIR=cache) for i in range(REPEATS))
    help_seconds = min(seconds([*command, "--help"]) for _ in range(REPEATS))
    return {"countless --help": help_seconds, "first run": first, "later run": later}


def published_sweep() -> dict[str, float]:
    """The 4.5 billion steps, in memory, and the most memory this process has held."""
    steps = 0
    began = time.perf_counter()
    for sweep in SWEEPS:
        job = sweep.job(0)
        Store(None).execute(job, Execution())
        steps += job.units
        print(
            f"{sweep.label} in {sweep.domain}: {time.perf_counter() - began:.0f} s", file=sys.stderr
        )
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"steps": steps, "seconds": seconds, "peak_gb": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", action="store_true", help="also run the published sweep")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    result: dict[str, Any] = {
        "cores": thread_count(),
        "throughput": [
            throughput(name, norm, env) for env in ("riverswim", "sixarms") for name, norm in CASES
        ],
        "scaling": scaling(),
        "planning": planning(),
        "planning_scaling": planning_scaling(),
        "start_up": start_up(),
    }
    if arguments.sweep:
        result["published_sweep"] = published_sweep()
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


def show(result: dict[str, Any]) -> None:
    rows = [
        (
            r["agent"],
            r["env"],
            f"{r['countless'] / 1e6:.1f}",
            f"{r['plain'] / 1e6:.2f}",
            f"{r['ratio']:.0f}x",
        )
        for r in result["throughput"]
    ]
    title = f"Million steps per second: Countless on {result['cores']} cores, plain Python on one"
    print_table(
        Table(title, ("agent", "env", "countless", "plain", "ratio"), tuple(rows), labels=2)
    )
    scale = [
        (f"l{r['norm']:g}", f"{r['states']:,}", f"{r['ns_per_step']:.1f}")
        for r in result["scaling"]
    ]
    print_table(
        Table("sarsa-sr on a chain, one thread", ("norm", "states", "ns/step"), tuple(scale))
    )
    planned = [
        (
            r["agent"],
            r["env"],
            f"{r['countless']:,.0f}",
            f"{r['plain']:,.0f}",
            f"{r['countless'] / r['plain']:,.0f}x",
        )
        for r in result["planning"]
    ]
    title = (
        f"Agents that plan, steps per second: Countless on {result['cores']} cores, plain on one"
    )
    headings = ("agent", "env", "countless", "plain", "ratio")
    print_table(Table(title, headings, tuple(planned), labels=2))
    grown = [
        (r["agent"], f"{r['states']:,}", f"{r['us_per_step']:.1f}")
        for r in result["planning_scaling"]
    ]
    title = f"Agents that plan in an open gridworld, one thread, {GROWTH_STEPS:,} steps"
    print_table(Table(title, ("agent", "states", "µs/step"), tuple(grown)))
    starts = [(name, f"{seconds:.2f} s") for name, seconds in result["start_up"].items()]
    print_table(Table("Start-up", ("command", "wall clock"), tuple(starts)))
    if "published_sweep" in result:
        sweep = result["published_sweep"]
        print(
            f"The published sweep: {sweep['steps'] / 1e9:.1f} billion steps in "
            f"{sweep['seconds']:.1f} s, at most {sweep['peak_gb']:.2f} GB of memory."
        )


if __name__ == "__main__":
    main()
