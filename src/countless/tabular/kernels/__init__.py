"""Compiled inner loops: functions over plain arrays, nothing human. Twins live in tests/oracles."""
