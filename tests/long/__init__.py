"""Instruments that run for an hour: fuzzers, memory, workers killed at random (make fuzz, make soak)."""
