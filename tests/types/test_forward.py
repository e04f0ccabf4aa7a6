from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from rerank.types.forward import ForwardIndex, document_slots
from rerank.types.ids import id_array

IDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=6), max_size=60)


def index_of(doc_ids: list[str]) -> ForwardIndex:
    ids = id_array(doc_ids)
    return ForwardIndex(ids, document_slots(ids), np.empty(0, np.uint8), np.zeros(1, np.int64), {})


@given(IDS, IDS)
def test_doc_numbers_equal_a_search_from_the_start(doc_ids: list[str], wanted: list[str]) -> None:
    wanted = wanted + doc_ids
    expected = [doc_ids.index(doc_id) if doc_id in doc_ids and doc_id else -1 for doc_id in wanted]
    assert index_of(doc_ids).doc_numbers(id_array(wanted)).tolist() == expected


def test_doc_numbers_do_not_depend_on_how_wide_ids_are_stored() -> None:
    index = index_of([f"D{number}" for number in range(1000)])
    wanted = np.array(["D7", "D999", "D1000"])
    assert index.doc_numbers(wanted.astype("U40")).tolist() == index.doc_numbers(wanted).tolist() == [7, 999, -1]


def test_doc_numbers_are_found_when_most_documents_are_deleted() -> None:
    index = index_of([""] * 50_000 + ["kept"])
    assert index.doc_numbers(np.array(["kept", ""])).tolist() == [50_000, -1]
