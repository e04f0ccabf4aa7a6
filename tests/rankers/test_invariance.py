"""What carries no information changes no score: rankers on arrays without document ids.

`python -m tests.checks.invariance` prints the largest differences, law by law, of many examples.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.invariance import LAWS, RANKERS, example, holds_for, scores


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", RANKERS)
def test_scores_are_the_same_to_the_bit_when_data_change_in_nothing_that_is_information(name: str, seed: int) -> None:
    data = changed = example(np.random.default_rng(seed))
    before = scores(name, "", data)
    for law in LAWS:
        if law not in ("rows", "categories renumbered") and holds_for(name, law):
            changed = LAWS[law](changed, np.random.default_rng(seed))
    order = np.random.default_rng(seed).permutation(len(before))
    np.testing.assert_array_equal(scores(name, "", LAWS["rows"](changed, np.random.default_rng(seed))), before[order])


@pytest.mark.parametrize("name", ["lambdamart", "gbrank"])
def test_scores_are_the_same_when_categories_are_numbered_anew(name: str) -> None:
    law = "categories renumbered"
    for seed in range(4):
        data = example(np.random.default_rng(seed))
        changed = LAWS[law](data, np.random.default_rng(seed))
        np.testing.assert_array_equal(scores(name, law, data), scores(name, law, changed))
