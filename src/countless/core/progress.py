"""How long work reports on itself without knowing who listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """A piece of work under way."""

    def advance(self, amount: int) -> None:
        """So many units more are done."""
        ...

    def note(self, text: str) -> None:
        """A few words on how it stands."""
        ...

    def warn(self, text: str) -> None:
        """Something that a person should know now."""
        ...


class Reporter(Protocol):
    """Something that shows progress: bars at the command line and in notebooks, or nothing."""

    def task(self, description: str, total: int) -> AbstractContextManager[Task]:
        """Open a task of `total` units; several may be open at once."""
        ...


class SilentTask:
    """Shows nothing."""

    def advance(self, amount: int) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def warn(self, text: str) -> None:
        pass


class Silent:
    """Shows nothing."""

    @contextmanager
    def task(self, description: str, total: int) -> Iterator[Task]:
        yield SilentTask()


SILENT: Reporter = Silent()
