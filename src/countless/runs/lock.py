"""Who executes a job: a lock that holds on one machine and over network folders, and ends with its
process, however that ends.

`lock` is held through the operating system, which lets go of it when the process dies. Some network
folders keep such locks to one machine. So `owner.json` names the process as well, and the process
touches it every few seconds: on the same machine one can ask whether that process lives, and on
another it is taken for dead when the file was not touched for two minutes.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from countless.core.durable import cannot_write
from countless.core.errors import BadInput, named

LOCK, OWNER = "lock", "owner.json"
BEAT = 10.0  # seconds from one touch to the next
DEAD = 120.0  # seconds without a touch


@dataclass(frozen=True)
class Owner:
    """A process, told apart from all others, earlier ones with its number too."""

    host: str  # its name
    system: str  # which start of it, and which view of its processes
    pid: int
    started: str


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a job's folder: two processes must not execute the same job."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise _held(folder) from None
    except NotImplementedError:
        pass  # a network folder that knows no such locks: the owner's file is all there is
    try:
        with _owned(folder):
            yield
    finally:
        lock.release()


def is_locked(folder: Path) -> bool:
    """Whether a process is executing the job just now."""
    path = folder / OWNER
    return path.exists() and _lives(path)


@contextmanager
def _owned(folder: Path) -> Iterator[None]:
    path = folder / OWNER
    _take(path)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            with suppress(OSError):
                os.utime(path)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        with suppress(OSError):
            path.unlink()


def _take(path: Path) -> None:
    """Become the owner: of all who try at once, one does."""
    judged = _content(path)
    if judged is not None:
        if _lives(path):
            raise _held(path.parent)
        aside = path.with_name(f".{OWNER}.{uuid.uuid4().hex}.tmp")
        with suppress(FileNotFoundError):
            path.rename(aside)
            if _content(aside) != judged:  # somebody else was quicker: it is theirs
                aside.rename(path)
                raise _held(path.parent)
            aside.unlink()
    try:
        with path.open("x") as file:
            json.dump(asdict(this_process()), file)
    except FileExistsError:
        raise _held(path.parent) from None
    except OSError as error:  # a full disk
        path.unlink(missing_ok=True)
        raise cannot_write(path, error) from None


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _owner(path: Path) -> Owner | None:
    try:
        return Owner(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _lives(path: Path) -> bool:
    owner, me = _owner(path), this_process()
    if owner is not None and owner.system == me.system:
        return owner.started == _started(owner.pid)
    return _age(path) < DEAD


def _age(path: Path) -> float:
    """Seconds since the last touch, by the clock that stamps files in this folder."""
    try:
        touched = path.stat().st_mtime
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{OWNER}.", suffix=".tmp"
        ) as now:
            return os.fstat(now.fileno()).st_mtime - touched
    except FileNotFoundError:
        return float("inf")
    except OSError:  # a folder that may only be read
        return time.time() - touched


def this_process() -> Owner:
    """Who we are."""
    host = platform.node()
    views = [host]
    with suppress(OSError):
        views.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):  # a container has its own numbers
        views.append(str(Path("/proc/self/ns/pid").readlink()))
    return Owner(host, " ".join(views), os.getpid(), _started(os.getpid()) or "")


def _started(pid: int) -> str | None:
    """When a process of this machine started, as the system tells it; None when it is dead."""
    if not Path("/proc/self/stat").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except OSError:
            pass
        return ""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _held(folder: Path) -> BadInput:
    owner = _owner(folder / OWNER)
    who = "" if owner is None else f" (process {owner.pid} on {owner.host})"
    return BadInput(
        f"another process is executing the job in {folder}{who}; wait for it, or give another folder "
        f"with {named('out')}"
    )
