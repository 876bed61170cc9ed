"""countless report [FOLDER]."""

from __future__ import annotations

import argparse
from pathlib import Path

from countless.cli.output import print_json, print_lines
from countless.core.durable import write_bytes
from countless.core.errors import BadInput
from countless.core.records import ensure_folder
from countless.experiments.report import report_html


def command(arguments: argparse.Namespace) -> None:
    results = Path(arguments.folder)
    if not results.is_dir():
        raise BadInput(
            f"there is no folder {results}; name the folder of records, or make one with "
            "`countless run`, `countless sweep` or `countless reproduce`"
        )
    html, sections = report_html(results)
    path = ensure_folder(arguments.out) / "report.html"
    write_bytes(path, html.encode())
    if arguments.json:
        print_json({"report": str(path), "sections": sections})
    else:
        print_lines(f"The report is {path.resolve()}")
