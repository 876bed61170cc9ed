"""The command line: countless list, run, sweep, reproduce, report, doctor."""
