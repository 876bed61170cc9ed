"""The paper's bonus: beta / ||Psi(s)||, in three forms behind one name."""

from __future__ import annotations

from dataclasses import dataclass

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import BonusKind
from countless.bonuses.spec import Observations
from countless.bonuses.sr_tabular import TabularSRNorm
from countless.core.errors import BadInput
from countless.core.params import choice, real, validate


@dataclass(frozen=True)
class SRNormParameters:
    """beta / ||psi(s)||_p; beta and gamma of the paper's deep agent, eta of its Table 6."""

    form: str = choice("auto", "auto: a table for state indices", ("auto", "tabular"))
    norm: float = real(1.0, "p of the p-norm", "[1, inf]")
    beta: float = real(0.05, "scale of the bonus", "[0, inf)")
    gamma: float = real(0.99, "discount of the SR", "[0, 1)")
    eta: float = real(0.01, "step size of the tabular SR", "(0, 1]")

    def __post_init__(self) -> None:
        validate(self)


def _make(
    observations: Observations, parameters: SRNormParameters, *, seed: int, device: str
) -> Bonus:
    if observations.n_states is None:
        raise BadInput(
            f"the tabular SR takes state indices, not observations of {observations.kind}"
        )
    return TabularSRNorm(observations.n_states, parameters)


KIND = BonusKind(
    "sr-norm",
    "the paper's bonus, beta / ||Psi(s)||_p",
    SRNormParameters,
    _make,
    observations=("states",),
)
