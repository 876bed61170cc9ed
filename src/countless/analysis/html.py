"""Pieces of a plain, self-contained HTML page."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from countless.analysis.tables import Table

CSS = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 3rem; }
nav ul { padding-left: 1.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums;
        margin: 1rem 0 .3rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; }
th { border-bottom: 2px solid #444; font-weight: 600; }
td { border-bottom: 1px solid #e6e6e6; }
th.label, td.label { text-align: left; }
.note, figcaption, dl { font-size: .85rem; color: #555; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; font-family: ui-monospace, monospace; }
"""


def page(title: str, contents: Sequence[tuple[str, str]], body: Sequence[str]) -> str:
    """A whole page with a table of contents of (anchor, text)."""
    links = "".join(f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text in contents)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<nav><ul>{links}</ul></nav>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def table_html(table: Table) -> str:
    """A table with its caption and note."""

    def row(tag: str, cells: Sequence[str]) -> str:
        classes = [' class="label"' if i < table.labels else "" for i in range(len(cells))]
        marked = "".join(
            f"<{tag}{label}>{escape(cell)}</{tag}>"
            for label, cell in zip(classes, cells, strict=True)
        )
        return f"<tr>{marked}</tr>"

    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    body = "\n".join(row("td", cells) for cells in table.texts())
    return (
        f'<div class="scroll"><table><caption>{escape(table.title)}</caption>\n'
        f"<thead>{row('th', table.columns)}</thead>\n<tbody>{body}</tbody></table></div>{note}"
    )


def figure_html(stem: Path, caption: str) -> str:
    """A drawing, embedded."""
    data = base64.b64encode(stem.with_name(f"{stem.name}.svg").read_bytes()).decode()
    text = escape(caption, quote=True)
    return (
        f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def definition_list(items: Mapping[str, str]) -> str:
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in items.items())
    return f"<dl>{rows}</dl>"
