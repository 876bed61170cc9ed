"""Network, target network and optimiser: what is learned, and one update of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from countless.agents.dqn.centre import BonusCentre
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.dense import DenseLosses, has_written_gradients
from countless.agents.dqn.dense_values import FEW, DenseValues
from countless.agents.dqn.device import Device, as_numpy
from countless.agents.dqn.losses import (
    Losses,
    TransitionTensors,
    compute_goals,
    compute_losses,
    sr_bonus,
    total_reward,
)
from countless.agents.dqn.network import Network, Spec
from countless.agents.dqn.optimiser import make_optimiser
from countless.agents.dqn.replay import Transitions
from countless.core.errors import CountlessError

Floats = NDArray[np.float32]
UPDATES_PER_CHECK = 32  # of losses on an accelerator, each with its batch: some 40 MB of Atari


class NonFiniteError(CountlessError):
    """A loss, a gradient or a bonus that is no number: learning stops."""

    def __init__(self, what: str, parts: Mapping[str, float], arrays: dict[str, Any]) -> None:
        """`arrays` is what it was computed from."""
        shown = ", ".join(f"{name} {value:g}" for name, value in parts.items())
        super().__init__(f"a {what} is not finite ({shown})")
        self.arrays = arrays


@dataclass(frozen=True)
class _Unchecked:
    """An update whose loss and gradient were not looked at yet."""

    total: Tensor
    gradient: Tensor  # the sum over all parameters: finite where each is
    parts: dict[str, Tensor]
    batch: Transitions


class Learner:
    """Learns from batches; answers for values and for the SR bonus.

    A loss or a gradient that is not finite stops learning. To look at one is to wait for the device, so
    on an accelerator they are looked at every `updates_per_check` updates, on the CPU at each.
    """

    def __init__(
        self,
        spec: Spec,
        config: DQNConfig,
        device: Device,
        seed: int,
        updates_per_check: int | None = None,
    ) -> None:
        self.config, self.device = config, device
        self.centre = BonusCentre(config.rewards)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = Network(spec, config.architecture)
            self.target = Network(spec, config.architecture)
        device.place(self.network)
        device.place(self.target)
        self.target.requires_grad_(False)
        learning = config.learning
        if learning.initial_copy:
            self.copy_to_target()
        self._dense = (
            DenseLosses(self.network, config.losses)
            if device.plain_cpu and has_written_gradients(self.network, config.losses)
            else None
        )
        self._values = (
            None if self._dense is None else DenseValues(self.network, self._dense.parameters)
        )
        self.optimiser = make_optimiser(
            self.network.parameters() if self._dense is None else [self._dense.parameters.vector],
            learning,
        )
        self._losses = device.compiled(compute_losses)
        on_cpu = device.torch.type == "cpu"
        self._updates_per_check = updates_per_check or (1 if on_cpu else UPDATES_PER_CHECK)
        self._unchecked: list[_Unchecked] = []

    def losses(self, batch: Transitions) -> Losses:
        """The losses of a batch as things stand."""
        losses: Losses = self._losses(
            self.network,
            self.target,
            self.tensors(batch),
            self.config.losses,
            self.config.rewards,
            self.centre.affine,
        )
        return losses

    def with_gradients(self, batch: Transitions) -> Losses:
        """The same; each parameter then has the gradient of their sum."""
        if self._dense is not None:
            tensors, config = self.tensors(batch), self.config
            goals = compute_goals(
                self.target, tensors, config.losses, config.rewards, self.centre.affine
            )
            return self._dense.with_gradients(tensors, goals)
        with self.device.autocast():
            losses = self.losses(batch)
        self.optimiser.zero_grad()
        losses.total.backward()  # type: ignore[no-untyped-call]
        return losses

    def update(self, batch: Transitions) -> dict[str, Tensor]:
        """One step of the optimiser on a batch; the losses before it, by name."""
        losses = self.with_gradients(batch)
        parts = loss_parts(losses)
        gradient = self._sum_of_gradients()
        self._unchecked.append(_Unchecked(losses.total.detach(), gradient, parts, batch))
        if len(self._unchecked) >= self._updates_per_check:
            self.check_losses()
        self.optimiser.step()
        return parts

    def check_losses(self) -> None:
        """Look at the updates since the last look; the first that is not finite is an error."""
        unchecked, self._unchecked = self._unchecked, []
        if not unchecked:
            return
        finite = torch.isfinite(
            torch.stack([one.total + one.gradient for one in unchecked])
        ).tolist()
        if not all(finite):
            first = unchecked[finite.index(False)]
            what = "gradient" if math.isfinite(float(first.total)) else "loss"
            parts = {name: float(value) for name, value in first.parts.items()}
            raise NonFiniteError(what, parts, first.batch.arrays())

    def _sum_of_gradients(self) -> Tensor:
        sums = [weight.grad.sum() for weight in self.optimiser.state if weight.grad is not None]
        return torch.stack(sums).sum() if len(sums) > 1 else sums[0]

    def tensors(self, batch: Transitions) -> TransitionTensors:
        """A batch on the device."""
        move = self.device.tensor
        return TransitionTensors(
            s=self.device.observations(batch.s),
            frame_t=move(batch.s_t[:, -1].astype(np.float32)),
            a_tm1=move(batch.a_tm1),
            r_t=move(batch.r_t),
            r_int_t=move(batch.r_int_t),
            g_tm1=move(batch.g_tm1),
            terminal_t=move(batch.terminal_t.astype(np.float32)),
            s_next=None if batch.s_next is None else self.device.observations(batch.s_next),
            continues_t=None
            if batch.continues_t is None
            else move(batch.continues_t.astype(np.float32)),
        )

    def copy_to_target(self) -> None:
        self.target.load_state_dict(self.network.state_dict())

    @torch.inference_mode()
    def greedy(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The best actions (B,) of observations (B, history, ...)."""
        if self._values is not None and len(observations) <= FEW:
            best: NDArray[np.int64] = self._values.q(observations).argmax(1)
            return best
        with self.device.autocast():
            q = self.network.values(self.device.observations(observations))  # (B, A)
        actions: NDArray[np.int64] = q.argmax(1).cpu().numpy()
        return actions

    @torch.inference_mode()
    def sr_bonuses(self, observations: NDArray[Any]) -> Floats:
        """1 / ||psi(s)|| (B,) under the target network."""
        with self.device.autocast():
            norms = self.target.sr_norm(self.device.observations(observations))
        return as_numpy(sr_bonus(norms))

    @torch.inference_mode()
    def features(self, observations: NDArray[Any]) -> Floats:
        """phi (B, D) of observations, as the values read it."""
        with self.device.autocast():
            _, phi = self.network.features(self.device.observations(observations))
        return as_numpy(phi)

    @torch.inference_mode()
    def value_after(self, observations: NDArray[Any]) -> float:
        """The target network's value of one observation."""
        return float(self.target.values(self.device.observations(observations)).amax())

    @torch.inference_mode()
    def values(self, observation: NDArray[Any]) -> Floats:
        """q (A,) of one observation."""
        q: Floats = as_numpy(self.network.values(self.device.observations(observation[None])))[0]
        return q

    @torch.inference_mode()
    def predictions(self, observations: NDArray[Any], actions: NDArray[Any]) -> Floats | None:
        """The next frames (B, ...) after actions (B,); None where no frame is predicted."""
        network = self.network
        if network.decoder is None or network.predicts == "features":
            return None
        _, phi = network.features(self.device.observations(observations))
        chosen = torch.from_numpy(actions).to(self.device.torch)
        return as_numpy(network.predict(phi, chosen))

    def rewards(self, extrinsic: Floats, intrinsic: Floats) -> Floats:
        """What the values learn, from both rewards."""
        return as_numpy(
            total_reward(
                torch.from_numpy(extrinsic),
                torch.from_numpy(intrinsic),
                self.config.rewards,
                self.centre.affine,
            )
        )

    def tensors_to_keep(self) -> dict[str, dict[str, Tensor]]:
        """All that a checkpoint keeps, by file."""
        return {
            "network": dict(self.network.state_dict()),
            "target": dict(self.target.state_dict()),
            "optimiser": {name: value.clone() for name, value in self._averages()},
        }

    @torch.no_grad()
    def load_tensors(self, kept: dict[str, dict[str, Tensor]]) -> None:
        self.network.load_state_dict(kept["network"])
        self.target.load_state_dict(kept["target"])
        for name, value in self._averages():
            value.copy_(kept["optimiser"][name])

    def _averages(self) -> Iterator[tuple[str, Tensor]]:
        """What the optimiser keeps for each parameter, by name."""
        for name, weight in self.network.named_parameters():
            if self._dense is None:
                for key, value in self.optimiser.state[weight].items():
                    yield f"{name}.{key}", value
            else:
                flat = self._dense.parameters
                for key, value in self.optimiser.state[flat.vector].items():
                    yield f"{name}.{key}", flat.part(name, value)


def loss_parts(losses: Losses) -> dict[str, Tensor]:
    """The parts of a loss by name, and the mean value `q`."""
    parts = {"td": losses.td, "sr": losses.sr, "reconstruction": losses.reconstruction}
    found = {name: value.detach() for name, value in parts.items() if value is not None}
    return found | {"q": losses.q}
