"""Acquisition functions, points under way, candidates and the maximiser."""
