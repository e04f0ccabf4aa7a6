"""Swap deltas of measures, separate from the measures so that evaluation does not import Numba."""
