"""Ratios and rates measured side by side, printed as tables: `python -m benchmarks [--quick]`."""
