"""What made a record: versions, machine, date, and the commit where there is one."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("countless", "numpy", "numba", "gymnasium", "torch", "ale-py")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def machine() -> str:
    """The processor, its cores, and the operating system."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


@cache
def commit() -> str | None:
    """The commit of the checkout that the package runs from; None where it is installed."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        asked = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True)
        return answer.stdout.strip() or None
    return None


def provenance(command: str) -> dict[str, Any]:
    """All of it, with the command that asked for the work."""
    return {
        "command": command,
        "date": now(),
        "versions": versions(),
        "commit": commit(),
        "machine": machine(),
    }
