from __future__ import annotations

import numpy as np

from rerank.features.near_duplicates import query_groups
from tests.features.collection import forward_index


def test_queries_of_the_same_words_or_five_sixths_of_them_are_a_group() -> None:
    words = [f"w{number}" for number in range(20)]
    forward = forward_index({f"d{number}": {"contents": [word]} for number, word in enumerate(words)})
    queries = [words[:6], words[5::-1], [*words[:5], "w9"], [*words[:3], "w10", "w11", "w12"], ["x"], ["x", "x"]]
    groups = query_groups(forward, queries)
    assert groups[0] == groups[1] == groups[2]  # the same, in another order, five of six words: a cosine of .83
    assert groups[3] != groups[0]
    assert groups[4] == groups[5]  # words that the index lacks count, too
    assert len(np.unique(groups)) == 3
