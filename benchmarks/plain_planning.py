"""Agents that plan, in plain Python: lists and dictionaries, value iteration in place.

Each plans as Strehl & Littman did: sweeps from the last values until nothing changes by more than
0.01, whenever its model has changed. They are the peers that `tabular.py` divides by.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import log, sqrt

from countless.envs.mdp import MDP
from plain import greedy, tables

Backup = Callable[[int, int, list[float]], float]
ACCURACY = 0.01


class World:
    """The true MDP, and everything that was seen of it."""

    def __init__(self, mdp: MDP):
        self.outcomes, starts, weights = tables(mdp)
        self.states, self.actions = len(self.outcomes), mdp.n_actions
        self.most = float(mdp.reward.max())
        self.state = random.choices(starts, weights)[0]
        self.total = 0.0
        self.visits = [[0] * self.actions for _ in self.outcomes]
        self.paid = [[0.0] * self.actions for _ in self.outcomes]
        self.seen: list[list[dict[int, int]]] = [
            [{} for _ in range(self.actions)] for _ in self.outcomes
        ]

    def act(self, a: int, learn: bool = True) -> tuple[int, int]:
        """Take an action; returns the state left and the state entered."""
        s, u = self.state, random.random()
        for limit, s_next, r in self.outcomes[s][a]:  # noqa: B007
            if u < limit:
                break
        self.total += r
        self.state = s_next
        if learn:
            self.visits[s][a] += 1
            self.paid[s][a] += r
            seen = self.seen[s][a]
            seen[s_next] = seen.get(s_next, 0) + 1
        return s, s_next

    def choose(self, q: list[list[float]]) -> int:
        best = greedy(q[self.state])
        return best[0] if len(best) == 1 else random.choice(best)

    def future(self, s: int, a: int, value: list[float]) -> float:
        return sum([w * value[z] for z, w in self.seen[s][a].items()]) / self.visits[s][a]


def iterate(q: list[list[float]], value: list[float], backup: Backup) -> None:
    """Value iteration in place from where q and value stand."""
    change = 1.0
    while change > ACCURACY:
        change = 0.0
        for s, values in enumerate(q):
            for a in range(len(values)):
                new = backup(s, a, value)
                change = max(change, abs(new - values[a]))
                values[a] = new
            value[s] = max(values)


def widened(world: World, s: int, a: int, radius: float, value: list[float]) -> float:
    """max sum T' V over an l1 ball: mass to the best state, from the worst."""
    n = world.visits[s][a]
    chance = {z: w / n for z, w in world.seen[s][a].items()}
    best = value.index(max(value))
    gain = min(radius / 2.0, 1.0 - chance.get(best, 0.0))
    chance[best] = chance.get(best, 0.0) + gain
    for z in sorted(chance, key=value.__getitem__):
        taken = min(chance[z], gain)
        chance[z] -= taken
        gain -= taken
        if gain <= 0.0:
            break
    return sum([p * value[z] for z, p in chance.items()])


def optimist(
    mdp: MDP,
    steps: int,
    gamma: float,
    c: float = 0.0,
    m: float = 1.0,
    a: float = 0.0,
    b: float = 0.0,
) -> float:
    """MBIE-EB with a bonus c; MBIE with a and b; R-Max with a threshold m and no bonus."""
    world = World(mdp)
    top = world.most / (1.0 - gamma)
    value = [top] * world.states
    q = [[top] * world.actions for _ in value]
    width = (c + a) * world.most
    always = width > 0.0

    def backup(s: int, x: int, value: list[float]) -> float:
        n = world.visits[s][x]
        if n < m:
            return top
        wide = b > 0.0
        future = widened(world, s, x, b / sqrt(n), value) if wide else world.future(s, x, value)
        return world.paid[s][x] / n + width / sqrt(n) + gamma * future

    for _ in range(steps):
        action = world.choose(q)
        unknown = world.visits[world.state][action] < m
        s, _ = world.act(action, learn=always or unknown)
        if always or (unknown and world.visits[s][action] >= m):
            iterate(q, value, backup)
    return world.total


def norms(moves: list[list[int]], gamma: float) -> list[float]:
    """The row sums of the substochastic SR: (I - gamma P~) x = 1, by elimination."""
    n = len(moves)
    rows = []
    for s, row in enumerate(moves):
        total = sum(row) + 1.0
        rows.append([(j == s) - gamma * w / total for j, w in enumerate(row)] + [1.0])
    for i in range(n):
        pivot = rows[i]
        for k in range(n):
            factor = rows[k][i] / pivot[i]
            if k != i and factor != 0.0:
                rows[k] = [x - factor * y for x, y in zip(rows[k], pivot, strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def essr(mdp: MDP, steps: int, gamma: float, beta: float) -> float:
    """The released model: a pseudo-sample of every (s, a, s'), bonus on the state entered."""
    world = World(mdp)
    n = world.states
    value = [0.0] * n
    q = [[0.0] * world.actions for _ in value]
    moves = [[0] * n for _ in value]
    bonus = [0.0] * n

    def backup(s: int, a: int, value: list[float]) -> float:
        mass = world.visits[s][a] + n
        total = sum(bonus) + gamma * sum(value)
        for z, w in world.seen[s][a].items():
            reward = payoff[s][a][z]
            total += w * (reward + bonus[z] + gamma * value[z]) + reward
        return total / mass

    payoff: list[list[dict[int, float]]] = [[{} for _ in row] for row in q]
    for _ in range(steps):
        action = world.choose(q)
        before = world.total
        s, s_next = world.act(action)
        payoff[s][action][s_next] = world.total - before
        moves[s][s_next] += 1
        bonus[:] = [-beta * x for x in norms(moves, gamma)]
        iterate(q, value, backup)
    return world.total


def e3(mdp: MDP, steps: int, gamma: float, m: float, threshold: float, horizon: float) -> float:
    """Explore while an unknown pair is within reach, else exploit."""
    world = World(mdp)
    exploit_value, explore_value = [0.0] * world.states, [1.0] * world.states
    exploit = [[0.0] * world.actions for _ in exploit_value]
    explore = [[1.0] * world.actions for _ in exploit_value]
    reach = [1.0] * world.states

    def worth(s: int, a: int, value: list[float]) -> float:
        n = world.visits[s][a]
        return 0.0 if n < m else world.paid[s][a] / n + gamma * world.future(s, a, value)

    def escape(s: int, a: int, value: list[float]) -> float:
        return 1.0 if world.visits[s][a] < m else gamma * world.future(s, a, value)

    for _ in range(steps):
        action = world.choose(explore if reach[world.state] > threshold else exploit)
        unknown = world.visits[world.state][action] < m
        s, _ = world.act(action, learn=unknown)
        if unknown and world.visits[s][action] >= m:
            iterate(exploit, exploit_value, worth)
            iterate(explore, explore_value, escape)
            policy = [values.index(max(values)) for values in explore]
            reach = [0.0] * world.states
            for _ in range(int(horizon)):
                reach = [
                    1.0 if world.visits[x][a] < m else world.future(x, a, reach)
                    for x, a in enumerate(policy)
                ]
    return world.total


def psrl(mdp: MDP, steps: int, gamma: float, a: float) -> float:
    """A model from the posterior, anew when the samples of a pair have doubled."""
    world = World(mdp)
    n = world.states
    value = [0.0] * n
    q = [[0.0] * world.actions for _ in value]
    fresh = [[0] * world.actions for _ in value]
    model: dict[tuple[int, int], tuple[float, list[float]]] = {}

    def backup(s: int, x: int, value: list[float]) -> float:
        reward, chance = model[s, x]
        return reward + gamma * sum([p * v for p, v in zip(chance, value, strict=True)])

    redraw = True
    for _ in range(steps):
        if redraw:
            fresh = [[0] * world.actions for _ in value]
            for s in range(n):
                for x in range(world.actions):
                    seen, visits = world.seen[s][x], world.visits[s][x] + 1.0
                    weights = [random.gammavariate(1.0 / n + seen.get(z, 0), 1.0) for z in range(n)]
                    mass = sum(weights)
                    mean = (world.most + world.paid[s][x]) / visits
                    reward = random.gauss(mean, a * world.most / sqrt(visits))
                    model[s, x] = reward, [w / mass for w in weights]
            iterate(q, value, backup)
        action = world.choose(q)
        s, _ = world.act(action)
        fresh[s][action] += 1
        redraw = 2 * fresh[s][action] >= world.visits[s][action]
    return world.total


def ucrl2(mdp: MDP, steps: int, gamma: float, a: float, b: float, delta: float) -> float:
    """Optimism in epochs: planned anew when the samples of a pair have doubled."""
    world = World(mdp)
    n, k = world.states, world.actions
    top = world.most / (1.0 - gamma)
    value = [top] * n
    q = [[top] * k for _ in value]
    fresh = [[0] * k for _ in value]
    time = 1.0

    def backup(s: int, x: int, value: list[float]) -> float:
        visits = world.visits[s][x]
        if visits == 0:
            return top
        reward = sqrt(7.0 * log(2.0 * n * k * time / delta) / (2.0 * visits))
        spread = sqrt(14.0 * n * log(2.0 * k * time / delta) / visits)
        payoff = min(world.paid[s][x] / visits + a * world.most * reward, world.most)
        return payoff + gamma * widened(world, s, x, b * spread, value)

    for t in range(steps):
        action = world.choose(q)
        s, _ = world.act(action)
        fresh[s][action] += 1
        if 2 * fresh[s][action] >= world.visits[s][action]:
            fresh, time = [[0] * k for _ in value], t + 2.0
            iterate(q, value, backup)
    return world.total
