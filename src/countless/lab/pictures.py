"""What the page draws of an agent in an MDP: curves and maps, grown run by run."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.maps import MapSums, sum_runs
from countless.agents.tabular.simulate import VALUE, plans, trace_runs
from countless.analysis.curves import band
from countless.analysis.statistics import rank_correlation
from countless.core.errors import BadInput, CountlessError
from countless.envs.mdp import MDP
from countless.lab.kernels import add_representation
from countless.runs.tabular import default_steps
from countless.runs.tabular_tables import curve_marks

RUNS = 200
PIECE = 25  # runs that are traced at once; an agent that plans takes them one by one
MOST_PLANNED = 40  # states; with more, one run of an agent that plans may take seconds
REPRESENTATION_RUNS = 20
Array = NDArray[np.float64]


@dataclass(eq=False)
class Picture:
    """An agent in an MDP, over as many of its runs as are done."""

    agent: TabularAgent
    mdp: MDP
    seed: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.plans = plans(self.agent, self.mdp)
        if self.plans and self.mdp.n_states > MOST_PLANNED:
            raise BadInput(
                f"{self.agent.name} plans: in the lab it takes at most {MOST_PLANNED} states, and "
                f"{self.mdp.name} has {self.mdp.n_states}; `countless run` has no such limit"
            )
        self.steps = default_steps(self.mdp)
        self.marks = curve_marks(self.steps)
        self.rewards = np.full((RUNS, len(self.marks)), np.nan)
        self.sums = MapSums(self.marks, self.mdp.n_states)
        self.begun = 0
        self.error: CountlessError | None = None
        self._made: dict[str, Array] = {}
        self._made_of = -1  # runs

    @property
    def done(self) -> int:
        """Runs that are in the sums."""
        return self.sums.runs

    def claim(self) -> range:
        """The next runs that nobody has begun; none where all are begun."""
        with self.lock:
            first = self.begun
            self.begun = min(RUNS, first + (1 if self.plans else PIECE))
            return range(first, self.begun)

    def work(self, runs: range) -> None:
        """Make these runs, and add them; an error stays with the picture."""
        try:
            self._work(runs)
        except CountlessError as error:
            self.error = error
            raise

    def _work(self, runs: range) -> None:
        trace = trace_runs(
            self.agent,
            self.mdp,
            runs=len(runs),
            steps=self.steps,
            seed=self.seed,
            first_run=runs.start,
        )
        if np.isinf(trace[:, :, VALUE]).any():
            raise CountlessError(
                f"{self.agent.name} in {self.mdp.name}: the values grew beyond all numbers; smaller "
                "step sizes or a smaller beta would keep them"
            )
        rewards, part = sum_runs(self.agent, trace, self.marks, self.mdp.n_states)
        with self.lock:
            self.rewards[runs.start : runs.stop] = rewards
            self.sums.add(part)

    def arrays(self) -> dict[str, Array]:
        """The curve with its band, and the maps at each mark; NaN where a state was never visited."""
        with self.lock:
            if self._made_of != self.done:
                self._made, self._made_of = self._arrays(), self.done
            return self._made

    def _arrays(self) -> dict[str, Array]:
        mean, half = band(self.rewards)
        maps = self.sums.means()
        return {
            "mean": mean,
            "low": mean - half,
            "high": mean + half,
            **maps,
            "alike": np.array(
                [_alike(*at) for at in zip(maps["visits"], maps["norm"], strict=True)]
            ),
        }

    def summary(self) -> dict[str, Any]:
        """Numbers for the table below the curves."""
        with self.lock:
            returns = self.rewards[np.isfinite(self.rewards[:, -1]), -1]
        mean, half = band(returns[:, None])
        return {
            "runs": len(returns),
            "of": RUNS,
            "mean": _known(mean[0]),
            "half": _known(half[0]),
            "median": _known(np.median(returns)) if len(returns) else None,
        }


def _alike(visits: Array, norm: Array) -> float:
    """The rank correlation of visits and norm over the visited states; NaN where it says nothing."""
    known = np.isfinite(norm)
    return rank_correlation(visits[known], norm[known]) if known.sum() > 2 else float("nan")


def _known(value: float | np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None


def representation(agent: TabularAgent, mdp: MDP, seed: int, step: int) -> Array:
    """The SR (state, state) after `step` steps, mean over the first runs: replayed along their states.

    A step ends an episode where all outcomes of its state and action do; the MDPs of the lab have no
    others that end one. The last step of a run has no bootstrap, as `time_limit` terminal has it: the
    trace does not know where it led.
    """
    eta, gamma = getattr(agent, "eta", None), getattr(agent, "gamma_sr", None)
    if eta is None or gamma is None:
        raise BadInput(f"{agent.name} learns no successor representation")
    steps = default_steps(mdp)
    if not 1 <= step <= steps:
        raise BadInput(f"step must lie in [1, {steps}], not {step}")
    trace = trace_runs(agent, mdp, runs=REPRESENTATION_RUNS, steps=steps, seed=seed)
    pair_ends = mdp.terminated[mdp.pair_offsets[:-1]]
    total = np.zeros((mdp.n_states, mdp.n_states))
    for run in trace:
        states, slots = run[:, :2].astype(np.int64).T
        cut = pair_ends[mdp.state_offsets[states] + slots]
        cut[-1] = True  # the last step of a run
        path = np.append(states, states[-1])[: step + 1]
        add_representation(path, cut, eta, gamma, total)
    return total / len(trace)
