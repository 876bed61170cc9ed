"""The released scripts, draw for draw: every run shares two Mersenne Twisters, one after the other.

Those of Machado et al. and, built on them, of Tse et al. A run is one episode: it ends at the time
limit or on entering a terminal state. The SR is kept as a matrix and its l1 norm, the one of the
released code, summed in NumPy's order, so that not one bit of rounding differs. Other norms agree
with NumPy's to the last bit or two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.agents.tabular.kernels.sarsa import (
    ALPHA,
    BETA,
    EPSILON,
    ETA,
    GAMMA,
    GAMMA_SR,
    INITIAL,
    LAMBDA_DR,
    TWO_53,
)
from countless.agents.tabular.kernels.step import diverged
from countless.agents.tabular.released.twister import numpy_below, python_below, uniform_53


class Bonus(NamedTuple):
    """The bonus of a released script: of the SR of the states, of the DR of the pairs, or none."""

    rows: int  # of its matrix: states, pairs, or 0 for no bonus
    p: float  # of the norm of a row
    default: bool  # the DR and the log of its norm, not the SR and its inverse
    scaled: NDArray[np.float64]  # (S * A * K,) the rewards that the DR sees


def no_bonus() -> Bonus:
    """Plain Sarsa."""
    return Bonus(0, 1.0, False, np.empty(0))


def sr_bonus(states: int, p: float) -> Bonus:
    """beta / ||Psi(s)||_p (Machado et al.)."""
    return Bonus(states, p, False, np.empty(0))


def dr_bonus(pairs: int, scaled: NDArray[np.float64]) -> Bonus:
    """beta log ||Z(s, a)||_2 (Tse et al.)."""
    return Bonus(pairs, 2.0, True, scaled)


class Options(NamedTuple):
    """What decides a run beside the setting and the bonus."""

    executed: bool  # the target's next action is the one then taken
    truncate: bool  # the last step of a run does not cut the bootstraps


@njit(cache=True)
def _short_sum(x, low, n):
    """At most 128 numbers: eight running sums, then what is left."""
    if n < 8:
        total = 0.0
        for i in range(n):
            total += x[low + i]
        return total
    r = x[low : low + 8].copy()
    whole = n - n % 8
    for i in range(8, whole, 8):
        for j in range(8):
            r[j] += x[low + i + j]
    total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    for i in range(whole, n):
        total += x[low + i]
    return total


@njit(cache=True)
def pairwise_sum(x):
    """The sum of x in NumPy's order: above 128 numbers, the sum of the sums of two halves.

    The recursion is written as a stack of (low, n); n = -1 stands for "add the last two".
    """
    if len(x) <= 128:
        return _short_sum(x, 0, len(x))
    stack, values = [(0, len(x))], [0.0]
    while len(stack) > 0:
        low, n = stack.pop()
        if n < 0:
            right = values.pop()
            values[-1] += right
        elif n <= 128:
            values.append(_short_sum(x, low, n))
        else:
            half = n // 2
            half -= half % 8
            stack.append((0, -1))
            stack.append((low + half, n - half))
            stack.append((low, half))
    return values[-1]


@njit(error_model="numpy", cache=True)
def _norm(row, p):
    """`np.linalg.norm(row, ord=p)` of a non-negative row."""
    if p == 1.0:
        return pairwise_sum(row)
    if p == 2.0:
        total = 0.0
        for x in row:
            total += x * x
        return math.sqrt(total)
    largest = row.max()
    if math.isinf(p):
        return largest
    return largest * pairwise_sum((row / largest) ** p) ** (1.0 / p)


@njit(cache=True)
def released_start(mdp, python, current):
    """`reset()`: a draw beyond a start distribution that sums to less than 1 changes nothing."""
    u = uniform_53(python)
    for s in range(len(mdp.start)):
        if u < mdp.start[s]:
            return s
    return current


@njit(cache=True)
def _epsilon_greedy(q, s, n, explore, python, legacy):
    if uniform_53(python) < explore:
        return python_below(python, n)
    best = q[s, 0]
    for j in range(1, n):
        best = max(best, q[s, j])
    ties = 0
    for j in range(n):
        if q[s, j] == best:
            ties += 1
    if ties == 0:
        return 0  # no value is a number any more; the caller says so at the end of the run
    pick = numpy_below(legacy, ties)
    for j in range(n):
        if q[s, j] == best:
            if pick == 0:
                return j
            pick -= 1
    return 0


@njit(error_model="numpy", nogil=True, cache=True)
def released_sarsa(mdp, bonus, options, setting, steps, draws, returns, trace):
    """Runs of the released scripts, in order; `draws` go on where they stood.

    Building the MDP draws the first start state (asked for by -1); each run, at its end, that of
    the next.
    """
    python, legacy, start = draws.python, draws.legacy, draws.start
    executed, truncate = options.executed, options.truncate
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    alpha, gamma, eta = setting[ALPHA], setting[GAMMA], setting[ETA]
    beta, lambda_dr = setting[BETA], setting[LAMBDA_DR]
    discount = 1.0 if bonus.default else setting[GAMMA_SR]
    explore = np.ceil(setting[EPSILON] * TWO_53)
    tracing = trace.shape[0] > 0
    if start[0] < 0:
        start[0] = released_start(mdp, python, 0)
    for run in range(len(returns)):
        q = np.full((states, width), setting[INITIAL])
        psi = np.zeros((bonus.rows, bonus.rows))
        if bonus.default:
            np.fill_diagonal(psi, 1.0)
        s = start[0]
        carried = -1
        for t in range(steps):
            slot = carried
            if slot < 0:
                n = int(mdp.n_slots[s])
                slot = _epsilon_greedy(q, s, n, explore, python, legacy)
            cell = (s * width + slot) * depth
            u = uniform_53(python)
            while u >= mdp.threshold[cell]:
                cell += 1
            s_next, reward = np.int64(mdp.next_state[cell]), mdp.reward[cell]
            n_next = int(mdp.n_slots[s_next])
            next_slot = _epsilon_greedy(q, s_next, n_next, explore, python, legacy)
            ends = mdp.ends[cell]
            cut = ends or (t == steps - 1 and not truncate)
            keep = 0.0 if cut else 1.0
            total = reward
            norm = math.nan
            if bonus.rows > 0:
                i, i_next, weight = s, s_next, 1.0
                if bonus.default:
                    i, i_next = s * width + slot, s_next * width + next_slot
                    weight = math.exp(bonus.scaled[cell] / lambda_dr)
                for j in range(bonus.rows):
                    cumulant = 1.0 if j == i else 0.0
                    target = weight * (cumulant + discount * keep * psi[i_next, j])
                    psi[i, j] = psi[i, j] + eta * (target - psi[i, j])
                norm = _norm(psi[i], bonus.p)
                total = reward + (beta * math.log(norm) if bonus.default else beta / norm)
            q[s, slot] = q[s, slot] + alpha * (
                total + gamma * keep * q[s_next, next_slot] - q[s, slot]
            )
            returns[run] += reward
            if tracing:
                trace[run, t, 0], trace[run, t, 1] = s, slot
                trace[run, t, 2], trace[run, t, 3] = reward, norm
                trace[run, t, 4] = q[s, slot]
            s = s_next
            if executed:
                carried = next_slot
            if ends:
                break
        start[0] = released_start(mdp, python, s)
        if diverged(q.ravel()):
            returns[run] = math.nan
