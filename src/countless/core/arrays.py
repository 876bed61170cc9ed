"""NumPy or torch in, the same out; and checks whose errors say what would be right."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput, install_hint

Floats = NDArray[np.float64]


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor; does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(value: Any) -> NDArray[Any]:
    """`value` as a NumPy array, from whatever device."""
    if isinstance(value, np.ndarray) or not is_tensor(value):
        return np.asarray(value)
    found = value.detach().cpu()
    if found.dtype == sys.modules["torch"].bfloat16:  # which NumPy does not have
        found = found.float()
    array: NDArray[Any] = found.numpy()
    return array


def like(values: Any, given: Any) -> Any:
    """`values` (B,) as the caller had it: float32 on the device of a tensor, else float64.

    >>> like([1, 2], np.zeros(2, dtype=np.uint8)).dtype
    dtype('float64')
    """
    tensor = None if isinstance(given, np.ndarray) else next(_tensors(given), None)
    if tensor is not None:
        torch = sys.modules["torch"]
        return torch.as_tensor(values, dtype=torch.float32, device=tensor.device)
    return to_numpy(values).astype(np.float64, copy=False)


def _tensors(given: Any) -> Iterator[Any]:
    """The tensors among the parts of a batch."""
    if is_tensor(given):
        yield given
    elif isinstance(given, Mapping):
        for part in given.values():
            yield from _tensors(part)
    elif isinstance(given, tuple):
        for part in given:
            yield from _tensors(part)


def need_torch(what: str) -> Any:
    """The module torch, or a `BadInput` that says how to get it."""
    try:
        import torch
    except ImportError:
        raise BadInput(f"{what} needs PyTorch: {install_hint('deep')}") from None
    return torch


def check_finite(name: str, values: NDArray[Any], what: str = "observation") -> None:
    """No NaN and no infinity, or a `BadInput` that names the row."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        kind = "NaN" if np.isnan(values[row]).any() else "an infinite value"
        raise BadInput(f"{name}: {what} {row} holds {kind}")


def check_states(name: str, states: Any, n_states: int, start: int = 0) -> NDArray[np.int64]:
    """States (B,), numbered from `start`, as int64 indices 0 to n_states - 1."""
    values = to_numpy(states)
    check_finite(name, values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or values.dtype.kind not in "iuf" or (values != np.floor(values)).any():
        raise BadInput(f"{name}: observations must be state indices (B,), not {values.dtype} "
                       f"{values.shape}")  # fmt: skip
    last = start + n_states - 1
    if len(values) and (values.min() < start or values.max() > last):
        raise BadInput(
            f"{name}: states are {start} to {last}, not {values.min():g} to {values.max():g}"
        )
    return values.astype(np.int64) - start


def check_flags(name: str, flags: Any, count: int) -> NDArray[np.bool_]:
    """A mask (B,), all False where none is given."""
    if flags is None:
        return np.zeros(count, dtype=bool)
    values = to_numpy(flags).astype(bool).reshape(-1)
    if len(values) != count:
        raise BadInput(f"{name}: {len(values)} flags for {count} observations")
    return values
