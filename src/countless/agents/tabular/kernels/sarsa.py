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

import numpy as np
from numba import njit

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

# Where the bonus comes from, and whether anything but the plain case may occur (episodes, states
# with fewer actions, textbook Sarsa, a trace). Tuples, because the compiler knows their length: it
# makes a kernel for each case and leaves the others out.
NO_BONUS, SR_L1, COUNTS, SR_MATRIX, SPIE = (), (0,), (0, 0), (0, 0, 0), (0, 0, 0, 0)
PLAIN, GENERAL = (), (0,)
# Columns of the table of settings.
ALPHA, EPSILON, GAMMA, ETA, GAMMA_SR, BETA = 0, 1, 2, 3, 4, 5


@njit(inline="always")
def _draw_three(a, b, c, w, explore, scale, x, y, z, x_greedy, x_slot, z_greedy, z_slot):
    """Three draws a lane; for behaviour and target also what epsilon-greedy makes of them.

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
def _block(
    model, bonus, case, p, setting, executed, truncate, steps, seed, key, first_run, returns, trace
):
    """Run len(returns) runs, each `steps` steps, all of one setting."""
    lanes = U64(len(returns))
    states = U64(len(model.n_slots))
    width, depth = U64(len(model.slots)), U64(len(model.outcomes))
    padded = (states + U64(3)) // U64(4) * U64(4)
    alpha, gamma, eta = setting[ALPHA], setting[GAMMA], setting[ETA]
    gamma_sr, beta = setting[GAMMA_SR], setting[BETA]
    explore = np.ceil(setting[EPSILON] * TWO_53)
    # u * scale[s] is a uniform slot of s when u < explore; never rounded up to n_slots[s].
    scale = model.n_slots / max(explore, 1.0) * BELOW_ONE
    kind = len(bonus)
    general = len(case) > 0
    executed = general and executed
    episodic = general and model.episodic
    ragged = general and model.ragged
    tracing = general and trace.shape[0] > 0

    # All zero at first; a zero in `best` stands for a tie.
    q = np.zeros(lanes * states * width)
    best = np.zeros(lanes * states, dtype=np.int64)
    norm = np.zeros(lanes * states)
    psi = np.zeros(lanes * states * padded if kind >= len(SR_MATRIX) else ZERO)
    if ragged:
        for row in range(lanes * states):
            for j in range(I64(model.n_slots[row % states]), len(model.slots)):
                q[row * width + U64(j)] = -math.inf

    a, b = np.empty(lanes, dtype=np.uint64), np.empty(lanes, dtype=np.uint64)
    c, w = np.empty(lanes, dtype=np.uint64), np.empty(lanes, dtype=np.uint64)
    open_streams(seed, key, first_run, a, b, c, w)
    x, y, z = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    x_greedy, x_slot = np.empty(lanes, dtype=np.int64), np.empty(lanes, dtype=np.int64)
    z_greedy, z_slot = np.empty(lanes, dtype=np.int64), np.empty(lanes, dtype=np.int64)
    state = np.empty(lanes, dtype=np.uint64)
    carried = np.full(lanes, -1, dtype=np.int64)
    age = np.zeros(lanes, dtype=np.int64)
    for lane in range(lanes):
        state[lane] = start_state(model, draw(a, b, c, w, lane))

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
                slot = _select(q, row * width, I64(model.n_slots[s]), x[lane], explore)

            # Transition.
            cell = (s * width + U64(slot)) * depth
            u = y[lane]
            outcome = ZERO
            for k in range(len(model.outcomes) - 1):
                outcome += U64(u >= model.threshold[cell + U64(k)])
            cell += outcome
            s_next = model.next_state[cell]
            reward = model.reward[cell]
            next_row = base + s_next

            # The target's action: epsilon-greedy at s'.
            next_slot = ((best[next_row] & z_greedy[lane]) | z_slot[lane]) - 1
            if ragged and z_slot[lane] > 0:
                next_slot = I64(z[lane] * scale[s_next])
            if next_slot < 0:
                n_next = I64(model.n_slots[s_next])
                next_slot = _select(q, next_row * width, n_next, z[lane], explore)

            ends = False
            limit = last
            if episodic:
                age[lane] += 1
                ends = model.ends[cell]
                limit = last or age[lane] == model.episode_limit
            cut = ends or (limit and not truncate)
            keep = 0.0 if cut else 1.0

            # The bonus at s, after its own update and before q's.
            intrinsic = 0.0
            if kind == len(SR_L1):
                n = norm[row]
                n = n + eta * (1.0 + gamma_sr * keep * norm[next_row] - n)
                norm[row] = n
                intrinsic = beta / n
            elif kind == len(COUNTS):
                n = norm[row] + 1.0
                norm[row] = n
                intrinsic = beta / math.sqrt(n)
            elif kind == len(SR_MATRIX):
                here = row * padded
                update_row(psi, here, next_row * padded, padded, s, eta, gamma_sr * keep)
                n = row_norm(psi, here, padded, p)
                norm[row] = n
                intrinsic = beta / n
            elif kind == len(SPIE):
                # `norm` holds the sums of Psi's columns; only one row changes.
                here = row * padded
                for j in range(states):
                    norm[base + j] -= psi[here + j]
                update_row(psi, here, next_row * padded, padded, s, eta, gamma_sr * keep)
                for j in range(states):
                    norm[base + j] += psi[here + j]
                intrinsic = beta * (psi[here + s_next] - norm[next_row])

            i = row * width + U64(slot)
            old = q[i]
            target = reward + intrinsic + gamma * keep * q[next_row * width + U64(next_slot)]
            q[i] = old + alpha * (target - old)
            best[row] = unique_best(q, row * width, model.slots)
            returns[lane] += reward
            if tracing:
                trace[lane, t, 0], trace[lane, t, 1] = s, slot
                trace[lane, t, 2], trace[lane, t, 3] = reward, norm[row]
                trace[lane, t, 4] = q[i]

            state[lane] = s_next
            carried[lane] = next_slot
            if episodic and (ends or limit):
                age[lane] = 0
                carried[lane] = -1
                state[lane] = start_state(model, draw(a, b, c, w, lane))

    size = states * width
    for lane in range(lanes):
        if diverged(q[lane * size : (lane + ONE) * size]):
            returns[lane] = math.nan


@njit(error_model="numpy", nogil=True, cache=True)
def sarsa(
    model,
    bonus,
    case,
    p,
    settings,
    executed,
    truncate,
    steps,
    seed,
    keys,
    first_run,
    lanes,
    returns,
    trace,
):
    """All runs of all settings: returns[i, j] is the return of run first_run + j of setting i.

    `trace` is empty, or (runs, steps, 5) for one setting: state, slot, reward, norm, q.
    """
    runs = returns.shape[1]
    blocks = (runs + lanes - 1) // lanes
    for i in range(returns.shape[0]):
        for block in range(blocks):
            low, high = runs * block // blocks, runs * (block + 1) // blocks
            part = trace[low:high] if trace.shape[0] > 0 else trace
            _block(
                model,
                bonus,
                case,
                p,
                settings[i],
                executed,
                truncate,
                steps,
                seed,
                keys[i],
                first_run + low,
                returns[i, low:high],
                part,
            )
