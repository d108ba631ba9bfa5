"""Acquisition functions and their maximiser."""

from uhebo.acquire.functions import ACQUISITIONS, Surface, check_acquisition, surface, with_pending
from uhebo.acquire.maximise import Search, maximise, maximise_sample, random_point

__all__ = [
    "ACQUISITIONS",
    "Search",
    "Surface",
    "check_acquisition",
    "maximise",
    "maximise_sample",
    "random_point",
    "surface",
    "with_pending",
]
