"""The loop: act, remember, learn. It yields what happened; who watches decides what to do with it.

Order of a step, as released: choose the action from S_t, act, remember, end the episode if it is
over, update every `update_period` steps, copy the target every `target_period`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from countless.agents.dqn.actor import Actor, Episode
from countless.agents.dqn.bonus import WaitingRoom
from countless.agents.dqn.config import DeepConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.agents.dqn.plugged import plug_in
from countless.agents.dqn.replay import DONE, FIRST, STEP, Replay
from countless.core.seeding import derived_seed
from countless.envs.game import Game


@dataclass(frozen=True)
class Finished:
    """An episode that ended, and when."""

    episode: Episode
    env: int
    step: int
    frames: int
    warmup: bool


@dataclass(frozen=True)
class Moment:
    """One turn of the loop: a step in each environment and what followed from it."""

    step: int  # agent steps so far, warm-up not counted
    frames: int  # emulator frames so far, warm-up not counted
    warm: int  # steps of the warm-up so far
    epsilon: float
    finished: tuple[Finished, ...]
    losses: dict[str, Tensor] | None  # of the last update of this turn, by name


class Trainer:
    """All that learning depends on, and how it goes on."""

    def __init__(self, games: list[Game], config: DeepConfig, device: Device, seed: int) -> None:
        game = games[0]
        self.config = config
        self.spec = Spec(game.frame_shape, game.n_actions, game.pixels)
        self.learner = Learner(self.spec, config, device, derived_seed(seed, "network") % 2**63)
        self.replay = Replay(
            len(games), config.lane_capacity, game.frame_shape, game.dtype, config.history
        )
        self.actors = [Actor(game, config.history, config.stacks == "released") for game in games]
        self.random = {
            name: np.random.Generator(np.random.PCG64(derived_seed(seed, name)))
            for name in ("actions", "replay")
        }
        self.waiting = WaitingRoom(self.learner.bonuses, config.bonus_batch)
        self.plugged = plug_in(config, self.spec, device, derived_seed(seed, "bonus") % 2**31)
        self.step = self.frames = self.warm = self.updates = self.episodes = 0
        for actor in self.actors:
            actor.begin()

    @property
    def epsilon(self) -> float:
        """Falls linearly over the first `epsilon_steps` steps."""
        c = self.config
        done = min(1.0, self.step / c.epsilon_steps)
        return c.epsilon_start + done * (c.epsilon - c.epsilon_start)

    def turns(self, frames: int) -> Iterator[Moment]:
        """Go on until that many frames were played."""
        while self.frames < frames:
            yield self.turn()

    def turn(self) -> Moment:
        """One step in every environment, and the updates that are due then."""
        warm = self.warm < self.config.warmup
        epsilon = 1.0 if warm else self.epsilon
        actions = self._choose(epsilon)
        bonuses = None
        if self.plugged is not None:
            seen = self.plugged.observe(self.actors)  # the warm-up too: it learns from it
            bonuses = seen if self._gives_bonus(warm) else None
        finished = []
        for lane, actor in enumerate(self.actors):
            bonus = None if bonuses is None else float(bonuses[lane])
            over = self._play(lane, actor, int(actions[lane]), warm, bonus)
            if over is not None:
                finished.append(over)
        losses = None
        if warm:
            self.warm += len(self.actors)
            if self.warm >= self.config.warmup and self.config.warmup_end == "reset":
                for actor in self.actors:
                    actor.begin()
        else:
            losses = self._learn()
        return Moment(self.step, self.frames, self.warm, epsilon, tuple(finished), losses)

    def bonus_of(self, actor: Actor) -> float | None:
        """What the bonus adds at the actor's observation as things stand; None without one."""
        if self.config.bonus == "off":
            return None
        if self.plugged is None:
            intrinsic = self.learner.bonuses(actor.stack[None])
        else:
            intrinsic = self.plugged.compute([actor])
        return self.config.added(float(intrinsic[0]))

    def _choose(self, epsilon: float) -> NDArray[np.int64]:
        """Epsilon-greedy; the network is asked only where it decides."""
        random = self.random["actions"]
        actions = random.integers(self.spec.actions, size=len(self.actors))
        greedy = np.flatnonzero(random.random(len(self.actors)) >= epsilon)
        if len(greedy):
            stacks = np.stack([self.actors[lane].stack for lane in greedy])
            actions[greedy] = self.learner.greedy(stacks)
        return actions

    def _gives_bonus(self, warm: bool) -> bool:
        return not warm or self.config.warmup_bonus == "on"

    def _play(
        self, lane: int, actor: Actor, action: int, warm: bool, bonus: float | None
    ) -> Finished | None:
        """Act in one environment and remember it; the SR bonus waits, any other is known."""
        c = self.config
        before = actor.stack.copy()
        flags = STEP | (FIRST if actor.first else 0)
        step = actor.act(action)
        cut = step.truncated and c.time_limit == "truncation"
        over = step.terminated or step.truncated
        if over and not cut:
            flags |= DONE
        slot = self.replay.append(lane, before[-1], action, step.reward, flags)
        if bonus is not None:
            self.replay.set_bonus(lane, slot, bonus)
            actor.episode.bonus += c.added(bonus)
        elif c.bonus == "sr" and self._gives_bonus(warm):
            self.waiting.add(lane, slot, before)
            if self.waiting.full:
                self._flush()
        if not warm:
            self.frames += step.frames
        return self._end(lane, actor, cut, warm) if over else None

    def _end(self, lane: int, actor: Actor, cut: bool, warm: bool) -> Finished:
        c = self.config
        self._flush()
        if not actor.across:
            self.replay.append(lane, actor.stack[-1], 0, 0.0, 0)
        tail = self.learner.value_after(actor.last_stack()[None]) if cut else 0.0
        self.replay.finish(lane, self.learner.rewards, c.gamma, tail)
        self.episodes += 1
        # An episode that began in the warm-up belongs to it.
        warm = warm or actor.episode.steps > self.step // len(self.actors) + 1
        ended = Finished(
            actor.episode, lane, self.step + (0 if warm else lane + 1), self.frames, warm
        )
        actor.begin()
        return ended

    def _flush(self) -> None:
        for lane, bonus in self.waiting.flush(self.replay):
            episode = self.actors[lane].episode
            episode.bonus += self.config.added(bonus)
            episode.sr_norm += 1.0 / bonus

    def _learn(self) -> dict[str, Tensor] | None:
        """The updates and target copies that fall into the steps of this turn."""
        losses = None
        for _ in self.actors:
            self.step += 1
            if self.step % self.config.update_period == 0 and self.replay.can_sample():
                batch = self.replay.sample(self.config.batch, self.random["replay"])
                losses = self.learner.update(batch)
                self.updates += 1
            if self.step % self.config.target_period == 0:
                self._flush()
                self.learner.copy_to_target()
        return losses

    def counters(self) -> dict[str, Any]:
        """The plain numbers that a checkpoint keeps."""
        names = ("step", "frames", "warm", "updates", "episodes")
        states = {name: random.bit_generator.state for name, random in self.random.items()}
        return {name: getattr(self, name) for name in names} | {"random": states}

    def set_counters(self, kept: dict[str, Any]) -> None:
        for name in ("step", "frames", "warm", "updates", "episodes"):
            setattr(self, name, int(kept[name]))
        for name, random in self.random.items():
            random.bit_generator.state = kept["random"][name]
