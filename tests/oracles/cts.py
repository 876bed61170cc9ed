"""Context tree switching as the recursion is written: dictionaries and log weights."""

import math

LEVELS = 8
DEPTH = 4


def log_add(a, b):
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


class Node:
    """alpha ("stay") and beta ("split") as logarithms, and a Dirichlet estimator with Perks' prior."""

    def __init__(self, depth):
        self.leaf = depth == DEPTH
        self.log_alpha = 0.0 if self.leaf else math.log(0.5)
        self.log_beta = -math.inf if self.leaf else math.log(0.5)
        self.counts = [0.0] * LEVELS
        self.depth = depth
        self.children = {}

    def child(self, symbol, create):
        if symbol in self.children:
            return self.children[symbol]
        fresh = Node(self.depth + 1)
        if create:
            self.children[symbol] = fresh
        return fresh

    def log_p(self, x):
        return math.log((self.counts[x] + 1 / LEVELS) / (sum(self.counts) + 1.0))

    def log_predict(self, x, context):
        """log of (alpha p + beta z) / (alpha + beta)."""
        if self.leaf:
            return self.log_p(x)
        z = self.child(context[0], create=False).log_predict(x, context[1:])
        return log_add(self.log_alpha + self.log_p(x), self.log_beta + z) - log_add(
            self.log_alpha, self.log_beta
        )

    def update(self, x, context, t):
        """Returns log z, the node's own prediction before the update."""
        prediction = self.log_predict(x, context)
        if not self.leaf:
            z = self.child(context[0], create=True).update(x, context[1:], t)
            stay, split = self.log_alpha + self.log_p(x), self.log_beta + z
            rate = 1.0 / (t + 1)
            # Both from the old weights: the second must not see the first one's result.
            self.log_alpha, self.log_beta = (
                log_add(math.log(1 - rate) + stay, math.log(rate) + split),
                log_add(math.log(1 - rate) + split, math.log(rate) + stay),
            )
        self.counts[x] += 1
        return prediction


class DensityModel:
    """One tree a pixel; the log-probability of an image is the sum over its pixels."""

    def __init__(self, height, width):
        self.roots = [[Node(0) for _ in range(width)] for _ in range(height)]
        self.t = 0

    def contexts(self, image):
        height, width = len(image), len(image[0])

        def at(y, x):
            return int(image[y][x]) if 0 <= y < height and 0 <= x < width else 0

        for y in range(height):
            for x in range(width):
                context = (at(y, x - 1), at(y - 1, x), at(y - 1, x - 1), at(y - 1, x + 1))
                yield self.roots[y][x], int(image[y][x]), context

    def log_probability(self, image):
        return sum(node.log_predict(x, context) for node, x, context in self.contexts(image))

    def update(self, image):
        self.t += 1
        for node, x, context in self.contexts(image):
            node.update(x, context, self.t)

    def pseudo_count(self, image):
        """rho, then rho' after learning the image: rho (1 - rho') / (rho' - rho)."""
        before = self.log_probability(image)
        self.update(image)
        after = self.log_probability(image)
        gain = after - before
        return (1.0 - math.exp(after)) / math.expm1(gain) if gain > 0 else math.inf

    def nodes(self):
        stack = [node for row in self.roots for node in row]
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            yield node
