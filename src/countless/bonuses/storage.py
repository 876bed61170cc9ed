"""The state of a bonus as one `.npz` file: arrays only, so that loading it runs no code."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.protocol import State
from countless.core.durable import write_bytes
from countless.core.errors import BadInput
from countless.core.memory import available_memory


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
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_size(entries)
            return {one.filename.removesuffix(".npy"): _array(archive.read(one)) for one in entries}
    except Exception as error:  # what zip files and headers can be wrong in has many names
        raise BadInput(f"{origin} is not the state of a bonus: {error}") from None


def read_entry(path: Path, name: str, hint: str = "it is not in the file") -> bytes:
    """One file of a zip archive; `hint` says what may be wrong where there is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            if name not in archive.namelist():
                raise ValueError(hint)
            _check_size([archive.getinfo(name)])
            return archive.read(name)
    except Exception as error:
        raise BadInput(f"{path} holds no bonus: {error}") from None


def _check_size(entries: list[zipfile.ZipInfo]) -> None:
    """What is said to come out of an archive must fit into memory."""
    size, most = sum(one.file_size for one in entries), available_memory()
    if size > most:
        raise ValueError(f"it would take {size / 1e9:.1f} GB, {most / 1e9:.1f} GB are free")


def _array(content: bytes) -> NDArray[Any]:
    """The array in the bytes of a `.npy` file, once its header is found to tell the truth."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    if dtype.hasobject:
        raise ValueError("it holds objects, which would need pickle")
    if math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"an array of {shape} does not have the bytes that are there")
    file.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def save_state(path: Path | str, state: Mapping[str, Any]) -> None:
    """Write a `state_dict` to `path`, whole or not at all."""
    write_bytes(Path(path), to_bytes(state))


def load_state(path: Path | str) -> State:
    """Read what `save_state` wrote."""
    try:
        return from_bytes(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
