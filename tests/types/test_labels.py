"""Judgements joined with documents."""

import numpy as np

from rerank.types import Qrels, RankingData, id_array
from rerank.types.labels import labelled_data


def test_data_labelled_by_judgements_have_the_labels_of_rows_and_the_ideal_of_queries() -> None:
    qrels = Qrels.of({"q": {"a": 2, "elsewhere": 3, "c": 0}, "other": {"a": 1}})
    data = RankingData(id_array(["q"]), np.array([0, 2]), id_array(["b", "a"]), np.zeros((2, 1), np.float32), ("x",))
    labelled = labelled_data(data, qrels)
    assert labelled.labels.dtype == np.float64
    assert labelled.labels.tolist() == [0.0, 2.0]
    assert labelled.ideal()[0].tolist() == [3.0, 2.0]
