"""The paper's bonus: beta / ||Psi(s)||, in three forms behind one name."""

from __future__ import annotations

from dataclasses import dataclass

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import BonusKind
from countless.bonuses.sr_tabular import TabularSRNorm
from countless.core.arrays import need_torch
from countless.core.errors import BadInput, named
from countless.core.observations import ObservationReader
from countless.core.parameters import choice, real, switch, validate, whole

NAME = "sr-norm"
# Two pictures of one place are seldom the same: coarser rows, and more of them to average over.
IMAGES = {"tables": 64, "planes": 12, "floor": 0.01, "settle": 0}


@dataclass(frozen=True)
class SRNormParameters:
    """beta / ||psi(s)||_p; beta and gamma of the paper's deep agent, eta of its Table 6."""

    form: str = choice(
        "auto",
        "tabular: TD over state indices; features: a head on the agent's features; network: an "
        "encoder of its own; auto: tabular for state indices, else network",
        ("auto", "tabular", "features", "network"),
    )
    norm: float = real(1.0, "p of the p-norm", "[1, inf]")
    beta: float = real(0.05, "scale of the bonus", "[0, inf)")
    gamma: float = real(0.99, "discount of the SR", "[0, 1)")
    eta: float = real(0.01, "step size of the SR", "(0, 1]")
    floor: float = real(
        0.05,
        "lower bound of a network's norm (images: 0.01): the bonus is at most beta / floor",
        "(0, inf)",
    )
    features: int = whole(256, "length of phi, the agent's or its own", "[1, 65536]")
    tables: int = whole(
        8, "hash tables between phi and psi (images: 64); 0: psi is linear in phi", "[0, 256]"
    )
    planes: int = whole(
        16,
        "random planes that pick a row of a table (images: 12): the more, the finer the rows",
        "[1, 62]",
    )
    recency: float = real(
        0.001,
        "rate of the running mean of phi, about which the planes lie (with settle=0 the least one): "
        "what was seen long ago slowly becomes new again; 0: never",
        "[0, 1]",
    )
    settle: int = whole(
        2_000,
        "transitions that are kept at first, and learned again as the means and SDs of the inputs get "
        "better known; 0, as images must have: none",
        "[0, 100000]",
    )
    target_period: int = whole(1, "updates between copies of the target network", "[1, inf)")
    lr: float = real(3e-4, "network: step size of Adam in learning phi", "(0, 1]")
    target: str = choice(
        "current",
        "the SR learns phi(s) + gamma psi(s') (paper), or phi(s') + gamma psi(s') (released code); of "
        "a network with norm 1 both have the same norm",
        ("current", "next"),
    )
    reconstruction: bool = switch(False, "network: learn phi by predicting the next observation")

    def __post_init__(self) -> None:
        validate(self)


def _make(
    observations: ObservationReader, parameters: SRNormParameters, *, seed: int, device: str
) -> Bonus:
    form = parameters.form
    if form == "tabular" or (form == "auto" and observations.n_states is not None):
        if observations.n_states is None:
            raise BadInput(
                f"{NAME} with {named('form', 'tabular')} takes state indices, "
                f"not {observations.kind}s"
            )
        return TabularSRNorm(observations, parameters)
    if parameters.settle and form != "features" and observations.kind == "image":
        raise BadInput(
            f"{NAME}: images do not settle: {named('settle', 0)}, their default, "
            f"not {parameters.settle}"
        )
    need_torch(f"{NAME} with a network")
    from countless.bonuses.networks.sr import NetworkSRNorm

    return NetworkSRNorm(observations, parameters, seed, device)


KIND = BonusKind(
    NAME,
    "the paper's bonus, beta / ||Psi(s)||_p: tabular, on features, or with a network of its own",
    SRNormParameters,
    _make,
    bits=4,
    image_bits=3,
    images=IMAGES,
    later=("settle",),
)
