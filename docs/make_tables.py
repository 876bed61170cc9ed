"""Write the tables of docs/algorithms that come from the code.

python docs/make_tables.py          rewrite what stands between the markers

Marked by `<!-- NAME -->` and `<!-- /NAME -->`: `algorithms` in the index,
`options` on the page of each algorithm, and `published` where the paper prints Atari scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from countless.agents.catalogue import AGENTS, AgentEntry
from countless.agents.dqn.agents import SCALES, make_config
from countless.agents.dqn.config import GROUP_OF
from countless.bonuses.registry import bonus_kind, bonus_names
from countless.cli.options import PART_TITLES
from countless.core.parameters import default_of
from countless.experiments import atari_published as atari

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "algorithms"
HEADLINE = "dqn-mmc-sr"  # its defaults are those that the other deep agents are compared with
SHARED = "deep-options"  # the page of the parameters that all deep agents share
WITHOUT_PAGE = ("random", "optimal")

_PAPER = "Machado, Bellemare & Bowling 2020 (the paper)"
_CONTROL = "a control of this project"
PUBLICATIONS = {
    "sarsa": "Rummery & Niranjan 1994",
    "sarsa-sr": _PAPER,
    "sarsa-dr": "Tse, Chandrasekar & Machado 2025",
    "sarsa-counts": _CONTROL,
    "spie": "Yu et al. 2023",
    "essr": _PAPER,
    "rmax": "Brafman & Tennenholtz 2002, as run by Strehl & Littman 2008",
    "e3": "Kearns & Singh 2002, as run by Strehl & Littman 2008",
    "mbie": "Strehl & Littman 2008",
    "mbie-eb": "Strehl & Littman 2008",
    "psrl": "Strens 2000; Osband, Russo & Van Roy 2013",
    "ucrl2": "Jaksch, Ortner & Auer 2010",
    "random": "a floor to compare with",
    "optimal": "a ceiling to compare with",
    "dqn": "Mnih et al. 2015, with the protocol of Machado et al. 2018",
    "dqn-mmc": _PAPER,
    "dqn-mmc-sr": _PAPER,
    "cts": "Bellemare et al. 2016",
    "pixelcnn": "Ostrovski et al. 2017",
    "rnd": "Burda et al. 2019",
    "counts": _CONTROL,
    "sr-norm": _PAPER,
    "ssr": _PAPER,
}

# The columns of the paper's Tables 3 and 4, and of its ablations, that belong to each page.
SCORES: dict[str, tuple[atari.Column, ...]] = {
    "dqn": (atari.DQN,),
    "dqn-mmc": (atari.MMC,),
    "dqn-mmc-sr": (atari.SR, atari.SR_L2, atari.NO_RECONSTRUCTION, atari.NO_BONUS, atari.MMC),
    "cts": (atari.CTS, atari.SR),
    "pixelcnn": (atari.PIXELCNN, atari.SR),
    "rnd": (atari.RND, atari.SR),
}


def page_of(name: str) -> str | None:
    """The page of an agent or a bonus: that of its bonus, where an agent is DQN with one.

    >>> page_of("dqn-cts"), page_of("sarsa"), page_of("random")
    ('cts', 'sarsa', None)
    """
    if name in WITHOUT_PAGE:
        return None
    bonus = name.removeprefix("dqn-")
    return bonus if bonus in bonus_names() else name


def algorithm_rows() -> str:
    """One row per agent and per bonus: name, kind, what it is, and where it was published."""
    rows = [
        (_link(name), "agent", entry.summary, PUBLICATIONS[page_of(name) or name])
        for name, entry in AGENTS.items()
    ]
    rows += [
        (_link(name), "bonus", bonus_kind(name).summary, PUBLICATIONS[name])
        for name in bonus_names()
    ]
    return _table(("name", "kind", "in one line", "published"), rows)


def options(name: str) -> str:
    """The options of the algorithm of a page."""
    if name == SHARED:
        return _shared_options()
    if name == HEADLINE:
        return _scales()
    if name not in bonus_names():
        return _agent_options(AGENTS[name])
    parts = [_parameters({item.name: item for item in fields(bonus_kind(name).parameters)}, {})]
    if f"dqn-{name}" in AGENTS:
        parts.append(_agent_options(AGENTS[f"dqn-{name}"]))
    return "\n\n".join(parts)


def published(name: str) -> str:
    """The paper's scores of a page's columns, with their standard deviations."""
    columns = SCORES[name]
    rows = ((game, *(_score(column, game) for column in columns)) for game in atari.GAMES)
    return _table(("game", *(column.label for column in columns)), rows, numbers=True)


def _score(column: atari.Column, game: str) -> str:
    if game not in column.paper:
        return ""
    mean, deviation = column.paper[game]
    return f"{mean:,.1f}" if deviation is None else f"{mean:,.1f} ({deviation:,.1f})"


def _agent_options(entry: AgentEntry) -> str:
    if entry.engine == "dqn":
        return _differences(entry)
    parts = [_parameters(entry.parameters, entry.defaults)]
    if entry.presets:
        rows = []
        for preset in entry.presets:
            known = {**preset.when, **preset.parameters}
            values = ", ".join(f"{name} {_shown(value)}" for name, value in known.items())
            rows.append((preset.env, values, preset.source))
        parts.append(_table(("environment", "values", "source"), rows))
    if entry.grid is not None:
        axes = "; ".join(
            f"{name}: {len(values)} values" for name, values in entry.grid.values.items()
        )
        parts.append(f"Default grid of `countless sweep` ({entry.grid.source}): {axes}.")
    return "\n\n".join(parts)


def _differences(entry: AgentEntry) -> str:
    """The defaults in which a deep agent differs from the headline agent."""
    usual = AGENTS[HEADLINE].defaults
    rows = [
        (f"`{name}`", _shown(value), _shown(usual[name]), entry.parameters[name].metadata["help"])
        for name, value in entry.defaults.items()
        if value != usual[name]
    ]
    return _table(("parameter", f"`{entry.name}`", f"`{HEADLINE}`", "meaning"), rows)


def _shared_options() -> str:
    """The parameters of all deep agents, part by part."""
    entry = AGENTS[HEADLINE]
    parts: dict[str, dict[str, Field[Any]]] = {}
    for name, item in entry.parameters.items():
        parts.setdefault(PART_TITLES[GROUP_OF.get(name, "variant")], {})[name] = item
    return "\n\n".join(
        f"## {title[0].upper()}{title[1:]}\n\n{_parameters(items, entry.defaults)}"
        for title, items in parts.items()
    )


def _scales() -> str:
    """What each `--scale` changes of the headline agent."""
    configs = {scale: make_config(HEADLINE, scale=scale).settings() for scale in SCALES}
    usual = configs.pop("paper")
    rows = [
        (
            f"`{name}`",
            _shown(value),
            *(_shown(other[name]) if other[name] != value else "" for other in configs.values()),
        )
        for name, value in usual.items()
        if any(other[name] != value for other in configs.values())
    ]
    return _table(("parameter", "`paper`", *(f"`{scale}`" for scale in configs)), rows)


def _parameters(parameters: Mapping[str, Field[Any]], defaults: Mapping[str, Any]) -> str:
    rows = []
    for name, item in parameters.items():
        known = item.metadata
        default = known.get("rule") or _shown(defaults.get(name, default_of(item)))
        span = ""
        if "interval" in known:
            span = known["interval"].text
        elif "choices" in known:
            span = ", ".join(known["choices"])
        elif "switch" in known:
            span = "on, off"
        rows.append((f"`{name}`", default, span, known["help"]))
    return _table(("parameter", "default", "values", "meaning"), rows)


def _link(name: str, folder: str = "") -> str:
    page = page_of(name)
    return f"`{name}`" if page is None else f"[`{name}`]({folder}{page}.md)"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, numbers: bool = False) -> str:
    rule = (
        "|---" * (1 if numbers else len(head)) + "|---:" * (len(head) - 1 if numbers else 0) + "|"
    )
    return "\n".join([f"| {' | '.join(head)} |".replace("|  |", "| |"), rule, *map(_row, rows)])


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _shown(value: object) -> str:
    if value is None:
        return "as the variant says"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def filled(text: str, name: str, content: str) -> str:
    """`text` with `content` between the markers called `name`."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n?<!-- /{name} -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"there is no marker {name}")
    return pattern.sub(lambda found: f"{found[1]}{content}\n<!-- /{name} -->", text)


def page_names() -> list[str]:
    """The pages that there must be, in the order of the index."""
    names = [page_of(name) for name in (*AGENTS, *bonus_names())]
    return list(dict.fromkeys(name for name in names if name is not None))


def pages() -> dict[Path, str]:
    """Each page with its tables filled in."""
    return dict(_pages())


def _pages() -> Iterator[tuple[Path, str]]:
    index = FOLDER / "index.md"
    yield index, filled(index.read_text(encoding="utf-8"), "algorithms", algorithm_rows())
    for name in (*page_names(), SHARED):
        path = FOLDER / f"{name}.md"
        text = filled(path.read_text(encoding="utf-8"), "options", options(name))
        yield path, filled(text, "published", published(name)) if name in SCORES else text


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
