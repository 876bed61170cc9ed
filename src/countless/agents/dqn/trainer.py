"""The loop: act, remember, learn. It yields a record of each step; consumers write and show them.

Order of a step, as released: choose the action from S_t, act, remember, end the episode if it is
over, update every `update_period` steps, copy the target every `target_period`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from countless.agents.dqn.actor import Actor, Episode
from countless.agents.dqn.bonus import StepBonus, make_exploration_bonus
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.features import FeatureHealth, measure_features
from countless.agents.dqn.learner import Learner, NonFiniteError
from countless.agents.dqn.network import Spec
from countless.agents.dqn.replay import DONE, FIRST, STEP, Replay, Transitions
from countless.core.seeding import derived_seed
from countless.envs.frame_env import FrameEnv
from countless.envs.places import Coverage, Survey

UPDATES_PER_HEALTH = 500  # from one look at the features to the next
OBSERVATIONS, BONUSES = 256, 64  # how many are looked at then


@dataclass(frozen=True)
class FinishedEpisode:
    """An episode that ended, and when."""

    episode: Episode
    env: int
    step: int
    frames: int
    warmup: bool
    coverage: Coverage | None = None  # of games whose places are known


@dataclass(frozen=True)
class StepRecord:
    """One turn of the loop: a step in each environment and what followed from it."""

    step: int  # agent steps so far, warm-up not counted
    frames: int  # emulator frames so far, warm-up not counted
    warm: int  # steps of the warm-up so far
    epsilon: float
    finished: tuple[FinishedEpisode, ...]
    losses: dict[str, Tensor] | None  # of the last update of this turn, by name
    features: FeatureHealth | None = None  # every `UPDATES_PER_HEALTH` updates
    collapsed: bool = False  # once, when the features are first seen to have collapsed


class Trainer:
    """All that learning depends on, and how it goes on."""

    def __init__(self, games: list[FrameEnv], config: DQNConfig, device: Device, seed: int) -> None:
        game, history = games[0], config.architecture.history
        self.config = config
        self.spec = Spec(game.frame_shape, game.n_actions, game.pixels)
        self.learner = Learner(self.spec, config, device, derived_seed(seed, "network") % 2**63)
        self.replay = Replay(
            len(games),
            config.lane_capacity,
            game.frame_shape,
            game.dtype,
            history,
            next_starts=config.architecture.sr and config.losses.sr_terminal == "continue",
        )
        across = config.memory.stacks == "released"
        self.actors = [Actor(game, history, across) for game in games]
        self.random = {
            name: np.random.Generator(np.random.PCG64(derived_seed(seed, name)))
            for name in ("actions", "replay")
        }
        self.bonus = make_exploration_bonus(
            config, self.spec, self.learner, derived_seed(seed, "bonus") % 2**31
        )
        self._health_seed = derived_seed(seed, "features")
        self._collapse_seen = False
        self.step = self.frames = self.warm = self.updates = self.episodes = 0
        for actor in self.actors:
            actor.begin()
        self.survey = None if game.place() is None else Survey(len(games))

    @property
    def epsilon(self) -> float:
        """Falls linearly over the first `epsilon_steps` steps."""
        c = self.config.exploration
        done = min(1.0, self.step / c.epsilon_steps)
        return c.epsilon_start + done * (c.epsilon - c.epsilon_start)

    def turns(self, frames: int) -> Iterator[StepRecord]:
        """Go on until that many frames were played."""
        while self.frames < frames:
            yield self.turn()
        self.learner.check_losses()

    def turn(self) -> StepRecord:
        """One step in every environment, and the updates that are due then."""
        memory = self.config.memory
        warm = self.warm < memory.warmup
        epsilon = 1.0 if warm else self.epsilon
        actions = self._choose(epsilon)
        self.bonus.observe(self.actors)
        finished = []
        for lane, actor in enumerate(self.actors):
            over = self._play(lane, actor, int(actions[lane]), warm)
            if over is not None:
                finished.append(over)
        losses = features = None
        if warm:
            self.warm += len(self.actors)
            if self.warm >= memory.warmup and memory.warmup_end == "reset":
                for actor in self.actors:
                    actor.begin()
        else:
            looked_at = self.updates // UPDATES_PER_HEALTH
            losses = self._learn()
            if self.updates // UPDATES_PER_HEALTH > looked_at:
                features = self.feature_health()
        collapsed = features is not None and features.collapsed and not self._collapse_seen
        self._collapse_seen |= collapsed
        return StepRecord(
            self.step, self.frames, self.warm, epsilon, tuple(finished), losses, features, collapsed
        )

    def bonuses_at(self, observations: NDArray[Any]) -> NDArray[np.float64] | None:
        """What the bonus adds at observations (B, history, ...) as things stand; None without one."""
        values = self.bonus.compute(observations)
        if values is None:
            return None
        return np.array([self.config.rewards.added(float(value)) for value in values])

    def feature_health(self) -> FeatureHealth | None:
        """The features of observations drawn from the replay; None before there are any.

        None too where a feature is no number: the next loss says so.

        The draws have a generator of their own, made afresh each time: what is learned does not
        depend on whether anyone looks.
        """
        if not self.replay.can_sample():
            return None
        random = np.random.default_rng((self._health_seed, self.updates))
        observations = self.replay.sample(OBSERVATIONS, random).s_tm1
        added = self.bonuses_at(observations[:BONUSES])
        phi = self.learner.features(observations)
        return measure_features(phi, added) if np.isfinite(phi).all() else None

    def _choose(self, epsilon: float) -> NDArray[np.int64]:
        """Epsilon-greedy; the network is asked only where it decides."""
        random = self.random["actions"]
        actions = random.integers(self.spec.actions, size=len(self.actors))
        greedy = np.flatnonzero(random.random(len(self.actors)) >= epsilon)
        if len(greedy):
            stacks = np.stack([self.actors[lane].stack for lane in greedy])
            actions[greedy] = self.learner.greedy(stacks)
        return actions

    def _play(self, lane: int, actor: Actor, action: int, warm: bool) -> FinishedEpisode | None:
        """Act in one environment and remember it."""
        before = actor.stack.copy()
        flags = STEP | (FIRST if actor.first else 0)
        step = actor.act(action)
        if self.survey is not None and (place := actor.game.place()) is not None:
            self.survey.look(lane, place)
        cut = step.truncated and self.config.protocol.time_limit == "truncation"
        over = step.terminated or step.truncated
        if over and not cut:
            flags |= DONE
        slot = self.replay.append(lane, before[-1], action, step.reward, flags)
        if not warm or self.config.rewards.warmup_bonus:
            self._store(self.bonus.remember(lane, slot, before))
        if not warm:
            self.frames += step.frames
        return self._end(lane, actor, cut, warm) if over else None

    def _end(self, lane: int, actor: Actor, cut: bool, warm: bool) -> FinishedEpisode:
        self._store(self.bonus.flush())
        if not actor.across:
            self.replay.append(lane, actor.stack[-1], 0, 0.0, 0)
        tail = self.learner.value_after(actor.last_stack()[None]) if cut else 0.0
        self.replay.finish(lane, self.learner.rewards, self.config.losses.gamma, tail)
        self.episodes += 1
        # An episode that began in the warm-up belongs to it.
        warm = warm or actor.episode.steps > self.step // len(self.actors) + 1
        ended = FinishedEpisode(
            actor.episode,
            lane,
            self.step + (0 if warm else lane + 1),
            self.frames,
            warm,
            None if self.survey is None else self.survey.end(lane),
        )
        actor.begin()
        return ended

    def _store(self, bonuses: list[StepBonus]) -> None:
        """Bonuses that are now known: in the replay, and in the sums of their episodes."""
        for bonus in bonuses:
            if not (math.isfinite(bonus.value) and math.isfinite(bonus.sr_norm)):
                observation = self.replay.observation(bonus.lane, bonus.slot)
                parts = {"bonus": bonus.value, "SR norm": bonus.sr_norm}
                raise NonFiniteError("bonus", parts, {"observation": observation})
            self.replay.set_bonus(bonus.lane, bonus.slot, bonus.value)
            episode = self.actors[bonus.lane].episode
            added = self.config.rewards.added(bonus.value)
            self.learner.centre.add(added)
            episode.bonus += added
            episode.sr_norm += bonus.sr_norm

    def _learn(self) -> dict[str, Tensor] | None:
        """The updates and target copies that fall into the steps of this turn."""
        learning = self.config.learning
        losses = None
        for _ in self.actors:
            self.step += 1
            if self.step % learning.update_period == 0 and self.replay.can_sample():
                batch = self._sample(learning.batch)
                losses = self.learner.update(batch)
                self.updates += 1
            if self.step % learning.target_period == 0:
                self._store(self.bonus.flush())
                self.learner.copy_to_target()
        return losses

    def _sample(self, size: int) -> Transitions:
        """A batch of the replay; its bonuses as stored, or as they are now where that is wanted."""
        batch = self.replay.sample(size, self.random["replay"])
        if not self.config.rewards.other_bonus_when_sampled:
            return batch
        values = self.bonus.compute(batch.s_tm1)
        assert values is not None
        # Steps that got no bonus keep none.
        now = np.where(batch.r_int_t != 0.0, values, 0.0).astype(np.float32)
        return replace(batch, r_int_t=now)

    def counters(self) -> dict[str, Any]:
        """The plain numbers that a checkpoint keeps."""
        names = ("step", "frames", "warm", "updates", "episodes")
        states = {name: random.bit_generator.state for name, random in self.random.items()}
        counted = {name: getattr(self, name) for name in names} | {"random": states}
        centre = self.learner.centre
        if centre.learns:
            counted["centre"] = centre.get_state()
        if self.survey is not None:
            counted["survey"] = self.survey.get_state()
        return counted

    def set_counters(self, kept: dict[str, Any]) -> None:
        for name in ("step", "frames", "warm", "updates", "episodes"):
            setattr(self, name, int(kept[name]))
        if self.learner.centre.learns:
            self.learner.centre.set_state(kept["centre"])
        if self.survey is not None and "survey" in kept:  # older checkpoints have none
            self.survey.set_state(kept["survey"])
        for name, random in self.random.items():
            random.bit_generator.state = kept["random"][name]
