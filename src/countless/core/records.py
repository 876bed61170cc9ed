"""What lies on disk: JSON and Parquet, each written whole under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.core.errors import BadInput

if TYPE_CHECKING:
    import pyarrow

SCHEMA = 2  # of what lies on disk


def ensure_folder(folder: Path) -> Path:
    """`folder`, made if need be and open for writing, or a `BadInput`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"cannot write to the folder {folder}: {error.strerror}") from None
    return folder


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a JSON record, or None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """One JSON document per line, up to a line that was not written to its end; [] without a file."""
    documents = []
    try:
        for line in path.read_text().splitlines():
            documents.append(json.loads(line))
    except (OSError, ValueError):
        pass
    return documents


def write_table(path: Path, table: pyarrow.Table, about: Mapping[str, Any] | None = None) -> None:
    """A table as a Parquet file; `about` goes with it, and pandas shows it as `frame.attrs`."""
    import pyarrow.parquet

    if about is not None:
        known = table.schema.metadata or {}
        table = table.replace_schema_metadata({**known, "PANDAS_ATTRS": json.dumps(about)})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(table, temporary, compression="zstd")


def read_table(path: Path) -> pyarrow.Table | None:
    """A Parquet record, or None where there is none that can be read."""
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowInvalid):
        return None
