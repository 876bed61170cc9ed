"""Every setting of a deep agent, one field each: the command line is made from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from countless.core.errors import BadInput
from countless.core.parameters import choice, real, validate, whole, word

SWITCH = ("on", "off")
NETWORKS = ("auto", "auto-nature", "oh", "nature", "small", "mlp")


@dataclass(frozen=True)
class DeepConfig:
    """The defaults are the paper's DQN_e^MMC+SR; docs/deep.md says where they come from."""

    variant: str = choice(
        "paper", "the paper's text, or what the released code does", ("paper", "authors")
    )
    # Network
    network: str = choice(
        "auto",
        "layers; auto: oh for frames of 84 x 84, else small or mlp; auto-nature: nature for them",
        NETWORKS,
    )
    width: float = real(1.0, "multiplies the number of channels and units", "(0, 4]")
    history: int = whole(4, "frames in an observation", "[1, 16]")
    normalise: str = choice("on", "divide the features phi by their p-norm", SWITCH)
    norm: float = real(1.0, "p of the norm of the SR in the bonus", "[1, inf]")
    sr: str = choice("on", "learn the successor features", SWITCH)
    sr_input: str = choice(
        "normalised", "the features that the SR head reads", ("normalised", "raw")
    )
    reconstruction: str = choice("on", "learn to predict the next observation", SWITCH)
    decoder_channels: str = choice(
        "all", "channels that enter the last deconvolution", ("all", "one")
    )
    decoder_relu: str = choice("on", "ReLU between deconvolutions", SWITCH)
    factor_relu: str = choice("off", "ReLU on the features before the product", SWITCH)
    # Losses
    gamma: float = real(0.99, "discount of the values", "[0, 1)")
    tau: float = real(0.1, "weight of the Monte-Carlo return in the error", "[0, 1]")
    td_loss: str = choice("huber", "how the mixed error is punished", ("huber", "square"))
    w_td: float = real(1.0, "weight of the TD loss", "[0, inf)")
    w_sr: float = real(1000.0, "weight of the SR loss", "[0, inf)")
    w_reconstruction: float = real(0.001, "weight of the reconstruction loss", "[0, inf)")
    sr_target: str = choice(
        "current", "whose features start the SR target: of S_t or S_t+1", ("current", "next")
    )
    # Rewards
    bonus: str = word("sr", "the exploration bonus: sr, off, or one of `countless list bonuses`")
    beta: float = real(0.05, "scale of the exploration bonus", "[0, inf)")
    bonus_from: str = choice(
        "collected", "when the bonus is evaluated: once, or anew in each batch",
        ("collected", "sampled"),
    )  # fmt: skip
    bonus_limit: float = real(
        1.0, "the most that beta times the bonus can be: psi may be zero", "(0, inf]"
    )
    bonus_batch: int = whole(32, "observations whose bonus is evaluated together", "[1, inf)")
    warmup_bonus: str = choice("off", "give the bonus to the warm-up's steps too", SWITCH)
    clip_reward: str = choice("on", "clip the game's reward to [-1, 1]", SWITCH)
    clip_total: str = choice("off", "clip reward + bonus to [-1, 1] as well", SWITCH)
    # Learning
    learning_rate: float = real(0.00025, "step size of RMSProp", "(0, inf)")
    rms_decay: float = real(0.95, "decay of both its averages", "[0, 1)")
    rms_epsilon: float = real(
        0.01, "under its root, for gradients summed over the batch", "(0, inf)"
    )
    batch: int = whole(32, "transitions of an update", "[1, inf)")
    update_period: int = whole(4, "agent steps from one update to the next", "[1, inf)")
    target_period: int = whole(40_000, "agent steps from one target copy to the next", "[1, inf)")
    initial_copy: str = choice("on", "start with the target network equal to the network", SWITCH)
    # Experience
    replay: int = whole(1_000_000, "frames in the replay memory", "[8, inf)")
    warmup: int = whole(50_000, "random steps before learning, not counted", "[1, inf)")
    warmup_end: str = choice(
        "goes-on",
        "the episode open then goes on, or is reset behind its returns' back",
        ("goes-on", "reset"),
    )
    stacks: str = choice(
        "episode", "frames of an observation: of its episode only, or across as released",
        ("episode", "released"),
    )  # fmt: skip
    epsilon: float = real(
        0.1, "probability of a random action; of deep agents, at the end", "[0, 1]"
    )
    epsilon_start: float = real(1.0, "epsilon of the first step", "[0, 1]")
    epsilon_steps: int = whole(1_000_000, "agent steps over which epsilon falls", "[1, inf)")
    envs: int = whole(1, "environments stepped together", "[1, 512]")
    # Protocol (Atari)
    sticky: float = real(
        0.25, "Atari: chance that the emulator repeats the last action, a frame", "[0, 1)"
    )
    frame_skip: int = whole(5, "Atari: emulator frames of an agent step", "[1, 60]")
    max_frames: int = whole(
        18_000,
        "frames of an episode at most: the emulator's, or steps of a Gymnasium id",
        "[1, inf)",
    )
    time_limit: str = choice(
        "terminal", "the cap ends the values, or cuts the episode only", ("terminal", "truncation")
    )
    resize: str = choice(
        "rounded", "Atari: grey levels of the 84 x 84 area mean", ("rounded", "truncated")
    )
    past_end: str = choice(
        "stop", "Atari: within a skip, act on after the game is over", ("stop", "act")
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.bonus == "sr" and self.sr == "off":
            raise BadInput("the bonus of the SR needs the SR: give --bonus off, or --sr on")
        if self.replay // self.envs < 2 * self.history + 2:
            raise BadInput(
                f"replay {self.replay} is too small for {self.envs} environments with "
                f"{self.history} frames an observation"
            )

    @property
    def lane_capacity(self) -> int:
        return self.replay // self.envs

    def added(self, bonus: float) -> float:
        """What a bonus adds to the reward."""
        return min(self.beta * bonus, self.bonus_limit)

    def describe(self) -> dict[str, Any]:
        """As plain data; an infinite norm becomes the word "inf"."""
        return {k: "inf" if v == float("inf") else v for k, v in asdict(self).items()}


FIELDS = {item.name: item for item in fields(DeepConfig)}
