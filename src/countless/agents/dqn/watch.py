"""A trained agent at play: the game, the next frame that it predicts, its value, norm and bonus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput

Image = NDArray[np.uint8]
AT_ONCE = 32  # steps whose predictions and bonuses are computed together


@dataclass(frozen=True)
class Scene:
    """One step that is watched."""

    screen: Image  # after the step
    prediction: Image | None  # of the same
    value: float  # the largest q(s, a)
    norm: float | None  # ||psi(s)||, where the bonus is made of it
    bonus: float | None  # what is added to the reward of the step
    score: float  # of the episode so far
    step: int
    episode: int


@dataclass(frozen=True)
class _Step:
    """A step that was taken, before the network is asked what does not decide it."""

    observation: NDArray[Any]
    action: int
    value: float
    screen: Image
    score: float
    episode: int


def play(trainer: Trainer, epsilon: float, steps: int, seed: int) -> Iterator[Scene]:
    """`steps` of the agent as it stands, one episode after the other; nothing is learned."""
    actor, random, taken, episode = trainer.actors[0], np.random.default_rng(seed), [], 1
    actor.begin()
    for i in range(1, steps + 1):
        observation, values = actor.stack.copy(), trainer.learner.values(actor.stack)
        explores = random.random() < epsilon
        action = int(random.integers(trainer.spec.actions)) if explores else int(values.argmax())
        step = actor.act(action)
        value, screen = float(values.max()), _screen(actor, trainer)
        taken.append(_Step(observation, action, value, screen, actor.episode.score, episode))
        if len(taken) == AT_ONCE or i == steps:
            yield from _scenes(trainer, taken, i - len(taken))
            taken.clear()
        if step.terminated or step.truncated:
            actor.begin()
            episode += 1


def _scenes(trainer: Trainer, taken: Sequence[_Step], before: int) -> Iterator[Scene]:
    observations = np.stack([step.observation for step in taken])
    actions = np.array([step.action for step in taken])
    predictions = trainer.learner.predictions(observations, actions)
    bonuses = trainer.bonuses_at(observations)
    reads_norm = trainer.config.rewards.bonus == "sr"
    norms = 1.0 / trainer.learner.sr_bonuses(observations) if reads_norm else None
    for i, step in enumerate(taken):
        yield Scene(
            step.screen,
            None if predictions is None else _levels(predictions[i], trainer),
            step.value,
            None if norms is None else float(norms[i]),
            None if bonuses is None else float(bonuses[i]),
            step.score,
            before + i + 1,
            step.episode,
        )


def _levels(frame: NDArray[Any], trainer: Trainer) -> Image | None:
    """A frame as a picture; one of a vector's levels is a row of cells."""
    if not trainer.spec.pixels:
        return None
    return np.atleast_2d(frame).clip(0, 255).astype(np.uint8)


def _screen(actor: Any, trainer: Trainer) -> Image:
    try:
        shown: Image = cv2.cvtColor(actor.game.screen(), cv2.COLOR_RGB2BGR)
        return shown
    except BadInput:
        newest = _levels(actor.stack[-1].astype(np.float32), trainer)
        if newest is None:
            raise
        return newest
