"""The data structures that packages exchange: flat arrays with one vocabulary.

query      one information need; `query_ids` are the ids, `query_ptr` the rows of each query
row        0-based index in flat arrays; the rows of query q are [query_ptr[q], query_ptr[q + 1])
rank       position in an order by score: 0-based in code, 1-based in run files and data frames
label      judged grade of a document for a query
gain       value that a measure gives to a label
score      value that a ranker gives to a document; larger is better
cutoff     depth at which a measure stops (`nDCG@10`)
top_n, k   depth of retrieval

Ids are text (NumPy `U` arrays, which sort by code point, as trec_eval's bytes do). Readers of files return document ids
as UTF-8 bytes (`S` arrays, a quarter of the memory); they are decoded at the first access.
"""

from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.ids import Ids, id_array, id_bytes, sort_keys
from rerank.types.query_rows import (
    Floats,
    Ints,
    ideal_of_rows,
    joined_rows,
    pointers,
    query_blocks,
    query_rows,
    rows_of_groups,
)
from rerank.types.ranking_data import RankingData, numbered_names
from rerank.types.records import Qrels, Run, SubtopicQrels, Topics
from rerank.types.retriever import BM25, CONTENTS, UNNAMED, Passages, Retriever
from rerank.types.text_tables import Shown, counted
from rerank.types.tie_order import query_order, trec_order

__all__ = [
    "BM25",
    "CONTENTS",
    "UNNAMED",
    "FieldArrays",
    "Floats",
    "ForwardIndex",
    "Ids",
    "Ints",
    "Passages",
    "Qrels",
    "RankingData",
    "Retriever",
    "Run",
    "Shown",
    "SubtopicQrels",
    "Topics",
    "counted",
    "id_array",
    "id_bytes",
    "ideal_of_rows",
    "joined_rows",
    "numbered_names",
    "pointers",
    "query_blocks",
    "query_order",
    "query_rows",
    "rows_of_groups",
    "sort_keys",
    "trec_order",
]
