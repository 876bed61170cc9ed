"""What the study of MiniGrid runs: its tasks, the published numbers, its agents, and their jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from countless.envs.minigrid import PICTURES, SYMBOLS
from countless.experiments.experiment import Plan, Records
from countless.runs.host_agents import HOSTS, PPOConfig
from countless.runs.hosts import HostJob
from countless.runs.job import Job


def env_of(task: str) -> str:
    return f"minigrid:MiniGrid-{task}-v0"


def task_of(env: str) -> str:
    return env.removeprefix("minigrid:MiniGrid-").removesuffix("-v0")


# Success in percent, and after how many thousand steps: A2C with ten seeds, from Table 1 of the SI2E
# paper, where the first two are baselines. Second-hand: not checked against the papers of each method.
PUBLISHED: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "SimpleCrossingS9N1": {
        "A2C": (88.2, 570.0), "A2C with state entropy": (88.6, 394.0), "A2C with SI2E": (93.6, 139.0)
    },
    "KeyCorridorS3R1": {
        "A2C": (86.6, 659.0), "A2C with state entropy": (87.2, 464.0), "A2C with SI2E": (94.2, 129.0)
    },
    "DoorKey-6x6": {
        "A2C": (92.7, 567.0), "A2C with state entropy": (93.2, 476.0), "A2C with SI2E": (97.0, 231.0)
    },
    "DoorKey-8x8": {
        "A2C": (None, None), "A2C with state entropy": (72.6, 1516.0),
        "A2C with SI2E": (98.6, 1091.0),
    },
    "RedBlueDoors-6x6": {
        "A2C": (None, None), "A2C with state entropy": (None, None), "A2C with SI2E": (85.8, 462.0)
    },
}  # fmt: skip
TASKS = tuple(PUBLISHED)


@dataclass(frozen=True)
class Extent:
    """How much a scale of this study runs: the tasks, the steps of each agent, and how many of the
    plan's seeds what is slow is run with."""

    tasks: tuple[str, ...]
    pictures: tuple[str, ...]  # those that are seen as pictures too
    ppo: int
    ppo_pictures: int
    dqn: int  # Stable-Baselines3's
    own_dqn: int
    own_pictures: int  # our DQN's with pictures
    picture_seeds: int
    dqn_seeds: int
    parameters: dict[str, Any] = field(default_factory=dict)  # of our DQN


ONE = ("DoorKey-6x6",)
EXTENTS = {
    "smoke": Extent(
        ONE, ONE, ppo=4_096, ppo_pictures=4_096, dqn=4_096, own_dqn=600, own_pictures=400,
        picture_seeds=1, dqn_seeds=1,
        parameters={"warmup": 100, "epsilon_steps": 200},
    ),
    "laptop": Extent(
        TASKS[:3], ONE, ppo=120_000, ppo_pictures=100_000, dqn=60_000, own_dqn=60_000,
        own_pictures=60_000, picture_seeds=3, dqn_seeds=3,
    ),
    "paper": Extent(
        TASKS, TASKS, ppo=2_000_000, ppo_pictures=2_000_000, dqn=500_000, own_dqn=500_000,
        own_pictures=500_000, picture_seeds=10, dqn_seeds=10, parameters={"epsilon_steps": 100_000},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """An agent of the study: a host with a bonus, or one of our deep agents."""

    label: str
    host: str  # of `HOSTS`, or a deep agent's name
    bonus: str = "none"
    views: tuple[str, ...] = (SYMBOLS, PICTURES)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """Whose agent it is."""
        return FAMILIES.get(self.host, "our DQN")

    @property
    def explores_by(self) -> str:
        """What its line is called among those of its family."""
        if self.label == ALONE[self.family]:
            return "alone"
        return self.label.partition(" with ")[2] or self.label


FAMILIES = {"ppo": "PPO", "sb3-dqn": "SB3's DQN"}
ALONE = {
    "PPO": "PPO alone",
    "SB3's DQN": "SB3's DQN alone",
    "our DQN": "DQN_e^MMC",
}  # without a bonus
ENTROPY = 0.01  # the weight that many settings of PPO have: PPO's own way to explore
# Our DQN learns as Stable-Baselines3's does here. What its untrained network promises must fade within
# the run, but not at once (docs/deep.md): the agent with the SR has first weights of its own.
OWN_DQN = {
    "gamma": 0.95, "time_limit": "truncation", "learning_rate": 0.0005, "batch": 64,
    "update_period": 2, "envs": 8, "warmup": 2_000, "epsilon": 0.05, "epsilon_steps": 18_000,
}  # fmt: skip
FADING = {"first_weights": 0.3}
OF_PICTURES = {
    "view": PICTURES,
    "network": "auto-nature",
    "width": 0.25,
}  # convolutions, as at `laptop`
SCALED = {"bonus_scale": "standardise", "beta": PPOConfig().beta}  # as around the hosts
ROWS = (
    Row(ALONE["PPO"], "ppo"),
    Row("PPO with entropy", "ppo", parameters={"entropy": ENTROPY}),
    Row("PPO with counts", "ppo", "counts"),
    Row("PPO with sr-norm", "ppo", "sr-norm"),
    Row("PPO with rnd", "ppo", "rnd"),
    Row("PPO with cts", "ppo", "cts", (PICTURES,)),
    Row(ALONE["SB3's DQN"], "sb3-dqn", views=(SYMBOLS,)),
    Row("SB3's DQN with counts", "sb3-dqn", "counts", (SYMBOLS,)),
    Row("SB3's DQN with sr-norm", "sb3-dqn", "sr-norm", (SYMBOLS,)),
    Row(ALONE["our DQN"], "dqn-mmc", parameters=OWN_DQN | FADING),
    Row("DQN_e^MMC with counts", "dqn-counts", "counts", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with sr-norm", "dqn-mmc", "sr-norm", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with rnd", "dqn-rnd", "rnd", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with cts", "dqn-cts", "cts", (PICTURES,), OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC+SR", "dqn-mmc-sr", parameters=OWN_DQN | SCALED),
    Row("DQN_e^MMC+SR, raw", "dqn-mmc-sr", views=(SYMBOLS,), parameters=OWN_DQN),
)  # fmt: skip


def cell_job(row: Row, env: str, view: str, seed: int, plan: Plan) -> Job:
    """One seed of one agent in one task."""
    extent = EXTENTS[plan.scale]
    if row.host in HOSTS:
        config = HOSTS[row.host](bonus=row.bonus, view=view, **row.parameters)
        ppo = extent.ppo_pictures if view == PICTURES else extent.ppo
        return HostJob(env, seed, ppo if row.host == "ppo" else extent.dqn, config)
    from countless.runs.dqn import make_job

    pictures = view == PICTURES
    parameters = dict(row.parameters) | extent.parameters | (OF_PICTURES if pictures else {})
    if row.bonus != "none":
        # Codes are no picture; counts see any array as it is.
        sees = "frames" if pictures or row.bonus == "counts" else "vector"
        parameters |= {"bonus": row.bonus, "bonus_sees": sees}
    return make_job(
        row.host,
        env,
        seed=seed,
        frames=extent.own_pictures if pictures else extent.own_dqn,
        scale="small",
        device="cpu",
        parameters=parameters,
    )


def cells(plan: Plan) -> list[tuple[str, str]]:
    """Each task, and how it is seen."""
    seen = [(env, SYMBOLS) for env in plan.games]
    pictures = EXTENTS[plan.scale].pictures
    return seen + [(env, PICTURES) for env in plan.games if task_of(env) in pictures]


def rows_of(view: str) -> list[Row]:
    """The agents that see a task so."""
    return [row for row in ROWS if view in row.views]


def seeds_of(row: Row, view: str, plan: Plan) -> tuple[int, ...]:
    """The seeds that an agent is run with: fewer than the plan's where a run is slow."""
    extent = EXTENTS[plan.scale]
    if view == PICTURES:
        return plan.seeds[: extent.picture_seeds]
    return plan.seeds if row.host == "ppo" else plan.seeds[: extent.dqn_seeds]


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Seed by seed, each agent in turn: an interrupted study has compared them all."""
    yield [
        cell_job(row, env, view, seed, plan)
        for seed in plan.seeds
        for env, view in cells(plan)
        for row in rows_of(view)
        if seed in seeds_of(row, view, plan)
    ]
