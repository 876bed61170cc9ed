"""Network, target network and optimiser: what is learned, and one update of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from countless.agents.dqn.config import DeepConfig
from countless.agents.dqn.device import Device, as_numpy
from countless.agents.dqn.losses import Losses, Tensors, compute_losses, sr_bonus, total_reward
from countless.agents.dqn.network import Network, Spec
from countless.agents.dqn.optimiser import CentredRMSProp
from countless.agents.dqn.replay import Batch
from countless.core.errors import CountlessError

Floats = NDArray[np.float32]


class NonFiniteLossError(CountlessError):
    """A loss that is no number: learning stops."""

    def __init__(self, parts: dict[str, Tensor], batch: Batch) -> None:
        shown = ", ".join(f"{name} {float(value):g}" for name, value in parts.items())
        super().__init__(f"a loss is not finite ({shown})")
        self.batch = batch


@dataclass(frozen=True)
class View:
    """What the network says of one observation and action."""

    q: Floats
    prediction: Floats | None


class Learner:
    """Learns from batches; answers for values and bonuses."""

    def __init__(self, spec: Spec, config: DeepConfig, device: Device, seed: int) -> None:
        self.config, self.device = config, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = Network(spec, config)
            self.target = Network(spec, config)
        device.place(self.network)
        device.place(self.target)
        self.target.requires_grad_(False)
        if config.initial_copy == "on":
            self.copy_to_target()
        self.optimiser = CentredRMSProp(
            self.network.parameters(),
            lr=config.learning_rate,
            decay=config.rms_decay,
            epsilon=config.rms_epsilon / config.batch**2,
        )
        self._losses = device.compiled(compute_losses)

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """One step of the optimiser on a batch; the losses before it, by name."""
        with self.device.autocast():
            losses: Losses = self._losses(
                self.network, self.target, self.tensors(batch), self.config
            )
        parts = loss_parts(losses)
        if not torch.isfinite(losses.total):
            raise NonFiniteLossError(parts, batch)
        self.optimiser.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return parts

    def tensors(self, batch: Batch) -> Tensors:
        """A batch on the device."""
        move = self.device.tensor
        return Tensors(
            both=self.device.observations(
                np.concatenate((batch.observations, batch.next_observations))
            ),
            next_frames=move(batch.next_observations[:, -1].astype(np.float32)),
            actions=move(batch.actions),
            extrinsic=move(batch.extrinsic),
            intrinsic=move(batch.intrinsic),
            returns=move(batch.returns),
            done=move(batch.done.astype(np.float32)),
        )

    def copy_to_target(self) -> None:
        self.target.load_state_dict(self.network.state_dict())

    @torch.inference_mode()
    def greedy(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The best actions (B,) of observations (B, history, ...)."""
        with self.device.autocast():
            values = self.network.values(self.device.observations(observations))
        actions: NDArray[np.int64] = values.argmax(1).cpu().numpy()
        return actions

    @torch.inference_mode()
    def bonuses(self, observations: NDArray[Any]) -> Floats:
        """1 / ||psi(s)|| under the target network."""
        with self.device.autocast():
            norms = self.target.sr_norm(self.device.observations(observations))
        return as_numpy(sr_bonus(norms))

    @torch.inference_mode()
    def value_after(self, observations: NDArray[Any]) -> float:
        """The target network's value of one observation."""
        return float(self.target.values(self.device.observations(observations)).amax())

    @torch.inference_mode()
    def look(self, observation: NDArray[Any], action: int) -> View:
        """Values and the predicted next frame."""
        seen = self.device.observations(observation[None])
        _, phi = self.network.features(seen)
        taken = torch.tensor([action], device=self.device.torch)
        net = self.network
        return View(
            q=as_numpy(net.q(phi))[0],
            prediction=as_numpy(net.predict(phi, taken))[0] if net.decoder is not None else None,
        )

    def rewards(self, extrinsic: Floats, intrinsic: Floats) -> Floats:
        """What the values learn, from both rewards."""
        total = total_reward(torch.from_numpy(extrinsic), torch.from_numpy(intrinsic), self.config)
        return as_numpy(total)

    def tensors_to_keep(self) -> dict[str, dict[str, Tensor]]:
        """All that a checkpoint keeps, by file."""
        moments = {}
        for name, weight in self.network.named_parameters():
            for key, value in self.optimiser.state[weight].items():
                moments[f"{name}.{key}"] = value
        return {
            "network": dict(self.network.state_dict()),
            "target": dict(self.target.state_dict()),
            "optimiser": moments,
        }

    @torch.no_grad()
    def load_tensors(self, kept: dict[str, dict[str, Tensor]]) -> None:
        self.network.load_state_dict(kept["network"])
        self.target.load_state_dict(kept["target"])
        for name, weight in self.network.named_parameters():
            for key, value in self.optimiser.state[weight].items():
                value.copy_(kept["optimiser"][f"{name}.{key}"])


def loss_parts(losses: Losses) -> dict[str, Tensor]:
    """The parts of a loss by name, the mean value `q`, and the number of `active` features."""
    parts = {"td": losses.td, "sr": losses.sr, "reconstruction": losses.reconstruction}
    named = {name: value.detach() for name, value in parts.items() if value is not None}
    return named | {"q": losses.q, "active": losses.active}
