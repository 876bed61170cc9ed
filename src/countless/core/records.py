"""What lies on disk: JSON and Parquet, each written whole or not at all, each with a seal."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.core.durable import (
    DAMAGED,
    EMPTY_SEAL,
    WHOLE,
    examine,
    seal,
    write_bytes,
)
from countless.core.errors import BadInput

if TYPE_CHECKING:
    import pyarrow

SCHEMA = 2  # of what lies on disk
CHECKSUM = "checksum"  # the name of the seal, in JSON and in the metadata of Parquet


def ensure_folder(folder: Path) -> Path:
    """`folder`, made if need be and open for writing, or a `BadInput`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"cannot write to the folder {folder}: {error.strerror}") from None
    return folder


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """A JSON record, with the schema and a seal."""
    sealed = {"schema": SCHEMA, **content, CHECKSUM: EMPTY_SEAL}
    write_bytes(path, seal(json.dumps(sealed, indent=2).encode() + b"\n"))


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a JSON record, or None where there is none that is whole."""
    try:
        return parse_json(path.read_bytes())
    except OSError:
        return None


def parse_json(content: bytes) -> dict[str, Any] | None:
    """The content of a JSON record in memory, or None where it is not whole."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict) or not _is_whole(content, sealed=CHECKSUM in parsed):
        return None
    parsed.pop(CHECKSUM, None)
    return parsed


def _is_whole(content: bytes, sealed: bool) -> bool:
    """As far as the seal tells; `sealed` says that there is one."""
    return examine(content) == WHOLE if sealed else examine(content) != DAMAGED


def write_table(path: Path, table: pyarrow.Table, about: Mapping[str, Any] | None = None) -> None:
    """A table as a Parquet file; `about` goes with it, and pandas shows it as `frame.attrs`."""
    import pyarrow
    import pyarrow.parquet

    metadata = {**(table.schema.metadata or {}), CHECKSUM: EMPTY_SEAL}
    if about is not None:
        metadata["PANDAS_ATTRS"] = json.dumps(about)
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), buffer, compression="zstd")
    write_bytes(path, seal(buffer.getvalue().to_pybytes()))


def read_table(path: Path) -> pyarrow.Table | None:
    """A Parquet record, or None where there is none that is whole."""
    try:
        return parse_table(path.read_bytes())
    except OSError:
        return None


def parse_table(content: bytes) -> pyarrow.Table | None:
    """A Parquet record in memory, or None where it is not whole."""
    import pyarrow
    import pyarrow.parquet

    if examine(content) == DAMAGED:
        return None
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
        table = file.read(use_threads=False)  # its threads may outlive the interpreter, and abort
    except (OSError, pyarrow.ArrowException, ValueError):
        return None
    sealed = CHECKSUM.encode() in (table.schema.metadata or {})
    return table if _is_whole(content, sealed) else None


def examine_record(path: Path) -> str:
    """Whether a JSON or Parquet record is whole, damaged, or unverified for want of a seal."""
    content = path.read_bytes()
    parsed = parse_json(content) if path.suffix == ".json" else parse_table(content)
    return DAMAGED if parsed is None else examine(content)
