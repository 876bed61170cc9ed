"""All finished experiments as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from countless.analysis.html import definition_list, figure_html, page, paragraph, table_html
from countless.experiments.section import Section

INTRODUCTION = (
    "The norm of the successor representation (SR), while it is being learned, says how often a "
    "state was visited, so its inverse is an exploration bonus (Machado, Bellemare & Bowling, "
    "“Count-Based Exploration with the Successor Representation”, AAAI 2020). This page "
    "sets the paper's results beside ours: tabular ones beside a replay of the released code's "
    "random draws and many fresh, independent runs, deep ones beside whatever was run, at the scale "
    "that is named there. A tabular return is undiscounted, over 5,000 steps of learning; the SD is "
    "the sample standard deviation; the IQM is the mean of the middle half; intervals are bootstrap "
    "intervals of the mean (above 20,000 runs, normal ones)."
)


def report_html(sections: Sequence[Section]) -> str:
    """The page."""
    body = [paragraph(INTRODUCTION)]
    for section in sections:
        body.append(_section(section))
    contents = [(section.name, section.title) for section in sections]
    return page("Countless: count-based exploration, without counting", contents, body)


def _section(section: Section) -> str:
    parts = [f'<section id="{section.name}"><h2>{section.title}</h2>']
    parts += [table_html(table) for table in section.tables]
    parts += [figure_html(figure.stem, figure.caption) for figure in section.figures]
    parts += [paragraph(text) for text in section.words]
    made = section.made
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    parts.append(
        definition_list(
            {
                "made by": made["command"],
                "took": f"{made['seconds']:.1f} s",
                "seeds": section.seeds or f"{made['seed']}",
                "versions": versions,
            }
        )
    )
    return "\n".join([*parts, "</section>"])
