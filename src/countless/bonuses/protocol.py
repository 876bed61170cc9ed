"""What a bonus is: arrays in, one number per environment out. It knows no environment and no agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np

from countless.core.errors import BadInput

State = dict[str, Any]  # name -> NumPy array or plain number: nothing that needs pickle


@dataclass(frozen=True)
class Transitions:
    """What a bonus learns from: each field has one row per transition, NumPy or torch.

    Only `observations` is always there. Bonuses that learn from transitions (the SR, the SSR) need
    `next_observations` too; `dones` marks transitions into a terminal state, where nothing follows.
    """

    observations: Any
    next_observations: Any = None
    actions: Any = None
    dones: Any = None
    features: Any = None
    next_features: Any = None


def as_transitions(batch: Any) -> Transitions:
    """`Transitions` as they are, from a mapping with their names, or from observations alone.

    >>> as_transitions({"observations": [1, 2], "dones": [False, True]}).dones
    [False, True]
    """
    if isinstance(batch, Transitions):
        return batch
    if isinstance(batch, Mapping):
        known = {item.name for item in fields(Transitions)}
        unknown = sorted(set(batch) - known)
        if unknown or "observations" not in batch:
            what = f"has {', '.join(unknown)}" if unknown else "lacks observations"
            raise BadInput(f"the batch {what}; a batch has {', '.join(sorted(known))}")
        return Transitions(**batch)
    return Transitions(batch)


@runtime_checkable
class Bonus(Protocol):
    """An exploration bonus for B parallel environments.

    What comes out is of the kind that goes in: a NumPy array gives float64, a torch tensor gives
    float32 on its own device. Every bonus is finite and already scaled by its `beta`, and at least 0
    unless it is standardised.

    A bonus whose first observations only feed its own statistics may say so with a property `warming`
    (`is_warming` reads it): what it gave for them says nothing about the size of what follows.
    """

    def compute(self, observations: Any, features: Any = None) -> Any:
        """The bonus (B,) of each observation as things stand. Changes nothing."""
        ...

    def update(self, batch: Any) -> dict[str, float]:
        """Learn from `Transitions` (or a mapping, or observations alone); gives metrics."""
        ...

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
        active: Any = None,
        truncations: Any = None,
    ) -> Any:
        """Learn from what an agent's loop sees at one step, and give its bonus (B,), in one pass.

        The order of the two is the bonus' own. With `next_observations` the step is a complete
        transition, and `dones` marks those after which nothing follows. Without, bonuses that learn
        from transitions link consecutive calls, row by row; `starts` marks rows that begin an episode
        and are not linked to what came before, and `dones` marks observations that are terminal: no
        later call leaves them, so that they are learned at once. Rows where `active` is False took no
        step, as when Gymnasium's vector environments only reset them: they teach nothing and are
        paid 0. `truncations` marks transitions after which an episode was cut off, for environments
        that reset in the step after it. It changes nothing that is learned; with it, a loop that
        forgot `active` is warned after these ends too.
        """
        ...

    def state_dict(self) -> State:
        """All that was learned, as arrays and numbers."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`, to the bit."""
        ...


def is_warming(bonus: Bonus) -> bool:
    """Whether all that a bonus observed so far belongs to a warm-up; False where it has none."""
    return bool(getattr(bonus, "warming", False))


def check_state(name: str, state: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """The names of `state` are those of `expected`, and so are the shapes (None: any shape)."""
    missing, extra = sorted(set(expected) - set(state)), sorted(set(state) - set(expected))
    if any(key.startswith("scaled.") for key in extra):
        raise BadInput(f"{name}: this state was saved with a scale; this bonus has scale='none'")
    if missing or extra:
        what = f"lacks {missing[0]!r}" if missing else f"has an unknown entry {extra[0]!r}"
        raise BadInput(f"{name}: this state {what}; it is not one of this bonus")
    for key, value in expected.items():
        shape, given = np.shape(value), np.shape(state[key])
        if value is not None and shape != given:
            raise BadInput(
                f"{name}: {key!r} has shape {given} in this state, {shape} in this bonus"
            )
