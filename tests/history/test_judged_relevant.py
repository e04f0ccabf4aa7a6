"""What an explanation says of the judgements that learned features come from."""

from __future__ import annotations

import numpy as np

from rerank.features.match import gather_candidates
from tests.history.conftest import World
from tests.history.test_features import fold_queries


def test_judged_queries_of_a_document_are_those_its_features_may_come_from(small: World) -> None:
    history, forward = small.history(), small.forward
    bound, ptr, empty = history.on(forward), np.zeros(2, np.int64), np.zeros(0, np.int64)
    n_found = 0
    for query_id, tokens in {**small.queries, **small.other}.items():
        asked = gather_candidates(forward, [tokens], ptr, empty, np.zeros(0))
        hidden = fold_queries(history, query_id) if query_id in small.queries else set()
        hidden = hidden or (set() if tokens else fold_queries(history, "q_none"))
        oracle = small.oracle(hidden)
        own = oracle.vector(tokens)
        for doc, number in zip(forward.doc_ids.tolist(), range(forward.n_docs), strict=True):
            expected = {}
            for other, relevant in oracle.relevant.items():
                vector = oracle.vector(oracle.queries[other])
                cosine = sum(weight * vector.get(term, 0.0) for term, weight in own.items())
                if doc in relevant and cosine > 0:
                    expected[other] = (cosine, relevant[doc])
            found = bound.judged_relevant(asked, 0, query_id, number, 99)
            assert {each.query_id for each in found} == set(expected)
            for each in found:
                np.testing.assert_allclose((each.cosine, each.label), expected[each.query_id])
                assert each.terms == " ".join(sorted(set(small.queries[each.query_id])))
            assert [each.cosine for each in found] == sorted((each.cosine for each in found), reverse=True)
            assert bound.judged_relevant(asked, 0, query_id, number, 1) == found[:1]
            n_found += len(found)
    assert n_found > 50
