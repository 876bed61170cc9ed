"""The values of a dense network at a few observations, in one compiled pass: to choose an action.

For one observation the layers are too small for PyTorch's matrix products to be worth their calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from torch import nn

from countless.agents.dqn.dense import FlatParameters
from countless.agents.dqn.device import LEVEL
from countless.agents.dqn.network import TINY, Network

FEW = 4  # observations; PyTorch is faster with more


class DenseValues:
    """q of a network whose parameters are one vector."""

    def __init__(self, network: Network, parameters: FlatParameters) -> None:
        self._vector = parameters.vector.detach().numpy()
        names = [f"encoder.{i}" for i, m in enumerate(network.encoder) if isinstance(m, nn.Linear)]
        # Of each layer: where its weights begin, where its biases (-1: none), inputs, outputs.
        self._layers = np.array([
            (
                parameters.start(f"{name}.weight"),
                -1 if layer.bias is None else parameters.start(f"{name}.bias"),
                layer.in_features,
                layer.out_features,
            )
            for name in (*names, "q_head")
            for layer in [network.get_submodule(name)]
        ])  # fmt: skip
        self._norm = network.norm if network.normalised else 0.0
        self._scale = network.input_scale

    def q(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Action values (B, actions) of observations (B, history, ...)."""
        rows = observations.reshape(len(observations), -1)
        scale = np.float32(self._scale * (LEVEL if rows.dtype == np.uint8 else 1.0))
        q: NDArray[np.float32] = _values(self._vector, self._layers, rows, scale, self._norm)
        return q


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"}, error_model="numpy")
def _values(vector, layers, rows, scale, norm):  # type: ignore[no-untyped-def]
    """`norm` is 0 where features are not normalised."""
    depth, actions = len(layers), layers[-1, 3]
    q = np.empty((len(rows), actions), np.float32)
    widest = max(layers[:, 2].max(), actions)
    x, out = np.empty(widest, np.float32), np.empty(widest, np.float32)
    for b in range(len(rows)):
        for i in range(layers[0, 2]):
            x[i] = rows[b, i] * scale
        for k in range(depth):
            start, bias, inputs, outputs = layers[k]
            if k == depth - 1 and norm > 0.0:
                _normalise(x[:inputs], norm)
            for j in range(outputs):
                weights = vector[start + j * inputs : start + (j + 1) * inputs]
                total = np.float32(0.0)
                for i in range(inputs):
                    total += weights[i] * x[i]
                out[j] = total if bias < 0 else total + vector[bias + j]
            if k < depth - 1:
                for j in range(outputs):
                    x[j] = max(out[j], np.float32(0.0))
        q[b] = out[:actions]
    return q


@njit(nogil=True, cache=True, error_model="numpy")
def _normalise(x, norm):  # type: ignore[no-untyped-def]
    """Divide features, which are not negative, by their p-norm."""
    total = np.float32(0.0)
    for value in x:
        total += value if norm == 1.0 else value**norm
    x /= np.float32(max(total ** (1.0 / norm), TINY))
