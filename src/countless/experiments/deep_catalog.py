"""The tables of deep agents by name."""

from __future__ import annotations

from countless.experiments.deep_published import (
    CTS,
    DQN,
    MMC,
    NO_BONUS,
    NO_RECONSTRUCTION,
    PIXELCNN,
    RND,
    SR,
    SR_L2,
)
from countless.experiments.deep_table import DeepTable

DEEP_EXPERIMENTS = {
    table.name: table
    for table in (
        DeepTable(
            "table3",
            "DQN, DQN_e^MMC+SR and the bonuses of CTS, PixelCNN, RND in six Atari games",
            "Table 3: deep agents in six Atari games with sparse rewards",
            (DQN, MMC, CTS, PIXELCNN, RND, SR),
            words=(
                "The paper took its DQN scores from Machado et al. (2018). * Those of CTS, PixelCNN, "
                "RND it has from their authors, who followed other protocols (RND: PPO, frame skip 4). "
                "Ours are like for like: one DQN_e^MMC, only the bonus differs.",
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
