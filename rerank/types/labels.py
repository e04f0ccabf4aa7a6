"""Labels: judgements joined with the documents of ranking data."""

from dataclasses import replace

import numpy as np

from rerank.types.ranking_data import RankingData
from rerank.types.records import Qrels


def labelled_data(data: RankingData, qrels: Qrels) -> RankingData:
    """Return data with the labels of judgements; a document that is not judged has label 0."""
    labels = qrels.lookup(data.query_ids, data.query_ptr, data.doc_ids)[0].astype(np.float64)
    ideal_labels, ideal_ptr = qrels.ideal(data.query_ids)
    return replace(data, labels=labels, ideal_labels=ideal_labels, ideal_ptr=ideal_ptr)
