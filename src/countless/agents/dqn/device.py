"""Everything that depends on the device: choosing it, moving a batch there, precision, compiling."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor, nn

from countless.core.errors import BadInput
from countless.core.parameters import check_choice

PRECISIONS = ("float32", "bfloat16")
LEVEL = 1.0 / 255.0  # a grey level
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


@njit(nogil=True, cache=True)
def _interleave(levels, out):  # type: ignore[no-untyped-def]
    """out[b, i, c] = levels[b, c, i] / 255."""
    size, history, places = levels.shape
    level = np.float32(LEVEL)
    for b in range(size):
        if history == 4:  # written out, since the compiler then writes whole vectors
            for i in range(places):
                out[b, i, 0] = levels[b, 0, i] * level
                out[b, i, 1] = levels[b, 1, i] * level
                out[b, i, 2] = levels[b, 2, i] * level
                out[b, i, 3] = levels[b, 3, i] * level
            continue
        for c in range(history):
            for i in range(places):
                out[b, i, c] = levels[b, c, i] * level


@dataclass(frozen=True)
class Device:
    """Where and how a network computes.

    `precision` bfloat16: forward passes and losses in mixed precision (weights stay float32), for
    hardware that has it. `compile`: torch.compile on losses; a minute to start, other rounding.
    """

    name: str = "cpu"
    precision: str = "float32"
    compile: bool = False

    @cached_property
    def torch(self) -> torch.device:
        return torch.device(self.name)

    @property
    def plain_cpu(self) -> bool:
        """Whether it is the CPU, with nothing rounded or compiled."""
        return self.torch.type == "cpu" and self.precision == "float32" and not self.compile

    def observations(self, array: NDArray[Any]) -> Tensor:
        """Observations (B, history, ...) there, ready for a network.

        Grey levels become numbers in [0, 1], channels last: on the CPU in one pass over them, else
        on the device, where they arrive as bytes.
        """
        if self.torch.type == "cpu" and array.dtype == np.uint8 and array.ndim == 4:
            size, history, *sides = array.shape
            out = np.empty((size, *sides, history), np.float32)
            _interleave(array.reshape(size, history, -1), out.reshape(size, -1, history))
            return torch.from_numpy(out).permute(0, 3, 1, 2)
        tensor = self.tensor(array)
        if array.dtype == np.uint8:
            tensor = tensor.to(torch.float32).mul_(LEVEL)
        if tensor.dim() == 4:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        return tensor

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


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch compute with that many threads within, and with as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def tune_process(threads: int) -> None:
    """Prepare a process of our own for learning on the CPU: a worker's, or the command line's.

    It stays so: a library call must not do that to its caller, see `torch_threads`. Gradients of
    some megabytes are freed and wanted again at every update. glibc would return them to the
    system and fault them in again; other C libraries are left alone. No number depends on it.
    """
    torch.set_num_threads(threads)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        for option, value in ((M_MMAP_THRESHOLD, 2**25), (M_TRIM_THRESHOLD, 2**31 - 1)):
            mallopt(option, value)


def make_device(name: str, precision: str = "float32", compile: bool = False) -> Device:
    """The device called `name`: cpu, cuda, cuda:1, mps, or auto for the best there is.

    >>> make_device("cpu").name
    'cpu'
    """
    check_choice("precision", precision, PRECISIONS)
    there = available()
    if name == "auto":
        name = there[-1]
    if name.partition(":")[0] not in {other.partition(":")[0] for other in there} or (
        ":" in name and name not in there
    ):
        raise BadInput(f"there is no device {name!r} here; there is {', '.join(there)}")
    if name == "cpu" and precision == "bfloat16":
        _try_bfloat16()
    return Device(name, precision, compile)


@cache
def _try_bfloat16() -> None:
    """See that this CPU does what it announces: a virtual machine may forbid it, deadly so."""
    code = (
        "import torch\n"
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n"
        "    torch.nn.Linear(784, 128)(torch.rand(32, 784)).sum().backward()"
    )
    if subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode:
        raise BadInput(
            "bfloat16 does not work on this CPU; use float32, or set the environment variable "
            "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 where only its matrix unit (AMX) is out of reach"
        )


def available() -> list[str]:
    """The devices of this machine, the best last."""
    names = ["cpu"]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names + [f"cuda:{i}" for i in reversed(range(torch.cuda.device_count()))]


def as_numpy(tensor: Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array
