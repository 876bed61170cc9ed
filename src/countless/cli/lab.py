"""countless lab."""

from __future__ import annotations

import argparse
import sys

from countless.cli.output import print_json, print_lines
from countless.core.bars import Bars
from countless.core.errors import naming_options
from countless.lab.serve import require_lab, serve


def command(arguments: argparse.Namespace) -> None:
    require_lab()

    def ready(address: str) -> None:
        if arguments.json:
            print_json({"address": address})
        else:
            print_lines(f"The lab is open at {address}\nCtrl-C closes it.")
        sys.stdout.flush()

    try:
        with naming_options(False):  # the page names parameters, not options
            serve(arguments.port, ready, Bars(), open_browser=not arguments.no_browser)
    except KeyboardInterrupt:
        print("countless: the lab is closed", file=sys.stderr)
