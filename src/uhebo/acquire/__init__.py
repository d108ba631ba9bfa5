"""Acquisition functions and their maximiser."""

from uhebo.acquire.functions import (
    ACQUISITIONS,
    AGAINST_THE_BEST,
    Surface,
    check_acquisition,
    surface,
    with_pending,
)
from uhebo.acquire.lines import distance_to_nearest, line_points
from uhebo.acquire.maximise import Search, first_free, is_free, maximise, maximise_sample, random_point

__all__ = [
    "ACQUISITIONS",
    "AGAINST_THE_BEST",
    "Search",
    "Surface",
    "check_acquisition",
    "distance_to_nearest",
    "first_free",
    "is_free",
    "line_points",
    "maximise",
    "maximise_sample",
    "random_point",
    "surface",
    "with_pending",
]
