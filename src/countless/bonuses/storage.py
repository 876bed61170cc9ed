"""The state of a bonus as one `.npz` file: arrays only, so that loading it runs no code."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from countless.bonuses.protocol import State
from countless.core.durable import write_bytes
from countless.core.errors import BadInput


def to_bytes(state: Mapping[str, Any]) -> bytes:
    """A `state_dict` as the bytes of an `.npz` archive."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {key: np.asarray(value) for key, value in state.items()}
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def from_bytes(content: bytes, origin: str = "the archive") -> State:
    """The `state_dict` in the bytes of an `.npz` archive; pickled content is refused.

    >>> from_bytes(to_bytes({"beta": 0.5, "counts": np.arange(3)}))["counts"].tolist()
    [0, 1, 2]
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise BadInput(f"{origin} is not the state of a bonus: {error}") from None


def save_state(path: Path | str, state: Mapping[str, Any]) -> None:
    """Write a `state_dict` to `path`, whole or not at all."""
    write_bytes(Path(path), to_bytes(state))


def load_state(path: Path | str) -> State:
    """Read what `save_state` wrote."""
    try:
        return from_bytes(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
