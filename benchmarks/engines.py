"""What the engines cost beside the work itself: per run, per job of a second, and in memory.

    python benchmarks/engines.py            # sizes for a few minutes
    python benchmarks/engines.py --jobs 10000 --ray-jobs 2000 --seconds 60

Each overhead is a share of one run of the engine: the time that it took, less the time that the jobs
say they worked (`finished.json`), over the cores that worked.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from countless.core.progress import SilentTask
from countless.runs.engine import LocalEngine
from countless.runs.ray_engine import RayEngine
from countless.runs.run import Budget, jobs_of
from countless.runs.store import Store


class Memory(SilentTask):
    """A reporter that notes the memory of this process and of all that it started."""

    def __init__(self):
        self.samples = []

    @contextmanager
    def task(self, description, total):
        self.note("")
        yield self

    def note(self, text):
        if not self.samples or time.monotonic() - self.samples[-1][0] > 1.0:
            self.samples.append((time.monotonic(), resident()))

    def growth(self):
        """Megabytes from the middle of the run to its end."""
        return (self.samples[-1][1] - self.samples[len(self.samples) // 2][1]) / 1e6


def resident():
    """Bytes of memory of this process and its descendants."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                pages = int((entry / "statm").read_text().split()[1])
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = pages * os.sysconf("SC_PAGE_SIZE")

    def is_ours(pid):
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return sum(size for pid, size in sizes.items() if is_ours(pid))


def jobs(count, runs, steps=5_000, first=0):
    """Jobs of one agent that differ in their seeds."""
    (one,) = jobs_of("sarsa-sr", "riverswim", Budget(runs=runs, steps=steps), {})
    return [replace(one, seed=first + i) for i in range(count)]


def measure(make_engine, todo, cores):
    """Seconds of the engine, seconds of the jobs per core, and megabytes gained."""
    memory = Memory()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        ended = make_engine(memory).run(todo, Store(folder, "benchmark"))
        whole = time.perf_counter() - began
    worked = sum(stored.finished["seconds"] for stored in ended) / cores
    return whole, worked, memory.growth()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2_000, help="small jobs in the local engine")
    parser.add_argument("--ray-jobs", type=int, default=500, help="small jobs in Ray")
    parser.add_argument("--seconds", type=int, default=60, help="jobs of a second in each engine")
    options = parser.parse_args()
    cores = os.cpu_count()
    engines = {
        "local": (lambda memory: LocalEngine(1, memory), options.jobs, 1),
        "Ray": (lambda memory: RayEngine(threads=1, reporter=memory), options.ray_jobs, cores),
    }
    # Kernels are compiled, and Ray has started its processes.
    measure(engines["local"][0], jobs(1, 10), 1)
    measure(engines["Ray"][0], jobs(8 * cores, 10, first=10**6), cores)
    _, worked, _ = measure(engines["local"][0], jobs(1, 16_000), 1)
    second = max(1, int(16_000 / worked))
    for name, (make, count, at_once) in engines.items():
        whole, worked, growth = measure(make, jobs(count, 100, 50), at_once)
        beside = whole - worked
        print(
            f"{name}: {count:,} jobs of 100 runs in {whole:.1f} s, {1e3 * beside / count:.1f} ms "
            f"beside each job, {1e3 * beside / count / 100:.3f} ms beside each run; memory from the "
            f"middle to the end {growth:+.0f} MB"
        )
        todo = jobs(options.seconds * at_once, second, first=10**7)
        whole, worked, _ = measure(make, todo, at_once)
        print(
            f"{name}: {len(todo)} jobs of {worked * at_once / len(todo):.2f} s, {at_once} at once: "
            f"{whole:.1f} s, of which {100 * (whole - worked) / whole:.1f}% beside the work"
        )


if __name__ == "__main__":
    main()
