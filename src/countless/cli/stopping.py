"""Signals: what ends a command at once, and what lets it write a checkpoint first."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import NoReturn

# With these a batch system says that the time is over: Slurm's --signal names one, submitit's is USR2.
TERMINATING = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class Terminated(BaseException):
    """SIGTERM, SIGUSR1 or SIGUSR2: what is finished is on disk."""

    def __init__(self, signum: int) -> None:
        self.signal = signal.Signals(signum).name
        super().__init__(self.signal)


def terminate(signum: int, frame: FrameType | None) -> NoReturn:
    """The handler that leaves at once."""
    raise Terminated(signum)


class Interrupt:
    """Ctrl-C that leaves at once, and is remembered: a package that is just being imported may turn
    it into an error of its own."""

    seen = False

    def __call__(self, signum: int, frame: FrameType | None) -> NoReturn:
        self.seen = True
        raise KeyboardInterrupt


class Patience:
    """Within it, the first Ctrl-C or terminating signal only asks to stop; a second Ctrl-C does not
    wait."""

    def __init__(self) -> None:
        self._asked: int | None = None

    def __enter__(self) -> Patience:
        self._before = {s: signal.signal(s, self._ask) for s in (signal.SIGINT, *TERMINATING)}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        if self._asked is not None and signum == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked = signum

    def asked(self) -> bool:
        """Whether to stop."""
        return self._asked is not None

    def reason(self) -> BaseException:
        """What to raise in the end, by how it was asked; workers may have been asked themselves."""
        if self._asked == signal.SIGINT:
            return KeyboardInterrupt()
        return Terminated(self._asked or signal.SIGTERM)
