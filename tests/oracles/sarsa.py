"""Plain-Python twins of the Sarsa kernels: the same draws must give the same trajectory."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.sarsa_counts import SarsaCounts
from countless.agents.tabular.sarsa_dr import SarsaDR
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.spie import Spie
from countless.agents.tabular.task import configuration_key
from countless.core.seeding import run_stream
from countless.envs.mdp import MDP

TWO_53 = 2**53


@dataclass
class Step:
    state: int
    slot: int
    reward: float
    norm: float
    value: float


def outcomes(mdp: MDP):
    """(state, slot) -> [(cumulative probability, next state, reward, ends)], next ascending."""
    table = {}
    for s in range(mdp.n_states):
        for slot, a in enumerate(mdp.actions(s)):
            rows = np.flatnonzero((mdp.state == s) & (mdp.action == a))
            cumulative, entries = 0.0, []
            for row in rows:
                cumulative += mdp.probability[row]
                entries.append(
                    (
                        cumulative,
                        int(mdp.next_state[row]),
                        float(mdp.reward[row]),
                        bool(mdp.terminated[row]),
                    )
                )
            table[s, slot] = entries
    return table


def pick(entries, u):
    """The first outcome whose cumulative probability exceeds u; the last if none does."""
    for entry in entries[:-1]:
        if u < entry[0]:
            return entry[1:]
    return entries[-1][1:]


class Learner:
    """q, the SR as a matrix, the l1 norm by its own recursion, the sums of columns, and the counts."""

    def __init__(self, agent: TabularAgent, mdp: MDP):
        self.agent = agent
        initial = getattr(agent, "initial_value", 0.0)
        self.q = [[initial] * len(mdp.actions(s)) for s in range(mdp.n_states)]
        self.psi = np.zeros((mdp.n_states, mdp.n_states))
        self.l1 = [0.0] * mdp.n_states
        self.columns = [0.0] * mdp.n_states
        self.visits = [0] * mdp.n_states
        pairs = [(s, slot) for s in range(mdp.n_states) for slot in range(mdp.n_actions)]
        self.pair = {pair: i for i, pair in enumerate(pairs)}
        self.z = np.eye(len(pairs)) if isinstance(agent, SarsaDR) else np.zeros((0, 0))
        self.largest = float(mdp.reward.max())
        self.scale = max(self.largest, 0.0) - min(float(mdp.reward.min()), 0.0)

    def update(self, s, slot, reward, s_next, next_slot, cut, *, recursion):
        agent, keep = self.agent, 0.0 if cut else 1.0
        self.visits[s] += 1
        bonus, norm = 0.0, math.nan
        if isinstance(agent, SarsaSR | Spie):
            row, next_row = self.psi[s].copy(), self.psi[s_next].copy()
            for j in range(len(row)):
                indicator = 1.0 if j == s else 0.0
                self.psi[s, j] = row[j] + agent.eta * (
                    indicator + agent.gamma_sr * keep * next_row[j] - row[j]
                )
            old = self.l1[s]
            self.l1[s] = old + agent.eta * (1.0 + agent.gamma_sr * keep * self.l1[s_next] - old)
            # Row by row: where bonuses tie, the last bit of a sum decides.
            for j in range(len(row)):
                self.columns[j] = (self.columns[j] - row[j]) + float(self.psi[s, j])
        if isinstance(agent, Spie):
            norm = self.columns[s]
            bonus = agent.beta * (float(self.psi[s, s_next]) - self.columns[s_next])
        elif isinstance(agent, SarsaSR):
            if recursion and agent.norm == 1.0:
                norm = self.l1[s]
            elif recursion and agent.norm == 2.0:
                norm = four_sums_norm(self.psi[s])
            else:
                norm = float(np.linalg.norm(self.psi[s], ord=agent.norm))
            bonus = agent.beta / norm
        elif isinstance(agent, SarsaDR):
            i, i_next = self.pair[s, slot], self.pair[s_next, next_slot]
            self.update_z(i, i_next, reward, keep)
            norm = four_sums_norm(self.z[i]) if recursion else float(np.linalg.norm(self.z[i]))
            bonus = agent.beta * math.log(norm)
        elif isinstance(agent, SarsaCounts):
            norm = float(self.visits[s])
            bonus = agent.beta / math.sqrt(norm)
        old = self.q[s][slot]
        target = reward + bonus + agent.gamma * keep * self.q[s_next][next_slot]
        self.q[s][slot] = old + agent.alpha * (target - old)
        return Step(s, slot, reward, norm, self.q[s][slot])

    def update_z(self, i, i_next, reward, keep):
        """Z(i) += eta (exp(r / lambda) (1_i + Z(i')) - Z(i)), r the reward that Z sees."""
        agent, row, next_row = self.agent, self.z[i].copy(), self.z[i_next].copy()
        seen = (reward - self.largest) / self.scale if agent.seen_rewards == "scaled" else -1.0
        weight = math.exp(seen / agent.lambda_dr)
        for j in range(len(row)):
            here = weight if j == i else 0.0
            self.z[i, j] = row[j] + agent.eta * (here + weight * keep * next_row[j] - row[j])


def four_sums_norm(row):
    """The l2 norm as the kernels add it up."""
    sums = [sum_of_squares(row[k::4]) for k in range(4)]
    return math.sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]))


def sum_of_squares(values):
    total = 0.0
    for x in values:
        total += x * x
    return total


def countless_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    """One run under the default generator: three draws a step, one more at a restart."""
    stream = run_stream(seed, configuration_key(agent, mdp), run)
    table, start = outcomes(mdp), np.cumsum(mdp.start)
    explore = math.ceil(agent.epsilon * TWO_53)

    def draw() -> int:
        return int(stream.random_raw()) >> 11

    def begin() -> int:
        u = draw()
        last = int(np.flatnonzero(mdp.start)[-1])
        return next((s for s in range(last) if u / TWO_53 < start[s]), last)

    def choose(values, u) -> int:
        if u < explore:
            return int(u * (len(values) / explore * (1 - 2.0**-51)))
        ties = [j for j, value in enumerate(values) if value == max(values)]
        if len(ties) == 1:
            return ties[0]
        return ties[min(int((u - explore) / (TWO_53 - explore) * len(ties)), len(ties) - 1)]

    learner, trace = Learner(agent, mdp), []
    s, age, carried = begin(), 0, None
    for t in range(steps):
        x, y, z = draw(), draw(), draw()
        slot = choose(learner.q[s], x) if carried is None else carried
        s_next, reward, ends = pick(table[s, slot], y / TWO_53)
        next_slot = choose(learner.q[s_next], z)
        age += 1
        limit = t == steps - 1 or age == mdp.episode_limit
        cut = ends or (limit and agent.time_limit == "terminal")
        trace.append(learner.update(s, slot, reward, s_next, next_slot, cut, recursion=True))
        s, carried = s_next, next_slot if agent.update == "executed" else None
        if ends or limit:
            s, age, carried = begin(), 0, None
    check_recursion(learner)
    return trace


def check_recursion(learner: Learner) -> None:
    """What is kept of the matrix equals the sums over its rows and columns."""
    np.testing.assert_allclose(learner.l1, learner.psi.sum(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner.columns, learner.psi.sum(axis=0), rtol=1e-9, atol=1e-12)


def released_runs(agent, mdp: MDP, *, runs: int, steps: int, seed: int) -> list[list[Step]]:
    """The released scripts' order of draws, with the very generators they use."""
    python, legacy = random.Random(seed), np.random.RandomState(seed)
    table, start = outcomes(mdp), np.cumsum(mdp.start)

    def begin(current: int) -> int:
        u = python.uniform(0.0, 1.0)
        return next((s for s in range(mdp.n_states) if u < start[s]), current)

    def choose(values) -> int:
        if python.uniform(0.0, 1.0) < agent.epsilon:
            return python.choice(list(range(len(values))))
        array = np.array(values)
        return int(legacy.choice(np.flatnonzero(array == array.max())))

    result = []
    s = begin(0)
    for _ in range(runs):
        learner, trace, carried = Learner(agent, mdp), [], None
        for t in range(steps):
            slot = choose(learner.q[s]) if carried is None else carried
            s_next, reward, ends = pick(table[s, slot], python.uniform(0.0, 1.0))
            next_slot = choose(learner.q[s_next])
            cut = ends or (t == steps - 1 and agent.time_limit == "terminal")
            trace.append(learner.update(s, slot, reward, s_next, next_slot, cut, recursion=False))
            s, carried = s_next, next_slot if agent.update == "executed" else None
            if ends:
                break
        s = begin(s)
        result.append(trace)
    return result
