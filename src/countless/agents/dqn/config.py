"""Every setting of a deep agent, one field each: the command line is made from them.

Each part of the agent has a small configuration of its own. `DQNConfig` is made of them, and is
read and written as one flat set of names: no two parts share one.
"""

from __future__ import annotations

from dataclasses import Field, asdict, dataclass, fields
from typing import Any

from countless.core.errors import BadInput, named
from countless.core.parameters import (
    check_choice,
    choice,
    real,
    switch,
    validate,
    whole,
    word,
)

VARIANTS = ("paper", "authors")
# Settings that came after the first stores of runs: at their defaults they change nothing, and the
# ids of jobs must not change with them.
LATER = (
    "input_scale", "sr_terminal", "bonus_form", "bonus_centre", "bonus_sees", "optimiser",
    "gamma_sr", "sr_bias", "encoder_bias", "first_weights", "auxiliary", "layer_norm",
    "norm_gradient", "q_reads", "q_hidden", "bonus_scale", "view",
)  # fmt: skip
NETWORKS = ("auto", "auto-nature", "oh", "nature", "small", "mlp")


class _Group:
    """One part's settings, checked when they are made."""

    def __post_init__(self) -> None:
        validate(self)  # type: ignore[arg-type]


@dataclass(frozen=True)
class NetworkConfig(_Group):
    """The layers and what is read off them."""

    network: str = choice(
        "auto",
        "layers: oh or nature for frames of 84 x 84, small for small images, mlp for vectors; auto "
        "chooses among oh, small and mlp, auto-nature among nature, small and mlp",
        NETWORKS,
    )
    width: float = real(1.0, "multiplies the number of channels and units", "(0, 4]")
    history: int = whole(4, "frames per observation", "[1, 16]")
    input_scale: float = real(
        1.0, "factor on the inputs of the network; 0: the square root of their number", "[0, inf)"
    )
    encoder_bias: bool = switch(
        True, "biases in the layers that make the features; without them, and with small first "
        "weights, what was never seen has features near zero",
    )  # fmt: skip
    first_weights: float = real(
        1.0, "factor on the weights of the first layer when they are drawn", "(0, inf)"
    )
    layer_norm: bool = switch(False, "layer normalisation of the features before their ReLU")
    normalise: bool = switch(True, "divide the features phi by their p-norm")
    norm_gradient: bool = switch(
        True, "let gradients flow through the norm by which the features are divided"
    )
    norm: float = real(
        1.0, "p of the p-norm of the SR in the bonus, and of normalised features", "[1, inf]"
    )
    q_reads: str = choice(
        "normalised",
        "what the values read: the features after or before they are normalised",
        ("normalised", "raw"),
    )
    q_hidden: int = whole(
        0, "units of a hidden layer between the features and the values; 0: none", "[0, 65536]"
    )
    sr: bool = switch(True, "learn the successor features")
    sr_input: str = choice(
        "raw",
        "what the SR head reads: the features before or after they are normalised",
        ("raw", "normalised"),
    )
    sr_bias: bool = switch(True, "biases in the layers of the SR head")
    reconstruction: bool = switch(True, "learn to predict the next observation")
    auxiliary: str = choice(
        "frame", "what reconstruction predicts: the next frame, those of its pixels that change, or "
        "the next features", ("frame", "changes", "features"),
    )  # fmt: skip
    decoder_channels: str = choice(
        "all", "channels that enter the last deconvolution", ("all", "one")
    )
    decoder_relu: bool = switch(True, "ReLU between deconvolutions")
    factor_relu: bool = switch(False, "ReLU on the features before the product with the action")


@dataclass(frozen=True)
class LossConfig(_Group):
    """The three losses and their weights."""

    gamma: float = real(0.99, "discount of the values", "[0, 1)")
    tau: float = real(0.1, "weight of the Monte-Carlo return in the TD error", "[0, 1]")
    td_loss: str = choice("huber", "loss of the mixed TD error", ("huber", "square"))
    w_td: float = real(1.0, "weight of the TD loss", "[0, inf)")
    w_sr: float = real(1000.0, "weight of the SR loss", "[0, inf)")
    gamma_sr: float = real(0.0, "discount of the SR; 0: that of the values", "[0, 1)")
    w_reconstruction: float = real(0.001, "weight of the reconstruction loss", "[0, inf)")
    sr_target: str = choice(
        "current", "the features in the SR target: those of S_t or of S_t+1", ("current", "next")
    )
    sr_terminal: str = choice(
        "stop", "after an episode psi stops, or continues at the start of the next (of the bonuses "
        "sr-norm and ssr too)",
        ("stop", "continue"),
    )  # fmt: skip


@dataclass(frozen=True)
class RewardConfig(_Group):
    """The exploration bonus, and how both rewards become one."""

    bonus: str = word("sr", "the exploration bonus: sr, off, or one of `countless list bonuses`")
    beta: float = real(0.05, "scale of the exploration bonus", "[0, inf)")
    bonus_from: str = choice(
        "collected", "when the bonus is evaluated: once when collected, or again in each sampled batch",
        ("collected", "sampled"),
    )  # fmt: skip
    bonus_form: str = choice(
        "inverse", "of the SR: 1 / ||psi||, or by how much ||psi|| fell from the step before",
        ("inverse", "difference"),
    )  # fmt: skip
    bonus_centre: str = choice(
        "off", "subtract from beta times the bonus its running mean (standardise: and divide by its "
        "SD, times beta), or its limit", ("off", "mean", "standardise", "limit"),
    )  # fmt: skip
    bonus_sees: str = choice(
        "frames", "a bonus other than sr sees the stack of frames, the newest as a vector, or a "
        "number per distinct stack, as a table does", ("frames", "vector", "number"),
    )  # fmt: skip
    bonus_scale: str = choice(
        "none", "divide the bonus by the SD of its discounted sums so far (standardise: after its "
        "recent mean is taken out), as around other people's agents",
        ("none", "std", "standardise"),
    )  # fmt: skip
    bonus_limit: float = real(
        1.0, "upper limit of beta times the bonus, also where psi is zero", "(0, inf]"
    )
    bonus_batch: int = whole(
        32, "observations whose bonus is evaluated in one forward pass", "[1, inf)"
    )
    warmup_bonus: bool = switch(False, "give the bonus to the steps of the warm-up too")
    clip_reward: bool = switch(True, "clip the game's reward to [-1, 1]")
    clip_total: bool = switch(False, "clip reward + bonus to [-1, 1] as well")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bonus == "sr" and self.bonus_form == "difference":
            told = named("bonus_form", "difference")
            if self.bonus_from == "sampled":
                raise BadInput(
                    f"{told} needs the step before: give {named('bonus_from', 'collected')}"
                )
            if self.bonus_centre != "off":
                raise BadInput(f"{told} is a change already: give {named('bonus_centre', 'off')}")
        if self.bonus_scale != "none":
            told = named("bonus_scale", self.bonus_scale)
            if self.bonus_centre != "off":
                raise BadInput(f"give {named('bonus_scale')} or {named('bonus_centre')}, not both")
            if self.sr_bonus_when_sampled:
                raise BadInput(
                    f"{told} follows the steps in their order: give "
                    f"{named('bonus_from', 'collected')}"
                )
        if self.bonus_centre == "limit" and self.bonus_limit == float("inf"):
            raise BadInput(
                f"{named('bonus_centre', 'limit')} subtracts {named('bonus_limit')}, which is infinite"
            )

    @property
    def sr_bonus_when_sampled(self) -> bool:
        """Whether the loss evaluates the SR bonus again: it has the target network at hand."""
        return self.bonus == "sr" and self.bonus_from == "sampled"

    @property
    def other_bonus_when_sampled(self) -> bool:
        """Whether the loop evaluates another bonus again for each batch of transitions."""
        return self.bonus not in ("sr", "off") and self.bonus_from == "sampled"

    def added(self, bonus: float) -> float:
        """What a bonus adds to the reward."""
        return min(self.beta * bonus, self.bonus_limit)


@dataclass(frozen=True)
class LearningConfig(_Group):
    """The optimiser, and when it is called."""

    optimiser: str = choice(
        "rmsprop", "rmsprop: centred, as in DQN since 2015; adam: Kingma & Ba's own values",
        ("rmsprop", "adam"),
    )  # fmt: skip
    learning_rate: float = real(0.00025, "step size of the optimiser", "(0, inf)")
    rms_decay: float = real(0.95, "RMSProp: decay of both running averages", "[0, 1)")
    rms_epsilon: float = real(
        0.01, "RMSProp: epsilon inside the root, for gradients summed over the batch", "(0, inf)"
    )
    batch: int = whole(32, "transitions per update", "[1, inf)")
    update_period: int = whole(4, "agent steps between updates", "[1, inf)")
    target_period: int = whole(
        40_000, "agent steps between copies to the target network", "[1, inf)"
    )
    initial_copy: bool = switch(True, "start with a target network that equals the network")


@dataclass(frozen=True)
class ReplayConfig(_Group):
    """The replay memory and how it is filled at first."""

    replay: int = whole(1_000_000, "frames in the replay memory", "[8, inf)")
    warmup: int = whole(
        50_000,
        "random steps before learning, counted neither as frames nor for epsilon",
        "[1, inf)",
    )
    warmup_end: str = choice(
        "goes-on",
        "the episode that is open when the warm-up ends: goes on, or is reset unknown to its returns",
        ("goes-on", "reset"),
    )
    stacks: str = choice(
        "episode", "frames of an observation: of its episode only, or across episodes as released",
        ("episode", "released"),
    )  # fmt: skip


@dataclass(frozen=True)
class ExplorationConfig(_Group):
    """Epsilon-greedy acting."""

    epsilon: float = real(0.1, "final probability of a random action", "[0, 1]")
    epsilon_start: float = real(1.0, "epsilon at the first step", "[0, 1]")
    epsilon_steps: int = whole(1_000_000, "agent steps over which epsilon falls", "[1, inf)")


@dataclass(frozen=True)
class ProtocolConfig(_Group):
    """The environments and their rules."""

    envs: int = whole(1, "environments stepped together", "[1, 512]")
    view: str = choice(
        "symbols",
        "MiniGrid: what the agent sees, the codes of the cells before it or a picture of them",
        ("symbols", "pictures"),
    )
    sticky: float = real(0.25, "Atari: probability that a frame repeats the last action", "[0, 1)")
    frame_skip: int = whole(5, "Atari: emulator frames per agent step", "[1, 60]")
    max_frames: int = whole(
        18_000,
        "most frames per episode: of the emulator, or steps of a Gymnasium environment",
        "[1, inf)",
    )
    time_limit: str = choice(
        "terminal",
        "an episode that reaches max_frames: as if terminal, or truncated and bootstrapped",
        ("terminal", "truncation"),
    )
    resize: str = choice(
        "rounded",
        "Atari: how the means over areas become grey levels of 84 x 84 pixels",
        ("rounded", "truncated"),
    )
    past_end: str = choice(
        "stop", "Atari: when the game ends within a frame skip, stop or act on", ("stop", "act")
    )


# The attribute of DQNConfig that holds each part.
GROUPS: dict[str, type[_Group]] = {
    "architecture": NetworkConfig,
    "losses": LossConfig,
    "rewards": RewardConfig,
    "learning": LearningConfig,
    "memory": ReplayConfig,
    "exploration": ExplorationConfig,
    "protocol": ProtocolConfig,
}
GROUP_OF = {item.name: group for group, kind in GROUPS.items() for item in fields(kind)}  # type: ignore[arg-type]


@dataclass(frozen=True, init=False)
class DQNConfig:
    """All settings of a deep agent: by part, and flat.

    The defaults are the paper's DQN_e^MMC+SR; docs/deep.md says where they come from.

    >>> config = DQNConfig(replay=5_000, norm=2)
    >>> config.replay, config.memory.replay, config.architecture.norm
    (5000, 5000, 2.0)
    >>> config.replace(replay=9_000).replay
    9000
    """

    variant: str = choice("paper", "the paper's text, or what the released code does", VARIANTS)
    architecture: NetworkConfig = NetworkConfig()
    losses: LossConfig = LossConfig()
    rewards: RewardConfig = RewardConfig()
    learning: LearningConfig = LearningConfig()
    memory: ReplayConfig = ReplayConfig()
    exploration: ExplorationConfig = ExplorationConfig()
    protocol: ProtocolConfig = ProtocolConfig()

    def __init__(self, *, variant: str = "paper", **settings: Any) -> None:
        unknown = [name for name in settings if name not in GROUP_OF]
        if unknown:
            raise TypeError(f"DQNConfig has no setting {unknown[0]!r}")
        object.__setattr__(self, "variant", check_choice("variant", variant, VARIANTS))
        for group, kind in GROUPS.items():
            own = {name: value for name, value in settings.items() if GROUP_OF[name] == group}
            object.__setattr__(self, group, kind(**own))
        self._check()

    def _check(self) -> None:
        """What no part can check alone."""
        if self.rewards.bonus == "sr" and not self.architecture.sr:
            raise BadInput(
                f"the bonus of the SR needs the SR: give {named('bonus', 'off')}, or "
                f"{named('sr', True)}"
            )
        if self.lane_capacity < 2 * self.architecture.history + 2:
            raise BadInput(
                f"{named('replay', self.memory.replay)} is too small for {self.protocol.envs} "
                f"environments with {self.architecture.history} frames per observation"
            )

    def __getattr__(self, name: str) -> Any:
        """A setting by its own name, whichever part it belongs to."""
        if name not in GROUP_OF:
            raise AttributeError(f"DQNConfig has no setting {name!r}")
        return getattr(object.__getattribute__(self, GROUP_OF[name]), name)

    @property
    def lane_capacity(self) -> int:
        """Frames of the replay memory that each environment has."""
        return self.memory.replay // self.protocol.envs

    def settings(self) -> dict[str, Any]:
        """All settings in one flat mapping, in the order of `FIELDS`."""
        flat: dict[str, Any] = {"variant": self.variant}
        for group in GROUPS:
            flat |= asdict(getattr(self, group))
        return flat

    def replace(self, **changes: Any) -> DQNConfig:
        """The same with other values of some settings."""
        return DQNConfig(**(self.settings() | changes))

    def describe(self) -> dict[str, Any]:
        """As plain data; an infinite norm becomes the word "inf"."""
        return {k: "inf" if v == float("inf") else v for k, v in self.settings().items()}

    def identity(self) -> dict[str, Any]:
        """What decides the bits: `describe` without `LATER` settings that are at their defaults."""
        kept = self.describe()
        for name in LATER:
            if kept[name] == FIELDS[name].default:
                del kept[name]
        return kept


FIELDS: dict[str, Field[Any]] = {
    item.name: item
    for kind in (DQNConfig, *GROUPS.values())
    for item in fields(kind)  # type: ignore[arg-type]
    if item.name not in GROUPS
}
