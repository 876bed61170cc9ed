"""Pieces of a self-contained HTML page: its style, its scripts and its data are all inside it."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from countless.analysis.charts import Chart, Explorer, Intervals, MapChart, Panels
from countless.analysis.tables import Table

STYLES = ("vendor/uplot/uPlot.min.css", "page.css")
SIZE_OF_SVG = re.compile(rb'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')
IN_BACKTICKS = re.compile("`([^`]*)`")
LINE, CHARACTER, LEGEND = 34, 7, 480  # pixels: a row of buttons, a letter, the place of a legend
SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "heat.js", "report.js")


def page(title: str, lead: str, head: Sequence[str], body: Sequence[str], *more: str) -> str:
    """A whole page: a heading, what it is in a sentence, what to see first, and the rest.

    `more` are scripts beside those that draw charts.
    """
    styles = "\n".join(_asset(name) for name in STYLES)
    scripts = "\n".join(f"<script>{_asset(name)}</script>" for name in (*SCRIPTS, *more))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{styles}</style></head>\n<body>\n"
        f'<header><h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p></header>\n<main>\n'
        + "\n".join([*head, *body])
        + f"\n</main>\n{scripts}\n</body></html>\n"
    )


def _asset(name: str) -> str:
    text = (files("countless") / "web" / name).read_text(encoding="utf-8")
    text = text.replace(
        "\nexport ", "\n"
    )  # a page from disk has no modules: all scripts are in one
    return text.replace("</script", "<\\/script")


def contents(links: Sequence[tuple[str, str]]) -> str:
    """A list of what is on the page, as (anchor, text)."""
    rows = "".join(
        f'<li><a href="#{escape(anchor, quote=True)}">{escape(text)}</a></li>'
        for anchor, text in links
    )
    return f'<nav aria-label="Contents"><ul>{rows}</ul></nav>'


def paragraph(text: str) -> str:
    """A paragraph; what stands between backticks is code.

    >>> paragraph("`a < b` holds")
    '<p><code>a &lt; b</code> holds</p>'
    """
    return "<p>" + IN_BACKTICKS.sub(r"<code>\1</code>", escape(text)) + "</p>"


def table_html(table: Table) -> str:
    """A table with its caption and note; it scrolls by itself where it is wider than the page."""

    def row(tag: str, cells: Sequence[str]) -> str:
        marked = []
        for i, cell in enumerate(cells):
            label = ' class="label"' if i < table.labels else ""
            if tag == "th":
                marked.append(f'<th scope="col"{label}>{escape(cell)}</th>')
            elif i == 0 and cell:
                marked.append(f'<th scope="row"{label}>{escape(cell)}</th>')
            else:
                marked.append(f"<td{label}>{escape(cell)}</td>")
        return f"<tr>{''.join(marked)}</tr>"

    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    body = "\n".join(row("td", cells) for cells in table.texts())
    title = escape(table.title, quote=True)
    return (
        f'<div class="scroll" data-names="{table.labels}" tabindex="0" role="region" '
        f'aria-label="{title}"><table><caption><span>{escape(table.title)}</span></caption>\n'
        f"<thead>{row('th', table.columns)}</thead>\n<tbody>{body}</tbody></table></div>{note}"
    )


def folded(summary: str, parts: Sequence[str]) -> str:
    """What a reader may want, folded away."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(parts)}</details>"


def figure_html(stem: Path, caption: str) -> str:
    """A drawing, embedded."""
    drawing = stem.with_name(f"{stem.name}.svg").read_bytes()
    data = base64.b64encode(drawing).decode()
    text = escape(caption, quote=True)
    found = SIZE_OF_SVG.search(drawing[:2_000])
    # Its place is kept before it is decoded.
    size = (
        f' width="{float(found[1]) * 4 / 3:.0f}" height="{float(found[2]) * 4 / 3:.0f}"'
        if found
        else ""
    )
    return (
        f'<figure><img alt="{text}"{size} src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def reserved(chart: Chart | Explorer | Intervals | MapChart) -> int:
    """About how high a chart will be, in pixels: its place is kept until it is drawn."""
    frame = 24 + 30 + LINE  # padding, title, tools
    if isinstance(chart, Chart):
        wide = sum(80 + CHARACTER * len(line.label) for line in chart.series)
        return frame + 310 + LINE * math.ceil(wide / LEGEND)
    if isinstance(chart, Explorer):
        most = max((len(sweep.parameters) for sweep in chart.sweeps.values()), default=1)
        return frame + 60 + 215 * math.ceil(most / 3)
    if isinstance(chart, Intervals):
        marks = max((len(marks) for marks in chart.rows.values()), default=1)
        return frame + 50 + LINE * (marks > 1) + len(chart.rows) * (6 + 21 * marks)
    rows, columns = map(int, chart.layout.shape)
    across = len(chart.rows[0].maps) if chart.rows else 1
    return frame + 60 + len(chart.rows) * (80 + round(960 / across * rows / columns))


def panels_html(panels: Panels) -> str:
    """Charts that the page draws itself, each from the data beside it."""
    places = "".join(
        f'<div class="chart" style="--reserve: {reserved(chart)}px">{data_html(chart.to_json())}</div>'
        for chart in panels.charts
    )
    has_lines = any(isinstance(chart, Chart) for chart in panels.charts)
    how = '<span class="how"> Point at a line to read it, drag to zoom.</span>' if has_lines else ""
    return (
        f'<figure id="{escape(panels.name, quote=True)}"><div class="panels">{places}</div>'
        f"<figcaption>{escape(panels.caption)}{how}</figcaption>"
        "<noscript><p>These charts need JavaScript; the tables do not.</p></noscript></figure>"
    )


def data_html(content: object, name: str = "") -> str:
    """Data for a script of the page, as JSON that cannot end the element that holds it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    identity = f' id="{escape(name, quote=True)}"' if name else ""
    return f'<script type="application/json"{identity}>{text}</script>'


def provenance_html(commands: Sequence[str], items: Mapping[str, str]) -> str:
    """What made a section, folded away, and a button that copies its commands."""
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items.items())
    more = f" and {len(commands) - 1} more" if len(commands) > 1 else ""
    copied = escape("\n".join(commands), quote=True)
    button = (
        f'<button type="button" data-copy="{copied}">Copy the command{"s" * bool(more)}</button>'
    )
    return f"<p>{button} <code>{escape(commands[0])}</code>{more}</p>" + folded(
        "What made this", [f"<dl>{rows}</dl>"]
    )
