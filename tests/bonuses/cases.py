"""One case a bonus and form: what it is made with, and observations to feed it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countless.bonuses import make_bonus


@dataclass(frozen=True)
class Case:
    name: str
    observations: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    features: int = 0
    # `observe` of a batch is `observe` of its rows, one after the other.
    in_order: bool = True

    def __str__(self):
        form = self.parameters.get("form", "")
        return "-".join(filter(None, [self.name, form, str(self.observations)]))

    def make(self, seed=0):
        return make_bonus(self.name, self.observations, seed=seed, **self.parameters)

    def batch(self, count, seed=0):
        """(observations, features) of `count` random observations."""
        rng = np.random.default_rng(seed)
        if isinstance(self.observations, int):
            values = rng.integers(0, self.observations, count)
        elif len(self.observations) == 1:
            values = rng.normal(size=(count, *self.observations)).astype(np.float32)
        else:
            values = rng.integers(0, 256, (count, *self.observations), dtype=np.uint8)
        features = rng.random((count, self.features)).astype(np.float32) if self.features else None
        return values, features


SMALL = {"features": 12, "floor": 1e-6}

CASES = [
    Case("counts", 7),
    Case("counts", (5,)),
    Case("counts", (2, 12, 12)),
    Case("cts", (12, 12), {"size": 6}),
    Case("cts", (2, 15, 20), {"size": 6}),
    Case("pixelcnn", (2, 15, 20), {"size": 6, "maps": 4, "most": np.inf}),
    Case("rnd", 7, {"warm_up": 0, "features": 32}, in_order=False),
    Case("rnd", (5,), {"warm_up": 4, "features": 32, "keep": 0.5}, in_order=False),
    Case("rnd", (2, 40, 36), {"warm_up": 0, "features": 32, "size": 36}, in_order=False),
    Case("ssr", 7),
    Case("ssr", 7, {"form": "inverse"}),
    Case("sr-norm", 7),
    Case("sr-norm", 7, {"norm": 2.0, "eta": 0.5}),
    Case("sr-norm", 7, {"form": "network", **SMALL}, in_order=False),
    Case("sr-norm", (5,), {"norm": 2.0, **SMALL, "target": "next"}, in_order=False),
    Case("sr-norm", (2, 40, 36), {**SMALL, "reconstruction": True}, in_order=False),
    Case("sr-norm", (40, 40), {**SMALL, "target_period": 2}, in_order=False),
    Case("sr-norm", 7, {"form": "features", **SMALL}, features=12, in_order=False),
    Case("sr-norm", (5,), {"form": "features", **SMALL, "tables": 0}, features=12, in_order=False),
]
