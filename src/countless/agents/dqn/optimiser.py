"""The optimisers: each one compiled pass over the memory on the CPU.

Centred RMSProp as DQN has used it since 2015, which is not PyTorch's:

    g <- d g + (1 - d) grad,   m <- d m + (1 - d) grad^2,   w <- w - lr grad / sqrt(m - g^2 + eps)

eps stands inside the root, and m starts at one (TensorFlow's first version), so that the first
steps are small. m - g^2 is a variance: rounding must not make it negative.

Adam (Kingma & Ba 2015), which equals PyTorch's up to rounding; n counts the steps:

    g <- b1 g + (1 - b1) grad,  m <- b2 m + (1 - b2) grad^2,
    w <- w - lr / (1 - b1^n) g / (sqrt(m / (1 - b2^n)) + eps)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit

from countless.agents.dqn.config import LearningConfig

CHUNK = 1 << 20  # elements that one thread takes at a time
_POOL = ThreadPoolExecutor(max_workers=8)
ADAM_DECAYS, ADAM_EPSILON = (0.9, 0.999), 1e-8

State = dict[str, torch.Tensor]
Settings = dict[str, float]


def make_optimiser(params: Iterable[torch.nn.Parameter], learning: LearningConfig) -> Optimiser:
    """The optimiser that a configuration names."""
    if learning.optimiser == "adam":
        return Adam(params, lr=learning.learning_rate)
    return CentredRMSProp(
        params,
        lr=learning.learning_rate,
        decay=learning.rms_decay,
        epsilon=learning.rms_epsilon / learning.batch**2,
    )


class Optimiser:
    """Keeps tensors for each parameter, under names that checkpoints keep.

    Not one of `torch.optim`: what these do around a step takes longer than a small network's step.
    """

    def __init__(self, params: Iterable[torch.nn.Parameter], **settings: float) -> None:
        self.settings = settings
        self.state = {weight: self._start(weight) for weight in params}

    def zero_grad(self) -> None:
        """No parameter has a gradient any more."""
        for weight in self.state:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step; parameters without a gradient stay."""
        for weight, state in self.state.items():
            if weight.grad is not None:
                self._update(weight, state, self.settings)

    @abstractmethod
    def _start(self, weight: torch.Tensor) -> State: ...

    @abstractmethod
    def _update(self, weight: torch.Tensor, state: State, settings: Settings) -> None: ...


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def _step(weight, gradient, mean, square, rate, decay, epsilon):  # type: ignore[no-untyped-def]
    zero, one, rest = np.float32(0.0), np.float32(1.0), np.float32(1.0 - decay)
    for i in range(len(weight)):
        g = gradient[i]
        mean[i] += rest * (g - mean[i])
        square[i] += rest * (g * g - square[i])
        variance = square[i] - mean[i] * mean[i]
        weight[i] -= rate * g * (one / np.sqrt((variance if variance > zero else zero) + epsilon))


class CentredRMSProp(Optimiser):
    """DQN's optimiser: see the module.

    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> optimiser = CentredRMSProp([weight], lr=0.1, decay=0.5, epsilon=0.0)
    >>> weight.grad = torch.ones(1)
    >>> optimiser.step()
    >>> round(weight.item(), 4)  # -0.1 / sqrt(1 - 0.25)
    -0.1155
    """

    def __init__(
        self, params: Iterable[torch.nn.Parameter], lr: float, decay: float, epsilon: float
    ) -> None:
        super().__init__(params, lr=lr, decay=decay, epsilon=epsilon)

    def _start(self, weight: torch.Tensor) -> State:
        return {
            "mean": torch.zeros_like(weight, memory_format=torch.preserve_format),
            "square": torch.ones_like(weight, memory_format=torch.preserve_format),
        }

    def _update(self, weight: torch.Tensor, state: State, settings: Settings) -> None:
        update = _update_cpu if weight.device.type == "cpu" else _update
        update(weight, state, settings)


def _update_cpu(weight: torch.Tensor, state: State, settings: Settings) -> None:
    numbers = [np.float32(settings[name]) for name in ("lr", "decay", "epsilon")]
    _in_chunks(_step, weight, state, numbers)


def _update(weight: torch.Tensor, state: State, settings: Settings) -> None:
    gradient, mean, square = weight.grad, state["mean"], state["square"]
    assert gradient is not None
    decay = settings["decay"]
    mean.lerp_(gradient, 1.0 - decay)
    square.mul_(decay).addcmul_(gradient, gradient, value=1.0 - decay)
    variance = torch.addcmul(square, mean, mean, value=-1.0).clamp_min_(0.0)
    root = variance.add_(settings["epsilon"]).sqrt_()
    weight.addcdiv_(gradient, root, value=-settings["lr"])


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def _adam_step(weight, gradient, mean, square, rate, scale, rests, epsilon):  # type: ignore[no-untyped-def]
    """`rate` has the correction of the mean in it, `scale` is the root of that of the square."""
    for i in range(len(weight)):
        g = gradient[i]
        mean[i] += rests[0] * (g - mean[i])
        square[i] += rests[1] * (g * g - square[i])
        weight[i] -= rate * mean[i] / (np.sqrt(square[i]) * scale + epsilon)


class Adam(Optimiser):
    """Kingma & Ba's optimiser with their decays: see the module.

    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> optimiser = Adam([weight], lr=0.1)
    >>> weight.grad = torch.full((1,), 7.0)
    >>> optimiser.step()
    >>> round(weight.item(), 4)  # the first step has length lr
    -0.1
    """

    def __init__(self, params: Iterable[torch.nn.Parameter], lr: float) -> None:
        super().__init__(params, lr=lr)

    def _start(self, weight: torch.Tensor) -> State:
        return {
            "mean": torch.zeros_like(weight, memory_format=torch.preserve_format),
            "square": torch.zeros_like(weight, memory_format=torch.preserve_format),
            "steps": torch.zeros(1, dtype=torch.int64),
        }

    def _update(self, weight: torch.Tensor, state: State, settings: Settings) -> None:
        state["steps"] += 1
        steps = int(state["steps"])
        first, second = (1.0 - decay**steps for decay in ADAM_DECAYS)
        rate, scale = settings["lr"] / first, second**-0.5
        if weight.device.type == "cpu":
            rests = np.array([1.0 - decay for decay in ADAM_DECAYS], np.float32)
            numbers = [np.float32(rate), np.float32(scale), rests, np.float32(ADAM_EPSILON)]
            _in_chunks(_adam_step, weight, state, numbers)
            return
        gradient, mean, square = weight.grad, state["mean"], state["square"]
        assert gradient is not None
        mean.lerp_(gradient, 1.0 - ADAM_DECAYS[0])
        square.lerp_(gradient * gradient, 1.0 - ADAM_DECAYS[1])
        weight.addcdiv_(mean, square.sqrt().mul_(scale).add_(ADAM_EPSILON), value=-rate)


def _in_chunks(
    step: Callable[..., None], weight: torch.Tensor, state: State, numbers: list[Any]
) -> None:
    """A compiled step over weight, gradient, mean and square, on several threads if there are."""
    gradient = weight.grad
    assert gradient is not None
    if gradient.stride() != weight.stride():
        gradient = torch.empty_like(weight).copy_(gradient)
    arrays = [
        _flat(tensor).numpy() for tensor in (weight.data, gradient, state["mean"], state["square"])
    ]
    size = arrays[0].size

    def part(start: int) -> None:
        step(*(array[start : start + CHUNK] for array in arrays), *numbers)

    starts = range(0, size, CHUNK)
    if len(starts) == 1 or torch.get_num_threads() == 1:
        for start in starts:
            part(start)
    else:
        list(_POOL.map(part, starts))


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers in the order of memory: parameters are dense, though not always row-major."""
    return tensor.as_strided((tensor.numel(),), (1,))
