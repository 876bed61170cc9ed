"""Context tree switching, one tree per pixel, as one compiled loop over pixels and frames.

An inner node is a row of 20 int32: eight children (row of the child, 0 for none), eight counts of
symbols, their total, one word of padding, and in the last two words the float64 share
w = alpha / (alpha + beta) of the "stay" weight. A leaf is a row of nine: counts and their total.

Only the ratio of a node's two weights enters a prediction, and the switching update

    alpha' = (1 - eta) alpha p + eta beta z        beta' = (1 - eta) beta z + eta alpha p

is linear in them, with alpha' + beta' = alpha p + beta z. So w alone is kept, normalised at every
step: it stays in [eta, 1 - eta], where products of probabilities would underflow. Log space is needed
for the product over pixels only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DEPTH = 4
LEVELS = 8
PRIOR = 1.0 / LEVELS  # Perks
INNER_WORDS = 20
LEAF_WORDS = 9
TOTAL = 16
SHARE = 9  # in units of float64
FLUSH = 16  # pixels between logarithms


@njit(cache=True, nogil=True, error_model="numpy")
def grow(path, depth, context, inner, shares, leaves, used):
    """Create the nodes of the path below `depth`, as far as there is room."""
    for d in range(depth, DEPTH):
        pool = 1 if d == DEPTH - 1 else 0
        if used[pool] >= (len(leaves) if pool == 1 else len(inner)):
            used[2] += 1
            return
        child = used[pool]
        used[pool] += 1
        inner[path[d], context[d]] = child
        if pool == 0:
            shares[child, SHARE] = 0.5
        path[d + 1] = child


@njit(cache=True, nogil=True, error_model="numpy")
def frequency(count, total):
    """The Dirichlet estimate of a symbol, prior 1/8 each: before and after one more of it."""
    # One division for both.
    scale = 1.0 / ((total + 1.0) * (total + 2.0))
    return (count + PRIOR) * (total + 2.0) * scale, (count + 1.0 + PRIOR) * (total + 1.0) * scale


@njit(cache=True, nogil=True, error_model="numpy")
def switch(w, p, p_after, z, z_after, rate):
    """A node's probability before, its new share, and its probability after the update."""
    stay, split = w * p, (1.0 - w) * z
    mixture = stay + split
    w = ((1.0 - rate) * stay + rate * split) / mixture
    return mixture, w, w * p_after + (1.0 - w) * z_after


@njit(cache=True, nogil=True, error_model="numpy")
def assess(images, updates, inner, shares, leaves, used, write, before, after):
    """before, after <- log-probability of each image (B, H, W) before and after its update.

    With `write` the images are learned one after the other; without, each is assessed as things
    stand, and a node that does not exist is a fresh one. A pixel's tree depends on no other pixel's,
    so pixels are the outer loop: their nodes stay in the cache for the whole batch.
    """
    count, height, width = images.shape
    context = np.zeros(DEPTH, np.int64)
    path = np.zeros(DEPTH + 1, np.int64)
    # Logarithms are slow: probabilities of a few pixels are multiplied first. None is below
    # 1 / (8 (t + 1)), so 16 of them cannot underflow before t = 10^18.
    products = np.ones((count, 2))
    before[:] = 0.0
    after[:] = 0.0
    for pixel in range(height * width):
        y, x = pixel // width, pixel % width
        for b in range(count):
            # Left, above, above-left, above-right, 0 outside the image: left splits first.
            context[0] = images[b, y, x - 1] if x > 0 else 0
            context[1] = images[b, y - 1, x] if y > 0 else 0
            context[2] = images[b, y - 1, x - 1] if y > 0 and x > 0 else 0
            context[3] = images[b, y - 1, x + 1] if y > 0 and x < width - 1 else 0
            path[0] = pixel
            reached = 0
            while reached < DEPTH:
                path[reached + 1] = inner[path[reached], context[reached]]
                if path[reached + 1] == 0:
                    break
                reached += 1
            for d in range(reached + 1, DEPTH + 1):
                path[d] = 0
            if write and reached < DEPTH:
                grow(path, reached, context, inner, shares, leaves, used)
            # The t-th update of a model switches at the rate 1 / (t + 1).
            rate = 1.0 / (updates + 2.0 + (b if write else 0))
            symbol = images[b, y, x]
            node = path[DEPTH]
            seen, total = leaves[node, symbol], leaves[node, LEVELS]
            z, z_after = frequency(seen, total)
            if write and node > 0:
                leaves[node, symbol] = seen + 1
                leaves[node, LEVELS] = total + 1
            for depth in range(DEPTH - 1, -1, -1):
                node = path[depth]
                if depth == 0 or node > 0:
                    seen, total = inner[node, LEVELS + symbol], inner[node, TOTAL]
                    w = shares[node, SHARE]
                else:
                    seen, total, w = 0, 0, 0.5
                p, p_after = frequency(seen, total)
                z, w, z_after = switch(w, p, p_after, z, z_after, rate)
                if write and (depth == 0 or node > 0):
                    inner[node, LEVELS + symbol] = seen + 1
                    inner[node, TOTAL] = total + 1
                    shares[node, SHARE] = w
            products[b, 0] *= z
            products[b, 1] *= z_after
        if pixel % FLUSH == FLUSH - 1 or pixel == height * width - 1:
            for b in range(count):
                before[b] += np.log(products[b, 0])
                after[b] += np.log(products[b, 1])
                products[b, 0] = 1.0
                products[b, 1] = 1.0
