"""Sarsa and its bonuses, many runs in lockstep.

A step of one run is a chain of dependent loads and a division: latency, not work. So a block of
runs ("lanes") takes each step together: their random numbers come out of one vector loop, and
while one lane waits the processor works on the next. Which lanes share a block changes no bit.

Every step takes three draws of the lane's stream: behaviour, transition, target. A draw u below
epsilon explores, and u / epsilon picks the action; otherwise, where greedy actions tie,
(u - epsilon) / (1 - epsilon) picks among them. A restart takes one draw more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from countless.agents.tabular.kernels.step import (
    break_tie,
    diverged,
    row_norm,
    start_state,
    unique_best,
    update_row,
)
from countless.agents.tabular.kernels.streams import ELEVEN, draw, open_streams, sfc64

U64, I64 = np.uint64, np.int64
ZERO, ONE = U64(0), U64(1)
TWO_53 = float(2**53)
BELOW_ONE = 1.0 - 2.0**-51

# Columns of the table of settings.
ALPHA, EPSILON, GAMMA, ETA, GAMMA_SR, BETA, INITIAL, LAMBDA_DR = 0, 1, 2, 3, 4, 5, 6, 7
# Whether anything but the plain case may occur: episodes, states with fewer actions, textbook Sarsa,
# a trace. The type of None is known to the compiler, which leaves all of that out.
PLAIN, GENERAL = None, True


class Options(NamedTuple):
    """What the settings of one kernel call share."""

    executed: bool  # the target's next action is the one then taken
    truncate: bool  # the last step of a run does not cut the bootstraps
    matrix: int  # rows of the matrix that the bonus needs, 0 for none
    identity: bool  # that matrix starts as the identity, not as zero
    lanes: int  # runs in a block


class Rates(NamedTuple):
    """The numbers that a bonus needs of the setting and the tables."""

    eta: float
    gamma_sr: float
    beta: float
    lambda_dr: float
    states: int
    width: int  # action slots of a state
    padded: int  # length of a row of the matrix: rounded up to a multiple of four


class Place(NamedTuple):
    """Where a transition from s, a to s', a' is in the tables of all lanes."""

    s: int
    s_next: int
    row: int  # s in the lane's part of a table of states
    next_row: int
    pair: int  # s, a in the lane's part of a table of pairs
    next_pair: int
    cell: int  # the outcome, in the tables of the MDP


# The bonuses. The compiler knows which one it has from its class, and makes a kernel for each.


class NoBonus(NamedTuple):
    """Plain Sarsa."""


class SRNormL1(NamedTuple):
    """beta / ||Psi(s)||_1; the norm obeys the TD recursion of the SR."""


class SRNorm(NamedTuple):
    """beta / ||Psi(s)||_p, from the whole matrix."""

    p: float


class DRNorm(NamedTuple):
    """beta log ||Z(s, a)||_2, Z the default representation of the pairs."""

    scaled: NDArray[np.float64]  # (S * A * K,) the rewards that Z sees, from -1 to 0


class VisitCounts(NamedTuple):
    """beta / sqrt(n(s))."""


class Spie(NamedTuple):
    """beta (Psi(s, s') - ||Psi(., s')||_1)."""


def _no_bonus(bonus, x, norm, psi, at, keep):
    return 0.0, math.nan


def _sr_norm_l1(bonus, x, norm, psi, at, keep):
    n = norm[at.row]
    n = n + x.eta * (1.0 + x.gamma_sr * keep * norm[at.next_row] - n)
    norm[at.row] = n
    return x.beta / n, n


def _sr_norm(bonus, x, norm, psi, at, keep):
    here, there = at.row * x.padded, at.next_row * x.padded
    update_row(psi, here, there, x.padded, at.s, x.eta, 1.0, x.gamma_sr * keep)
    n = row_norm(psi, here, x.padded, bonus.p)
    return x.beta / n, n


def _dr_norm(bonus, x, norm, psi, at, keep):
    here, there = at.pair * x.padded, at.next_pair * x.padded
    own = at.pair - (at.row - at.s) * x.width
    weight = math.exp(bonus.scaled[at.cell] / x.lambda_dr)
    update_row(psi, here, there, x.padded, own, x.eta, weight, weight * keep)
    n = row_norm(psi, here, x.padded, 2.0)
    return x.beta * math.log(n), n


def _visit_counts(bonus, x, norm, psi, at, keep):
    n = norm[at.row] + 1.0
    norm[at.row] = n
    return x.beta / math.sqrt(n), n


def _spie(bonus, x, norm, psi, at, keep):
    """Only one row of Psi changes, and the sums of its columns with it."""
    here, there, base = at.row * x.padded, at.next_row * x.padded, at.row - at.s
    for j in range(x.states):
        norm[base + j] -= psi[here + j]
    update_row(psi, here, there, x.padded, at.s, x.eta, 1.0, x.gamma_sr * keep)
    for j in range(x.states):
        norm[base + j] += psi[here + j]
    return x.beta * (psi[here + at.s_next] - norm[at.next_row]), norm[at.row]


BONUSES = {
    NoBonus: _no_bonus,
    SRNormL1: _sr_norm_l1,
    SRNorm: _sr_norm,
    DRNorm: _dr_norm,
    VisitCounts: _visit_counts,
    Spie: _spie,
}


def bonus_at(bonus, x, norm, psi, at, keep):
    """Update norm and matrix on a transition and return the bonus and the norm, with rates x.

    `norm` holds norms, visit counts or, for SPIE, sums of columns, S of them per lane. `psi` is
    the matrix, empty where the bonus does not need it. `keep` is 1, or 0 where the bootstrap is cut.
    """
    return BONUSES[type(bonus)](bonus, x, norm, psi, at, keep)


@overload(bonus_at, jit_options={"forceinline": True, "error_model": "numpy"})
def _choose_bonus(bonus, x, norm, psi, at, keep):
    return BONUSES[bonus.instance_class]


@njit(inline="always")
def _draw_three(a, b, c, w, explore, scale, x, y, z, x_greedy, x_slot, z_greedy, z_slot):
    """Three draws for each lane; for behaviour and target also what epsilon-greedy makes of them.

    `greedy` is all ones where the draw does not explore, else zero; `slot` is 1 + the slot that it
    explores, else zero. So 1 + the slot taken is (best & greedy) | slot, without a branch.
    """
    for lane in range(len(a)):
        out, na, nb, nc, nw = sfc64(a[lane], b[lane], c[lane], w[lane])
        u = np.float64(I64(out >> ELEVEN))
        greedy = -I64(u >= explore)
        x[lane], x_greedy[lane], x_slot[lane] = u, greedy, (I64(u * scale) + 1) & ~greedy
        out, na, nb, nc, nw = sfc64(na, nb, nc, nw)
        y[lane] = np.float64(I64(out >> ELEVEN))
        out, na, nb, nc, nw = sfc64(na, nb, nc, nw)
        u = np.float64(I64(out >> ELEVEN))
        greedy = -I64(u >= explore)
        z[lane], z_greedy[lane], z_slot[lane] = u, greedy, (I64(u * scale) + 1) & ~greedy
        a[lane], b[lane], c[lane], w[lane] = na, nb, nc, nw


@njit(error_model="numpy", cache=True)
def _select(q, row, n, u, explore):
    """The slow path of epsilon-greedy: several greedy actions share the largest value."""
    return break_tie(q, row, n, (u - explore) / (TWO_53 - explore))


@njit(error_model="numpy", nogil=True, cache=True)
def _run_block(mdp, bonus, case, options, runs, i, first_run, returns, trace):
    """Run len(returns) runs of setting i, from number first_run on."""
    setting, steps = runs.settings[i], runs.steps
    lanes = U64(len(returns))
    states = U64(len(mdp.n_slots))
    width, depth = U64(len(mdp.slots)), U64(len(mdp.outcomes))
    rows = U64(options.matrix)
    padded = (rows + U64(3)) // U64(4) * U64(4)
    alpha, gamma = setting[ALPHA], setting[GAMMA]
    explore = np.ceil(setting[EPSILON] * TWO_53)
    # u * scale[s] is a uniform slot of s when u < explore; never rounded up to n_slots[s].
    scale = mdp.n_slots / max(explore, 1.0) * BELOW_ONE
    general = case is not None
    truncate = options.truncate
    executed = general and options.executed
    episodic = general and mdp.episodic
    ragged = general and mdp.ragged
    tracing = general and trace.shape[0] > 0

    # A zero in `best` stands for a tie.
    q = np.full(lanes * states * width, setting[INITIAL])
    best = np.zeros(lanes * states, dtype=np.int64)
    norms = np.zeros(lanes * states)
    psi = np.zeros(lanes * rows * padded)
    if options.identity:
        for k in range(lanes * rows):
            psi[k * padded + k % rows] = 1.0
    rates = Rates(
        setting[ETA],
        setting[GAMMA_SR],
        setting[BETA],
        setting[LAMBDA_DR],
        states,
        width,
        padded,
    )
    if ragged:
        for row in range(lanes * states):
            for j in range(I64(mdp.n_slots[row % states]), len(mdp.slots)):
                q[row * width + U64(j)] = -math.inf

    a, b = np.empty(lanes, dtype=np.uint64), np.empty(lanes, dtype=np.uint64)
    c, w = np.empty(lanes, dtype=np.uint64), np.empty(lanes, dtype=np.uint64)
    open_streams(runs.seed, runs.keys[i], first_run, a, b, c, w)
    x, y, z = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    x_greedy, x_slot = np.empty(lanes, dtype=np.int64), np.empty(lanes, dtype=np.int64)
    z_greedy, z_slot = np.empty(lanes, dtype=np.int64), np.empty(lanes, dtype=np.int64)
    state = np.empty(lanes, dtype=np.uint64)
    carried = np.full(lanes, -1, dtype=np.int64)
    age = np.zeros(lanes, dtype=np.int64)
    for lane in range(lanes):
        state[lane] = start_state(mdp, draw(a, b, c, w, lane))

    for t in range(steps):
        _draw_three(a, b, c, w, explore, scale[0], x, y, z, x_greedy, x_slot, z_greedy, z_slot)
        last = t == steps - 1
        for lane in range(lanes):
            # Behaviour: the action carried over, or epsilon-greedy at s.
            s = state[lane]
            base = lane * states
            row = base + s
            slot = ((best[row] & x_greedy[lane]) | x_slot[lane]) - 1
            if ragged and x_slot[lane] > 0:
                slot = I64(x[lane] * scale[s])
            if executed and carried[lane] >= 0:
                slot = carried[lane]
            if slot < 0:
                slot = _select(q, row * width, I64(mdp.n_slots[s]), x[lane], explore)

            # Transition.
            cell = (s * width + U64(slot)) * depth
            u = y[lane]
            outcome = ZERO
            for k in range(len(mdp.outcomes) - 1):
                outcome += U64(u >= mdp.threshold[cell + U64(k)])
            cell += outcome
            s_next = mdp.next_state[cell]
            reward = mdp.reward[cell]
            next_row = base + s_next

            # The target's action: epsilon-greedy at s'.
            next_slot = ((best[next_row] & z_greedy[lane]) | z_slot[lane]) - 1
            if ragged and z_slot[lane] > 0:
                next_slot = I64(z[lane] * scale[s_next])
            if next_slot < 0:
                n_next = I64(mdp.n_slots[s_next])
                next_slot = _select(q, next_row * width, n_next, z[lane], explore)

            ends = False
            limit = last
            if episodic:
                age[lane] += 1
                ends = mdp.ends[cell]
                limit = last or age[lane] == mdp.episode_limit
            cut = ends or (limit and not truncate)
            keep = 0.0 if cut else 1.0

            # The bonus, after its own update and before q's.
            pair, next_pair = row * width + U64(slot), next_row * width + U64(next_slot)
            at = Place(s, s_next, row, next_row, pair, next_pair, cell)
            intrinsic, norm = bonus_at(bonus, rates, norms, psi, at, keep)

            old = q[pair]
            target = reward + intrinsic + gamma * keep * q[next_pair]
            q[pair] = old + alpha * (target - old)
            best[row] = unique_best(q, row * width, mdp.slots)
            returns[lane] += reward
            if tracing:
                trace[lane, t, 0], trace[lane, t, 1] = s, slot
                trace[lane, t, 2], trace[lane, t, 3] = reward, norm
                trace[lane, t, 4] = q[pair]

            state[lane] = s_next
            carried[lane] = next_slot
            if episodic and (ends or limit):
                age[lane] = 0
                carried[lane] = -1
                state[lane] = start_state(mdp, draw(a, b, c, w, lane))

    size = states * width
    for lane in range(lanes):
        if diverged(q[lane * size : (lane + ONE) * size]):
            returns[lane] = math.nan


@njit(error_model="numpy", nogil=True, cache=True)
def sarsa(mdp, bonus, case, options, runs, returns, trace):
    """All runs of all settings: returns[i, j] is the return of run first_run + j of setting i.

    `trace` is empty, or (runs, steps, 5) for one setting: state, slot, reward, norm, q.
    """
    n_runs = returns.shape[1]
    blocks = (n_runs + options.lanes - 1) // options.lanes
    for i in range(returns.shape[0]):
        for block in range(blocks):
            low, high = n_runs * block // blocks, n_runs * (block + 1) // blocks
            own_returns = returns[i, low:high]
            own_trace = trace[low:high] if trace.shape[0] > 0 else trace
            first_run = runs.first_run + low
            _run_block(mdp, bonus, case, options, runs, i, first_run, own_returns, own_trace)
