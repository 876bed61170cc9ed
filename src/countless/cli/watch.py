"""countless watch RUN."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from countless.agents.dqn.agents import require_deep
from countless.analysis.tables import counted
from countless.cli.output import print_json, print_lines
from countless.core.bars import Bars
from countless.core.cores import usable_cores
from countless.core.errors import BadInput, install_hint
from countless.core.seeding import check_seed


def command(arguments: argparse.Namespace) -> None:
    require_deep()
    if find_spec("av") is None:
        raise BadInput(f"videos need av, which is not installed: {install_hint('deep')}")
    from countless.agents.dqn.device import tune_process
    from countless.agents.dqn.film import Video, WatchPage, record
    from countless.agents.dqn.watch import play
    from countless.runs.dqn import open_run

    folder = Path(arguments.run)
    if arguments.steps < 1 or not 0.0 <= arguments.epsilon <= 1.0:
        raise BadInput("--steps must be at least 1 and --epsilon lie in [0, 1]")
    check_seed(arguments.seed)
    tune_process(usable_cores())
    job, trainer = open_run(folder)
    kinds: dict[str, type[Video | WatchPage]] = {".mp4": Video, ".html": WatchPage}
    out = arguments.out
    if out is not None and out.suffix not in kinds:
        raise BadInput(
            f"{out} is neither a video nor a page: name it {out.with_suffix('.mp4')} or "
            f"{out.with_suffix('.html')}"
        )
    paths = [folder / f"watch{suffix}" for suffix in kinds] if out is None else [out]
    if not paths[0].parent.is_dir():
        raise BadInput(f"there is no folder {paths[0].parent} for it")
    title = f"{job.agent} in {job.env}, seed {job.seed}, {trainer.frames:,} frames"
    rate = 60.0 / job.config.frame_skip
    writers = [kinds[path.suffix](path, title, rate) for path in paths]
    scenes = play(trainer, arguments.epsilon, arguments.steps, arguments.seed)
    count = record(scenes, writers, arguments.steps, Bars())
    if arguments.json:
        named = {"video" if path.suffix == ".mp4" else "page": str(path) for path in paths}
        print_json({**named, "steps": count})
    else:
        for path in paths:
            print_lines(f"{path}: {counted(count, 'step')} of {title}")
