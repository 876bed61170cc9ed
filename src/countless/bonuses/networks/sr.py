"""Successor features learned by a network, and the inverse of their norm as a bonus."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.linking import UNSHAPED, Stream
from countless.bonuses.networks import first_rows
from countless.bonuses.networks.first_rows import FirstRows
from countless.bonuses.networks.inputs import make_device
from countless.bonuses.networks.sr_head import Code, Rows, SuccessorHead
from countless.bonuses.networks.sr_inputs import FeatureInput, ObservationInput
from countless.bonuses.networks.state import Adam, load_module, module_state, seeded
from countless.bonuses.protocol import State, Transitions, as_transitions, check_state
from countless.bonuses.sr_norm import NAME, SRNormParameters
from countless.core.arrays import check_flags, like
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader

TINY = 1e-8
ROUNDING = 1e-5


class NetworkSRNorm(ObservingBonus):
    """beta / ||psi(s; target)||_p, psi learned from phi(s) + gamma psi(s'), phi of p-norm 1.

    The bonus and the targets come from a copy of the network that is brought up to date every
    `target_period` updates. One update is made on the transitions of each step, then the bonus is
    read. Where the norm is below `floor`, the bonus is beta / floor.

    What the code of an observation is depends on means and SDs that are not known at first. The first
    `settle` transitions are kept and learned again, from the beginning, each time there are twice as
    many of them: so nothing is forgotten while the codes move. From then on the SDs never shrink, and
    the mean of phi moves by `recency` alone.
    """

    def __init__(
        self, observations: ObservationReader, parameters: SRNormParameters, seed: int, device: str
    ) -> None:
        self.parameters = parameters
        self._device = make_device(device)
        self._stream = Stream(NAME)
        self.reads_features = parameters.form == "features"
        self._first = FirstRows(NAME, parameters.settle)
        self._input: FeatureInput | ObservationInput = (
            FeatureInput(observations, parameters.features, self._device)
            if parameters.form == "features"
            else ObservationInput(observations, self._device, settles=parameters.settle > 0)
        )
        with seeded(seed):
            encoder = self._input.encoder(parameters.features)
            decoder = (
                self._input.decoder(parameters.features) if parameters.reconstruction else None
            )
            planes = None
            if parameters.tables:
                count = parameters.tables * parameters.planes
                planes = torch.randn(parameters.features, count).numpy()
        # Only a reconstruction changes phi: the SR sends no gradient there.
        self.encoder = encoder.to(self._device).requires_grad_(decoder is not None)
        self.head = SuccessorHead(
            parameters.features,
            planes,
            parameters.tables,
            sums=parameters.norm == 1.0,
            rounding=ROUNDING if parameters.settle and self._input.reads_observations else 0.0,
        )
        self.decoder, self._adam = None, None
        # What never differs from the network is not kept twice.
        self.target_encoder, self.target_head = self.encoder, self.head
        if decoder is not None:
            self.decoder = decoder.to(self._device)
            self._adam = Adam(nn.ModuleList([self.encoder, self.decoder]), parameters.lr)
            self.target_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        if decoder is not None or parameters.target_period > 1:
            self.target_head = self.head.copy()
        self.updates = 0

    def norms(self, observations: Any, features: Any = None) -> Rows:
        """||psi(s; target)||_p, (B,)."""
        return self._norms(self._code(observations, features))

    def _code(self, observations: Any, features: Any) -> Code:
        """The target's code of observations."""
        return self.target_head.code(self._phi(self._input(observations, features)))

    def _phi(self, inputs: Tensor) -> Rows:
        """phi of the target, (B, features)."""
        with torch.inference_mode():
            phi: Rows = self.target_encoder(inputs).cpu().numpy()
            return phi

    def _norms(self, code: Code) -> Rows:
        return p_norms(self.target_head.psi(code), self.parameters.norm)

    def compute(self, observations: Any, features: Any = None) -> Any:
        return like(self._bonuses(self._code(observations, features)), observations)

    def _bonuses(self, code: Code) -> NDArray[np.float64]:
        norms = np.maximum(self._norms(code), self.parameters.floor)
        return self.parameters.beta / norms.astype(np.float64)

    def update(self, batch: Any) -> dict[str, float]:
        given = as_transitions(batch)
        self._input.check_whole(given)
        count = len(self._input.raw(given.observations, given.features))
        losses, _ = self._learn(given, check_flags(NAME, given.dones, count))
        return losses

    def _observe(self, step: Step) -> Any:
        raw = self._input.raw(step.observations, step.features)
        if step.next_observations is not None and self._input.reads_observations:
            after = self._input.raw(step.next_observations, None)
            _, code = self._learn(
                self._input.linked(raw, after), check_flags(NAME, step.dones, len(raw))
            )
            if code is not None:  # of the same observations
                return like(self._bonuses(code), step.observations)
        else:
            linked = self._stream.link(raw, step)
            if linked is not None:
                before, after, dones = linked
                self._learn(self._input.linked(before, after), dones)
        return self.compute(step.observations, step.features)

    def state_dict(self) -> State:
        parts = [module_state("encoder", self.encoder), self.head.state("head")]
        if self.target_head is not self.head:
            parts += [module_state("target_encoder", self.target_encoder)]
            parts += [self.target_head.state("target_head")]
        if self._adam is not None and self.decoder is not None:
            parts += [module_state("decoder", self.decoder), self._adam.state("adam")]
        parts += [self._input.state(), {"updates": self.updates}, self._stream.state()]
        if self.parameters.settle:
            parts += [self._first.state()]
        return {name: value for part in parts for name, value in part.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        settle = int(state.get("first.most", 0))
        if "updates" in state and settle != self.parameters.settle:
            raise BadInput(
                f"{NAME}: this state was saved with settle={settle}, and this bonus has "
                f"settle={self.parameters.settle}"
            )
        unshaped = UNSHAPED | (first_rows.UNSHAPED if self.parameters.settle else {})
        check_state(NAME, state, self.state_dict() | unshaped)
        if self.parameters.settle:
            self._first.load(state, self._input.shape)
        load_module("encoder", self.encoder, state)
        self.head.load("head", state)
        if self.target_head is not self.head:
            load_module("target_encoder", self.target_encoder, state)
            self.target_head.load("target_head", state)
        if self._adam is not None and self.decoder is not None:
            load_module("decoder", self.decoder, state)
            self._adam.load("adam", state)
        self._input.load(state)
        self.updates = int(state["updates"])
        self._stream.load(state)

    def _learn(
        self, batch: Transitions, dones: NDArray[np.bool_]
    ) -> tuple[dict[str, float], Code | None]:
        """Losses, and the code of the observations where it is the target's as things stand now."""
        before = self._input.raw(batch.observations, batch.features)
        after = self._input.raw(batch.next_observations, batch.next_features)
        count = len(dones)
        if len(after) != count:
            raise BadInput(f"{NAME}: {len(after)} next observations for {count} observations")
        if count == 0:
            return {}, None
        settling = self._first.open
        anew = settling and self._first.keep(before, after, dones)
        if anew:
            self._input.settle(self._first.before)
        inputs = self._input.both(before, after, learn=not settling)
        losses, made = self._reconstruct(inputs, count)
        if anew:
            return {"sr_loss": self._learn_again()} | losses, None
        both = self._phi(inputs)
        phi = both[:count] if made is None else made  # the target's encoder is an older one
        if not settling:
            self.head.move_centre(phi, self._rate())
        if self._shared:
            codes = self.head.code(both)
            code, code_after = codes.rows(0, count), codes.rows(count, 2 * count)
        else:
            code, code_after = self.head.code(phi), self.target_head.code(both[count:])
        error = self._step(both[:count], both[count:], code, code_after, dones)
        return {"sr_loss": error} | losses, code if self._shared else None

    @property
    def _shared(self) -> bool:
        """Whether the target network is the network itself."""
        return self.target_head is self.head

    def _rate(self) -> float:
        """That of the running mean of phi."""
        recency = self.parameters.recency
        return recency if self.parameters.settle else max(1.0 / (self.updates + 1), recency)

    def _reconstruct(self, inputs: Tensor, count: int) -> tuple[dict[str, float], Rows | None]:
        """Learn to predict the next observations; the loss, and phi before that step."""
        if self._adam is None or self.decoder is None:
            return {}, None
        made = self.encoder(inputs[:count])
        loss = ((self.decoder(made) - self._input.shown(inputs[count:])) ** 2).mean()
        phi: Rows = made.detach().cpu().numpy()
        self._adam.step(loss)
        return {"reconstruction_loss": float(loss.detach())}, phi

    def _learn_again(self) -> float:
        """All that is kept, from the beginning, with what is known of the inputs by now."""
        before, after, dones = self._first.before, self._first.after, self._first.dones
        count = len(dones)
        self.updates = 0
        if not self._shared:
            self.target_encoder.load_state_dict(self.encoder.state_dict())
        both = self._phi(self._input.both(before, after, learn=False))
        self.head.begin_again(both[:count])
        if not self._shared:
            self.target_head.copy_from(self.head)
        codes, error = self.head.code(both), 0.0
        for part in self._first.batches():
            error = self._step(
                both[part],
                both[count:][part],
                codes.rows(part.start, part.stop),
                codes.rows(count + part.start, count + part.stop),
                dones[part],
            )
        if not self._first.open:
            self._first.forget()
        return error

    def _step(
        self, phi: Rows, phi_after: Rows, code: Code, code_after: Code, dones: NDArray[np.bool_]
    ) -> float:
        """One step of the head, and of the target where it is its turn; the squared error."""
        reward = phi_after if self.parameters.target == "next" else phi
        goal = self._goal(reward, self.target_head.psi(code_after), dones)
        error = self.head.learn(code, goal, self.parameters.eta)
        self.updates += 1
        if not self._shared and self.updates % self.parameters.target_period == 0:
            self.target_head.copy_from(self.head)
            self.target_encoder.load_state_dict(self.encoder.state_dict())
        return error

    def _goal(self, reward: Rows, psi_after: Rows, dones: NDArray[np.bool_]) -> Rows:
        """phi of p-norm 1, and gamma psi(s') where something follows."""
        norms = p_norms(reward, self.parameters.norm)[:, None]
        first = norms if self.head.sums else reward
        discount = (self.parameters.gamma * ~dones).astype(np.float32)
        goal: Rows = first / np.maximum(norms, TINY) + discount[:, None] * psi_after
        return goal


def p_norms(rows: Rows, p: float) -> Rows:
    """||row||_p, (B,)."""
    if p == 1.0:
        sums: Rows = np.abs(rows).sum(axis=1)
        return sums
    norms: Rows = np.linalg.norm(rows, p, axis=1)
    return norms
