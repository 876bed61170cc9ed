"""The lab: a local page on which agents learn side by side while one turns their parameters."""
