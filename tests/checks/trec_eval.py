"""Evaluate random small runs with this package, pytrec_eval and ir_measures; print the largest difference.

    python -m tests.checks.trec_eval [--cases 10000] [--seed 0]

Ends with 1 where a difference is above 1e-9.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tests.oracles.peers import (
    difference_to_ir_measures,
    difference_to_pytrec_eval,
    random_case,
)

MARGIN = 1e-9


def main() -> None:
    """Run the cases and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong = 0
    for peer, difference in (("pytrec_eval", difference_to_pytrec_eval), ("ir_measures", difference_to_ir_measures)):
        largest, where, figures = 0.0, "", 0
        for number in range(given.cases):
            error, query, count = difference(random_case(np.random.default_rng((given.seed, number))))
            figures += count
            if error > MARGIN:
                wrong += 1
                print(f"case {number}: {query}")
            if error > largest:
                largest, where = error, f"case {number}, {query}"
        print(f"{peer}: {given.cases:,} cases, {figures:,} figures, largest difference {largest:.3g} ({where})")
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
