"""Plain twins of the model-based agents: dense arrays, value iteration to the last bit, every step."""

from __future__ import annotations

import math

import numpy as np

from countless.agents.tabular.task import configuration_key, reward_scale
from countless.core.seeding import run_stream
from countless.core.substochastic import substochastic_sr
from countless.envs.mdp import MDP
from oracles.sarsa import TWO_53, Step, outcomes, pick


class World:
    """The true MDP under a run's own draws, with everything that was seen of it."""

    def __init__(self, agent, mdp: MDP, run: int, seed: int):
        self.mdp, self.table = mdp, outcomes(mdp)
        self.stream = run_stream(seed, configuration_key(agent, mdp), run)
        self.start = np.cumsum(mdp.start)
        self.slots = [len(mdp.actions(s)) for s in range(mdp.n_states)]
        n, width = mdp.n_states, max(self.slots)
        self.count = np.zeros((n, width, n))  # transitions that do not end an episode
        self.ended = np.zeros((n, width))
        self.moves = np.zeros((n, n))
        self.triple = np.zeros((n, width, n))  # all transitions, ended or not
        self.paid = np.zeros((n, width, n))
        self.total = np.zeros((n, width))
        self.age = 0
        self.state = self.begin()

    def draw(self) -> float:
        return (int(self.stream.random_raw()) >> 11) / TWO_53

    def begin(self) -> int:
        u = self.draw()
        last = int(np.flatnonzero(self.mdp.start)[-1])
        return next((s for s in range(last) if u < self.start[s]), last)

    @property
    def n(self):
        return self.count.sum(axis=2) + self.ended

    def outcome(self, slot):
        return pick(self.table[self.state, slot], self.draw())

    def learn(self, slot, s_next, reward, ends):
        s = self.state
        if ends:
            self.ended[s, slot] += 1
        else:
            self.count[s, slot, s_next] += 1
        self.triple[s, slot, s_next] += 1
        self.paid[s, slot, s_next] += reward
        self.total[s, slot] += reward

    def ends_of(self, s, slot):
        """How often each outcome that ends an episode was seen, of those seen at all."""
        seen = self.triple[s, slot] - self.count[s, slot]
        return [seen[s_next] for _, s_next, _, ends in self.table[s, slot] if ends and seen[s_next]]

    def move(self, s_next, ends):
        self.state = s_next
        self.age += 1
        if ends or self.age == self.mdp.episode_limit:
            self.age, self.state = 0, self.begin()


class Counter:
    """n(s, a) as an agent sees it: counted, or read off the norms of the substochastic SR.

    The SSR by its definition, one direct solve: a node per state and one per pair, which is left for
    states and never entered.
    """

    def __init__(self, agent, world):
        self.reading = getattr(agent, "counts", "true")
        self.gamma = getattr(agent, "gamma_ssr", math.nan)
        states, width = world.total.shape
        self.pair = {(s, a): states + s * width + a for s in range(states) for a in range(width)}
        self.moves = np.zeros((states + states * width,) * 2)
        self.norms = np.ones(states + states * width)

    def observe(self, s, slot, s_next):
        """The norm of the pair just tried."""
        if self.reading == "true":
            return math.nan
        self.moves[s, s_next] += 1
        self.moves[self.pair[s, slot], s_next] += 1
        self.norms = substochastic_sr(self.moves, self.gamma).sum(axis=1)
        return self.norms[self.pair[s, slot]]

    def read(self, counted):
        if self.reading == "true":
            return counted
        return np.array(
            [[self.count(s, a) for a in range(counted.shape[1])] for s in range(len(counted))]
        )

    def count(self, s, a):
        gamma, row = self.gamma, self.moves[self.pair[s, a]]
        norm = self.norms[self.pair[s, a]]
        if not row.any():
            return 0.0
        if self.reading == "ssr":
            gap = 1 + gamma - norm
            return gamma / gap - 1 if gap > 0 else math.inf
        if self.reading == "ssr-low":
            return max(gamma / (1 / (1 - gamma) - norm) - 1, 0.0)
        share = (norm - 1) / (gamma * (row @ self.norms) / row.sum())
        return share / (1 - share)

    def enough(self, n, least):
        return n >= least * (1.0 if self.reading == "true" else 1 - 1e-6)


def ties(values, tolerance, u):
    """The slot that u picks among those within `tolerance` of the best."""
    best = [j for j, value in enumerate(values) if value >= max(values) - tolerance]
    return best[min(int(u * len(best)), len(best) - 1)]


def value_iteration(backup, slots, gamma, size):
    """q where v = max q to the last bit; `backup(s, slot, v)`."""
    v = np.zeros(len(slots))
    while True:
        q = [[backup(s, slot, v) for slot in range(n)] for s, n in enumerate(slots)]
        new = np.array([max(row) for row in q])
        if np.abs(new - v).max() <= 1e-13 * size:
            return q
        v = new


def best_in_ball(probabilities, values, radius, states=None):
    """max sum T' V over |T' - T|_1 <= radius: to the best of the states, from the worst place."""
    p = list(probabilities)
    best = int(np.argmax(values[:states]))
    gain = min(radius / 2, 1 - p[best])
    p[best] += gain
    for j in sorted(range(len(p)), key=lambda j: values[j]):
        if j != best or gain > 0:
            taken = min(p[j], gain)
            p[j] -= taken
            gain -= taken
    return sum(x * y for x, y in zip(p, values, strict=True))


def optimistic_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    """R-Max, MBIE and MBIE-EB."""
    world = World(agent, mdp, run, seed)
    scale, high = reward_scale(mdp, agent.name)
    gamma = agent.gamma
    top = max(high, 0.0) / (1 - gamma)
    least = agent.m if agent.name == "rmax" else 1
    a = getattr(agent, "a", getattr(agent, "c", 0.0))
    b = getattr(agent, "b", 0.0)
    tolerance, trace = 1e-9 * max(top, scale), []
    counter, known = Counter(agent, world), np.zeros(world.total.shape, dtype=bool)
    for _ in range(steps):
        n = counter.read(world.n)
        known = counter.enough(n, least) | (known & (agent.name == "rmax"))

        def backup(s, slot, v, n=n, known=known):
            if not known[s, slot]:
                return top
            m = world.n[s, slot]
            # An ended episode is one more place to come from, worth nothing; mass goes to states.
            p = np.append(world.count[s, slot], world.ended[s, slot]) / m
            if b > 0:
                future = best_in_ball(p, np.append(v, 0.0), b / math.sqrt(m), len(v))
            else:
                future = float(p[:-1] @ v)
            bonus = a * scale / math.sqrt(n[s, slot]) if a else 0.0
            return world.total[s, slot] / m + bonus + gamma * future

        q = value_iteration(backup, world.slots, gamma, top + scale)
        s = world.state
        slot = ties(q[s], tolerance, world.draw())
        s_next, reward, ends = world.outcome(slot)
        norm = counter.observe(s, slot, s_next)
        if agent.name != "rmax" or not known[s, slot]:
            world.learn(slot, s_next, reward, ends)
        trace.append(Step(s, slot, reward, norm, q[s][slot]))
        world.move(s_next, ends)
    return trace


def essr_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    world = World(agent, mdp, run, seed)
    scale = reward_scale(mdp, agent.name)[0]
    gamma, beta, states = agent.gamma, agent.beta, mdp.n_states
    pseudo = 1.0 if agent.has_pseudo_counts else 0.0
    size = (scale + beta / (1 - gamma)) / (1 - gamma)
    norm, trace = np.ones(states), []
    q = [[0.0] * n for n in world.slots]
    for _ in range(steps):
        s, u = world.state, world.draw()
        n = world.slots[s]
        if u < agent.epsilon:
            part = u / agent.epsilon
            ends_only = agent.explores_ends
            slot = (0 if part < 0.5 else n - 1) if ends_only else min(int(part * n), n - 1)
        else:
            slot = ties(q[s], 1e-9 * size, (u - agent.epsilon) / (1 - agent.epsilon))
        s_next, reward, ends = world.outcome(slot)
        before = q[s][slot]
        world.learn(slot, s_next, reward, ends)
        world.moves[s, s_next] += 1
        if agent.bonus == "ssr":
            norm = substochastic_sr(world.moves, gamma).sum(axis=1)
        elif agent.bonus == "counts":
            seen = world.moves.sum(axis=1)
            norm = np.where(seen > 0, (1 + gamma) - gamma / (seen + 1), 1.0)
        penalty = np.zeros(states) if agent.bonus == "off" else -beta * norm

        def backup(j, b, v, penalty=penalty):
            m = world.n[j, b] + pseudo * states
            left = 0.0 if agent.bonus_on_entered else penalty[j]
            entered = penalty if agent.bonus_on_entered else np.zeros(states)
            if m == 0:
                return left + float(np.mean(entered + gamma * v))
            seen = world.triple[j, b]
            mean = np.divide(world.paid[j, b], seen, out=np.zeros(states), where=seen > 0)
            total = ((seen + pseudo) / m) @ (mean + entered)
            future = ((world.count[j, b] + pseudo) / m) @ v
            return left + float(total + gamma * future)

        q = value_iteration(backup, world.slots, gamma, size)
        trace.append(Step(s, slot, reward, norm[s], before))
        world.move(s_next, ends)
    return trace


def e3_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    world = World(agent, mdp, run, seed)
    gamma, states = agent.gamma, mdp.n_states
    top = reward_scale(mdp, agent.name)[0] / (1 - gamma)
    trace = []
    counter, reached = Counter(agent, world), np.zeros(world.total.shape, dtype=bool)
    for _ in range(steps):
        n = world.n
        reached = reached | counter.enough(counter.read(n), agent.m)

        def known(s, slot, reached=reached):
            return reached[s, slot]

        def future(s, slot, v, n=n):
            return float(world.count[s, slot] @ v) / n[s, slot]

        def exploit(s, slot, v, n=n):
            if not known(s, slot):
                return 0.0
            return world.total[s, slot] / n[s, slot] + gamma * future(s, slot, v)

        def explore(s, slot, v):
            return gamma * future(s, slot, v) if known(s, slot) else 1.0

        q_explore = value_iteration(explore, world.slots, gamma, 1.0)
        q_exploit = value_iteration(exploit, world.slots, gamma, top)
        s = world.state
        if agent.escape == "discounted":
            escape = max(q_explore[s])
        else:
            reach = np.zeros(states)
            policy = [int(np.argmax(row)) for row in q_explore]
            for _ in range(int(agent.horizon)):
                reach = np.array(
                    [future(j, a, reach) if known(j, a) else 1.0 for j, a in enumerate(policy)]
                )
            escape = reach[s]
        u = world.draw()
        exploring = escape > agent.threshold + 1e-9
        slot = ties(q_explore[s], 1e-9, u) if exploring else ties(q_exploit[s], 1e-9 * top, u)
        s_next, reward, ends = world.outcome(slot)
        norm = counter.observe(s, slot, s_next)
        if not known(s, slot):
            world.learn(slot, s_next, reward, ends)
        q = q_explore if exploring else q_exploit
        trace.append(Step(s, slot, reward, norm, q[s][slot]))
        world.move(s_next, ends)
    return trace


def ucrl2_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    """Jaksch, Ortner & Auer (2010), Eq. 3 and 4, widths times a and b, values discounted."""
    world = World(agent, mdp, run, seed)
    scale, high = reward_scale(mdp, agent.name)
    gamma, states, actions = agent.gamma, mdp.n_states, max(world.slots)
    top = max(high, 0.0) / (1 - gamma)
    tolerance, trace = 1e-9 * max(top, scale), []
    n_k = np.zeros((states, actions))  # samples when the epoch began
    q = [[top] * n for n in world.slots]
    for t in range(1, steps + 1):
        s = world.state
        slot = ties(q[s], tolerance, world.draw())
        s_next, reward, ends = world.outcome(slot)
        world.learn(slot, s_next, reward, ends)
        trace.append(Step(s, slot, reward, math.nan, q[s][slot]))
        if world.n[s, slot] - n_k[s, slot] >= max(1, n_k[s, slot]):
            n_k, t_k = world.n, t + 1

            def backup(j, b, v, n_k=n_k, t_k=t_k):
                n = n_k[j, b]
                if n == 0:
                    return top
                log_r = math.log(2 * states * actions * t_k / agent.delta)
                log_p = math.log(2 * actions * t_k / agent.delta)
                width = agent.a * scale * math.sqrt(7 * log_r / (2 * n))
                radius = agent.b * math.sqrt(14 * states * log_p / n)
                p = np.append(world.count[j, b], world.ended[j, b]) / n
                future = best_in_ball(p, np.append(v, 0.0), radius, states)
                return min(world.total[j, b] / n + width, high) + gamma * future

            q = value_iteration(backup, world.slots, gamma, top + scale)
        world.move(s_next, ends)
    return trace


def normal(draw):
    """A standard normal variate (Box & Muller 1958)."""
    radius = math.sqrt(-2 * math.log(1 - draw()))
    return radius * math.cos(2 * math.pi * draw())


def log_gamma(shape, draw):
    """The logarithm of a gamma variate (Marsaglia & Tsang 2000, with their boost below 1)."""
    if shape < 1:
        boost = math.log(1 - draw()) / shape
        return boost + log_gamma(shape + 1, draw)
    d = shape - 1 / 3
    while True:
        x = normal(draw)
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - draw()) < x * x / 2 + d - d * v + d * math.log(v):
            return math.log(d * v)


def psrl_run(agent, mdp: MDP, *, run: int, steps: int, seed: int) -> list[Step]:
    """Dirichlet transitions (1/|S| prior samples per state), normal rewards (one sample of Rmax)."""
    world = World(agent, mdp, run, seed)
    scale, high = reward_scale(mdp, agent.name)
    gamma, states = agent.gamma, mdp.n_states
    top, trace = scale / (1 - gamma), []
    redraw, drawn = True, np.zeros((states, max(world.slots)))
    for _ in range(steps):
        if redraw:
            drawn, p, r = world.n, {}, {}
            for j, n in enumerate(world.slots):
                for b in range(n):
                    logs = [log_gamma(1 / states + x, world.draw) for x in world.count[j, b]]
                    # Each outcome that ended an episode has its own share.
                    logs += [log_gamma(x, world.draw) for x in world.ends_of(j, b)]
                    weights = np.exp(np.array(logs) - max(logs))
                    p[j, b] = (weights / weights.sum())[:states]
                    m = drawn[j, b] + 1
                    sd = agent.a * scale / math.sqrt(m)
                    r[j, b] = (high + world.total[j, b]) / m + sd * normal(world.draw)

            def backup(j, b, v, p=p, r=r):
                return r[j, b] + gamma * float(p[j, b] @ v)

            q = value_iteration(backup, world.slots, gamma, top)
        s = world.state
        slot = ties(q[s], 1e-9 * top, world.draw())
        s_next, reward, ends = world.outcome(slot)
        world.learn(slot, s_next, reward, ends)
        redraw = world.n[s, slot] >= 2 * drawn[s, slot]
        trace.append(Step(s, slot, reward, math.nan, q[s][slot]))
        world.move(s_next, ends)
    return trace
