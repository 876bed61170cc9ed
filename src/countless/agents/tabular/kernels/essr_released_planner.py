"""ESSR as the released code plans: policy iteration from a random policy, and its stopping test.

After every step: sweeps of policy evaluation in place, from the last values, until none changes by
more than 0.01; then every state takes one of its best actions, ties broken at random; until the policy
is "stable". Their test calls a change from action a to b stable where |V(a) - V(b)| <= 0.01: it
compares the values of the *states* numbered like the two actions. With tied actions the policy so goes
on changing until all states happen to draw close ones at once.

Best actions (within 1e-9 of the scale of values) are looked for again only when the values have moved
by more than the smallest lead can bear. After `LITERAL` rounds each state gets a pair of close actions,
as the round in which they stop would have it, and values as many rounds would have left them: in
larger MDPs that round may never come. `released/essr.py` is the released code, draw by draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.environment import advance, reset, sample_outcome, uniform
from countless.agents.tabular.kernels.essr_model import (
    BETA,
    EPSILON,
    GAMMA,
    PSEUDO,
    Options,
    expected_value,
    explored,
    set_payoffs,
    value_tolerance,
)
from countless.agents.tabular.kernels.evaluation_sweeps import (
    new_sweeps,
    sweep_times,
    sweep_until_stable,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with
from countless.agents.tabular.kernels.ssr_bonus import new_ssr_bonus, observe

THETA = 0.01
LITERAL = 10  # rounds until their end is drawn
CONVERGED = 1024  # sweeps: 0.95^1024 is below the last bit
MOST_SWEEPS = 1_000_000


class ReleasedPlanning(NamedTuple):
    """ESSR that plans as the released code does."""

    shared: Options


@njit(cache=True)
def _below(n, stream):
    """A draw from 0, ..., n - 1; none for n = 1."""
    if n == 1:
        return np.int64(0)
    return min(np.int64(uniform(stream) * n), np.int64(n - 1))


@njit(error_model="numpy", cache=True)
def _follow(mdp, gamma, s, slot, count, samples, pseudo, payoff, sweeps):
    """Let the sweeps evaluate `slot` in s."""
    states, depth = len(sweeps.reward), len(mdp.outcomes)
    i = s * len(mdp.slots) + slot
    mass = samples[i] + pseudo * states
    sweeps.levels[0] = 0
    sweeps.reward[s] = payoff[i]
    row = sweeps.row[s]
    if mass == 0.0:
        row[:] = gamma / states
        return
    row[:] = gamma * pseudo / mass
    for cell in range(i * depth, (i + 1) * depth):
        if not mdp.ends[cell]:
            row[np.int64(mdp.next_state[cell])] += gamma * count[cell] / mass


@njit(cache=True)
def _same(next_state, depth, count, samples, payoff, i, j):
    """Whether two pairs were seen to do the same, so that they tie whatever the values."""
    if samples[i] != samples[j] or payoff[i] != payoff[j]:
        return False
    for cell in range(i * depth, (i + 1) * depth):
        if count[cell] > 0.0:
            found = False
            for other in range(j * depth, (j + 1) * depth):
                if next_state[other] == next_state[cell]:
                    found = found or count[other] == count[cell]
            if not found:
                return False
    return True


@njit(error_model="numpy", cache=True)
def _find_ties(mdp, gamma, value, count, samples, pseudo, payoff, tolerance, ties, n_ties, q):
    """The best actions of every state; returns by how much they lead (0 for a tie by accident)."""
    states, width, depth = len(value), len(mdp.slots), len(mdp.outcomes)
    n_slots, next_state, ends = mdp.n_slots, mdp.next_state, mdp.ends
    lead, value_sum = math.inf, value.sum()
    for s in range(states):
        n = int(n_slots[s])
        best = -math.inf
        for slot in range(n):
            i = s * width + slot
            q[slot] = payoff[i] + gamma * expected_value(
                next_state, ends, count, i * depth, (i + 1) * depth,
                samples[i] + pseudo * states, pseudo, value, value_sum,
            )  # fmt: skip
            best = max(best, q[slot])
        found = 0
        for slot in range(n):
            if q[slot] >= best - tolerance:
                ties[s, found] = slot
                found += 1
                first = s * width + ties[s, 0]
                if not _same(next_state, depth, count, samples, payoff, first, s * width + slot):
                    lead = 0.0
            else:
                lead = min(lead, best - q[slot])
        n_ties[s] = found
    return lead


@njit(cache=True)
def close(value, a, b):
    """The released test: actions as indices of states."""
    return a == b or abs(value[a] - value[b]) <= THETA


@njit(error_model="numpy", cache=True)
def _draw_policy(policy, value, ties, n_ties, stream):
    """Let every state take one of its best actions; says whether their test calls that stable."""
    stable = True
    for s in range(len(value)):
        new = ties[s, _below(n_ties[s], stream)]
        stable = stable and close(value, policy[s], new)
        policy[s] = new
    return stable


@njit(error_model="numpy", cache=True)
def _plan(
    mdp, gamma, policy, value, count, samples, pseudo, payoff, ties, n_ties, q, last, sweeps,
    tolerance, stream,
):  # fmt: skip
    """Policy iteration until their test is met; False if the values do not converge."""
    states, width, depth = len(value), len(mdp.slots), len(mdp.outcomes)
    next_state = mdp.next_state
    for s in range(states):
        _follow(mdp, gamma, s, policy[s], count, samples, pseudo, payoff, sweeps)
    lead, moved = 0.0, math.inf
    for round_ in range(LITERAL + 1):
        change = sweep_until_stable(sweeps, value, THETA, MOST_SWEEPS)
        if change < 0.0:
            return False
        moved += change
        if round_ == LITERAL:
            sweep_times(sweeps, value, CONVERGED)
            moved = math.inf
        if lead <= 2.1 * gamma * moved + 2.0 * tolerance:
            lead = _find_ties(
                mdp, gamma, value, count, samples, pseudo, payoff, tolerance, ties, n_ties, q
            )
            moved = 0.0
        last[:] = policy
        if _draw_policy(policy, value, ties, n_ties, stream):
            return True
        for s in range(states):
            i, j = s * width + last[s], s * width + policy[s]
            if i != j and not _same(next_state, depth, count, samples, payoff, i, j):
                moved = math.inf
                _follow(mdp, gamma, s, policy[s], count, samples, pseudo, payoff, sweeps)
    for s in range(states):
        while not close(value, last[s], policy[s]):
            last[s] = ties[s, _below(n_ties[s], stream)]
            policy[s] = ties[s, _below(n_ties[s], stream)]
    return True


@runs_with(ReleasedPlanning)
def _run(mdp, options, setting, steps, stream, trace):
    source, on_entered, ends_only, _ = options.shared
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    gamma, beta, epsilon, pseudo = setting[GAMMA], setting[BETA], setting[EPSILON], setting[PSEUDO]
    tolerance = value_tolerance(options.shared, setting)
    pairs = states * width
    count, samples, payoff = np.zeros(pairs * depth), np.zeros(pairs), np.zeros(pairs)
    value, policy = np.zeros(states), np.zeros(states, dtype=np.int64)
    ties, n_ties = np.zeros((states, width), dtype=np.int64), np.zeros(states, dtype=np.int64)
    q, last = np.zeros(width), np.zeros(states, dtype=np.int64)
    bonus, sweeps = new_ssr_bonus(states), new_sweeps(states)
    s = reset(mdp, stream)
    for j in range(states):
        policy[j] = _below(int(mdp.n_slots[j]), stream)
    age = 0
    result = 0.0
    for t in range(steps):
        slot = policy[s]
        u = uniform(stream)
        if u < epsilon:
            slot = explored(int(mdp.n_slots[s]), u / epsilon, ends_only)
        cell = sample_outcome(mdp, s, slot, stream)
        s_next, reward = np.int64(mdp.next_state[cell]), mdp.reward[cell]
        result += reward
        samples[s * width + slot] += 1.0
        count[cell] += 1.0
        observe(bonus, source, gamma, beta, s, s_next)
        record(trace, t, s, slot, reward, bonus.norm[s], value[s])
        set_payoffs(mdp, bonus, on_entered, count, samples, pseudo, payoff)
        if not _plan(
            mdp, gamma, policy, value, count, samples, pseudo, payoff, ties, n_ties, q,
            last, sweeps, tolerance, stream,
        ):  # fmt: skip
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
