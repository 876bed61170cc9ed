"""A folder of files that belong together, and the manifest that names them: a snapshot.

<folder>/
    state.json              the manifest: plain content, and the name, size and CRC-32 of each file
    state.previous.json     that of the snapshot before, whose files are still there
    network.7.safetensors   what snapshot 7 wrote; later ones name it too while it does not change

Files are written first, under names that were never used; the manifest is replaced last. So whenever
a process dies there is a whole snapshot, and only what changed is written.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countless.core.durable import cannot_write, remove_temporaries, set_aside, write_bytes
from countless.core.errors import BadInput
from countless.core.records import parse_json, write_json

SCHEMA = 4  # of manifests, and of what checkpoints hold
STATE, PREVIOUS = "state.json", "state.previous.json"
MOST_MANIFEST = 1 << 28  # bytes
PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
NUMBERED_NAME = re.compile(r".+\.(\d{1,18})\.[a-z]+")


class Damaged(BadInput):
    """A file that is not as it was written."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}")
        self.path, self.what = path, what


class OtherFormat(BadInput):
    """A manifest that another version wrote."""


@dataclass(frozen=True)
class KeptFile:
    """A file of a snapshot, as its manifest tells it."""

    name: str
    size: int
    crc32: int


@dataclass(frozen=True)
class Snapshot:
    """A snapshot on disk, as its manifest tells it."""

    manifest: Path
    content: dict[str, Any]
    files: dict[str, KeptFile]  # by what they hold

    def read(self, what: str, most: float = float("inf")) -> bytes:
        """The bytes of a file of at most `most` bytes, after checking them."""
        kept = self.files.get(what)
        if kept is None:
            raise BadInput(f"{self.manifest} names no {what}")
        path = self.manifest.with_name(kept.name)
        try:
            size = path.stat().st_size
            if size != kept.size:
                raise Damaged(path, f"has {size:,} bytes, not the {kept.size:,} that were written")
            if size > most:
                raise BadInput(f"{path} has {size:,} bytes, more than the {most:,.0f} that fit")
            content = path.read_bytes()
        except OSError as error:
            raise Damaged(path, f"cannot be read: {error.strerror}") from None
        if zlib.crc32(content) != kept.crc32:
            raise Damaged(path, "has changed since it was written")
        return content

    def set_aside(self, damaged: Path) -> None:
        """Take this snapshot, and the file in which it is damaged, out of the way."""
        for path in {damaged, self.manifest}:
            if path.exists():
                set_aside(path)


def has_snapshot(folder: Path) -> bool:
    """Whether there is a manifest."""
    return any((folder / name).is_file() for name in (STATE, PREVIOUS))


def last_snapshot(folder: Path) -> Snapshot | None:
    """The newest snapshot whose manifest is there, or None; `Damaged` if it cannot be read."""
    for name in (STATE, PREVIOUS):
        if (folder / name).is_file():
            return read_manifest(folder / name)
    return None


def read_manifest(path: Path) -> Snapshot:
    """The snapshot that a manifest describes; its files are not looked at."""
    try:
        size = path.stat().st_size
        content = parse_json(path.read_bytes()) if size <= MOST_MANIFEST else None
    except OSError as error:
        raise Damaged(path, f"cannot be read: {error.strerror}") from None
    return parse_manifest(path, content)


def parse_manifest(path: Path, content: dict[str, Any] | None) -> Snapshot:
    """The same from what the manifest says; a name in it cannot lead out of its folder."""
    if content is None:
        raise Damaged(path, "cannot be read")
    found = content.get("schema")
    if isinstance(found, int) and found != SCHEMA:
        raise OtherFormat(f"{path} is of format {found}, this version reads {SCHEMA}")
    files = content.pop("files", None)
    if found is None or not isinstance(files, dict):
        raise Damaged(path, "is no manifest")
    return Snapshot(
        path, content, {what: _kept(path, what, entry) for what, entry in files.items()}
    )


def _kept(path: Path, what: str, entry: Any) -> KeptFile:
    if (
        not isinstance(entry, list)
        or [type(part) for part in entry] != [str, int, int]
        or not PLAIN_NAME.fullmatch(entry[0])
        or not 0 <= entry[1] < 1 << 62
    ):
        raise Damaged(path, f"says of {what[:80]!r} what no manifest says")
    return KeptFile(*entry)


def write_snapshot(
    folder: Path,
    content: Mapping[str, Any],
    files: Iterable[tuple[str, bytes]],
    kept: Mapping[str, KeptFile],
) -> Snapshot:
    """Write `files`, name `kept` again, and replace the manifest; the one before becomes the previous.

    If anything fails, what this call wrote is taken away, and the snapshots before are as they were.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
    remove_temporaries(folder)
    number = 1 + max((_number(path.name) for path in folder.iterdir()), default=0)
    named = dict(kept)
    fresh: list[Path] = []
    try:
        for what, written in files:
            stem, _, suffix = what.rpartition(".")
            path = folder / f"{stem}.{number}.{suffix}"
            fresh.append(path)
            write_bytes(path, written)
            named[what] = KeptFile(path.name, len(written), zlib.crc32(written))
        manifest = folder / STATE
        if manifest.is_file():
            write_bytes(folder / PREVIOUS, manifest.read_bytes())
        entries = {what: [one.name, one.size, one.crc32] for what, one in named.items()}
        write_json(manifest, {**content, "schema": SCHEMA, "files": entries})
    except BaseException:
        for path in fresh:
            path.unlink(missing_ok=True)
        raise
    _remove_unnamed(folder)
    return Snapshot(manifest, dict(content), named)


def _number(name: str) -> int:
    found = NUMBERED_NAME.fullmatch(name)
    return int(found[1]) if found else 0


def _remove_unnamed(folder: Path) -> None:
    """What no manifest names any more."""
    named: set[str] = set()
    for name in (STATE, PREVIOUS):
        if (folder / name).is_file():
            snapshot = read_manifest(folder / name)
            named |= {kept.name for kept in snapshot.files.values()}
    for path in folder.iterdir():
        if NUMBERED_NAME.fullmatch(path.name) and path.name not in named:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Checked:
    """What was found in a folder of snapshots."""

    whole: int  # files, manifests among them
    unknown: int  # manifests of another version, whose files were not looked at
    damage: tuple[Damaged, ...]


def check_snapshots(folder: Path) -> Checked:
    """Look at every file that a manifest names, once."""
    whole = unknown = 0
    damage: list[Damaged] = []
    seen: set[KeptFile] = set()
    for path in (folder / STATE, folder / PREVIOUS):
        if not path.is_file():
            continue
        try:
            snapshot = read_manifest(path)
            whole += 1
        except OtherFormat:
            unknown += 1
            continue
        except Damaged as manifest:
            damage.append(manifest)
            continue
        for what, kept in snapshot.files.items():
            if kept in seen:
                continue
            seen.add(kept)
            try:
                snapshot.read(what)
                whole += 1
            except Damaged as file:
                damage.append(file)
    return Checked(whole, unknown, tuple(damage))
