"""Everything that depends on the device: choosing it, moving a batch there, precision, compiling."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from countless.core.errors import BadInput

PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class Device:
    """Where and how a network computes.

    `precision` bfloat16: forward passes and losses in mixed precision (weights stay float32), for
    hardware that has it. `compile`: torch.compile on losses; a minute to start, other rounding.
    """

    name: str = "cpu"
    precision: str = "float32"
    compile: bool = False

    @property
    def torch(self) -> torch.device:
        return torch.device(self.name)

    def tensor(self, array: NDArray[Any]) -> Tensor:
        """An array there; from pinned memory and asynchronously where the device has its own."""
        tensor = torch.from_numpy(array)
        if self.torch.type == "cpu":
            return tensor
        return tensor.pin_memory().to(self.torch, non_blocking=True)

    def autocast(self) -> AbstractContextManager[Any]:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.torch.type, dtype=torch.bfloat16)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function) if self.compile else function

    def place(self, network: nn.Module) -> nn.Module:
        """The network there; channels last, which is how convolutions are fastest."""
        return network.to(self.torch, memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def make_device(name: str, precision: str = "float32", compile: bool = False) -> Device:
    """The device called `name`: cpu, cuda, cuda:1, mps, or auto for the best there is.

    >>> make_device("cpu").name
    'cpu'
    """
    if precision not in PRECISIONS:
        raise BadInput(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    there = available()
    if name == "auto":
        return Device(there[-1], precision, compile)
    if name.partition(":")[0] not in {other.partition(":")[0] for other in there} or (
        ":" in name and name not in there
    ):
        raise BadInput(f"there is no device {name!r} here; there is {', '.join(there)}")
    return Device(name, precision, compile)


def available() -> list[str]:
    """The devices of this machine, the best last."""
    names = ["cpu"]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names + [f"cuda:{i}" for i in reversed(range(torch.cuda.device_count()))]


def as_numpy(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array
