"""The released ESSR in plain Python, sum by sum: dense arrays, no short cut but the drawn end.

`Authors` rolls the two generators of the released scripts, `Ours` a run's own stream.
"""

from __future__ import annotations

import random

import numpy as np

from countless.agents.tabular.kernels.essr_released_planner import CONVERGED, LITERAL
from countless.agents.tabular.task import configuration_key, reward_scale
from countless.core.seeding import run_stream
from countless.envs.mdp import MDP
from oracles.sarsa import TWO_53, Step, outcomes, pick

THETA = 0.01


class Authors:
    """Any number of rounds, ties to the last bit."""

    rounds, tolerance = None, 0.0

    def __init__(self, seed: int):
        self.python, self.legacy = random.Random(seed), np.random.RandomState(seed)

    def uniform(self):
        return self.python.uniform(0.0, 1.0)

    def explored(self, n, part):
        return self.python.choice((0, n - 1))

    def first_policy(self, slots):
        return [int(x) for x in self.legacy.randint(max(slots), size=len(slots))]

    def among(self, items):
        return int(self.legacy.choice(items))


class Ours:
    """A few rounds, then their end; ties within 1e-9 of the scale of values."""

    rounds = LITERAL

    def __init__(self, agent, mdp: MDP, run: int, seed: int):
        self.stream = run_stream(seed, configuration_key(agent, mdp), run)
        scale = reward_scale(mdp, agent.name)[0]
        self.tolerance = 1e-9 * (scale + agent.beta / (1 - agent.gamma)) / (1 - agent.gamma)
        self.ends_only = agent.explores_ends

    def uniform(self):
        return (int(self.stream.random_raw()) >> 11) / TWO_53

    def explored(self, n, part):
        if self.ends_only:
            return 0 if part < 0.5 else n - 1
        return min(int(part * n), n - 1)

    def first_policy(self, slots):
        return [self.among(range(n)) for n in slots]

    def among(self, items):
        n = len(items)
        return int(items[0] if n == 1 else items[min(int(self.uniform() * n), n - 1)])


class Learner:
    """Model, values and policy of one run."""

    def __init__(self, agent, mdp: MDP, dice):
        self.agent, self.dice = agent, dice
        self.slots = [len(mdp.actions(s)) for s in range(mdp.n_states)]
        n, width = mdp.n_states, max(self.slots)
        self.pseudo = 1.0 if agent.has_pseudo_counts else 0.0
        self.moves = np.zeros((n, n))
        self.count = np.full((n, width, n), self.pseudo)
        self.ended = np.zeros((n, width, n))
        self.reward = np.zeros((n, width, n))
        self.chance = np.full((n, width, n), 1.0 / n)
        self.lasting = self.chance.copy()  # without what ended an episode
        self.value = np.zeros(n)
        self.policy = dice.first_policy(self.slots)

    def learn(self, s, a, s_next, reward, ends):
        self.moves[s, s_next] += 1
        self.count[s, a, s_next] += 1
        self.ended[s, a, s_next] += ends
        seen = self.count[s, a, s_next] - self.pseudo
        self.reward[s, a, s_next] = ((seen - 1) * self.reward[s, a, s_next] + reward) / seen
        total = self.count[s, a].sum()
        self.chance[s, a] = self.count[s, a] / total
        self.lasting[s, a] = (self.count[s, a] - self.ended[s, a]) / total
        left = self.moves.sum(axis=1, keepdims=True)
        rows, gamma = self.moves / (left + 1), self.agent.gamma
        norm = np.ones(len(self.value))
        if self.agent.bonus == "ssr":
            norm = np.dot(np.linalg.inv(np.identity(len(norm)) - gamma * rows), norm)
        elif self.agent.bonus == "counts":
            norm = np.where(left[:, 0] > 0, (1 + gamma) - gamma / (left[:, 0] + 1), 1.0)
        beta = 0.0 if self.agent.bonus == "off" else self.agent.beta
        at = norm[None, None, :] if self.agent.bonus_on_entered else norm[:, None, None]
        self.payoff = self.reward + beta * -at
        return norm[s]

    def worth(self, s, a):
        total = 0.0
        for j in range(len(self.value)):
            if self.lasting[s, a, j] == self.chance[s, a, j]:
                total += self.chance[s, a, j] * (
                    self.payoff[s, a, j] + self.agent.gamma * self.value[j]
                )
            else:
                total += self.chance[s, a, j] * self.payoff[s, a, j]
                total += self.agent.gamma * self.lasting[s, a, j] * self.value[j]
        return total

    def sweep(self):
        change = 0.0
        for s, a in enumerate(self.policy):
            new = self.worth(s, a)
            change = max(change, abs(new - self.value[s]))
            self.value[s] = new
        return change

    def close(self, a, b):
        return a == b or abs(self.value[a] - self.value[b]) <= THETA

    def plan(self):
        done = 0
        while True:
            while self.sweep() > THETA:
                pass
            if done == self.dice.rounds:
                for _ in range(CONVERGED):
                    if self.sweep() == 0.0:
                        break
            before, ties = list(self.policy), []
            for s, n in enumerate(self.slots):
                q = np.array([self.worth(s, a) for a in range(n)])
                ties.append(np.flatnonzero(q >= q.max() - self.dice.tolerance))
                self.policy[s] = self.dice.among(ties[s])
            if all(map(self.close, before, self.policy)):
                return
            if done == self.dice.rounds:
                break
            done += 1
        for s, old in enumerate(before):
            while not self.close(old, self.policy[s]):
                old = self.dice.among(ties[s])
                self.policy[s] = self.dice.among(ties[s])

    def step(self, s, table):
        u, epsilon = self.dice.uniform(), self.agent.epsilon
        a = self.policy[s]
        if u < epsilon:
            a = self.dice.explored(self.slots[s], u / epsilon)
        s_next, reward, ends = pick(table[s, a], self.dice.uniform())
        value = self.value[s]
        norm = self.learn(s, a, s_next, reward, ends)
        self.plan()
        return Step(s, a, reward, norm, value), s_next, ends


def released_essr_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    """A run under its own stream."""
    dice, table, start = Ours(agent, mdp, run, seed), outcomes(mdp), np.cumsum(mdp.start)

    def begin():
        u, last = dice.uniform(), int(np.flatnonzero(mdp.start)[-1])
        return next((s for s in range(last) if u < start[s]), last)

    s, age, trace = begin(), 0, []
    learner = Learner(agent, mdp, dice)
    for _ in range(steps):
        step, s, ends = learner.step(s, table)
        trace.append(step)
        age += 1
        if ends or age == mdp.episode_limit:
            s, age = begin(), 0
    return trace


def replayed_essr_runs(agent, mdp: MDP, *, runs: int, steps: int, seed: int) -> list[list[Step]]:
    """The released script's runs, one after the other."""
    dice, table, start = Authors(seed), outcomes(mdp), np.cumsum(mdp.start)

    def begin(current):
        u = dice.uniform()
        return next((s for s in range(mdp.n_states) if u < start[s]), current)

    result, s = [], begin(0)
    for _ in range(runs):
        learner, trace = Learner(agent, mdp, dice), []
        for _ in range(steps):
            step, s, _ = learner.step(s, table)
            trace.append(step)
        s = begin(s)
        result.append(trace)
    return result
