"""A bonus around the environments of Stable-Baselines3, for on-policy and off-policy agents alike."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.adapters.steps import Preprocess, StepBonus, copy_batch, replace_rows
from countless.bonuses.protocol import Bonus
from countless.bonuses.storage import from_bytes, read_entry, to_bytes
from countless.core.errors import BadInput, install_hint

try:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import (
        VecEnv,
        VecEnvWrapper,
        VecNormalize,
        unwrap_vec_wrapper,
    )
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn
except ImportError:
    raise BadInput(f"this needs Stable-Baselines3: {install_hint('sb3')}") from None

ENTRY = "bonus.npz"
NORMALISED = (
    "the bonus sees observations whose normalisation changes as VecNormalize learns, so what it has "
    "seen looks new again: put VecNormalize around BonusVecEnv, VecNormalize(BonusVecEnv(env, ...))"
)


class BonusVecEnv(VecEnvWrapper):
    """Adds a bonus to the rewards that an agent learns from; each `info` has both separately.

    A bonus made by name is standardised (`scale="standardise"`, `beta=0.3`), so that it does not pay
    for staying alive; `scale="none"` adds it as it is defined, `decay=N` lets it fall to 0 over N
    steps.

    Off-policy agents store the sum in their replay, as it was when the step was made. SB3's own
    `rollout/ep_rew_mean` comes from `Monitor` underneath: it stays the reward of the task.
    """

    def __init__(
        self,
        venv: VecEnv,
        bonus: str | Bonus,
        *,
        of: str = "departed",
        preprocess: Preprocess | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(venv, VecEnv):
            raise BadInput(
                "BonusVecEnv goes around vector environments of Stable-Baselines3, not "
                f"{type(venv).__name__}: make_vec_env(id, n_envs=8), or DummyVecEnv([make]) for one"
            )
        if unwrap_vec_wrapper(venv, BonusVecEnv) is not None:
            raise BadInput("these environments have a BonusVecEnv around them already")
        if unwrap_vec_wrapper(venv, VecNormalize) is not None:
            warnings.warn(NORMALISED, stacklevel=2)
        super().__init__(venv)
        self._steps = StepBonus(
            bonus, venv.observation_space, of=of, preprocess=preprocess, **parameters
        )
        self._last: Any = None
        self._starts = np.ones(venv.num_envs, dtype=bool)

    @property
    def bonus(self) -> Bonus:
        """The bonus, with all that it has learned."""
        return self._steps.bonus

    def reset(self) -> VecEnvObs:
        observations = self.venv.reset()
        self._last = copy_batch(observations)
        self._starts = np.ones(self.num_envs, dtype=bool)
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        if self._last is None:
            raise BadInput("call reset before the first step")
        observations, rewards, dones, infos = self.venv.step_wait()
        (ended,) = dones.nonzero()
        reached = _with_terminal(observations, ended, infos)
        terminated = dones.copy()
        for row in ended:
            terminated[row] = not infos[row].get("TimeLimit.truncated", False)
        intrinsic = self._steps.pay(self._last, reached, terminated, self._starts)
        self._last, self._starts = copy_batch(observations), dones
        for info, extrinsic, bonus in zip(infos, rewards.tolist(), intrinsic.tolist(), strict=True):
            info["extrinsic_reward"], info["intrinsic_reward"] = extrinsic, bonus
        return observations, (rewards + intrinsic).astype(np.float32), dones, infos


def _with_terminal(observations: Any, rows: NDArray[np.int64], infos: list[dict[str, Any]]) -> Any:
    """What was reached: in the rows where an episode ended, SB3 keeps it in the info."""
    for row in rows:
        if "terminal_observation" not in infos[row]:
            raise BadInput(
                f"environment {row} ended an episode without its last observation: "
                "info['terminal_observation'], which vector environments of Stable-Baselines3 give"
            )
    return replace_rows(observations, rows, [infos[row]["terminal_observation"] for row in rows])


class BonusCallback(BaseCallback):
    """Logs `bonus/extrinsic_reward` and `bonus/intrinsic_reward`, means since the last line."""

    def _on_step(self) -> bool:
        infos = self.locals["infos"]
        for name in ("extrinsic_reward", "intrinsic_reward"):
            values = [info[name] for info in infos if name in info]
            if values:
                self.logger.record_mean(f"bonus/{name}", float(np.mean(values)))
        return True


def save(model: BaseAlgorithm, path: str | Path) -> Path:
    """Save a model as SB3 does, with the state of its bonus inside the same file."""
    target = Path(path)
    target = target if target.suffix else target.with_suffix(".zip")
    state = to_bytes(_wrapper_of(model.get_env()).bonus.state_dict())  # before anything is written
    model.save(target)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr(ENTRY, state)
    return target


def load_bonus(path: str | Path, env: VecEnv) -> None:
    """Restore the bonus of `env` from what `save` wrote; load the model itself with SB3.

    The environment's bonus must have been made with the same parameters as the one that was saved.
    """
    target = Path(path)
    target = target if target.suffix else target.with_suffix(".zip")
    bonus = _wrapper_of(env).bonus
    written = "was it written by model.save and not by countless.adapters.sb3.save?"
    bonus.load_state_dict(from_bytes(read_entry(target, ENTRY, written), str(target)))


def _wrapper_of(env: Any) -> BonusVecEnv:
    wrapper = unwrap_vec_wrapper(env, BonusVecEnv) if isinstance(env, VecEnv) else None
    if not isinstance(wrapper, BonusVecEnv):
        raise BadInput("the environment has no BonusVecEnv around it")
    return wrapper
