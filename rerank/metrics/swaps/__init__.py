"""What a swap does to a measure: away from the measures themselves, so that evaluating needs no Numba."""
