"""The exploration bonus as the loop meets it, whatever it is made of.

The loop shows a bonus what every environment shows, tells it which step was stored where, and
stores each value once it is known. A bonus of the registry knows it at once. The SR bonus does not
influence acting, and an open episode is never sampled: so those of many observations are evaluated
in one forward pass, as long as none waits past the end of its episode or past a target copy. Then
each is what it would have been at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.actor import Actor
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import bonus_kind, make_bonus
from countless.bonuses.scaled import Scale, Scaling
from countless.core.errors import BadInput, named

State = dict[str, NDArray[Any]]
MOST_STATES = 4_096  # that a table numbers


class StepBonus(NamedTuple):
    """The bonus of one stored step, before beta."""

    lane: int
    slot: int
    value: float
    sr_norm: float = 0.0  # ||psi(s)||, of the SR bonus


class ExplorationBonus(Protocol):
    """What the loop asks of a bonus."""

    batch: int  # observations that are evaluated together

    def observe(self, actors: Sequence[Actor]) -> None:
        """See S_t of every environment, before the actions; it may learn from it."""
        ...

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        """S_t of an environment lies in `slot` of the replay and gets a bonus: those known by now.

        The observation may be kept as it is: it must not change later.
        """
        ...

    def flush(self) -> list[StepBonus]:
        """Those that were not known yet; the target network changes, or an episode is over."""
        ...

    def compute(self, observations: NDArray[Any]) -> NDArray[Any] | None:
        """The bonus (B,) of observations (B, history, ...) as things stand; changes nothing."""
        ...

    def get_state(self) -> State: ...

    def set_state(self, state: State) -> None: ...


class NoBonus:
    """No exploration bonus."""

    batch = 1

    def observe(self, actors: Sequence[Actor]) -> None:
        pass

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        return []

    def flush(self) -> list[StepBonus]:
        return []

    def compute(self, observations: NDArray[Any]) -> None:
        return None

    def get_state(self) -> State:
        return {}

    def set_state(self, state: State) -> None:
        pass


class SRBonus:
    """1 / ||psi(s)||, evaluated for up to `batch` observations at once."""

    def __init__(self, evaluate: Callable[[NDArray[Any]], NDArray[Any]], batch: int) -> None:
        self.batch = batch
        self._evaluate = evaluate
        self._observations: list[NDArray[Any]] = []
        self._slots: list[tuple[int, int]] = []

    def observe(self, actors: Sequence[Actor]) -> None:
        """The learner learns it."""

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        self._observations.append(observation)
        self._slots.append((lane, slot))
        return self.flush() if len(self._slots) >= self.batch else []

    def flush(self) -> list[StepBonus]:
        if not self._slots:
            return []
        values = self._evaluate(np.stack(self._observations))
        known = [
            StepBonus(lane, slot, float(value), 1.0 / float(value) if value else math.inf)
            for (lane, slot), value in zip(self._slots, values, strict=True)
        ]
        self._observations, self._slots = [], []
        return known

    def compute(self, observations: NDArray[Any]) -> NDArray[Any]:
        return self._evaluate(observations)

    def get_state(self) -> State:
        """The observations that wait."""
        if not self._slots:
            return {}
        return {
            "observations": np.stack(self._observations),
            "slots": np.array(self._slots, np.int64),
        }

    def set_state(self, state: State) -> None:
        self._observations = list(state["observations"]) if state else []
        self._slots = [(int(lane), int(slot)) for lane, slot in state["slots"]] if state else []


class SRDifferenceBonus:
    """max(0, ||psi(s_t-1)|| - ||psi(s_t)||): how much newer this observation is than the one before.

    0 at the first step of an episode, and at the first that gets a bonus. Each norm is that of the
    target network when its observation is evaluated: the two may lie on both sides of a copy.
    """

    def __init__(self, evaluate: Callable[[NDArray[Any]], NDArray[Any]], batch: int) -> None:
        self._inverse = SRBonus(evaluate, batch)
        self.batch = batch
        self._starts: list[bool] = []  # of each environment, as observed last
        self._waiting: list[bool] = []  # whether each that waits is a first step
        self._last: dict[int, float] = {}  # the norm of each environment's step before

    def observe(self, actors: Sequence[Actor]) -> None:
        self._starts = [actor.episode.steps == 0 for actor in actors]

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        self._waiting.append(self._starts[lane])
        return self._differences(self._inverse.remember(lane, slot, observation))

    def flush(self) -> list[StepBonus]:
        return self._differences(self._inverse.flush())

    def _differences(self, known: list[StepBonus]) -> list[StepBonus]:
        if not known:
            return []
        found = []
        for one, starts in zip(known, self._waiting, strict=True):
            before = one.sr_norm if starts else self._last.get(one.lane, one.sr_norm)
            self._last[one.lane] = one.sr_norm
            found.append(one._replace(value=max(0.0, before - one.sr_norm)))
        self._waiting = []
        return found

    def compute(self, observations: NDArray[Any]) -> None:
        """An observation alone has none."""
        return

    def get_state(self) -> State:
        lanes = sorted(self._last)
        return self._inverse.get_state() | {
            "waiting": np.array(self._waiting, np.bool_),
            "lanes": np.array(lanes, np.int64),
            "norms": np.array([self._last[lane] for lane in lanes], np.float64),
        }

    def set_state(self, state: State) -> None:
        own = {name: state[name] for name in ("waiting", "lanes", "norms")}
        self._inverse.set_state({name: v for name, v in state.items() if name not in own})
        self._waiting = [bool(starts) for starts in own["waiting"]]
        norms = zip(own["lanes"], own["norms"], strict=True)
        self._last = {int(lane): float(norm) for lane, norm in norms}


class ScaledSR:
    """A bonus of the SR at the scale that a bonus of the registry can have: `bonuses.scaled`.

    Each value is scaled by what was known before it, in the order in which the steps were stored.
    """

    def __init__(self, inside: SRBonus | SRDifferenceBonus, scaling: Scaling, envs: int) -> None:
        self.batch = inside.batch
        self._inside, self._scale, self._envs = inside, Scale(scaling), envs

    def observe(self, actors: Sequence[Actor]) -> None:
        self._inside.observe(actors)

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        return self._scaled(self._inside.remember(lane, slot, observation))

    def flush(self) -> list[StepBonus]:
        return self._scaled(self._inside.flush())

    def _scaled(self, known: list[StepBonus]) -> list[StepBonus]:
        found = []
        for one in known:
            raw = np.zeros(self._envs)
            raw[one.lane] = one.value
            row = np.array([one.lane])
            found.append(one._replace(value=float(self._scale.scaled(raw[row])[0])))
            self._scale.learn(raw, row, None)  # the sums run on over the ends of episodes
            self._scale.rows += 1
        return found

    def compute(self, observations: NDArray[Any]) -> NDArray[Any] | None:
        raw = self._inside.compute(observations)
        return None if raw is None else self._scale.scaled(np.asarray(raw, np.float64))

    def get_state(self) -> State:
        own = {name: np.asarray(value) for name, value in self._scale.state().items()}
        return self._inside.get_state() | own

    def set_state(self, state: State) -> None:
        own = self._scale.state()
        self._scale.load({name: value for name, value in state.items() if name in own})
        self._inside.set_state({name: v for name, v in state.items() if name not in own})


class Sight(Protocol):
    """What a bonus of the registry sees of the observations (B, history, ...) of the loop."""

    space: Any  # what `make_bonus` is told of it
    layout: str | None  # that of its axes, where it has any

    def __call__(self, observations: NDArray[Any], *, meet: bool) -> NDArray[Any]:
        """One row per observation; with `meet` they are there, and not only asked about."""
        ...

    def get_state(self) -> State: ...

    def set_state(self, state: State) -> None: ...


class ShownFrames:
    """The stack of frames, or the newest alone as a vector."""

    def __init__(self, space: tuple[int, ...], stacked: bool) -> None:
        self.space, self._stacked = space, stacked
        self.layout: str | None = "THW" if stacked else "vector"

    def __call__(self, observations: NDArray[Any], *, meet: bool) -> NDArray[Any]:
        return observations if self._stacked else observations[:, -1]

    def get_state(self) -> State:
        return {}

    def set_state(self, state: State) -> None:
        pass


class Numbered:
    """A number for each observation, in the order in which they are met: the states of a table.

    An observation that was not met yet has the last number, which no observation is given.
    """

    layout: str | None = None
    space = MOST_STATES + 1

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def __call__(self, observations: NDArray[Any], *, meet: bool) -> NDArray[Any]:
        rows = [np.ascontiguousarray(row).tobytes() for row in observations]
        if meet:
            for row in rows:
                self._numbers.setdefault(row, len(self._numbers))
            if len(self._numbers) > MOST_STATES:
                raise BadInput(
                    f"{named('bonus_sees', 'number')} is for environments with few observations: "
                    f"here are more than {MOST_STATES:,}"
                )
        return np.array([self._numbers.get(row, MOST_STATES) for row in rows], np.int64)

    def get_state(self) -> State:
        met = np.frombuffer(b"".join(self._numbers), np.uint8)
        return {"met": met.reshape(len(self._numbers), -1).copy()} if self._numbers else {}

    def set_state(self, state: State) -> None:
        met = state.get("met", np.zeros((0, 0), np.uint8))
        self._numbers = {row.tobytes(): number for number, row in enumerate(met)}


class RegistryBonus:
    """A bonus of `countless list bonuses`: it sees S_t once per step, before the action.

    With `through`, the first step of an episode follows the last one of the episode before.
    """

    batch = 1

    def __init__(self, bonus: Bonus, sight: Sight, *, through: bool) -> None:
        self.bonus, self._sight, self._through = bonus, sight, through
        self._values: NDArray[Any] = np.zeros(0)

    def observe(self, actors: Sequence[Actor]) -> None:
        """Of the warm-up too: it learns from it."""
        observations = self._sight(np.stack([actor.stack for actor in actors]), meet=True)
        starts = np.array([actor.episode.steps == 0 and not self._through for actor in actors])
        self._values = np.asarray(self.bonus.observe(observations, starts=starts))

    def remember(self, lane: int, slot: int, observation: NDArray[Any]) -> list[StepBonus]:
        return [StepBonus(lane, slot, float(self._values[lane]))]

    def flush(self) -> list[StepBonus]:
        return []

    def compute(self, observations: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.bonus.compute(self._sight(observations, meet=False)))

    def get_state(self) -> State:
        own = {name: np.asarray(value) for name, value in self.bonus.state_dict().items()}
        return own | {f"sight.{name}": value for name, value in self._sight.get_state().items()}

    def set_state(self, state: State) -> None:
        seen = {name: value for name, value in state.items() if name.startswith("sight.")}
        self._sight.set_state({name.removeprefix("sight."): v for name, v in seen.items()})
        self.bonus.load_state_dict({name: v for name, v in state.items() if name not in seen})


def make_exploration_bonus(
    config: DQNConfig, spec: Spec, learner: Learner, seed: int, *, warm: bool = False
) -> ExplorationBonus:
    """The bonus that the configuration names, with a beta of 1: beta is the agent's.

    One that is `warm` has no warm-up of its own, in which a step may cost less than later.
    """
    name = config.rewards.bonus
    if name == "off":
        return NoBonus()
    if name == "sr":
        kind = SRBonus if config.rewards.bonus_form == "inverse" else SRDifferenceBonus
        plain = kind(learner.sr_bonuses, config.rewards.bonus_batch)
        if config.rewards.bonus_scale == "none":
            return plain
        return ScaledSR(plain, Scaling(scale=config.rewards.bonus_scale), config.protocol.envs)
    sight = _make_sight(config, spec)
    known = {item.name for item in fields(bonus_kind(name).parameters)}
    scale = config.rewards.bonus_scale
    settings: dict[str, Any] = {"warm_up": 0} if warm and "warm_up" in known else {}
    if "beta" in known or scale != "none":
        settings["beta"] = 1.0
    bonus = make_bonus(
        name,
        sight.space,
        layout=sight.layout,
        seed=seed,
        device=learner.device.name,
        scale=scale,
        **settings,
    )
    return RegistryBonus(bonus, sight, through=config.losses.sr_terminal == "continue")


def _make_sight(config: DQNConfig, spec: Spec) -> Sight:
    sees = config.rewards.bonus_sees
    stack = (config.architecture.history, *spec.frame_shape)
    if sees == "number":
        return Numbered()
    images = len(spec.frame_shape) == 2 and sees == "frames"
    return ShownFrames(stack if images else spec.frame_shape, images)
