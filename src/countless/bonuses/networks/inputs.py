"""Observations as float tensors on the device of the networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from countless.bonuses.images import overlap
from countless.core.arrays import is_tensor
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader

LARGEST = float(np.finfo(np.float32).max)


def make_device(name: str) -> torch.device:
    """The device of that name, or a `BadInput` where there is none."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None
    return device


def from_array(values: NDArray[Any]) -> Tensor:
    """A tensor of any array: reversed, broadcast, read-only or big-endian ones are copied."""
    native = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    return torch.from_numpy(np.require(native, requirements=["C", "W"]))


@dataclass(frozen=True)
class AlreadyRead:
    """Rows that came out of a reader: what a stream remembers is not read twice."""

    rows: NDArray[Any]


def read_rows(name: str, reader: ObservationReader, observations: Any) -> NDArray[Any]:
    """Observations as the reader gives them, (B, ...)."""
    if isinstance(observations, AlreadyRead):
        return observations.rows
    rows = reader.read(name, observations)
    if rows.dtype == np.float64 and rows.size and np.abs(rows).max() > LARGEST:
        row = int(np.argwhere(np.abs(rows) > LARGEST)[0][0])
        raise BadInput(
            f"{name}: observation {row} holds a value beyond {LARGEST:.2g}, the largest of float32, in "
            "which networks compute"
        )
    return rows


def as_input(
    name: str, reader: ObservationReader, observations: Any, device: torch.device
) -> Tensor:
    """(B, ...) float32: states one-hot, vectors and images as the reader gives them."""
    # What needs no conversion stays on its device.
    if is_tensor(observations) and observations.device.type != "cpu" and reader.unchanged:
        values: Tensor = observations.detach()
        if values.shape[1:] != reader.shape:
            wanted = ", ".join(["B", *map(str, reader.shape)])
            raise BadInput(
                f"{name}: observations must have shape ({wanted}), not {tuple(values.shape)}"
            )
        single = values.to(device, torch.float32)
        if not bool(torch.isfinite(single).all()):
            raise BadInput(f"{name}: an observation holds NaN, or a value beyond {LARGEST:.2g}")
        return single
    checked = from_array(read_rows(name, reader, observations)).to(device)
    if reader.n_states is not None:
        return torch.nn.functional.one_hot(checked, reader.n_states).to(torch.float32)
    return checked.to(torch.float32)


def area_mean(frames: Tensor, size: int) -> Tensor:
    """Frames (..., H, W) at size x size, each new pixel the mean of the area it covers."""
    height, width = frames.shape[-2:]
    if (height, width) == (size, size):
        return frames
    rows, columns = (
        torch.as_tensor(overlap(side, size), dtype=frames.dtype, device=frames.device)
        for side in (height, width)
    )
    return rows @ frames @ columns.T


def newest(images: Tensor, size: int) -> Tensor:
    """(B, 1, size, size): the newest frame of images (B, H, W) or stacks (B, C, H, W)."""
    frames = images[:, -1] if images.ndim == 4 else images
    return area_mean(frames, size)[:, None]
