"""countless report."""

from __future__ import annotations

import argparse
from pathlib import Path

from countless.cli.show import print_json, print_text
from countless.core.errors import BadInput
from countless.core.records import ensure_folder, write_text
from countless.experiments.catalog import finished_sections
from countless.experiments.report import report_html


def command(arguments: argparse.Namespace) -> None:
    results = Path(arguments.results)
    if not results.is_dir():
        raise BadInput(
            f"no folder {results}; name the folder of records, or make one with "
            "`countless reproduce tabular`"
        )
    sections = finished_sections(results)
    path = ensure_folder(arguments.out) / "report.html"
    write_text(path, report_html(sections))
    if arguments.json:
        print_json({"report": str(path), "sections": [section.name for section in sections]})
    else:
        print_text(f"The report is {path.resolve()}")
