"""Acquisition functions and their maximiser."""

from uhebo.acquire.candidates import around, distance_to_nearest, line_points
from uhebo.acquire.functions import ACQUISITIONS, AGAINST_THE_BEST, Surface, check_acquisition, surface
from uhebo.acquire.maximise import Explored, first_free, is_free, maximise, maximise_sample, random_point
from uhebo.acquire.pending import Pending, with_pending

__all__ = [
    "ACQUISITIONS",
    "AGAINST_THE_BEST",
    "Explored",
    "Pending",
    "Surface",
    "around",
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
