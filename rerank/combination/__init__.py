"""Combining rankers: fusion of runs, the best mixture of two, exact line search."""
