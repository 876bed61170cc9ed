"""ESSR: the paper's model-based agent, which penalises the norm of the substochastic SR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, RELEASED_CODE, Grid, Preset, TabularAgent
from countless.core.errors import BadInput, CountlessError, named
from countless.core.parameters import choice, switch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from countless.agents.tabular.task import BoundKernel, Task
    from countless.envs.mdp import MDP

VARIANTS = ("paper", "authors")


@dataclass(frozen=True)
class Essr(TabularAgent):
    """Plan for r − β‖Ψ̃(s)‖₁, Ψ̃ the substochastic SR of the counts."""

    name: ClassVar[str] = "essr"
    replays_released_draws: ClassVar[bool] = True
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"beta": 100.0, "epsilon": 0.0, "variant": "authors"}, RELEASED_CODE),
        Preset("sixarms", {"beta": 100.0, "epsilon": 0.0, "variant": "authors"}, RELEASED_CODE),
    )
    grid: ClassVar[Grid | None] = Grid(
        {"beta": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)}, OWN_SWEEP
    )

    beta: float | None = fields.beta(0.01)
    epsilon: float = fields.epsilon(0.1, "[0, 1)")
    gamma: float = fields.gamma()
    variant: str = choice(
        "paper",
        "the paper's text, or the released code (one pseudo-sample of every transition, bonus on "
        "the state entered, its planner, exploring only the first and last action)",
        VARIANTS,
    )
    bonus: str = choice(
        "ssr",
        "what is penalised: the norm of the SSR, its value from true counts, or nothing",
        ("ssr", "counts", "off"),
    )
    pseudo_counts: bool | None = switch(None, "add one pseudo-sample of every (s, a, s')")
    bonus_at: str = choice(
        "variant",
        "the state whose norm is the bonus of a transition",
        ("variant", "left", "entered"),
    )
    planner: str = choice(
        "variant",
        "exact planning, or the released code's: to 0.01, until its own test finds the policy stable",
        ("variant", "exact", "released"),
    )
    explore: str = choice(
        "variant",
        "which actions epsilon explores: all, or the first and the last",
        ("variant", "all", "ends"),
    )

    def _as_released(self, option: str, released: str) -> bool:
        value = getattr(self, option)
        return value == released or (value == "variant" and self.variant == "authors")

    @property
    def has_pseudo_counts(self) -> bool:
        return self.variant == "authors" if self.pseudo_counts is None else self.pseudo_counts

    @property
    def bonus_on_entered(self) -> bool:
        return self._as_released("bonus_at", "entered")

    @property
    def plans_as_released(self) -> bool:
        return self._as_released("planner", "released")

    @property
    def explores_ends(self) -> bool:
        return self._as_released("explore", "ends")

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels.essr import ExactPlanning
        from countless.agents.tabular.kernels.essr_released_planner import ReleasedPlanning
        from countless.agents.tabular.planners import NOT_CONVERGED, planner_kernel
        from countless.agents.tabular.task import reward_scale

        released = agents[0].plans_as_released
        if released:
            _check_released_planner(task.mdp)
        spread, _ = reward_scale(task.mdp, cls.name)
        options = _options(agents[0], spread)
        return planner_kernel(
            cls.name,
            task,
            _settings(agents),
            ReleasedPlanning(options) if released else ExactPlanning(options),
            not_converged=_unstable() if released else NOT_CONVERGED,
        )

    @classmethod
    def released_script_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.released.essr import released_essr
        from countless.agents.tabular.released_draws import released_kernel
        from countless.agents.tabular.task import check_matrix_fits

        _check_released_script(agents[0], task.mdp)
        check_matrix_fits(agents[0], task.mdp, task.mdp.n_states)
        options, settings = _options(agents[0], 1.0), _settings(agents)

        def play(i: int, rest: tuple[Any, ...]) -> None:
            if not released_essr(task.arrays, options, settings[i], *rest):
                raise CountlessError(f"essr in {task.mdp.name}: {_unstable()}")

        return released_kernel(task, play)


def _unstable() -> str:
    exact = named("planner", "exact")
    return f"the released planner finds no policy that it calls stable; {exact} would"


def _options(agent: Essr, spread: float) -> Any:
    from countless.agents.tabular.kernels import essr_model, ssr_bonus

    sources = {"ssr": ssr_bonus.SSR, "counts": ssr_bonus.COUNTS, "off": ssr_bonus.NOTHING}
    return essr_model.Options(
        sources[agent.bonus], agent.bonus_on_entered, agent.explores_ends, spread
    )


def _settings(agents: Sequence[Essr]) -> NDArray[np.float64]:
    import numpy as np

    from countless.agents.tabular.task import columns

    pseudo = [[float(agent.has_pseudo_counts)] for agent in agents]
    return np.hstack([columns(agents, "gamma", "beta", "epsilon"), pseudo])


def _check_released_planner(mdp: MDP) -> None:
    if mdp.n_actions > mdp.n_states:
        raise BadInput(
            f"essr: the released planner looks actions up among the states: {mdp.name} has "
            f"{mdp.n_actions} actions and {mdp.n_states} states; {named('planner', 'exact')} "
            "takes it"
        )


def _check_released_script(agent: Essr, mdp: MDP) -> None:
    """Refuse what the released script cannot do; the checks of all scripts come later."""
    import numpy as np

    from countless.agents.tabular.released_draws import check_script_runs

    authors = named("rng", "authors")
    if not (agent.plans_as_released and agent.explores_ends):
        raise BadInput(
            f"{authors} replays essr with {named('planner', 'released')} and "
            f"{named('explore', 'ends')} only, as {named('variant', 'authors')} has them"
        )
    check_script_runs(mdp)
    if mdp.terminated.any() or len(set(np.diff(mdp.state_offsets))) > 1:
        raise BadInput(
            f"{authors}: the released essr cannot run {mdp.name}; it needs all actions in all "
            "states and no terminal state"
        )
    _check_released_planner(mdp)
