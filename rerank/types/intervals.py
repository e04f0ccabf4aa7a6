"""Where the bootstrap interval of a mean ends among the means of its samples, which are drawn in blocks.

Between the percentiles 2.5 and 97.5, the mean lies less often than 95 % where values are few: in 90 % of samples of ten
from a normal distribution. Means of samples drawn again spread less than the mean does, by sqrt((n - 1) / n), and their
distribution is nearly normal where that of the mean is Student's. The percentiles here are further out by both: 0.9 and
99.1 for ten values, 2.3 and 97.7 for a hundred.

References
----------
Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69(4), 2015 (expanded percentile
interval).

"""

from math import sqrt

LEVEL = 0.95  # of intervals; a p-value below 1 - LEVEL is significant


def block_sizes(samples: int, n: int, numbers: int) -> list[int]:
    """Return how many samples of n values are drawn at once, block by block: of at most `numbers` values, or one."""
    size = max(1, numbers // n)
    return [min(size, samples - start) for start in range(0, samples, size)]


def percentile_shares(n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the shares of samples of n values whose means are below the lower and below the upper end."""
    from scipy.special import ndtr, stdtrit

    if n < 2:
        return 0.0, 1.0
    tail = float(ndtr(sqrt(n / (n - 1)) * stdtrit(n - 1, (1.0 - level) / 2.0)))
    return tail, 1.0 - tail
