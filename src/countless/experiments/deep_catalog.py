"""The tables of deep agents by name."""

from __future__ import annotations

from countless.experiments.deep_published import DQN, MMC, NO_BONUS, NO_RECONSTRUCTION, SR, SR_L2
from countless.experiments.deep_table import DeepTable

DEEP_EXPERIMENTS = {
    table.name: table
    for table in (
        DeepTable(
            "table3",
            "DQN, DQN_e^MMC and DQN_e^MMC+SR in six Atari games",
            "Table 3: deep agents in six Atari games with sparse rewards",
            (DQN, MMC, SR),
            quoted=True,
            words=(
                "The paper took its DQN scores from Machado et al. (2018) and those of CTS, PixelCNN "
                "and RND from their authors: other protocols (RND: PPO, frame skip 4).",
            ),
        ),
        DeepTable(
            "table4",
            "DQN_e^MMC+SR with the l1 and the l2 norm",
            "Table 4: DQN_e^MMC+SR with the ℓ1-norm (β = 0.05) and the ℓ2-norm (β = 0.025)",
            (SR, SR_L2),
        ),
        DeepTable(
            "ablations",
            "DQN_e^MMC+SR without reconstruction, and without SR and bonus",
            "Ablations: what DQN_e^MMC+SR needs in Montezuma's Revenge",
            (SR, NO_RECONSTRUCTION, NO_BONUS),
            games=("MontezumaRevenge",),
            words=(
                "The paper prints the spread of its four seeds as σ²; 100 points with a maximum of 400 "
                "give 200 only as a standard deviation. A mean of 398.5 with a minimum of 0 and a "
                "maximum of 400 cannot be right for four seeds.",
            ),
        ),
    )
}
