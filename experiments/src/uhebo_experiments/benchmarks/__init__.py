"""Measurements behind single figures on the pages; each is a program: `python -m uhebo_experiments.benchmarks.NAME`."""
