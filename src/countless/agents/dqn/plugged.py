"""Any bonus of the registry in the deep agent: one agent, bonuses plugged in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.actor import Actor
from countless.agents.dqn.config import DeepConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.network import Spec
from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import bonus_kind, make_bonus


class Plugged:
    """A bonus that sees S_t of every environment once a step, before the action."""

    def __init__(self, bonus: Bonus, images: bool) -> None:
        self.bonus, self._images = bonus, images

    def observe(self, actors: Sequence[Actor]) -> NDArray[Any]:
        """The bonus of each environment's observation, which is learned from."""
        seen = self._seen(actors)
        starts = np.array([actor.episode.steps == 0 for actor in actors])
        return np.asarray(self.bonus.observe(seen, starts=starts))

    def compute(self, actors: Sequence[Actor]) -> NDArray[Any]:
        """The bonus as things stand."""
        return np.asarray(self.bonus.compute(self._seen(actors)))

    def _seen(self, actors: Sequence[Actor]) -> NDArray[Any]:
        """Vectors are seen without their history."""
        return np.stack([actor.stack if self._images else actor.stack[-1] for actor in actors])

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {name: np.asarray(value) for name, value in self.bonus.state_dict().items()}

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        self.bonus.load_state_dict(state)


def plug_in(config: DeepConfig, spec: Spec, device: Device, seed: int) -> Plugged | None:
    """The bonus that the configuration names, unscaled: beta is the agent's. None for sr and off."""
    if config.bonus in ("sr", "off"):
        return None
    images = len(spec.frame_shape) == 2
    shape = (config.history, *spec.frame_shape) if images else spec.frame_shape
    kind = bonus_kind(config.bonus)
    unscaled: dict[str, Any] = (
        {"beta": 1.0} if "beta" in {f.name for f in fields(kind.parameters)} else {}
    )
    bonus = make_bonus(config.bonus, shape, seed=seed, device=device.name, **unscaled)
    return Plugged(bonus, images)
