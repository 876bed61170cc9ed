"""Files that are whole or not there: written under a temporary name, flushed, synced, renamed.

A file of ours carries a *seal*: the CRC-32 of all its bytes, written into the file itself where
`EMPTY_SEAL` stood. A flipped or missing byte is so found without a second file that could be out of
step with the first. Files without a seal were written before there were seals: they are unverified.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from countless.core.errors import CountlessError

SEAL = b"countless-crc32:"
EMPTY_SEAL = (SEAL + b"00000000").decode()
WHOLE, UNVERIFIED, DAMAGED = "whole", "unverified", "damaged"
TEMPORARY = ".*.tmp"
ASIDE = ".damaged"


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> CountlessError:
    """A full disk, a folder that may only be read: what was there before is as it was."""
    why = error.strerror or str(error)
    return CountlessError(f"cannot write {path}: {why}; what was kept before is whole")


def write_bytes(path: Path, content: bytes) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk itself."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # some network folders cannot be synced, and need not be
            raise
    finally:
        os.close(descriptor)


def remove_temporaries(folder: Path) -> None:
    """What a process that was killed left half-written."""
    for path in folder.glob(TEMPORARY):
        path.unlink(missing_ok=True)


def seal(content: bytes) -> bytes:
    """`content`, in which `EMPTY_SEAL` stands, with its seal there.

    >>> content = seal(f"some text, {EMPTY_SEAL}".encode())
    >>> examine(content), examine(content.replace(b"some", b"same"))
    ('whole', 'damaged')
    """
    start = content.rindex(SEAL) + len(SEAL)
    return content[:start] + b"%08x" % zlib.crc32(content) + content[start + 8 :]


def examine(content: bytes) -> str:
    """whole, damaged, or unverified where there is no seal."""
    start = content.rfind(SEAL)
    if start < 0:
        return UNVERIFIED
    start += len(SEAL)
    blank = zlib.crc32(content[start + 8 :], zlib.crc32(b"00000000", zlib.crc32(content[:start])))
    return WHOLE if content[start : start + 8] == b"%08x" % blank else DAMAGED


def set_aside(path: Path) -> Path:
    """Rename a damaged file or folder, for whoever wants to look at it; its new path."""
    aside = path.with_name(path.name + ASIDE)
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}{ASIDE}-{number}")
    try:
        path.rename(aside)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    return aside
