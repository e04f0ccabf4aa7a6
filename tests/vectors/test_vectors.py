"""Vectors of an index: what they say, their file, and whose index they are of."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rerank.errors import FileFormatError, InvalidInputError
from rerank.types.forward import ForwardIndex
from rerank.vectors.space import rounded
from rerank.vectors.vectors import Vectors


@pytest.fixture(scope="module")
def vectors(forward: ForwardIndex) -> Vectors:
    return Vectors.learn(forward, dimensions=4)


def _cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return (left @ right.T) / np.linalg.norm(left, axis=1)[:, None] / np.linalg.norm(right, axis=1)


def test_lsi_finds_documents_of_a_subject_without_the_querys_word(vectors: Vectors) -> None:
    query, documents = vectors.queries("lsi", [["fur"]]), vectors.all_documents("lsi")[:58]
    cosines = _cosines(query[:, :2], documents[:, :2])[0]
    assert cosines[::2].min() > 0.99
    assert cosines[1::2].max() < 0.01


def test_document_vectors_are_the_weighted_sum_of_their_terms(vectors: Vectors, forward: ForwardIndex) -> None:
    space, field = vectors.spaces["lsi"], forward.fields["contents"]
    for doc in (0, 7, 58):
        postings = slice(field.doc_ptr[doc], field.doc_ptr[doc + 1])
        terms, tf = field.terms[postings], field.freqs[postings]
        weights = (1.0 + np.log(tf)) * np.log(field.n_docs_with / field.doc_freq[terms])
        expected = (weights[:, None] * space.term_vectors[space.rows[terms]]).sum(axis=0)
        np.testing.assert_allclose(vectors.documents("lsi", "contents", np.array([doc]))[0], expected, rtol=1e-5)


def test_query_vectors_are_those_of_a_document_of_the_same_terms(vectors: Vectors, forward: ForwardIndex) -> None:
    field = forward.fields["contents"]
    tokens = [
        [forward.term(term) for term, n in zip(field.terms[rows], field.freqs[rows], strict=True) for _ in range(n)]
        for rows in (slice(field.doc_ptr[doc], field.doc_ptr[doc + 1]) for doc in range(forward.n_docs))
    ]
    np.testing.assert_array_equal(vectors.queries("lsi", tokens), vectors.all_documents("lsi"))


def test_texts_without_a_known_term_have_the_zero_vector(vectors: Vectors, forward: ForwardIndex) -> None:
    assert not vectors.queries("lsi", [[], ["unknown"], ["word"]]).any()  # "word": in one document only
    assert not vectors.documents("lsi", "contents", forward.doc_numbers(np.array(["empty", "lonely"]))).any()


def test_learning_more_documents_than_a_sample_uses_the_sample(
    forward: ForwardIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rerank.vectors.space import sampled_documents
    from rerank.vectors.vectors import learn_lsi

    monkeypatch.setattr("rerank.vectors.vectors.MOST_DOCUMENTS", 20)

    docs = sampled_documents(forward.n_docs, 20)
    assert len(docs) == 20
    assert (np.diff(docs) > 0).all()
    space, values = learn_lsi(forward.fields["contents"], 4)
    assert space.dimensions == len(values) == 4


def test_file_gives_the_same_vectors_and_the_same_bytes_for_any_threads(
    vectors: Vectors, forward: ForwardIndex, tmp_path: Path
) -> None:
    for threads in (1, 2):
        Vectors.learn(forward, dimensions=4, threads=threads).save(tmp_path / f"{threads}")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    read = Vectors.read(tmp_path / "1", forward)
    for field in forward.fields:
        np.testing.assert_array_equal(read.all_documents("lsi", field), vectors.all_documents("lsi", field))
        np.testing.assert_array_equal(
            read.documents("lsi", field, np.array([3, 1])), vectors.documents("lsi", field, np.array([3, 1]))
        )
    np.testing.assert_array_equal(read.queries("lsi", [["cat"]]), vectors.queries("lsi", [["cat"]]))


def test_vectors_of_another_index_are_refused(vectors: Vectors, forward: ForwardIndex, tmp_path: Path) -> None:
    vectors.save(tmp_path / "file")
    other = replace(forward, fingerprint={"documents": 1})
    with pytest.raises(InvalidInputError, match=r"other documents or another analyser\. Learn them with"):
        Vectors.read(tmp_path / "file", other)
    with pytest.raises(InvalidInputError, match=r"documents in another order\. Learn them with"):
        Vectors.read(tmp_path / "file", replace(forward, doc_ids=forward.doc_ids[::-1]))


def test_vectors_that_cannot_be_are_refused(vectors: Vectors, forward: ForwardIndex, tmp_path: Path) -> None:
    vectors.save(tmp_path / "file")
    with zipfile.ZipFile(tmp_path / "file") as archive:
        content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    rows = vectors.spaces["lsi"].rows
    one = vectors.all_documents("lsi")[:1].tobytes()
    for old, new, text in (
        (one, one[:-4] + np.float32(np.nan).tobytes(), "numbers of lsi.contents that are not finite"),
        (
            rows.tobytes(),
            b"\x7f" * rows.nbytes,
            "lsi.rows beyond the terms",
        ),
        (vectors.checksum.encode(), b"0" * 16, "vectors with another checksum than their own"),
        (b'["lsi"]', b'["abc"]', "no abc.rows"),
        (b'["contents", "title"]', b'["contents", "tutle"]', "no lsi.tutle"),
    ):
        name = next(name for name, part in content.items() if old in part)
        with zipfile.ZipFile(tmp_path / "file", "w") as archive:
            for each, part in content.items():
                archive.writestr(each, part.replace(old, new, 1) if each == name else part)
        with pytest.raises(FileFormatError, match=f"expected vectors, got {text}"):
            Vectors.read(tmp_path / "file", forward)


@pytest.mark.parametrize("dimensions", [0, -1, 1.5, True, "4", 5000])
def test_dimensions_out_of_range_are_refused(forward: ForwardIndex, dimensions: object) -> None:
    with pytest.raises(InvalidInputError, match=r"dimensions: expected .*1 to 4096"):
        Vectors.learn(forward, dimensions=dimensions)  # type: ignore[arg-type]


def test_rounded_vectors_are_the_nearest_with_eight_significant_bits() -> None:
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(50, 8)) * 10.0 ** random.integers(-9, 3, size=(50, 8))).astype(np.float32)
    vectors[0, 0] = 0.0
    significands, exponents = np.frexp(vectors.astype(np.float64))
    np.testing.assert_array_equal(rounded(vectors), np.ldexp(np.rint(significands * 256.0), exponents - 8))
