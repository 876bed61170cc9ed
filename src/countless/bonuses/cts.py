"""CTS pseudo-counts (Bellemare et al. 2016): one context-tree-switching model per pixel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.images import quantise
from countless.bonuses.protocol import Bonus, State, as_transitions, check_state
from countless.bonuses.registry import BonusKind
from countless.core.arrays import Floats, like
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader
from countless.core.parameters import real, validate, whole

LEVELS = 8
# Words of 4 bytes of an inner node and of a leaf; checked against the kernel when it is loaded.
INNER_WORDS, LEAF_WORDS = 20, 9
DEPTH = 4
LOG_MAX = 700.0


@dataclass(frozen=True)
class CTSParameters:
    """beta (N + offset)^(-1/2), N the pseudo-count; 42 x 42 pixels of 8 grey levels."""

    beta: float = real(0.05, "scale of the bonus", "[0, inf)")
    offset: float = real(0.01, "added to the pseudo-count", "(0, inf)")
    size: int = whole(42, "side of the image in pixels", "[1, 256]")
    megabytes: float = real(512.0, "memory limit of the trees, in MiB", "(0, 1e5]")

    def __post_init__(self) -> None:
        validate(self)


class CTS(ObservingBonus):
    """The pseudo-count N = rho (1 - rho') / (rho' - rho) of a location-dependent CTS model.

    `compute` gives what `observe` would, without learning. A batch is learned frame by frame. When
    the trees reach `megabytes` they stop growing: missing nodes then answer as fresh ones.
    """

    def __init__(self, observations: ObservationReader, parameters: CTSParameters) -> None:
        from countless.bonuses.kernels import cts as kernel

        assert (kernel.INNER_WORDS, kernel.LEAF_WORDS) == (INNER_WORDS, LEAF_WORDS)
        self.parameters = parameters
        self._reader = observations
        self._assess = kernel.assess
        self._share = kernel.SHARE
        self.updates = 0
        pixels = parameters.size**2
        budget = parameters.megabytes * 2**20 / 4
        # A pixel's path has four inner nodes and a leaf; branches add both alike.
        self._limit = int(budget / (INNER_WORDS + LEAF_WORDS))
        if self._limit < pixels + 1:
            needed = (pixels + 1) * (INNER_WORDS + LEAF_WORDS) * 4 / 2**20
            raise BadInput(f"cts: {pixels} trees need megabytes={needed:.2g} or more")
        self._inner = np.zeros((pixels, INNER_WORDS), dtype=np.int32)
        self._leaves = np.zeros((1, LEAF_WORDS), dtype=np.int32)
        self._shares()[:, self._share] = 0.5
        # Nodes in use: inner ones (the roots first), leaves (row 0 is none), and refusals.
        self._used = np.array([pixels, 1, 0], dtype=np.int64)

    def memory(self) -> int:
        """Bytes that the trees take, with room for more nodes counted in."""
        return self._inner.nbytes + self._leaves.nbytes

    def log_probability(self, observations: Any) -> Floats:
        """log rho of each observation, in nats for the whole image."""
        return self._logs(observations, write=False)[0]

    def pseudo_count(self, observations: Any) -> Floats:
        """N of each observation as things stand."""
        return _pseudo_count(*self._logs(observations, write=False))

    def compute(self, observations: Any, features: Any = None) -> Any:
        return like(self._bonus(*self._logs(observations, write=False)), observations)

    def update(self, batch: Any) -> dict[str, float]:
        before, after = self._logs(as_transitions(batch).observations, write=True)
        return {
            "log_probability": float(before.mean()) if len(before) else 0.0,
            "prediction_gain": float((after - before).mean()) if len(before) else 0.0,
            "nodes": float(self._used[:2].sum()),
            "megabytes": float(self._used[:2] @ (INNER_WORDS, LEAF_WORDS)) * 4 / 2**20,
            "refused_nodes": float(self._used[2]),
        }

    def _observe(self, step: Step) -> Any:
        logs = self._logs(step.observations, write=True)
        return like(self._bonus(*logs), step.observations)

    def state_dict(self) -> State:
        return {
            "updates": self.updates,
            "used": self._used.copy(),
            "inner": self._inner[: self._used[0]].copy(),
            "leaves": self._leaves[: self._used[1]].copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state("cts", state, self.state_dict() | {"inner": None, "leaves": None})
        inner, leaves = (np.array(state[key], dtype=np.int32) for key in ("inner", "leaves"))
        used = np.array(state["used"], dtype=np.int64)
        if (
            inner.shape != (used[0], INNER_WORDS)
            or leaves.shape != (used[1], LEAF_WORDS)
            or len(inner) < self.parameters.size**2
            or not _sound(inner, leaves, self.parameters.size**2)
        ):
            raise BadInput("cts: the trees of this state are broken")
        self._inner, self._leaves, self._used = inner, leaves, used
        self.updates = int(state["updates"])

    def _shares(self) -> Floats:
        return self._inner.view(np.float64)

    def _bonus(self, before: Floats, after: Floats) -> Floats:
        bonus: Floats = self.parameters.beta * (
            (_pseudo_count(before, after) + self.parameters.offset) ** -0.5
        )
        return bonus

    def _logs(self, observations: Any, write: bool) -> tuple[Floats, Floats]:
        values = self._reader.read("cts", observations)
        images = quantise(values, self.parameters.size, LEVELS)
        before, after = np.zeros(len(images)), np.zeros(len(images))
        if write:
            self._make_room(len(images))
        self._assess(
            images, self.updates, self._inner, self._shares(), self._leaves, self._used, write,
            before, after,
        )  # fmt: skip
        if write:
            self.updates += len(images)
        return before, after

    def _make_room(self, frames: int) -> None:
        """Room for the most nodes that these frames can add, or up to the limit."""
        pixels = self.parameters.size**2
        self._inner = _grown(self._inner, self._used[0] + 3 * pixels * frames, self._limit)
        self._leaves = _grown(self._leaves, self._used[1] + pixels * frames, self._limit)


def _grown(pool: NDArray[np.int32], wanted: int, limit: int) -> NDArray[np.int32]:
    if wanted <= len(pool) or len(pool) >= limit:
        return pool
    grown = np.zeros((min(max(int(wanted), 2 * len(pool)), limit), pool.shape[1]), dtype=np.int32)
    grown[: len(pool)] = pool
    return grown


def _sound(inner: NDArray[np.int32], leaves: NDArray[np.int32], roots: int) -> bool:
    """No child points outside its pool: the kernel does not look."""
    nodes: NDArray[Any] = np.arange(roots)
    for depth in range(DEPTH):
        children = inner[nodes, :LEVELS]
        pool = leaves if depth == DEPTH - 1 else inner
        if children.min(initial=0) < 0 or children.max(initial=0) >= len(pool):
            return False
        nodes = children[children > 0]
    return True


def _pseudo_count(before: Floats, after: Floats) -> Floats:
    """(1 - rho') / (exp(gain) - 1), infinite where there was no gain."""
    gain = np.minimum(after - before, LOG_MAX)
    with np.errstate(divide="ignore"):
        return np.where(gain > 0.0, -np.expm1(after) / np.maximum(np.expm1(gain), 1e-300), np.inf)


def _make(
    observations: ObservationReader, parameters: CTSParameters, *, seed: int, device: str
) -> Bonus:
    return CTS(observations, parameters)


KIND = BonusKind(
    "cts",
    "pseudo-counts of a context-tree-switching model per pixel (Bellemare et al. 2016)",
    CTSParameters,
    _make,
    observations=("image",),
)
