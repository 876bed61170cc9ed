"""The bonus finds, and the values keep, what random acting hardly ever meets."""

from countless.runs.dqn import make_job
from small_runs import execute

SIZE, STEPS = 8, 7000
SETTINGS = {
    "network": "mlp", "history": 1, "replay": 20_000, "warmup": 500, "epsilon_steps": 3000,
    "epsilon": 0.05, "target_period": 300,
}  # fmt: skip


def treasures(folder, agent, **parameters):
    """How many of the episodes of DeepSea, seen as images, end with the treasure."""
    job = make_job(
        agent, f"deepsea-{SIZE}", seed=0, frames=STEPS, device="cpu",
        parameters=SETTINGS | parameters,
    )  # fmt: skip
    scores = execute(job, folder).records["return"].to_pylist()
    assert STEPS // SIZE - 1 <= len(scores) <= STEPS // SIZE
    return sum(score > 0.5 for score in scores)


def test_with_the_bonus_the_treasure_is_found_and_without_it_is_not(tmp_path):
    # With raw features as the input of the SR head these settings find nothing.
    with_bonus = {"w_sr": 100.0, "beta": 0.5, "sr_input": "normalised"}
    at_random = STEPS / SIZE / 2**SIZE
    assert treasures(tmp_path, "dqn-mmc-sr", **with_bonus) > 10 * at_random
    # Steps to the right cost a little: without a bonus they are unlearned at once.
    assert treasures(tmp_path, "dqn-mmc") < 2 * at_random
