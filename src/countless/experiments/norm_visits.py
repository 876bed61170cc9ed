"""A deep agent learns; now and then the norm of psi of every state is held against its visits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.statistics import rank_correlation
from countless.core.errors import BadInput, named
from countless.core.parameters import check_count
from countless.envs.catalog import make_mdp
from countless.envs.frames import frame_reader
from countless.envs.mdp import MDP
from countless.envs.mdp_env import MDPEnv
from countless.runs.job import Execution, Stopped
from countless.runs.measurement import MeasurementJob

if TYPE_CHECKING:
    from countless.agents.dqn.trainer import Trainer
    from countless.runs.dqn import DqnJob

MEASURE = "sr-norm-and-visits"
FEWEST = 3  # states: the order of fewer says nothing
TURNS_PER_NOTE = 100


@dataclass(frozen=True)
class Moment:
    """All states after so many steps: how often the agent acted in each, and its norm and bonus."""

    step: int
    visits: NDArray[np.int64]
    norm: NDArray[np.float64]
    bonus: NDArray[np.float64]

    def over_visited(self) -> float:
        """The rank correlation of norm and visits over the states that were visited."""
        return _correlation(self.visits, self.norm, self.visits > 0)

    def over(self, states: NDArray[np.bool_]) -> float:
        """The same over some of the states, whether they were visited or not."""
        return _correlation(self.visits, self.norm, states)

    def within(self, groups: NDArray[np.int64]) -> float:
        """The mean over groups of the correlation over their visited states, weighted by states.

        A group of -1 is left out, and so are groups with few visited states, or alike ones.
        """
        found = []
        for group in np.unique(groups[groups >= 0]):
            members = (groups == group) & (self.visits > 0)
            value = _correlation(self.visits, self.norm, members)
            if np.isfinite(value):
                found.append((value, int(members.sum())))
        if not found:
            return float("nan")
        values, weights = zip(*found, strict=True)
        return float(np.average(values, weights=weights))


def _correlation(
    visits: NDArray[np.int64], norm: NDArray[np.float64], states: NDArray[np.bool_]
) -> float:
    if states.sum() < FEWEST:
        return float("nan")
    return rank_correlation(visits[states], norm[states])


def moments(columns: Mapping[str, NDArray[Any]]) -> list[Moment]:
    """The table of a measurement, by step."""
    found = []
    for step in np.unique(columns["step"]):
        now = columns["step"] == step
        order = np.argsort(columns["state"][now])
        visits, norm, bonus = (
            columns[name][now][order] for name in ("visits", "sr_norm", "added_bonus")
        )
        found.append(Moment(int(step), visits, norm, bonus))
    return found


def places(mdp: MDP) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row and the column of each state on the map, -1 for a state that is not on it."""
    rows, columns = np.full((2, mdp.n_states), -1, np.int64)
    if mdp.layout is not None and mdp.layout.ndim == 2:
        on_map = mdp.layout >= 0
        rows[mdp.layout[on_map]], columns[mdp.layout[on_map]] = np.nonzero(on_map)
    return rows, columns


def acted_in(mdp: MDP) -> NDArray[np.bool_]:
    """The states in which an agent acts: all but those in which an episode ends."""
    states = np.ones(mdp.n_states, np.bool_)
    states[mdp.next_state[mdp.terminated]] = False
    return states


def state_frames(mdp: MDP) -> NDArray[Any]:
    """Each state as the agent sees it (n_states, ...); an error where two look the same."""
    reader = frame_reader(MDPEnv(mdp))
    frames = np.stack([reader.read(s) for s in range(mdp.n_states)])
    if len({frame.tobytes() for frame in frames}) < mdp.n_states:
        raise BadInput(f"{mdp.name}: two states look the same, so that visits cannot be told apart")
    return frames


class Visits:
    """Counts in which states an agent acts, from what it sees."""

    def __init__(self, frames: NDArray[Any]) -> None:
        self._states = {frame.tobytes(): s for s, frame in enumerate(frames)}
        self.counts = np.zeros(len(frames), np.int64)

    def look(self, trainer: Trainer) -> None:
        """Before a turn: every environment shows the state that is acted in next."""
        for actor in trainer.actors:
            self.counts[self._states[actor.stack[-1].tobytes()]] += 1


def measure(job: DqnJob, checkpoints: int, execution: Execution) -> dict[str, Any]:
    """Run a deep job, and look at every state after equal parts of its frames."""
    from countless.agents.dqn.device import torch_threads, tune_process
    from countless.runs.dqn import make_trainer

    if execution.own_process:
        tune_process(job.threads)
    mdp = make_mdp(job.env)
    frames = state_frames(mdp)
    rows, columns = places(mdp)
    visits, found = Visits(frames), []
    with torch_threads(job.threads):
        trainer = make_trainer(job)
        for k in range(1, checkpoints + 1):
            _learn(trainer, visits, job.frames * k // checkpoints, execution)
            found.append(_look(trainer, visits, frames))
    states = np.arange(mdp.n_states)
    return {
        "step": np.repeat([moment.step for moment in found], mdp.n_states),
        "state": np.tile(states, checkpoints),
        "row": np.tile(rows, checkpoints),
        "column": np.tile(columns, checkpoints),
        "visits": np.concatenate([moment.visits for moment in found]),
        "sr_norm": np.concatenate([moment.norm for moment in found]),
        "added_bonus": np.concatenate([moment.bonus for moment in found]),
    }


def _learn(trainer: Trainer, visits: Visits, frames: int, execution: Execution) -> None:
    turns = 0
    while trainer.frames < frames:
        if execution.stop():
            raise Stopped
        visits.look(trainer)
        trainer.turn()
        turns += 1
        if turns % TURNS_PER_NOTE == 0:
            execution.task.advance(TURNS_PER_NOTE)
    execution.task.advance(turns % TURNS_PER_NOTE)
    trainer.learner.check_losses()


def _look(trainer: Trainer, visits: Visits, frames: NDArray[Any]) -> Moment:
    """The norms of which the bonus is made: before beta it is their inverse."""
    inverse = trainer.bonus.compute(frames[:, None])
    added = trainer.bonuses_at(frames[:, None])
    assert inverse is not None
    assert added is not None
    return Moment(trainer.step, visits.counts.copy(), 1.0 / inverse.astype(np.float64), added)


def measurement(job: DqnJob, checkpoints: int) -> MeasurementJob:
    """The measurement of what a deep job learns."""
    from countless.agents.catalogue import agent_entry

    check_count("checkpoints", checkpoints)
    if checkpoints > job.frames:
        raise BadInput(f"{named('frames')} must be at least {checkpoints}, not {job.frames}")
    config = job.config
    rewards = config.rewards
    if rewards.bonus not in ("sr", "sr-norm") or rewards.bonus_form != "inverse":
        raise BadInput(f"{job.agent} has no bonus of the SR here, whose norm could be measured")
    if config.architecture.history > 1:
        raise BadInput(
            f"a state is one frame: {named('history')} must be 1, not {config.architecture.history}"
        )
    return MeasurementJob(
        MEASURE,
        job.env,
        job.seed,
        job.units + int(config.warmup),
        {
            "of": job.agent,
            "frames": job.frames,
            "checkpoints": checkpoints,
            "threads": job.threads,
            **config.identity(),
            **job.bonus_version(),
        },
        lambda execution: measure(job, checkpoints, execution),
        bits=agent_entry(job.agent).bits,
        of=job,
    )
