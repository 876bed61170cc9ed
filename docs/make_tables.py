"""Write the tables of README.md and docs/agents.md that come from the catalogue.

python docs/make_tables.py          rewrite what stands between the markers
"""

from __future__ import annotations

import re
from pathlib import Path

from countless.agents.catalogue import AGENTS, AgentEntry
from countless.core.parameters import default_of

ROOT = Path(__file__).resolve().parents[1]


def agent_rows() -> str:
    """One row per agent: its name and what it is."""
    lines = ["| agent | |", "|---|---|"]
    lines += [f"| `{name}` | {entry.summary} |" for name, entry in AGENTS.items()]
    return "\n".join(lines)


def agent_sections() -> str:
    """One section per tabular agent, and one for all deep agents, which share their parameters."""
    tabular = [entry for entry in AGENTS.values() if entry.engine == "tabular"]
    deep = [entry for entry in AGENTS.values() if entry.engine == "dqn"]
    parts = [_section(entry) for entry in tabular]
    names = ", ".join(f"`{entry.name}`" for entry in deep)
    parts.append(f"## {names}\n\n" + "\n".join(f"* `{e.name}`: {e.summary}" for e in deep))
    parts.append("They share these parameters; the defaults are those of `dqn-mmc-sr`.\n")
    parts.append(_parameters(next(entry for entry in deep if entry.name == "dqn-mmc-sr")))
    return "\n\n".join(parts)


def _section(entry: AgentEntry) -> str:
    parts = [f"## `{entry.name}`", entry.summary]
    if entry.parameters:
        parts.append(_parameters(entry))
    if entry.presets:
        rows = ["| environment | values | source |", "|---|---|---|"]
        for preset in entry.presets:
            known = {**preset.when, **preset.parameters}
            values = ", ".join(f"{name} {_shown(value)}" for name, value in known.items())
            rows.append(f"| {preset.env} | {values} | {preset.source} |")
        parts.append("\n".join(rows))
    if entry.grid is not None:
        axes = "; ".join(
            f"{name}: {len(values)} values" for name, values in entry.grid.values.items()
        )
        parts.append(f"Default grid of `countless sweep` ({entry.grid.source}): {axes}.")
    return "\n\n".join(parts)


def _parameters(entry: AgentEntry) -> str:
    rows = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    for name, item in entry.parameters.items():
        known = item.metadata
        value = entry.defaults.get(name, default_of(item))
        default = known.get("rule") or _shown(value)
        span = ""
        if "interval" in known:
            span = known["interval"].text
        elif "choices" in known:
            span = ", ".join(known["choices"])
        elif "switch" in known:
            span = "on, off"
        rows.append(f"| `{name}` | {default} | {span} | {known['help']} |")
    return "\n".join(rows)


def _shown(value: object) -> str:
    if value is None:
        return "as the variant says"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.12g}" if isinstance(value, int | float) else str(value)


def filled(text: str, name: str, content: str) -> str:
    """`text` with `content` between the markers called `name`."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.S)
    if not pattern.search(text):
        raise ValueError(f"there is no marker {name}")
    return pattern.sub(lambda found: f"{found[1]}{content}{found[2]}", text)


def pages() -> dict[Path, str]:
    """Each page with its tables filled in."""
    readme, agents = ROOT / "README.md", ROOT / "docs" / "agents.md"
    return {
        readme: filled(readme.read_text(encoding="utf-8"), "agents", agent_rows()),
        agents: filled(agents.read_text(encoding="utf-8"), "agents", agent_sections()),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
