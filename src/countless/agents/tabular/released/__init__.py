"""The released code, draw by draw: `--rng authors`. Twins live in tests/oracles."""
