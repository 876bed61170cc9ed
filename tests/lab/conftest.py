"""A lab that runs as people start it: in a process of its own, at an address that it prints."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest


@contextmanager
def started(*options):
    command = [sys.executable, "-m", "countless", "lab", "--no-browser", "--json", *options]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        line = process.stdout.readline()  # ends when the lab is open, or has failed
        assert line, process.stderr.read()
        yield json.loads(line)["address"], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


@pytest.fixture(scope="module")
def address():
    with started() as (where, _):
        yield where
