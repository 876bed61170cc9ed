"""The deep agents by name: each is one configuration of the same parts."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from countless.agents.dqn.config import FIELDS, DQNConfig
from countless.core.errors import BadInput, install_hint, named, unknown_name
from countless.core.parameters import check_choice, check_real

SUMMARIES = {
    "dqn": "DQN with the network of Mnih et al. (2015), final epsilon of Machado et al. (2018)",
    "dqn-mmc": "The paper's DQN_e^MMC: Oh's sizes, mixed Monte-Carlo return, no bonus",
    "dqn-mmc-sr": "The paper's DQN_e^MMC+SR: the bonus β/‖ψ(s)‖ of the successor features",
    "dqn-cts": "DQN_e^MMC with pseudo-counts of a CTS density model (Bellemare et al. 2016)",
    "dqn-pixelcnn": "DQN_e^MMC with pseudo-counts of a PixelCNN (Ostrovski et al. 2017)",
    "dqn-rnd": "DQN_e^MMC with random network distillation (Burda et al. 2019, there with PPO)",
    "dqn-counts": "DQN_e^MMC with exact counts of observations: the control",
}

_PLAIN = {"sr": False, "reconstruction": False, "bonus": "off"}
AGENTS: dict[str, dict[str, Any]] = {
    "dqn": _PLAIN | {"network": "auto-nature", "normalise": False, "tau": 0.0, "epsilon": 0.01},
    "dqn-mmc": _PLAIN,
    "dqn-mmc-sr": {},
    # One agent, another bonus each; sums clipped as public versions of the first two do.
    "dqn-cts": _PLAIN | {"bonus": "cts", "beta": 0.05, "clip_total": True},
    "dqn-pixelcnn": _PLAIN | {"bonus": "pixelcnn", "beta": 1.0, "clip_total": True},
    # The published weights are 1 for the intrinsic and 2 for the extrinsic advantage.
    "dqn-rnd": _PLAIN | {"bonus": "rnd", "beta": 0.5, "bonus_limit": float("inf")},
    "dqn-counts": _PLAIN | {"bonus": "counts", "beta": 0.05},
}

# What the released code does where the paper says otherwise, or nothing.
AUTHORS: dict[str, Any] = {
    "norm": 2.0,
    "decoder_channels": "one",
    "decoder_relu": False,
    "factor_relu": True,
    "sr_target": "next",
    "bonus_limit": float("inf"),
    "clip_total": True,
    "initial_copy": False,
    "warmup_end": "reset",
    "stacks": "released",
    "resize": "truncated",
    "past_end": "act",
}
VARIANTS: dict[str, dict[str, Any]] = {"paper": {}, "authors": AUTHORS}

# The beta of the paper for each norm; any other norm takes the first.
BETAS = {1.0: 0.05, 2.0: 0.025}
# In a narrow network the 1-norm of psi starts at a fraction of the paper's (docs/deep.md), and the
# paper's beta would be a bonus under which the features collapse.
NARROW_BETAS = BETAS | {1.0: 0.005}
# What keeps the features of a narrow network alive, under the 1-norm and under any other; neither
# helps where the other does (docs/deep.md). The paper has neither: its weight is 0.001.
NARROW_ONE_NORM = {"layer_norm": True}
NARROW_OTHER_NORM = {"w_reconstruction": 0.1}

# What a parameter is part of: where that is off, the parameter would change nothing.
PARTS = {
    "bonus": (
        "beta", "bonus_from", "bonus_form", "bonus_centre", "bonus_sees", "bonus_scale",
        "bonus_limit", "bonus_batch", "warmup_bonus", "clip_total",
    ),
    "sr": ("sr_input", "sr_bias", "sr_target", "sr_terminal", "gamma_sr", "w_sr"),
    "reconstruction": (
        "auxiliary", "decoder_channels", "decoder_relu", "factor_relu", "w_reconstruction"),
}  # fmt: skip

# Bonuses that learn from transitions: what follows the end of an episode matters to them.
OF_TRANSITIONS = ("sr-norm", "ssr")

NARROW = {"network": "auto-nature", "width": 0.25}
SCALES: dict[str, dict[str, Any]] = {
    "smoke": NARROW | {
        "replay": 5_000, "warmup": 400, "target_period": 400, "epsilon_steps": 1_000,
        "max_frames": 1_000,
    },
    "laptop": NARROW | {
        "replay": 100_000, "warmup": 5_000, "update_period": 8, "target_period": 4_000,
        "epsilon_steps": 100_000,
    },
    "paper": {},
    # Small images and vectors: learning must keep up with exploring.
    "small": {
        "network": "mlp", "history": 1, "norm": 2.0, "normalise": False, "tau": 0.0,
        "optimiser": "adam", "learning_rate": 0.001, "update_period": 1, "target_period": 100,
        "replay": 20_000, "warmup": 100, "epsilon": 0.01, "epsilon_steps": 10_000,
        "max_frames": 1_000,
    },
}  # fmt: skip
FRAMES = {"smoke": 5_000, "laptop": 1_000_000, "paper": 100_000_000, "small": 40_000}
# What a scale asks of each bonus.
OF_BONUS: dict[str, dict[str, dict[str, Any]]] = {
    "small": {
        # Observations that were never seen have features, and psi, near zero: see docs/deep.md.
        "sr": {
            "beta": 0.1,
            "bonus_limit": 0.3,
            "w_sr": 100.0,
            "normalise": True,
            "encoder_bias": False,
            "first_weights": 0.01,
            "sr_bias": False,
            "sr_terminal": "continue",
            "gamma_sr": 0.9,
        },
        "counts": {"beta": 0.1},
        # A table over the observations met: each is one state of a small task.
        "sr-norm": {
            "beta": 0.001,
            "bonus_limit": 0.3,
            "bonus_sees": "number",
            "sr_terminal": "continue",
        },
        "rnd": {"bonus_sees": "vector"},  # as an image it would be blown up to 84 x 84
    },
}


def require_deep() -> None:
    """A clear error where the packages of the deep agents are missing."""
    for package in ("torch", "ale_py", "cv2", "safetensors", "tensorboard"):
        if find_spec(package) is None:
            raise BadInput(
                f"deep agents need {package}, which is not installed: {install_hint('deep')}"
            )


def make_config(
    agent: str,
    *,
    variant: str = "paper",
    scale: str = "paper",
    parameters: Mapping[str, Any] | None = None,
) -> DQNConfig:
    """The configuration of an agent: its own, the variant's, the scale's, then yours on top.

    >>> make_config("dqn-mmc-sr", parameters={"norm": 2}).beta
    0.025
    """
    # Imported here: `countless --help`, which shows this module, must not wait for the compiler.
    from countless.bonuses.registry import bonus_names

    if agent not in AGENTS:
        raise unknown_name("deep agent", agent, AGENTS)
    given = dict(parameters or {})
    variant = given.pop("variant", variant)
    check_choice("variant", variant, tuple(VARIANTS))
    check_choice("scale", scale, tuple(SCALES))
    for key in given:
        if key not in FIELDS:
            raise BadInput(f"{agent} has no parameter {key!r}; it takes {', '.join(FIELDS)}")
    # Another bonus comes with what its own agent gives it.
    preset = AGENTS.get(f"dqn-{given.get('bonus', 'sr')}", {})
    of_bonus = {name: preset[name] for name in PARTS["bonus"] if name in preset}
    settings = AGENTS[agent] | of_bonus | VARIANTS[variant] | SCALES[scale]
    bonus = str(given.get("bonus", settings.get("bonus", "sr")))
    settings = settings | OF_BONUS.get(scale, {}).get(bonus, {}) | given
    norm = check_real("norm", settings.get("norm", 1.0), FIELDS["norm"].metadata["interval"])
    if bonus not in ("sr", "off", *bonus_names()):
        raise unknown_name("bonus", bonus, ["sr", "off", *bonus_names()])
    if given.get("bonus", "sr") != "sr" and "sr" not in given:
        # Without its bonus the SR is not needed either (the paper's ablation drops both).
        settings["sr"] = False
    _check_effect(agent, settings, given)
    narrow = scale in ("smoke", "laptop")
    betas = NARROW_BETAS if narrow else BETAS
    chosen: dict[str, Any] = {"beta": betas.get(norm, betas[1.0])}
    if narrow:
        chosen |= NARROW_ONE_NORM if norm == 1.0 else NARROW_OTHER_NORM
    return DQNConfig(**(chosen | settings | {"variant": variant}))


def _check_effect(agent: str, settings: dict[str, Any], given: dict[str, Any]) -> None:
    """Refuse what was given but would change nothing."""
    off = {part for part in PARTS if settings.get(part, True) in (False, "off")}
    bonus = settings.get("bonus", "sr")
    used = ("sr_terminal",) if bonus in OF_TRANSITIONS else ()
    for part, names in PARTS.items():
        for name in names:
            if name in given and part in off and name not in used:
                raise BadInput(f"{named(name)} changes nothing: {part} is off in this {agent}")
    for name in ("bonus_batch", "bonus_form"):
        if name in given and bonus != "sr":
            raise BadInput(f"{named(name)} changes nothing: it is of the bonus sr, not {bonus}")
    if "bonus_sees" in given and bonus == "sr":
        raise BadInput(f"{named('bonus_sees')} changes nothing: the bonus sr reads the network")
    for name in ("rms_decay", "rms_epsilon"):
        if name in given and settings.get("optimiser", "rmsprop") != "rmsprop":
            raise BadInput(f"{named(name)} changes nothing: the optimiser is not rmsprop")
    for name in ("norm_gradient", "q_reads"):
        if name in given and not settings.get("normalise", True):
            raise BadInput(f"{named(name)} changes nothing: this {agent} does not normalise")
    if "norm_gradient" in given and settings.get("q_reads") == "raw" and "reconstruction" in off:
        raise BadInput(
            f"{named('norm_gradient')} changes nothing: no loss reads normalised features"
        )
    if "norm" in given and "sr" in off and not settings.get("normalise", True):
        raise BadInput(f"{named('norm')} changes nothing: {agent} has no SR and does not normalise")
