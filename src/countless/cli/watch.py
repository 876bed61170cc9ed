"""countless watch RUN."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from pathlib import Path

from countless.agents.dqn.agents import require_deep
from countless.cli.output import print_json, print_text
from countless.core.bars import Bars
from countless.core.errors import BadInput, install_hint


def command(arguments: argparse.Namespace) -> None:
    require_deep()
    if find_spec("av") is None:
        raise BadInput(f"videos need av, which is not installed: {install_hint('deep')}")
    from countless.agents.dqn.device import tune_process
    from countless.agents.dqn.watch import play, write_video
    from countless.runs.dqn import open_run

    folder = Path(arguments.run)
    if arguments.steps < 1 or not 0.0 <= arguments.epsilon <= 1.0:
        raise BadInput("--steps must be at least 1 and --epsilon lie in [0, 1]")
    tune_process(os.cpu_count() or 1)
    job, trainer = open_run(folder)
    out = arguments.out or folder / "watch.mp4"
    if out.suffix != ".mp4":
        raise BadInput(f"the video is an MP4: name it {out.with_suffix('.mp4')}")
    if not out.parent.is_dir():
        raise BadInput(f"there is no folder {out.parent} for the video")
    scenes = play(trainer, arguments.epsilon, arguments.steps, arguments.seed)
    title = f"{job.agent} in {job.env}, seed {job.seed}, {trainer.frames:,} frames"
    rate = 60.0 / job.config.frame_skip
    count = write_video(out, scenes, title, rate, arguments.steps, Bars())
    if arguments.json:
        print_json({"video": str(out), "steps": count})
    else:
        print_text(f"{out}: {count:,} steps of {title}")
