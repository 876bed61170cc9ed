"""How long work reports on itself without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Advance = Callable[[int], None]


class Reporter(Protocol):
    """Something that shows progress: a bar at the command line, nothing in a library call."""

    def task(self, description: str, total: int) -> AbstractContextManager[Advance]:
        """Open a task of `total` units; the value advances it."""
        ...


class Silent:
    """Shows nothing."""

    def task(self, description: str, total: int) -> AbstractContextManager[Advance]:
        return nullcontext(lambda amount: None)


SILENT: Reporter = Silent()
