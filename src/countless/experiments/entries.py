"""Tables 1 and 5: the paper's number, its replay to the digit, and many fresh runs, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import make_agent
from countless.analysis.statistics import Summary, summarise
from countless.analysis.tables import Table, number
from countless.core.progress import Reporter
from countless.envs.catalog import make_mdp
from countless.experiments.published import REPLAY_RUNS, REPLAY_SEED, Entry
from countless.experiments.section import load_study, read_made, write_made
from countless.runs.study import Study, complete, default_steps

Returns = NDArray[np.float64]


def entry_study(entry: Entry, *, runs: int, seed: int, rng: str = "countless") -> Study:
    """The study behind one entry, with the paper's parameters."""
    mdp = make_mdp(entry.env)
    parameters = {} if entry.norm is None else {"norm": entry.norm}
    agent = make_agent(entry.agent, entry.env, parameters)
    return Study((agent,), mdp, runs, default_steps(mdp), seed, rng)


def replay_study(entry: Entry) -> Study:
    """The paper's own 100 runs."""
    return entry_study(entry, runs=REPLAY_RUNS, seed=REPLAY_SEED, rng="authors")


def run_entries(
    entries: Sequence[Entry], folder: Path, runs: int, seed: int, reporter: Reporter
) -> None:
    """Replay and fresh runs of every entry, kept in `folder`."""
    began = time.perf_counter()
    for entry in entries:
        for study in (replay_study(entry), entry_study(entry, runs=runs, seed=seed)):
            description = f"{folder.name}: {entry.label} in {entry.domain}"
            complete(study, folder / study.name, reporter=reporter, description=description)
    write_made(folder, runs, seed, time.perf_counter() - began)


def load_entries(entries: Sequence[Entry], folder: Path) -> list[tuple[Entry, Returns, Returns]]:
    """Each entry with the returns of its replay and of its fresh runs."""
    made = read_made(folder)
    return [
        (
            entry,
            load_study(replay_study(entry), folder)[0],
            load_study(entry_study(entry, runs=made["runs"], seed=made["seed"]), folder)[0],
        )
        for entry in entries
    ]


def side_by_side(loaded: Sequence[tuple[Entry, Returns, Returns]]) -> Table:
    """A block of rows an entry, a column a source."""
    rows: list[tuple[str, ...]] = []
    for entry, replay_returns, fresh_returns in loaded:
        replay, fresh = summarise(replay_returns), summarise(fresh_returns)
        rows += [
            (entry.domain, entry.label, "mean", f"{entry.mean:,}", *_pair("mean", replay, fresh)),
            ("", "", "SD", f"{entry.bracket:,} *", *_pair("sd", replay, fresh)),
            ("", "", "95% CI from", "", number(replay.ci95[0]), number(fresh.ci95[0])),
            ("", "", "to", "", number(replay.ci95[1]), number(fresh.ci95[1])),
            ("", "", "median", "", *_pair("median", replay, fresh)),
            ("", "", "IQM", "", *_pair("iqm", replay, fresh)),
        ]
    columns = ("domain", "agent", "", "paper", "replay", "fresh")
    note = (
        f"replay: the paper's {REPLAY_RUNS} runs; fresh: {len(loaded[0][2]):,} runs of ours; "
        "95% CI: of the mean.\n* printed in the paper as a 95% confidence interval"
    )
    return Table("Paper, replay and fresh runs", columns, tuple(rows), labels=3, note=note)


def _pair(field: str, replay: Summary, fresh: Summary) -> tuple[str, str]:
    return number(getattr(replay, field)), number(getattr(fresh, field))


def replay_words(loaded: Sequence[tuple[Entry, Returns, Returns]]) -> str:
    """Whether the replay meets the paper, said from the numbers."""
    off = []
    for entry, returns, _ in loaded:
        replay = summarise(returns)
        for what, ours, paper in (
            ("mean", replay.mean, entry.mean),
            ("SD", replay.sd, entry.bracket),
        ):
            if round(ours) != paper:
                off.append(
                    f"{entry.label} in {entry.domain}: the {what} comes out as {ours:,.2f}, "
                    f"the paper prints {paper:,}"
                )
    said = (
        "Replaying the released code's random draws gives every mean and every number in "
        "parentheses to the last digit"
    )
    return f"{said}." if not off else f"{said}, but for this: {'; '.join(off)}."


def bracket_words(loaded: Sequence[tuple[Entry, Returns, Returns]]) -> str:
    """What the parentheses are, and what a real interval would be."""
    entry, returns, _ = loaded[-1]
    low, high = summarise(returns).ci95
    return (
        "The number in parentheses, which the paper calls a 95% confidence interval, is the sample "
        f"standard deviation of the 100 runs. For {entry.label} in {entry.domain} the paper prints "
        f"{entry.mean:,} ({entry.bracket:,}); a real 95% interval of that mean is "
        f"{number(low)} to {number(high)}."
    )
