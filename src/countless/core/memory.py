"""How much memory this process may still take."""

from __future__ import annotations

import os
from pathlib import Path


def available_memory() -> float:
    """Bytes free for use: the machine's, or what its control group leaves; infinite if unknown."""
    return min(_machine(), _group())


def _machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024.0
    except OSError:
        pass
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return float("inf")


def _group() -> float:
    """Linux control groups, version 2: the limit of this container."""
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text().strip()
        used = int((root / "memory.current").read_text())
        statistics = dict(line.split() for line in (root / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return float("inf")
    if limit == "max":
        return float("inf")
    return float(int(limit) - used + int(statistics.get("inactive_file", 0)))
